//===- KVCacheKernels.cpp - Operations that are kernels ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::kvcache;

#define GET_OP_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.cpp.inc"
