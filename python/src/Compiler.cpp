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

#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

static std::string toString(MlirStringRef text) {
  return std::string(text.data ? text.data : "", text.length);
}

static MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

namespace {

/// What the compiler says, kept without Python, whose lock it does not hold.
struct Said {
  const char *severity;
  std::string message;
  std::string location;
  std::vector<Said> notes;
};

/// Takes what a context says, in place of those that listened before.
class Listener {
public:
  explicit Listener(MlirContext context)
      : context(context), handler(mlirContextAttachDiagnosticHandler(
                              context, listen, &said, nullptr)) {}
  ~Listener() { mlirContextDetachDiagnosticHandler(context, handler); }
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

  std::vector<Said> said;

private:
  static MlirLogicalResult listen(MlirDiagnostic diagnostic, void *into) {
    static_cast<std::vector<Said> *>(into)->push_back(keep(diagnostic));
    return mlirLogicalResultSuccess();
  }
  static Said keep(MlirDiagnostic diagnostic);

  MlirContext context;
  MlirDiagnosticHandlerID handler;
};

} // namespace

static void append(MlirStringRef text, void *into) {
  static_cast<std::string *>(into)->append(text.data, text.length);
}

static const char *nameOf(MlirDiagnosticSeverity severity) {
  switch (severity) {
  case MlirDiagnosticError:
    return "error";
  case MlirDiagnosticWarning:
    return "warning";
  case MlirDiagnosticNote:
    return "note";
  case MlirDiagnosticRemark:
    return "remark";
  }
  return "";
}

Said Listener::keep(MlirDiagnostic diagnostic) {
  Said said = {nameOf(mlirDiagnosticGetSeverity(diagnostic)), {}, {}, {}};
  mlirDiagnosticPrint(diagnostic, append, &said.message);
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), append,
                    &said.location);
  for (intptr_t i = 0; i < mlirDiagnosticGetNumNotes(diagnostic); ++i)
    said.notes.push_back(keep(mlirDiagnosticGetNote(diagnostic, i)));
  return said;
}

/// Text of programs, which may hold any bytes.
static nb::object toText(const std::string &bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), bytes.size(), "replace"));
}

static nb::list toList(const std::vector<Said> &all) {
  nb::list result;
  for (const Said &said : all)
    result.append(nb::make_tuple(said.severity, toText(said.message),
                                 toText(said.location), toList(said.notes)));
  return result;
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
    done = mlirLogicalResultIsSuccess(
        mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  }
  mlirPassManagerDestroy(manager);
  return done;
}

/// The files by name, or None where there are none.
static nb::object takeFiles(MlirKVCacheCompiled compiled) {
  if (mlirKVCacheCompiledIsNull(compiled))
    return nb::none();
  nb::dict files;
  for (intptr_t i = 0; i < mlirKVCacheCompiledGetNumFiles(compiled); ++i) {
    MlirStringRef content = mlirKVCacheCompiledGetContent(compiled, i);
    files[toString(mlirKVCacheCompiledGetName(compiled, i)).c_str()] =
        nb::bytes(content.data, content.length);
  }
  mlirKVCacheCompiledDestroy(compiled);
  return files;
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
      [](const std::string &text, const std::string &name, MlirContext context,
         const std::string &chips, unsigned optLevel, bool instrument,
         bool lineInfo, const std::string &output,
         const std::string &dump) -> nb::tuple {
        MlirKVCacheToPTXOptions options = mlirKVCacheToPTXOptionsDefault();
        options.chips = toRef(chips);
        options.optLevel = optLevel;
        options.instrument = instrument;
        options.lineInfo = lineInfo;
        options.output = toRef(output);
        Listener listener(context);
        MlirKVCacheCompiled compiled = {nullptr};
        bool dumped = false;
        {
          nb::gil_scoped_release release;
          MlirModule module =
              mlirKVCacheModuleCreateParse(context, toRef(text), toRef(name));
          if (!mlirModuleIsNull(module)) {
            if (dump.empty())
              compiled = mlirKVCacheCompile(module, &options);
            else
              dumped = compileDumped(module, options, dump);
            mlirModuleDestroy(module);
          }
        }
        return nb::make_tuple(dumped ? nb::dict() : takeFiles(compiled),
                              toList(listener.said));
      },
      "text"_a, "name"_a, "context"_a, "chips"_a, "opt_level"_a = 2,
      "instrument"_a = false, "line_info"_a = false, "output"_a = "",
      "dump"_a = "",
      "Compiles the text of a module, whose places are called `name`. Returns "
      "the files by name, or None where it failed, and what was said: a list "
      "of (severity, message, location, notes). With `dump`, a folder for the "
      "IR after each pass, the files go to the folder `output` only. Other "
      "threads run meanwhile.");
}
