//===- KernelArguments.h - What kernels rely on -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KERNELARGUMENTS_H
#define KVCACHE_DIALECT_KVCACHE_IR_KERNELARGUMENTS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::kvcache {

/// Bytes of an element of `type` in memory, 0 where they are not known.
int64_t getElementBytes(Type type);

/// Calls `visit` with each user of the memory of `memref`, and with what it
/// uses: `memref` or a view of it.
void forEachMemoryUse(Value memref,
                      function_ref<void(Operation *, Value)> visit);

/// The alignment in bytes that a kernel relies on for its argument, a pointer
/// or a memref: that of its elements, or of wider accesses. Launch records
/// state it, and `kvcache-instrument` compares addresses with it.
int64_t getKernelAlignment(FunctionOpInterface kernel, unsigned argument);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_KERNELARGUMENTS_H
