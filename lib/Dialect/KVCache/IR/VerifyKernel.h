//===- VerifyKernel.h - Checks that verifiers of kernels share -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_IR_VERIFYKERNEL_H
#define LIB_DIALECT_KVCACHE_IR_VERIFYKERNEL_H

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"
#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

namespace mlir::kvcache {

/// Checks that `value` is a strided memref in the default memory space of one
/// of `elements` and of shape `shape`, with last stride 1. `dims` names the
/// dimensions in messages; dynamic sizes in `shape` match any size, others must
/// be static.
LogicalResult verifyTensor(Operation *op, StringRef name, Value value,
                           ArrayRef<Type> elements, ArrayRef<int64_t> shape,
                           ArrayRef<StringRef> dims);

/// Checks a list of 32-bit (or, with `orI64`, 64-bit) numbers.
LogicalResult verifyList(Operation *op, StringRef name, Value value,
                         StringRef dim, bool orI64 = false);

/// Checks that dimension `dim` of `other` is as that of `first`, where both are
/// known.
LogicalResult verifySameSize(Operation *op, unsigned dim, StringRef firstName,
                             Value first, StringRef otherName, Value other);

/// Checks the list `[B + 1]` of ragged rows of `B` sequences; how many these
/// are, kernels compare when they are launched.
LogicalResult verifyOffsets(Operation *op, StringRef name, Value offsets);

/// Checks the operands that tell rows of `targets` where to go, and that
/// `tensors`, of which there is one at least, and these lists are of as many
/// rows as one another, where sizes are static.
LogicalResult verifyRowForm(Operation *op, RowForm form, OperandRange rows,
                            OperandRange targets, ValueRange tensors,
                            bool writesScales);

/// Checks the list in which the last of the rows that go to a slot are found,
/// if there is one.
LogicalResult verifyLastRows(Operation *op, Value workspace);

/// Checks that there are one or two targets of one layout, and as many
/// `tensors`, of which `what` names one.
LogicalResult verifyTargets(Operation *op, OperandRange targets,
                            OperandRange tensors, StringRef what);

/// Checks that caches are of one layout.
LogicalResult verifyOneLayout(Operation *op, OperandRange caches);

/// Checks that there are one or two targets of one layout, and a source
/// `[T, H, D]`, or `[B, S, H, D]` in the padded form, for each.
LogicalResult verifySources(Operation *op, RowForm form, OperandRange targets,
                            OperandRange sources);

/// Checks that rows can be quantised into `layout`, which has scales, by `rule`
/// and by the global scale where there is one.
LogicalResult verifyQuantization(Operation *op, LayoutAttr layout,
                                 QuantizationAttr rule, Value globalScale);

/// Checks a global scale, if there is one: what multiplies the scales of caches
/// of `layout`.
LogicalResult verifyGlobalScale(Operation *op, LayoutAttr layout, Value scale);

/// Checks that blocks of `tuning` (may be null) have at least `least` threads
/// ("of which four warps share a tile"), where it says how many.
LogicalResult verifyThreads(Operation *op, TuningAttr tuning, int64_t least,
                            StringRef why);

/// f32, f16 and bf16.
SmallVector<Type> getWideFloats(MLIRContext *context);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_IR_VERIFYKERNEL_H
