// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/Module.h"
#include "Ast.h"
#include "Program.h"

using namespace ptxsim;

Module::Module(std::unique_ptr<ModuleImpl> impl) : pimpl(std::move(impl)) {}
Module::~Module() = default;

Result<std::shared_ptr<const Module>> Module::parse(std::string_view text,
                                                    std::string_view name) {
  auto impl = std::make_unique<ModuleImpl>();
  impl->name = std::string(name);
  // Of ELF and of fatbins.
  for (std::string_view magic : {"\177ELF", "\x50\xed\x55\xba"})
    if (text.substr(0, magic.size()) == magic)
      return Status::error(impl->name +
                           ": error: expected the text of PTX, got a cubin or "
                           "fatbin; compile to PTX (nvcc -ptx), or take it "
                           "out of a fatbin (cuobjdump -xptx all)");
  impl->text = std::string(text.substr(0, text.find('\0')));
  if (impl->text.size() > (size_t(1) << 30))
    return Status::error(impl->name + ": error: PTX text is larger than 2^30 "
                                      "bytes");
  Status status = parseModule(*impl);
  if (!status.ok())
    return status;
  return std::shared_ptr<const Module>(new Module(std::move(impl)));
}

const std::string &Module::name() const { return pimpl->name; }
const std::string &Module::target() const { return pimpl->target; }
const std::vector<KernelInfo> &Module::kernels() const {
  return pimpl->kernels;
}
const std::vector<GlobalInfo> &Module::globals() const {
  return pimpl->globals;
}

const KernelInfo *Module::findKernel(std::string_view kernel) const {
  for (const KernelInfo &info : pimpl->kernels)
    if (info.name == kernel)
      return &info;
  return nullptr;
}

Status Module::check(std::string_view kernel) const {
  const ast::Function *function = pimpl->findFunction(kernel);
  if (!function || !function->isEntry)
    return Status::error("no kernel '" + std::string(kernel) + "' in " +
                         pimpl->name);
  // Any address does: nothing is executed.
  AddressOf anywhere = [](const ast::Variable &variable) -> uint64_t {
    return variable.isExtern ? 0 : 4096;
  };
  Result<std::unique_ptr<Program>> program =
      decode(*pimpl, *function, DecodeOptions(), anywhere);
  return program.ok() ? Status() : program.status();
}
