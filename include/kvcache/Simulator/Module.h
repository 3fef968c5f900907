// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A PTX module: what it declares. Parsing checks the syntax of everything but
// understands the instructions of a kernel only when that kernel is first
// launched, so that one unsupported instruction refuses one kernel, not all.
#ifndef KVCACHE_SIMULATOR_MODULE_H
#define KVCACHE_SIMULATOR_MODULE_H

#include "kvcache/Simulator/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// Sizes of a grid or a block.
struct Dim3 {
  /// Sizes of the three dimensions.
  uint32_t x = 1, y = 1, z = 1;
  /// The product of the three.
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// One kernel parameter. Offsets are bytes into the parameter block that a
/// launch receives.
struct ParamInfo {
  /// As the PTX names it.
  std::string name;
  /// Where it lies, its size and its alignment, in bytes.
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t align = 1;
  /// Element type as PTX spells it, without the dot: "u64", "b8", ...
  std::string type;
};

/// What the header of an `.entry` says.
struct KernelInfo {
  /// As the PTX names it.
  std::string name;
  /// Its parameters, in order.
  std::vector<ParamInfo> params;
  /// Bytes of the whole parameter block.
  uint32_t paramBytes = 0;
  /// `.maxntid`: an upper bound of the threads in a block; 0 where not given.
  uint32_t maxThreads = 0;
  /// `.reqntid`: the only block shape allowed; {0,0,0} where not given.
  Dim3 requiredBlock{0, 0, 0};
  /// `.reqnctapercluster`: the only cluster shape allowed; {0,0,0} where not
  /// given.
  Dim3 requiredCluster{0, 0, 0};
  /// `.blocksareclusters`: a launch's grid counts clusters of that shape.
  bool gridCountsClusters = false;
  /// `.maxclusterrank`: the most blocks of a cluster; 0 where not given.
  uint32_t maxClusterBlocks = 0;
  /// Bytes of statically declared shared memory that the kernel, or a function
  /// it calls, names.
  uint32_t staticSharedBytes = 0;
  /// Whether it, or a function it calls, names dynamic shared memory.
  bool usesDynamicShared = false;
  /// 1-based line of the `.entry`.
  uint32_t line = 0;
};

/// A variable in `.global` or `.const` space.
struct GlobalInfo {
  /// As the PTX names it.
  std::string name;
  /// Bytes, and what its address is a multiple of.
  uint64_t size = 0;
  uint32_t align = 1;
  /// Whether it is in `.const` space.
  bool isConst = false;
  /// The text gives an initial value (the rest is zero, as CUDA has it).
  bool initialised = false;
};

class ModuleImpl;

/// A parsed module; immutable, may be loaded onto any number of devices.
class Module {
public:
  /// Parses PTX text. A trailing NUL ends the text. On error the message is
  /// `<name>:<line>:<column>: error: <what>` followed by the line itself.
  static Result<std::shared_ptr<const Module>>
  parse(std::string_view text, std::string_view name = "<ptx>");

  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// What it was parsed as, for messages.
  const std::string &name() const;
  /// `.target` without options, e.g. "sm_90a".
  const std::string &target() const;
  /// Kernels in order of appearance.
  const std::vector<KernelInfo> &kernels() const;
  /// Null if there is no such kernel.
  const KernelInfo *findKernel(std::string_view kernel) const;
  /// Variables in order of appearance.
  const std::vector<GlobalInfo> &globals() const;

  /// Decodes a kernel as a launch would, to report unsupported instructions
  /// early.
  Status check(std::string_view kernel) const;

  /// The simulator's own view.
  const ModuleImpl &impl() const { return *pimpl; }

private:
  explicit Module(std::unique_ptr<ModuleImpl> impl);
  std::unique_ptr<ModuleImpl> pimpl;
};

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_MODULE_H
