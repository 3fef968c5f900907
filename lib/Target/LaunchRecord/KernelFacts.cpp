//===- KernelFacts.cpp - What kernels do to their arguments ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEvaluator.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kvcache;

MemoryAccess kvcache::join(MemoryAccess a, MemoryAccess b) {
  if (a == b || b == MemoryAccess::None)
    return a;
  if (a == MemoryAccess::None)
    return b;
  if (a == MemoryAccess::Unknown || b == MemoryAccess::Unknown)
    return MemoryAccess::Unknown;
  return MemoryAccess::ReadWrite;
}

/// What one operation does to the memory of `memref`, its operand.
static MemoryAccess getAccess(Operation *user, Value memref) {
  if (isa<TableReadOp>(user))
    return MemoryAccess::Read;
  if (isa<memref::DimOp>(user))
    return MemoryAccess::None;
  auto effects = dyn_cast<MemoryEffectOpInterface>(user);
  if (!effects || user->getNumRegions() != 0)
    return MemoryAccess::Unknown;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffects(found);
  MemoryAccess access = MemoryAccess::None;
  for (const MemoryEffects::EffectInstance &effect : found) {
    if (effect.getValue() && effect.getValue() != memref)
      continue;
    access = join(access, isa<MemoryEffects::Read>(effect.getEffect())
                              ? MemoryAccess::Read
                          : isa<MemoryEffects::Write>(effect.getEffect())
                              ? MemoryAccess::Write
                              : MemoryAccess::Unknown);
  }
  // An address that leaves as a number may come back as a pointer.
  return found.empty() ? MemoryAccess::Unknown : access;
}

MemoryAccess kvcache::getKernelAccess(FunctionOpInterface kernel,
                                      unsigned argument) {
  if (kernel.getArgAttr(argument, LLVM::LLVMDialect::getReadonlyAttrName()))
    return MemoryAccess::Read;
  if (kernel.getArgAttr(argument, LLVM::LLVMDialect::getWriteOnlyAttrName()))
    return MemoryAccess::Write;
  MemoryAccess access = MemoryAccess::None;
  forEachMemoryUse(
      kernel.getArgument(argument), [&](Operation *user, Value view) {
        if (!isa<ViewLikeOpInterface, memref::ExtractStridedMetadataOp>(user))
          access = join(access, getAccess(user, view));
      });
  return access;
}
