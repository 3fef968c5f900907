//===- Destinations.h - Where the rows of a tensor go --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_DESTINATIONS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_DESTINATIONS_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// A place in a pool: block (`i32`) and slot (`i32`); it is to be written only
/// where `valid` (an i1, or null for always) holds.
struct Destination {
  Value valid, block, slot;
  /// The block as an `index` where the row names a slot of more than 32 bits:
  /// the block of one that is out of range may not fit `block`.
  Value wideBlock;
};

/// The destinations of a row of a tensor in the values and the scales pool.
struct Destinations {
  Destination values, scales;
  /// The row's token in its sequence, `i32` or `index`; null where rows are
  /// named by slots.
  Value token;
};

/// The rows that a kernel writes, in one of the forms of `kvcache.append`.
class RowMap {
public:
  /// `lead` are the sizes of the tensor's leading dimensions on the host.
  RowMap(KernelBuilder &builder, RowForm form, OperandRange rows,
         ArrayRef<Value> lead, OutOfRange policy);

  /// The indices of row `row` (`index`) in the tensor's leading dimensions.
  SmallVector<Value> indices(Value row);

  /// Calls `body` where row `row` has a destination; the values or scales pool
  /// may still lack it, where policy and table say so. `cache` is a cache in
  /// the kernel. What is not needed is not looked up.
  void at(Value row, Value cache, bool needScales,
          function_ref<void(Destinations)> body, bool needValues = true);

  /// Whether `targets` are of one collection, so that they share tables and
  /// blocks.
  static bool areTogether(OperandRange targets);

  /// Whether `find` knows `form`, and all of `targets` have one destination.
  static bool canFind(RowForm form, OperandRange targets);
  /// What `at` would call its body with, where that does not depend on a
  /// condition.
  Destinations find(Value row, Value cache, bool needScales);

  /// Calls `body` for each of `caches` in the kernel, which are `targets` on
  /// the host. Those of one layer of one collection share the look-up.
  void atAll(Value row, ValueRange caches, OperandRange targets,
             bool needScales,
             function_ref<void(unsigned target, Destinations)> body,
             bool needValues = true);

  /// Called with the row, the sequence and the page (`index` each) of rows that
  /// go to tokens, before the table is read.
  std::function<void(Value row, Value batch, Value page)> onToken;

  /// Called with a row, the cache and what was found, of which it may say less
  /// to be valid.
  std::function<Destinations(Value row, Value cache, Destinations)> choose;

private:
  void atToken(Value row, Value batch, Value token, Value cache,
               bool needScales, function_ref<void(Destinations)> body,
               bool needValues);
  void atSlots(Value row, Value cache, bool needScales,
               function_ref<void(Destinations)> body, bool needValues);
  Destination inSlot(const Tensor &slots, Value row, Value operand,
                     int64_t pageSize);
  Value read(Value list, Value index);

  ImplicitLocOpBuilder &b;
  RowForm form;
  OutOfRange policy;
  SmallVector<Value> lists;
  SmallVector<Tensor> slots;
  /// Rows of a sequence in the padded form.
  Value perSequence;
};

/// The sequence of `count` (`index`) in whose `offsets`, a list in the kernel,
/// row `row` (`index`) lies, by bisection: `i32`. There is one.
Value emitFindSequence(ImplicitLocOpBuilder &b, Value offsets, Value row,
                       Value count);

/// Remarks that destinations of `form` need arithmetic of 64 bits, where they
/// do.
void remarkIndexWidth(Location location, RowForm form, OperandRange rows,
                      OutOfRange policy);

/// The operand of a cache that speaks of `pool`.
Value operandOf(ImplicitLocOpBuilder &b, Value cache, Pool pool);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_DESTINATIONS_H
