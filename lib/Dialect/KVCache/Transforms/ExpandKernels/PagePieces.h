//===- PagePieces.h - What pages and tokens are made of ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An item, a page or a token, consists of pieces, in all layers and sides; a
// piece of units, what a thread moves at once. Where bytes lie alike in source
// and target, pieces are runs of bytes; else they are the elements of a pool.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEPIECES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEPIECES_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// What is read and written, on the host.
struct PageScope {
  /// Collections, the same one where nothing goes elsewhere.
  Value source, target;
  /// Whether items are tokens, in slots of pages, or whole pages.
  bool tokens = false;
  /// Whether values (with tails) and scales are meant.
  bool values = true, scales = true;
  /// The layers that are meant; all without a list.
  std::optional<ArrayRef<int64_t>> layers;

  PageScope(Value source, Value target) : source(source), target(target) {}

  LayoutAttr sourceLayout() const { return getLayout(source.getType()); }
  LayoutAttr targetLayout() const { return getLayout(target.getType()); }
  /// Layers that are meant, on the host: `index`.
  Value countLayers(ImplicitLocOpBuilder &host) const;
};

/// A page, or a token of it, in a kernel: `i32`s, the slot null for a page.
struct PageItem {
  Value block, slot;
};

/// A scope in a kernel.
struct PageKernel {
  ImplicitLocOpBuilder &b;
  PageScope scope;
  /// The collections.
  Value source, target;
  /// Layers of the collections: `i32`.
  Value layers;

  PageKernel(KernelBuilder &builder, const PageScope &scope);

  /// Side (`i1`, null for keys) and layer (`i32`) of the `number`-th layer that
  /// is meant, counted over the sides.
  std::pair<Value, Value> layerOf(Value number) const;
};

/// A part of the items of a scope.
class PagePiece {
public:
  virtual ~PagePiece() = default;

  /// Units a layer of a side, and sides that are counted.
  int64_t units, sides;
  /// Type of a unit.
  Type type;

  /// The values by which unit `unit` (`i32`, counted over sides, layers and
  /// units) is found in any item.
  virtual SmallVector<Value> place(PageKernel &kernel, Value unit) const = 0;
  /// Loads a unit of the source.
  virtual Value load(PageKernel &kernel, PageItem item,
                     ArrayRef<Value> place) const = 0;
  /// Stores one in the target.
  virtual void store(PageKernel &kernel, PageItem item, ArrayRef<Value> place,
                     Value value) const = 0;
};

using PagePieces = SmallVector<std::unique_ptr<PagePiece>>;

/// Whether an item's bytes lie alike in both collections, up to the pitch, and
/// those of its elements side by side.
bool areBytesAlike(const PageScope &scope);

/// Calls `emit` with the pieces of the items of `scope`: once where page
/// pitches are known or do not matter, else in two branches on the host.
void emitForPieces(ImplicitLocOpBuilder &host, const PageScope &scope,
                   function_ref<void(const PagePieces &)> emit);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEPIECES_H
