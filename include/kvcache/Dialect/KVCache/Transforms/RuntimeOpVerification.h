//===- RuntimeOpVerification.h - Checks at run time -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_TRANSFORMS_RUNTIMEOPVERIFICATION_H
#define KVCACHE_DIALECT_KVCACHE_TRANSFORMS_RUNTIMEOPVERIFICATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::kvcache {

/// Lets `generate-runtime-verification` check kvcache operations at run time.
///
/// `kvcache.get_paged_cache`: its contract, as far as types do not settle it.
/// Lookups and accesses: sequence, token, head and element. Where the
/// collection is in sight sequence and token are held against its tables, the
/// layer against its pool, and loads and stores check the block too. What a
/// policy `skip` leaves out is no fault and not checked.
void registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_TRANSFORMS_RUNTIMEOPVERIFICATION_H
