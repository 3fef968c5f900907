//===- LaunchRecord.h - How to launch what a function launches --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch record says what a host function does to launch its kernels: which
// grids, blocks and kernel arguments, as expressions over the function's own
// arguments. Written as JSON, and as a C header that does the same with the
// CUDA driver API, it lets programs use the kernels without MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TARGET_LAUNCHRECORD_LAUNCHRECORD_H
#define KVCACHE_TARGET_LAUNCHRECORD_LAUNCHRECORD_H

#include "kvcache/Target/LaunchRecord/Expression.h"
#include "mlir/IR/BuiltinOps.h"
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::kvcache {

/// What kernels do to the memory behind an argument.
enum class MemoryAccess {
  /// Nothing.
  None,
  /// They load from it, store to it, or do both.
  Read,
  Write,
  ReadWrite,
  /// Whatever a callee of theirs does.
  Unknown
};

/// One argument of the host function.
struct HostArgument {
  /// What the host function takes it for.
  enum class Kind {
    /// Device memory with sizes and strides.
    Tensor,
    /// Memory that the host reads before it launches: a packed array.
    HostArray,
    /// A number.
    Scalar
  };
  /// As programs know it; a C identifier.
  std::string name;
  /// What it is.
  Kind kind = Kind::Tensor;
  /// Of the elements or the scalar, as MLIR spells it, "pointer" for one.
  std::string dtype;
  /// Bytes an element; 8 for a pointer.
  unsigned bytes = 0;
  /// Whether elements or the scalar are floats.
  bool isFloat = false;
  /// Of a tensor or array, outermost first; none where free.
  SmallVector<std::optional<int64_t>> sizes;
  /// Strides in elements; none where `packed`, or where they are free.
  SmallVector<std::optional<int64_t>> strides;
  /// Strides follow from the sizes, row-major.
  bool packed = false;
  /// Bytes; device memory only.
  int64_t alignment = 1;
  /// Whether a launch depends on the pointer; on anything of the argument.
  bool pointerUsed = false, used = false;
  /// What kernels do to its memory.
  MemoryAccess access = MemoryAccess::None;
};

/// A kernel, once however often it is launched.
struct RecordedKernel {
  /// Name of the gpu.module, and of the kernel in its PTX.
  std::string module, entry;
  /// Threads of a block that the code was compiled for, x y z.
  std::optional<std::array<int64_t, 3>> blockSize;
  /// Bytes of shared memory that the kernel itself declares.
  int64_t staticShared = 0;
};

/// An argument of a kernel, in the order of its parameters.
struct KernelArgument {
  /// "pointer", or the scalar's type as MLIR spells it.
  std::string type;
  /// Bytes of the parameter: 1, 2, 4 or 8.
  unsigned bytes = 0;
  /// Unused ones are 0.
  const Expr *value = nullptr;
  /// Whether the kernel looks at it.
  bool used = true;
  /// What the pointer has to be a multiple of.
  int64_t alignment = 1;
};

/// A condition the caller has to fulfil (`message` says which), or a launch.
struct LaunchStep {
  /// The step counts where all of these hold, outermost first.
  SmallVector<const Expr *> guards;

  /// A requirement; else a launch.
  const Expr *condition = nullptr;
  /// Why it is required.
  std::string message;

  /// Number of the record's kernel that is launched.
  unsigned kernel = 0;
  /// Blocks, threads of a block, and bytes of dynamic shared memory.
  std::array<const Expr *, 3> grid = {}, block = {};
  const Expr *dynamicShared = nullptr;
  /// In the order of the kernel's parameters.
  std::vector<KernelArgument> arguments;
};

/// Memory that the function allocates, as a part of one workspace.
struct WorkspacePart {
  /// Bytes, rounded up to whole 256.
  const Expr *bytes = nullptr;
};

/// All launches of one host function, as docs/launch-record.md describes them.
struct LaunchRecord {
  /// Name of the host function, and the C identifier made of it.
  std::string function, identifier;
  /// Of the host function, in order.
  std::vector<HostArgument> arguments;
  /// All that are launched.
  std::vector<RecordedKernel> kernels;
  /// What happens, in order.
  std::vector<LaunchStep> steps;
  /// Bytes of workspace; constant 0 where none is needed.
  const Expr *workspaceBytes = nullptr;
  /// Owns all of the formulas.
  std::unique_ptr<Expressions> expressions;
};

/// An object that a module was compiled to.
struct RecordedObject {
  /// The module, what it was compiled for, and the file's name.
  std::string module, chip, file;
};

/// What a set of records was compiled to.
struct RecordedBuild {
  /// "ptx", "cubin" or "fatbin".
  std::string format;
  /// In the order of the option.
  SmallVector<std::string> chips;
  /// One for each module and chip.
  std::vector<RecordedObject> objects;
  /// Most dynamic shared memory of a block, of the chip that has most.
  int64_t maxDynamicShared = 0;
};

/// Alignment of workspaces and their parts in bytes, that of cuMemAlloc.
constexpr int64_t workspaceAlignment = 256;

/// Returns the bytes of shared memory that a kernel declares itself.
using StaticSharedLookup =
    llvm::function_ref<int64_t(StringRef module, StringRef kernel)>;

/// Whether `function` is one that gets a record: it launches a kernel itself.
bool launchesKernels(func::FuncOp function);

/// Evaluates `function`, whose kernels are outlined and take pointers and
/// scalars. Fails, with a remark at what is in the way, where the function does
/// what a record cannot say. `identifier` is left empty.
FailureOr<LaunchRecord> evaluateLaunches(func::FuncOp function,
                                         StaticSharedLookup staticShared);

/// The record as JSON, as docs/launch-record.md describes it.
std::string writeRecordJSON(const LaunchRecord &record,
                            const RecordedBuild &build);

/// A C header (C99, C++11) with `<identifier>_launch` and what it takes.
std::string writeRecordHeader(const LaunchRecord &record,
                              const RecordedBuild &build);

} // namespace mlir::kvcache

#endif // KVCACHE_TARGET_LAUNCHRECORD_LAUNCHRECORD_H
