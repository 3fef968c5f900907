//===- Checks.h - What programs check, and say when it fails ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_CHECKS_H
#define KVCACHE_DIALECT_KVCACHE_IR_CHECKS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A location as a reader of messages wants it: `file:line:column` where there
/// is one.
std::string locationText(Location loc);

/// What messages about `op` name: the operation of whose kernel it is a part,
/// or `op` itself.
std::string reportedName(Operation *op);

/// Whether `op` is in a kernel that was made for an operation.
bool isInKernelOfOp(Operation *op);

/// `text` as a part of a format of printf.
std::string escapeFormat(StringRef text);

/// Prints "<location>: error: " and `format` with `numbers`, in kernels and on
/// the host. Numbers are `index`, `i64` or `i32`, which is taken to be
/// unsigned; conversions are `%lld` or `%llu` for each.
void emitReport(ImplicitLocOpBuilder &b, const Twine &format,
                ValueRange numbers);

/// A promise that a number is less than another one.
struct Bound {
  /// What a reader calls the number.
  std::string name;
  /// The number and its limit, both unsigned and of one type.
  Value value, limit;
};

/// Whether all of `bounds` hold, an `i1`; null where they surely do.
Value emitAllBelow(ImplicitLocOpBuilder &b, ArrayRef<Bound> bounds);

/// Ends the program where `when` (null for always) holds and one of `bounds`
/// does not, after all of them were printed: "<op> is out of range: <name>
/// <value> of <limit>, ...". `op` is what messages name outside of kernels of
/// operations.
void emitTrapUnless(ImplicitLocOpBuilder &b, Value when, ArrayRef<Bound> bounds,
                    Operation *op = nullptr);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_CHECKS_H
