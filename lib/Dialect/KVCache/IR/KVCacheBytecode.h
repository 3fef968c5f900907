//===- KVCacheBytecode.h - Layouts and types in bytecode --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_DIALECT_KVCACHE_IR_KVCACHEBYTECODE_H
#define KVCACHE_LIB_DIALECT_KVCACHE_IR_KVCACHEBYTECODE_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

namespace mlir::kvcache {

/// Gives the dialect its encoding in bytecode.
void addBytecodeInterface(KVCacheDialect &dialect);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_DIALECT_KVCACHE_IR_KVCACHEBYTECODE_H
