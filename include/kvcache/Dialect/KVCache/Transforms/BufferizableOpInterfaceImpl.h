//===- BufferizableOpInterfaceImpl.h - Bufferization ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define KVCACHE_DIALECT_KVCACHE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::kvcache {

/// Lets one-shot bufferization put the body of `kvcache.with_buffers` in its
/// place. Pools are updated where they lie; a program that would need a copy of
/// one is an error.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
