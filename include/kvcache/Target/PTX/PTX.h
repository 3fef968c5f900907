//===- PTX.h - From a gpu.module to PTX and machine code --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of compilation: a gpu.module that holds nothing but the LLVM
// and NVVM dialects becomes PTX text, and PTX becomes a cubin or a fatbin. What
// LLVM's code generator cannot do is an error here and never ends the process.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TARGET_PTX_PTX_H
#define KVCACHE_TARGET_PTX_PTX_H

#include "kvcache/Target/Chip.h"
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace mlir::kvcache {

/// What a gpu.module is compiled to.
enum class ObjectFormat {
  /// PTX text; needs no CUDA toolkit.
  ISA,
  /// Machine code of one chip (a cubin); needs ptxas.
  Binary,
  /// A cubin with its PTX beside it; needs ptxas and fatbinary.
  Fatbin,
};

/// Returns the format that options call `name` ("isa", "bin" or "fatbin").
std::optional<ObjectFormat> parseObjectFormat(llvm::StringRef name);

/// The name that options give `format`.
llvm::StringRef stringifyObjectFormat(ObjectFormat format);

/// The ending of a file of `format`, without a dot: "ptx", "cubin", "fatbin".
llvm::StringRef getFileExtension(ObjectFormat format);

/// How a module becomes PTX or an object.
struct PTXOptions {
  /// LLVM's and ptxas' optimisation level, 0 to 3.
  unsigned optLevel = 2;
  /// Folder of a CUDA toolkit. When empty, CUDA_ROOT, CUDA_HOME, CUDA_PATH,
  /// the folders in PATH and /usr/local/cuda are searched, in this order.
  std::string toolkit;
};

/// Succeeds when `module` holds only what LLVM can translate: no operation of
/// other dialects than LLVM and NVVM, no type that the code generator lacks.
/// Otherwise says so at each offending operation.
LogicalResult checkTranslatable(gpu::GPUModuleOp module);

/// Translates `module`, which holds only the LLVM and NVVM dialects, to PTX for
/// `chip`. Functions of CUDA's libdevice are linked when the module calls them.
/// Any other function that stays undefined is an error, except those that the
/// CUDA driver itself provides (vprintf, __assertfail, malloc, free).
///
/// Reports errors at the operation concerned, or at `module`.
FailureOr<std::string> translateToPTX(gpu::GPUModuleOp module, const Chip &chip,
                                      const PTXOptions &options);

/// Assembles `ptx` with ptxas (and fatbinary) for `chip`. Returns the bytes of
/// the cubin or fatbin. A missing tool and what ptxas objects to are reported
/// through `emitError`.
FailureOr<std::string>
assemblePTX(llvm::StringRef ptx, const Chip &chip, ObjectFormat format,
            const PTXOptions &options,
            llvm::function_ref<InFlightDiagnostic()> emitError);

/// Returns the path of a file of a CUDA toolkit, for example "bin/ptxas", or
/// an empty string; searches as PTXOptions::toolkit says.
std::string findInToolkit(llvm::StringRef file, llvm::StringRef toolkit);

} // namespace mlir::kvcache

#endif // KVCACHE_TARGET_PTX_PTX_H
