/*===- kvcache-c/Compile.h - From kvcache IR to PTX in C --------------------===
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * Passes, pipelines, and compilation to PTX and launch records. Nothing here
 * ends the process: errors are diagnostics of the context.
 */
#ifndef KVCACHE_C_COMPILE_H
#define KVCACHE_C_COMPILE_H

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/// "0.1.0"
MLIR_CAPI_EXPORTED MlirStringRef mlirKVCacheGetVersion(void);
/// Version of the LLVM that it is built with and runs on: "22.1.8".
MLIR_CAPI_EXPORTED MlirStringRef mlirKVCacheGetLLVMVersion(void);

/// Adds the dialect, its lowering to LLVM and its checks at run time, and the
/// dialects that compilation needs.
MLIR_CAPI_EXPORTED void
mlirKVCacheRegisterAllDialects(MlirDialectRegistry registry);
/// Makes the passes and pipelines known by name, once a process.
MLIR_CAPI_EXPORTED void mlirKVCacheRegisterAllPasses(void);

/// Parses a module's text, as mlirModuleCreateParse does; its places are called
/// `name`, as those of a file. Null where it is none, or bytecode, or nested
/// so deep that MLIR's parser or passes would not survive it (more than 256
/// brackets).
MLIR_CAPI_EXPORTED MlirModule mlirKVCacheModuleCreateParse(MlirContext context,
                                                           MlirStringRef source,
                                                           MlirStringRef name);

/// Options of the pipeline that makes PTX and launch records, as those of
/// kvcache-to-ptx.
typedef struct {
  /// Chips to compile for, separated by commas: "sm_80,sm_90a".
  MlirStringRef chips;
  /// "isa" (PTX), "bin" or "fatbin"; the last two need the CUDA toolkit.
  MlirStringRef format;
  /// 0 to 3.
  unsigned optLevel;
  /// Folder to write files to, too, or empty.
  MlirStringRef output;
  /// Folder of the CUDA toolkit, or empty to search for it.
  MlirStringRef toolkit;
  /// Check kernels, lookups and accesses at run time.
  bool instrument;
  /// Write `.loc` directives with the lines of the program.
  bool lineInfo;
  /// How operations without a tuning are cut into threads
  /// (MlirKVCacheTuning); 0 leaves the choice to the compiler.
  int64_t threads, chunks, blocksPerSM;
  /// Blocks that the first dimension of a grid has at most; 0: the hardware's
  /// limit. More work goes round.
  int64_t maxBlocks;
} MlirKVCacheToPTXOptions;

/// PTX for sm_80, level 2. Strings live as long as the process.
MLIR_CAPI_EXPORTED MlirKVCacheToPTXOptions mlirKVCacheToPTXOptionsDefault(void);

/// Adds the pipeline kvcache-to-ptx; fails, with a diagnostic of `context`, on
/// options that are none and on a manager of other operations than modules.
MLIR_CAPI_EXPORTED MlirLogicalResult
mlirKVCacheAddToPTXPipeline(MlirContext context, MlirOpPassManager manager,
                            const MlirKVCacheToPTXOptions *options);
/// Adds the pipeline kvcache-host-to-llvm; fails, with a diagnostic of
/// `context`, on a manager of other operations than modules.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheAddHostToLLVMPipeline(
    MlirContext context, MlirOpPassManager manager);

/// What a module was compiled to.
typedef struct MlirKVCacheCompiled {
  /// Null where compilation failed.
  void *ptr;
} MlirKVCacheCompiled;

/// Compiles a copy of `module`; null where that fails. Of each gpu.module and
/// chip there is a file `<module>.<chip>.ptx` (`.cubin`, `.fatbin`), and of
/// each host function that launches a launch record, `<function>.json` and
/// `<function>.h` (docs/launch-record.md).
MLIR_CAPI_EXPORTED MlirKVCacheCompiled
mlirKVCacheCompile(MlirModule module, const MlirKVCacheToPTXOptions *options);
/// Whether compilation failed.
static inline bool mlirKVCacheCompiledIsNull(MlirKVCacheCompiled compiled) {
  return !compiled.ptr;
}
/// Frees the files; texts given of them are gone.
MLIR_CAPI_EXPORTED void
mlirKVCacheCompiledDestroy(MlirKVCacheCompiled compiled);
/// Files; names and contents live as long as `compiled`.
MLIR_CAPI_EXPORTED intptr_t
mlirKVCacheCompiledGetNumFiles(MlirKVCacheCompiled compiled);
/// The name of a file, by its number; empty where there is no such file.
MLIR_CAPI_EXPORTED MlirStringRef
mlirKVCacheCompiledGetName(MlirKVCacheCompiled compiled, intptr_t file);
/// What is in a file, by its number; empty where there is no such file.
MLIR_CAPI_EXPORTED MlirStringRef
mlirKVCacheCompiledGetContent(MlirKVCacheCompiled compiled, intptr_t file);
/// The content of the file called `name`; a null string where there is none.
MLIR_CAPI_EXPORTED MlirStringRef
mlirKVCacheCompiledLookup(MlirKVCacheCompiled compiled, MlirStringRef name);

#ifdef __cplusplus
}
#endif

#endif /* KVCACHE_C_COMPILE_H */
