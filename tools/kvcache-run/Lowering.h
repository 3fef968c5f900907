// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a program's IR to what mlir::ExecutionEngine takes.
#ifndef KVCACHE_TOOLS_KVCACHE_RUN_LOWERING_H
#define KVCACHE_TOOLS_KVCACHE_RUN_LOWERING_H

#include "kvcache/Target/Chip.h"

#include "mlir/IR/BuiltinOps.h"

namespace kvcache_run {

struct LoweringOptions {
  /// Target of the gpu.modules that name none of their own.
  mlir::kvcache::Chip chip;
};

/// Lowers gpu.modules to PTX inside gpu.binary ops, and the host side to the
/// LLVM dialect with calls of the runtime. PTX carries the program's lines, so
/// that reports name them. Errors are diagnostics.
mlir::LogicalResult lowerProgram(mlir::ModuleOp module,
                                 const LoweringOptions &options);

} // namespace kvcache_run

#endif // KVCACHE_TOOLS_KVCACHE_RUN_LOWERING_H
