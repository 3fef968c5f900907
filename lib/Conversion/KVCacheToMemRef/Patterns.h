//===- Patterns.h - The parts of the conversion to memref ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_KVCACHETOMEMREF_PATTERNS_H
#define LIB_CONVERSION_KVCACHETOMEMREF_PATTERNS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvcache {

void populateCollectionPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter);
void populateLookupPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter);
void populateAccessPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter);
void populatePagePatterns(RewritePatternSet &patterns,
                          const TypeConverter &converter);
void populateTMAPatterns(RewritePatternSet &patterns,
                         const TypeConverter &converter);
void populateSignaturePatterns(RewritePatternSet &patterns,
                               const TypeConverter &converter);

/// Reports, in the words of a user, what cannot be lowered: dialect types
/// inside other types, and operations that do not know what to do with them.
LogicalResult checkLowerable(Operation *root);

/// Lowers the `gpu.printf` by which checks report: on the host to dprintf to
/// stderr, in kernels to vprintf.
LogicalResult lowerPrintf(ModuleOp module);

} // namespace mlir::kvcache

#endif // LIB_CONVERSION_KVCACHETOMEMREF_PATTERNS_H
