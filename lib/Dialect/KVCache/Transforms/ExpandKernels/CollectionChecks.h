//===- CollectionChecks.h - What collections promise ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_COLLECTIONCHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_COLLECTIONCHECKS_H

#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::kvcache {

/// Asserts on the host what kernel operations rely on in the collections that
/// they are given, and that the host knows: layers, and of a collection that
/// is made in sight, where it is made, sizes, strides and alignment of pools,
/// tables and lengths; of another, at the operation, the page pitches and the
/// numbers of blocks.
class CollectionChecks {
public:
  /// Emits them for `op`, before it; once for a collection that is in sight.
  void emit(Operation *op);

private:
  llvm::SmallPtrSet<Operation *, 4> checked;
};

/// The same of collections that are not made in sight, for a kernel written by
/// hand, which `launch` gives `values`.
void emitGivenCollectionChecks(Operation *launch, ValueRange values);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_COLLECTIONCHECKS_H
