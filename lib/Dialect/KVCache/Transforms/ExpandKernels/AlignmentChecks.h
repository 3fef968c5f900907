//===- AlignmentChecks.h - What kernels assume of addresses -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ALIGNMENTCHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ALIGNMENTCHECKS_H

#include "mlir/IR/Operation.h"

namespace mlir::kvcache {

/// Asserts on the host that the memrefs of `op`, which was expanded to what
/// follows `last` (null for the beginning of the block), start at the
/// multiples that the kernels launched there rely on, as launch records state
/// them. The checks come first, so that nothing has been written where one
/// fails. What is not launched relies on nothing.
void emitAlignmentChecks(Operation *op, Operation *last);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ALIGNMENTCHECKS_H
