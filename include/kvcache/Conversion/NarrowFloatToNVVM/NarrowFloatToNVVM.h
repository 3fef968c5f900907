//===- NarrowFloatToNVVM.h - 8 and 4 bit floats to NVVM ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_CONVERSION_NARROWFLOATTONVVM_NARROWFLOATTONVVM_H
#define KVCACHE_CONVERSION_NARROWFLOATTONVVM_NARROWFLOATTONVVM_H

#include "kvcache/Target/Chip.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace mlir {
class ConversionTarget;
class RewritePatternSet;
} // namespace mlir

namespace mlir::kvcache {

#define GEN_PASS_DECL_CONVERTNARROWFLOATTONVVMPASS
#include "kvcache/Conversion/Passes.h.inc"

/// How to lower conversions of narrow floats.
struct NarrowFloatToNVVMOptions {
  /// The chip that device code is for. Without one, and in host code, plain
  /// arithmetic is emitted.
  std::optional<Chip> chip;
};

/// Adds the patterns that lower conversions from and to f8E4M3FN, f8E5M2,
/// f8E8M0FNU and f4E2M1FN. They leave alone what
/// checkNarrowFloatConversion() rejects.
void populateNarrowFloatToNVVMPatterns(RewritePatternSet &patterns,
                                       const NarrowFloatToNVVMOptions &options);

/// Makes illegal what the patterns are there to convert. Run them without
/// folding (`DialectConversionFoldingMode::Never`): MLIR's folders have other
/// rules for NaN and infinity.
void configureNarrowFloatToNVVMLegality(ConversionTarget &target);

/// Succeeds when `op` converts no narrow float or the patterns can lower it;
/// otherwise says at the op why not.
LogicalResult checkNarrowFloatConversion(Operation *op);

} // namespace mlir::kvcache

#endif // KVCACHE_CONVERSION_NARROWFLOATTONVVM_NARROWFLOATTONVVM_H
