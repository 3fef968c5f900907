//===- Addressing.h - From (batch, token, head, element) to memory -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H
#define LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H

#include "PagedValues.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// Where a token is: the block of its page and its slot in it, both `i32`.
struct Position {
  Value block, slot;
};

/// Emits the arithmetic of one access. In-page and table arithmetic is 32-bit
/// and unsigned: `kvcache.get_paged_cache` promises B * M < 2^32 and M * P <
/// 2^32, and the layout that a side of a page is less than 2^32 bytes. Pages
/// are 64-bit.
class Addressing {
public:
  /// Messages of `op`'s traps name it.
  Addressing(ImplicitLocOpBuilder &builder, Operation *op, Type paged,
             ValueRange flat)
      : b(builder), op(op), layout(getLayout(paged)),
        values(unpackPaged(paged, flat)) {
    auto operand = dyn_cast<MHAOperandTypeInterface>(paged);
    swizzled = operand && layout.isSwizzled(operand.getSide());
  }

  LayoutAttr getLayoutAttr() const { return layout; }
  const PagedValues &getValues() const { return values; }
  PoolLayout poolLayout(Pool pool) const {
    return PoolLayout::get(layout, pool);
  }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  Value i32(int64_t constant);
  Value index(int64_t constant);
  /// The low 32 bits of an index that fits them.
  Value toI32(Value index);
  /// An unsigned 32-bit number as an index.
  Value toIndex(Value i32);
  /// Unsigned division and remainder by a constant: a shift and a mask where it
  /// is a power of two.
  Value divide(Value value, int64_t divisor);
  Value remainder(Value value, int64_t divisor);
  Value add(Value a, Value b);
  Value multiply(Value value, int64_t factor);

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  /// Entry (batch, page) of the table through which blocks of `pool` are found.
  Value tableEntry(Pool pool, Value batch32, Value page32);

  /// Calls `body` with the position of (batch, token) in `pool`, under
  /// `policy`: batch, page, block and `alsoInside` are unchecked (`assume`),
  /// checked with a trap, or checked with zeros (`skip`) in place of what
  /// `body` gives. Results have the types in `results`.
  SmallVector<Value>
  atPosition(Pool pool, OutOfRange policy, Value batch, Value token,
             ArrayRef<Bound> alsoInside, TypeRange results,
             function_ref<SmallVector<Value>(Position)> body);

  /// What makes (batch, page) an entry of the tables, and `block` (`i32`) one
  /// of `pool`.
  SmallVector<Bound> insideTable(Value batch, Value page);
  Bound insidePool(Pool pool, Value block);

  /// What makes `head` and `count` elements (values, tail) or slots (scales)
  /// from the element `dim` on lie inside a row of `pool`. `dim` counts as in
  /// `inPage`.
  SmallVector<Bound> insideRow(Pool pool, Value head, Value dim, int64_t count);

  /// The same for `count` elements of a head of `size`.
  SmallVector<Bound> insideHead(int64_t size, Value head, Value dim,
                                int64_t count);

  /// Ends the program with a message where one of `bounds` does not hold.
  void trapUnless(ArrayRef<Bound> bounds) {
    emitTrapUnless(b, /*when=*/Value(), bounds, op);
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The layer and side of a block as a flat memref of `pool`'s units, from its
  /// first element on.
  Value pageView(Pool pool, Value block);

  /// The place (`index`) in such a view of (slot, head, dim), where `dim`
  /// counts elements of the head, for the tail from its first.
  Value inPage(Pool pool, Value slot, Value head, Value dim);

  /// The element of the unquantised tail that is element `dim` of the head.
  Value inTail(Value dim);

  /// Bytes that are sure to divide the address of (token, head, dim), a power
  /// of two.
  int64_t provenAlignment(Pool pool, Value head, Value dim);

  /// Remarks that a vector of `type` at (head, dim) takes several instructions,
  /// for neither layout and indices nor `alignment` say that it starts where
  /// one may.
  void remarkWidth(Pool pool, Value head, Value dim, Type type,
                   int64_t alignment);

  /// Loads a number or a vector of `pool`'s storage from (position, head, dim);
  /// `alignment` (bytes) is the caller's promise, 0 without one.
  Value load(Pool pool, Position position, Value head, Value dim, Type type,
             int64_t alignment);
  /// Stores one.
  void store(Pool pool, Position position, Value head, Value dim, Value value,
             int64_t alignment);

  /// Whether the scales of this side are interleaved.
  bool isSwizzled(Pool pool) const { return swizzled && pool == Pool::scales; }

private:
  /// The place of an interleaved scale.
  Value inSwizzledPage(const PoolLayout &shape, Value slot, Value head,
                       Value dim);
  /// The element of the head whose scale is `lane` slots after that of `dim`.
  Value slotAfter(Value dim, int64_t lane);

  ImplicitLocOpBuilder &b;
  Operation *op;
  LayoutAttr layout;
  PagedValues values;
  bool swizzled;
};

} // namespace mlir::kvcache

#endif // LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H
