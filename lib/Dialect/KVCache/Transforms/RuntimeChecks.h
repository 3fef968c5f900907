//===- RuntimeChecks.h - Building assertions --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_RUNTIMECHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_RUNTIMECHECKS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

namespace mlir::kvcache {

/// Asserts `condition` on the host or in a kernel, with `message`. Before it
/// fails, `format` is printed with the numbers that `numbers` emits, as
/// `emitReport` takes them. What folds to true leaves nothing.
void emitAssert(ImplicitLocOpBuilder &b, Value condition, StringRef message,
                const Twine &format,
                function_ref<SmallVector<Value>()> numbers);

/// The same, for "<expectation>, got <a> and <b>"; nothing is printed without
/// numbers.
void emitAssert(ImplicitLocOpBuilder &b, Value condition, StringRef message,
                const Twine &expectation, ValueRange numbers);

/// Builds assertions about `index` values. What folds to true leaves nothing.
class RuntimeChecks {
public:
  using MessageFn = function_ref<std::string(Operation *, StringRef)>;

  RuntimeChecks(Operation *op, OpBuilder &builder, Location loc,
                MessageFn message)
      : b(loc, builder), op(op), message(message) {}

  /// Asserts `condition`; `text` says what was expected, and `numbers` are what
  /// was found.
  void require(Value condition, const Twine &text, ValueRange numbers = {});
  /// Asserts `a predicate b`.
  void require(Value a, arith::CmpIPredicate predicate, Value b,
               const Twine &text) {
    require(compare(a, predicate, b), text, {a, b});
  }

  /// Asserts that `number` is a multiple of `factor`.
  void requireMultiple(Value number, int64_t factor, const Twine &text);
  /// Whether it is.
  Value isMultiple(Value number, int64_t factor);

  Value constant(int64_t value);
  /// A size or stride as a value.
  Value value(OpFoldResult number);
  Value compare(Value a, arith::CmpIPredicate predicate, Value b);

  ImplicitLocOpBuilder b;

private:
  Operation *op;
  MessageFn message;
};

/// Implements the interface for `kvcache.get_paged_cache` and `get_page_pools`,
/// and for lookups and accesses.
void attachCollectionRuntimeChecks(MLIRContext *context);
void attachAccessRuntimeChecks(MLIRContext *context);

/// Gives an operation run-time checks: what `Derived::generate` requires.
template <typename Op, typename Derived>
struct ChecksModel
    : public RuntimeVerifiableOpInterface::ExternalModel<Derived, Op> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc,
                                   RuntimeChecks::MessageFn message) const {
    RuntimeChecks check(op, builder, loc, message);
    Derived::generate(cast<Op>(op), check);
  }
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_RUNTIMECHECKS_H
