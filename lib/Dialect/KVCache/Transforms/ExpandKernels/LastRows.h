//===- LastRows.h - The last of the rows that go to a slot ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LASTROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LASTROWS_H

#include "AppendedRows.h"

namespace mlir::kvcache {

/// In a workspace, an entry a slot of each pool whose blocks are counted apart,
/// the last of the rows that go there. Without a workspace all rows do.
class LastRows {
public:
  LastRows(ImplicitLocOpBuilder &host, const AppendedRows &rows);

  /// Emits the kernels that find them, before the operation.
  void emitFind(Tuning tuning);

  /// Lets `map`, of a kernel that `builder` writes, send no other rows.
  void restrict(KernelBuilder &builder, RowMap &map) const;

  /// The entries (`index`) of the workspace; null where there is none.
  Value entries() const { return count; }

private:
  /// A collection that is written: one of the targets, and its first entry of
  /// each pool (`index` on the host); null of what is not written.
  struct Part {
    Value target, values, scales;
  };
  /// Clears the entries of the rows' slots, or keeps the largest row in each.
  void emitPass(Tuning tuning, bool clear);

  ImplicitLocOpBuilder &host;
  AppendedRows rows;
  SmallVector<Part> parts;
  Value count;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LASTROWS_H
