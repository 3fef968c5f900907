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

#include "mlir-c/Pass.h"

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

/// Compiles with the IR after each pass in the folder `dump`.
static bool compileDumped(MlirModule module,
                          const MlirKVCacheToPTXOptions &options,
                          const std::string &dump) {
  MlirContext context = mlirModuleGetContext(module);
  MlirPassManager manager = mlirPassManagerCreate(context);
  bool done = mlirLogicalResultIsSuccess(mlirKVCacheAddToPTXPipeline(
      context, mlirPassManagerGetAsOpPassManager(manager), &options));
  if (done) {
    MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
    mlirPassManagerEnableIRPrinting(
        manager, /*printBeforeAll=*/false, /*printAfterAll=*/true,
        /*printModuleScope=*/false, /*printAfterOnlyOnChange=*/false,
        /*printAfterOnlyOnFailure=*/false, flags, toRef(dump));
    mlirOpPrintingFlagsDestroy(flags);
    nb::gil_scoped_release release;
    done = mlirLogicalResultIsSuccess(
        mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  }
  mlirPassManagerDestroy(manager);
  return done;
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
      "parse",
      [](const std::string &text, const std::string &name,
         MlirContext context) -> std::optional<MlirModule> {
        MlirModule module =
            mlirKVCacheModuleCreateParse(context, toRef(text), toRef(name));
        if (mlirModuleIsNull(module))
          return std::nullopt;
        return module;
      },
      "text"_a, "name"_a, "context"_a,
      "A module, whose places are called `name`; None where it is none "
      "(diagnostics of the context say why).");
  m.def(
      "compile",
      [](MlirModule module, const std::string &chips, const std::string &format,
         unsigned optLevel, const std::string &toolkit, bool instrument,
         bool lineInfo, const std::string &output,
         const std::string &dump) -> nb::object {
        MlirKVCacheToPTXOptions options = mlirKVCacheToPTXOptionsDefault();
        options.chips = toRef(chips);
        options.format = toRef(format);
        options.optLevel = optLevel;
        options.toolkit = toRef(toolkit);
        options.instrument = instrument;
        options.lineInfo = lineInfo;
        options.output = toRef(output);
        if (!dump.empty())
          return compileDumped(module, options, dump) ? nb::dict() : nb::none();
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
      "output"_a = "", "dump"_a = "",
      "Compiles a copy of a module; files by name, or None where it failed "
      "(diagnostics of the context say why). `output` is a folder that gets "
      "the files, too. With `dump`, a folder for the IR after each pass, the "
      "module itself is compiled, and the files go to `output` only.");
}
