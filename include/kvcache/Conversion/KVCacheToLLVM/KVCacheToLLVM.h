//===- KVCacheToLLVM.h - Lower kvcache's addresses to LLVM ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_CONVERSION_KVCACHETOLLVM_KVCACHETOLLVM_H
#define KVCACHE_CONVERSION_KVCACHETOLLVM_KVCACHETOLLVM_H

namespace mlir {
class DialectRegistry;
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace mlir::kvcache {

/// Adds the patterns that lower `kvcache.table_read` and `kvcache.byte_view`.
void populateKVCacheToLLVMPatterns(const LLVMTypeConverter &converter,
                                   RewritePatternSet &patterns);

/// Lets `convert-to-llvm`, `convert-gpu-to-nvvm` and whoever else asks dialects
/// for their patterns find those above.
void registerConvertKVCacheToLLVMInterface(DialectRegistry &registry);

} // namespace mlir::kvcache

#endif // KVCACHE_CONVERSION_KVCACHETOLLVM_KVCACHETOLLVM_H
