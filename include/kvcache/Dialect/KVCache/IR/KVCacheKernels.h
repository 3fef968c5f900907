//===- KVCacheKernels.h - Operations that are kernels -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host calls on whole caches, and how tensor programs reach it. Apart
// from KVCache.h, which most sources need and which changes less.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_H
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::kvcache {

/// A kernel operation, which `kvcache-expand-kernels` makes a kernel and its
/// launch of.
template <typename ConcreteOp>
class KernelOpTrait : public OpTrait::TraitBase<ConcreteOp, KernelOpTrait> {};

/// Which pools of a cache or collection that it writes an operation writes.
/// Where scales have no pool of their own, they lie in the one of values.
struct WrittenPools {
  /// Whether it writes the pool of values, and that of scales.
  bool values = true, scales = true;

  /// Those of `op`; both where nothing is known.
  static WrittenPools of(Operation *op);
};

/// `i32` of workspace that `kvcache.copy_pages` and `kvcache.move_tokens` take
/// for each pair, to find an order in.
constexpr int64_t workspacePerPair = 4;

} // namespace mlir::kvcache

#define GET_OP_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h.inc"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_H
