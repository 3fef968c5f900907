//===- RowUnits.h - How the rows of a cache are cut into threads ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWUNITS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWUNITS_H

#include "Destinations.h"

namespace mlir::kvcache {

/// Bytes of the widest access of memory.
constexpr int64_t maxAccessBytes = 16;

/// Whether the heads of a row of `memref` lie side by side.
bool hasPackedRows(Value memref);

/// The row of a token as vectors of one length.
struct RowVectors {
  /// Storage elements of a vector, vectors of a row.
  int64_t lanes, count;
  /// Whether vectors may run on over heads: everything is side by side.
  bool flat;
  /// Bytes that rows of the tensors start at multiples of.
  int64_t alignment;

  /// The longest vectors of at most 16 bytes in `pool` that rows of `tensors`
  /// and of the pool can be cut into, where rows of the tensors start at
  /// multiples of `rowAlignment` bytes.
  RowVectors(const PoolLayout &pool, ValueRange tensors, int64_t rowAlignment);

  /// The head and the storage element in it (counting on over heads where
  /// flat) at which vector `unit` (`i32`) starts.
  std::pair<Value, Value> place(Arith &arith, Value unit) const;
  /// Bytes that a vector in the pool starts at a multiple of.
  int64_t poolAlignment() const { return lanes * storageBytes; }

private:
  int64_t inner, storageBytes;
};

/// Remarks that the layout keeps rows of `pool` from 16-byte accesses, where it
/// does.
void remarkRowWidth(Location location, StringRef subject,
                    const PoolLayout &pool, ValueRange tensors);

/// `width` units of a row, and so many rows, in blocks of threads.
struct RowUnits {
  int64_t width, threads;
  /// Threads of a row: neighbours take neighbouring units.
  int64_t perRow;
  /// Rows of a block; 1 where a row takes a block.
  int64_t rowsPerBlock;

  /// A thread takes up to `chunks` units of a row, so that a row is looked up
  /// by few warps, but not so many that a row has less than a warp.
  RowUnits(int64_t width, int64_t wantedThreads, int64_t chunks = 1);

  /// More steps than this are a loop, so that wide rows do not make long
  /// programs.
  static constexpr int64_t maxUnrolled = 8;

  /// Blocks for `rows` (`index`) rows, `bundle` for each row of a block, on the
  /// host.
  Value blocks(ImplicitLocOpBuilder &host, Value rows,
               int64_t bundle = 1) const;

  /// Emits `body` for the row (`index`) of a thread and the thread's number in
  /// the row (`i32`).
  void forEachRow(KernelBuilder &builder, Value rows,
                  function_ref<void(Value row, Value thread)> body) const;

  /// The same where a row has the 32 threads of a warp, which takes `bundle`
  /// rows one after the other: `find` looks up one of them, so that a lane does
  /// it for a row, and `body` is told what the row's lane found.
  void forEachBundle(
      KernelBuilder &builder, Value rows, int64_t bundle,
      function_ref<Destinations(Value row)> find,
      function_ref<void(Value row, Value thread, Destinations)> body) const;

  /// Emits `body` for those of `count` units of a row that are the thread's.
  void forEach(ImplicitLocOpBuilder &b, Value thread, int64_t count,
               function_ref<void(Value unit)> body) const;
};

/// Bytes that rows of tensors start at multiples of.
struct RowAlignment {
  /// `certain` in any case, `best` unless the host finds otherwise.
  int64_t certain, best;
  bool isCertain() const { return certain == best; }
};

/// What types say of rows of `tensors` (see `areRowsAligned`). Remarks at
/// `location` what keeps them from `maxAccessBytes`, and where it is known at
/// run time only, that `both` are made of it ("two kernels").
RowAlignment findRowAlignment(Location location, ArrayRef<Value> tensors,
                              StringRef both, unsigned rowRank = 1);

/// Calls `emit` with the alignment in bytes that rows of `tensors` have, which
/// are heads, or whole rows where vectors run on over heads (`isFlat`): once
/// where types tell, else in two branches on the host.
void emitForAlignment(ImplicitLocOpBuilder &host, ArrayRef<Value> tensors,
                      function_ref<void(int64_t alignment)> emit,
                      bool isFlat = false);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWUNITS_H
