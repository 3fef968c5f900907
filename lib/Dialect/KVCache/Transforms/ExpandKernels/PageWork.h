//===- PageWork.h - Blocks of threads over pages and tokens --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEWORK_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEWORK_H

#include "ExpandKernels.h"
#include "PagePieces.h"

namespace mlir::kvcache {

/// A kernel of which each block takes a tile of an item: as many units of one
/// piece as its threads have in flight.
class PageWork {
public:
  /// What a thread does with units of a piece, each with its place.
  using OnUnits =
      function_ref<void(const PagePiece &, ArrayRef<SmallVector<Value>>)>;

  PageWork(ImplicitLocOpBuilder &host, Operation *op, const PageScope &scope,
           const PagePieces &pieces, Tuning tuning);

  KernelBuilder &builder() { return kernelBuilder; }
  PageKernel &kernel() { return pageKernel; }

  /// Emits `body` for each of `items` (`index`) items and launches the kernel;
  /// what it calls with a function emits that for the thread's units.
  void launch(Value items,
              function_ref<void(Value item, function_ref<void(OnUnits)>)> body);

private:
  void emitPiece(size_t number, Value tile, OnUnits onUnits);
  void emitTile(const PagePiece &piece, Value total, Value tile,
                OnUnits onUnits);

  ImplicitLocOpBuilder &host;
  PageScope scope;
  const PagePieces &pieces;
  Tuning tuning;
  KernelBuilder kernelBuilder;
  PageKernel pageKernel;
  /// Units and tiles of an item, a piece each: `index` on the host.
  SmallVector<Value> totals, tiles;
};

/// A list of ids of blocks (pages) or slots (tokens), or two side by side, in a
/// kernel.
class IdList {
public:
  /// `lists` are one list, one of pairs, or two.
  IdList(KernelBuilder &builder, ArrayRef<Value> lists, const PageScope &scope);

  /// The ids at `index`, as they are stored.
  SmallVector<Value> read(Value index);
  /// Whether all ids are those of items of the source (first) and the target
  /// (second); null where `policy` takes that for granted, and a trap where it
  /// says so.
  Value areInside(PageKernel &kernel, ArrayRef<Value> ids, OutOfRange policy);
  /// The item of an id.
  PageItem item(Value id);

private:
  ImplicitLocOpBuilder &b;
  SmallVector<Tensor> lists;
  bool tokens;
  int64_t pageSize;
};

/// The scopes of an operation and the lists of each: one of everything, or,
/// where scales have ids of their own, one of values and one of scales.
/// `lists` are one, or one for values and one for scales, of each kind.
void forEachScope(PageScope scope, ArrayRef<OperandRange> lists,
                  function_ref<void(const PageScope &, ArrayRef<Value>)> body);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEWORK_H
