//===- Pipelines.h - From kvcache IR to PTX and to host code ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines as functions that fill a pass manager. kvcache-opt registers them
// under the names given here. All run on a builtin module.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_PIPELINES_PIPELINES_H
#define KVCACHE_PIPELINES_PIPELINES_H

#include "kvcache/Target/PTX/PTX.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::kvcache {

/// A file that a program was compiled to.
struct CompiledFile {
  /// `<module>.<chip>.<ptx|cubin|fatbin>`, or `<function>.json` or
  /// `<function>.h`, a launch record.
  std::string name;
  std::string content;
};

/// How to compile device code.
struct KVCacheToPTXOptions {
  /// Chips to compile for, in the order of the gpu.binary's objects. Code for
  /// sm_80 runs on every later chip as PTX; `a` and `f` chips' code does not.
  llvm::SmallVector<std::string> chips = {"sm_80"};
  /// What to compile to.
  ObjectFormat format = ObjectFormat::ISA;
  /// LLVM's and ptxas' optimisation level, 0 to 3.
  unsigned optLevel = 2;
  /// Folder to write `<module>.<chip>.<ptx|cubin|fatbin>` to, and a launch
  /// record as `<function>.json` and `<function>.h`; or empty.
  std::string output;
  /// Where to put the same files in memory, or null. It lives as long as the
  /// pipeline, and each run that succeeds puts its own files in place of
  /// others.
  std::vector<CompiledFile> *files = nullptr;
  /// Folder of the CUDA toolkit, or empty to search for it.
  std::string toolkit;
  /// What kvcache-expand-kernels takes for operations without a `tuning`
  /// attribute; 0 leaves the choice to the operation.
  int64_t threads = 0, chunks = 0, blocksPerSM = 0, maxBlocks = 0;
  /// Check kernels, lookups and accesses at run time (kvcache-instrument).
  bool instrument = false;
  /// Write `.loc` directives with the lines of the program.
  bool lineInfo = false;
};

/// `kvcache-to-ptx`: compiles the device code of a module. Each gpu.launch is
/// outlined, and each gpu.module becomes a gpu.binary with one object for each
/// chip; host code keeps its level but for the kvcache dialect, which is gone.
/// Kernels take pointers and scalars: see kvcache-expand-kernel-memrefs.
///
/// Whatever is wrong with a program, an option or a file is an error with a
/// location; nothing ends the process.
void buildKVCacheToPTXPipeline(OpPassManager &pm,
                               const KVCacheToPTXOptions &options = {});

/// Which kinds of operations there are in a gpu.module, of those that most
/// modules lack and that have passes of their own. Passes cost time, and the
/// verification after each costs more, even where they find nothing.
struct DeviceContents {
  /// Operations of these dialects.
  bool nvgpu = true, linalg = true, affine = true;
  /// `vector.transfer_read` and `vector.transfer_write`.
  bool transfers = true;
  /// Views and whatever else of memref is neither access nor variable.
  bool views = true;

  /// What there is in `module`.
  static DeviceContents of(gpu::GPUModuleOp module);
};

/// The device part of `kvcache-to-ptx`, for a gpu.module without kvcache
/// operations: everything to the LLVM and NVVM dialects, for `chip`. Passes
/// for what `contents` lacks are left out.
void buildDeviceToNVVMPipeline(OpPassManager &pm, llvm::StringRef chip,
                               const DeviceContents &contents = {});

/// `kvcache-host-to-llvm`: lowers host code around gpu.binary to the LLVM
/// dialect, so that mlir-runner or an ExecutionEngine runs it with the runtime
/// library. Functions take memref descriptors as MLIR's own conversion passes
/// them; kernels take bare pointers.
void buildKVCacheHostPipeline(OpPassManager &pm);

/// What hinders a pass manager from holding `pipeline`, whose passes are for
/// modules: the operation that it is for; empty if nothing does. MLIR ends the
/// process where such passes are added to another.
std::string checkPipelineAnchor(const OpPassManager &manager,
                                llvm::StringRef pipeline);

/// Makes the pipelines known by name.
void registerPipelines();

} // namespace mlir::kvcache

#endif // KVCACHE_PIPELINES_PIPELINES_H
