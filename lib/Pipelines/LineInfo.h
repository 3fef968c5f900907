//===- LineInfo.h - Source lines for device code ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_LINEINFO_H
#define KVCACHE_LIB_PIPELINES_LINEINFO_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kvcache {

/// Gives the functions of a module at the LLVM dialect the debug scopes that
/// `.loc` directives are made from; nothing else of debug info, so that code
/// stays as it is. MLIR's own pass does so for a builtin module only.
void attachLineInfo(gpu::GPUModuleOp module);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_LINEINFO_H
