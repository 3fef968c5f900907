//===- SharedMemory.h - Shared memory of compiled kernels -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_SHAREDMEMORY_H
#define KVCACHE_LIB_PIPELINES_SHAREDMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kvcache {

/// Returns, for each kernel of `module`, which is at the LLVM dialect, the
/// bytes of shared memory that it declares: an i64 attribute by the kernel's
/// name. Dynamic shared memory does not count.
DictionaryAttr getSharedBytes(gpu::GPUModuleOp module);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_SHAREDMEMORY_H
