//===- KVCacheToMemRef.h - Lower kvcache to memref --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_CONVERSION_KVCACHETOMEMREF_KVCACHETOMEMREF_H
#define KVCACHE_CONVERSION_KVCACHETOMEMREF_KVCACHETOMEMREF_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace mlir::kvcache {

#define GEN_PASS_DECL_CONVERTKVCACHETOMEMREFPASS
#include "kvcache/Conversion/Passes.h.inc"

/// Teaches `converter` that a type of the dialect becomes several builtin ones:
/// pointers (rank-0 memrefs) and scalars, whose number and order follow from
/// the type.
void populateKVCacheToMemRefTypeConversion(TypeConverter &converter);

/// Adds the patterns that lower kvcache operations and the function signatures,
/// launches and branches that carry its values. `converter` must know the types
/// above and outlive the patterns.
void populateKVCacheToMemRefPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter);

} // namespace mlir::kvcache

#endif // KVCACHE_CONVERSION_KVCACHETOMEMREF_KVCACHETOMEMREF_H
