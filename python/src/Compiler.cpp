//===- Compiler.cpp - Registration and compilation in Python --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from attributes and types, which need kvcache.ir: this module is loaded
// while that one is.
//
//===----------------------------------------------------------------------===//

#include "kvcache-c/Compile.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <string>

namespace nb = nanobind;
using namespace nb::literals;

static std::string toString(MlirStringRef text) {
  return std::string(text.data ? text.data : "", text.length);
}

static MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

NB_MODULE(_kvcacheCompiler, m) {
  m.doc() = "The kvcache compiler";
  mlirKVCacheRegisterAllPasses();

  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) {
        mlirKVCacheRegisterAllDialects(registry);
      },
      "registry"_a, "Adds the dialect and what compilation needs.");
  m.def(
      "version", [] { return toString(mlirKVCacheGetVersion()); },
      "kvcache's version.");
  m.def(
      "llvm_version", [] { return toString(mlirKVCacheGetLLVMVersion()); },
      "The version of LLVM that kvcache was built with.");
  m.def(
      "compile",
      [](MlirModule module, const std::string &chips, const std::string &format,
         unsigned optLevel, const std::string &toolkit, bool instrument,
         bool lineInfo) -> nb::object {
        MlirKVCacheToPTXOptions options = mlirKVCacheToPTXOptionsDefault();
        options.chips = toRef(chips);
        options.format = toRef(format);
        options.optLevel = optLevel;
        options.toolkit = toRef(toolkit);
        options.instrument = instrument;
        options.lineInfo = lineInfo;
        MlirKVCacheCompiled compiled;
        {
          nb::gil_scoped_release release;
          compiled = mlirKVCacheCompile(module, &options);
        }
        if (mlirKVCacheCompiledIsNull(compiled))
          return nb::none();
        nb::dict files;
        for (intptr_t i = 0; i < mlirKVCacheCompiledGetNumFiles(compiled);
             ++i) {
          MlirStringRef content = mlirKVCacheCompiledGetContent(compiled, i);
          files[toString(mlirKVCacheCompiledGetName(compiled, i)).c_str()] =
              nb::bytes(content.data, content.length);
        }
        mlirKVCacheCompiledDestroy(compiled);
        return files;
      },
      "module"_a, "chips"_a, "format"_a = "isa", "opt_level"_a = 2,
      "toolkit"_a = "", "instrument"_a = false, "line_info"_a = false,
      "Compiles a copy of a module; files by name, or None where it failed "
      "(diagnostics of the context say why).");
}
