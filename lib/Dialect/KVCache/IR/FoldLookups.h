//===- FoldLookups.h - Canonical forms of lookups and accesses --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_IR_FOLDLOOKUPS_H
#define LIB_DIALECT_KVCACHE_IR_FOLDLOOKUPS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::kvcache {

/// Adds patterns that give lookups and accesses of the same thing the same
/// form, so that common subexpression elimination shares them.
void populateLookupCanonicalizationPatterns(RewritePatternSet &patterns);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_IR_FOLDLOOKUPS_H
