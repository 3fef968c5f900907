//===- Addressing.h - From (batch, token, head, element) to memory -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H
#define LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H

#include "PagedValues.h"

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
  Addressing(ImplicitLocOpBuilder &builder, Type paged, ValueRange flat)
      : b(builder), layout(getLayout(paged)), values(unpackPaged(paged, flat)) {
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
  /// `policy`: batch, page, block and `alsoInside` (an i1, or null) are
  /// unchecked
  /// (`assume`), checked with a trap, or checked with zeros (`skip`) in place
  /// of what `body` gives. Results have the types in `results`.
  SmallVector<Value>
  atPosition(Pool pool, OutOfRange policy, Value batch, Value token,
             Value alsoInside, TypeRange results,
             function_ref<SmallVector<Value>(Position)> body);

  /// `value < size` for a list of pairs, all of them; null where there is
  /// nothing to check. A size of 0 is never exceeded by what is known to fit.
  Value allBelow(ArrayRef<std::pair<Value, Value>> checks);

  /// Whether `head` and `count` elements (values, tail) or slots (scales) from
  /// the element `dim` on lie inside a row of `pool`; null where they surely
  /// do. `dim` counts as in `inPage`.
  Value insideRow(Pool pool, Value head, Value dim, int64_t count);

  /// The same for `count` elements of a head of `size`.
  Value insideHead(int64_t size, Value head, Value dim, int64_t count);

  /// Ends the program where `condition` is false.
  void trapUnless(Value condition);

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
  LayoutAttr layout;
  PagedValues values;
  bool swizzled;
};

} // namespace mlir::kvcache

#endif // LIB_CONVERSION_KVCACHETOMEMREF_ADDRESSING_H
