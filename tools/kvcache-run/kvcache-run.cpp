//===- kvcache-run.cpp - Lower and run a program --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramArguments.h"

#include "../lib/Input.h"
#include "../lib/Version.h"
#include "kvcache/InitAll.h"
#include "kvcache/Pipelines/Pipelines.h"
#include "kvcache/Runtime/CAPI.h"
#include "kvcache/Target/Chip.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <unistd.h>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("kvcache-run options");
cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                               cl::desc("<program.mlir>"), cl::cat(category));
cl::list<std::string>
    argumentTexts("arg",
                  cl::desc("Value of the entry's next argument: file.npy for a "
                           "memref, type:value (i64:5, f32:1.0, index:7) for a "
                           "scalar, sparse:BYTES:OFFSETS.npy:SEGMENTS.npy for "
                           "a memref that is zero but for row i of SEGMENTS at "
                           "byte OFFSETS[i]"),
                  cl::value_desc("value"), cl::cat(category));
cl::list<std::string>
    outputTexts("out",
                cl::desc("Write memref argument N to a file after a successful "
                         "run; a sparse one to N=OFFSETS.npy:SEGMENTS.npy, the "
                         "pages of 4096 bytes that are not zero"),
                cl::value_desc("N=file.npy"), cl::cat(category));
cl::opt<std::string> entryName("entry", cl::init("main"),
                               cl::desc("Function to run (default: main)"),
                               cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> chip("chip",
                          cl::desc("Target of device code (default: the "
                                   "GPU's own, sm_90a on the simulator)"),
                          cl::value_desc("sm_XX"), cl::cat(category));
cl::opt<std::string> device("device",
                            cl::desc("auto, cuda or sim (default: "
                                     "KVCACHE_DEVICE, else auto)"),
                            cl::value_desc("kind"), cl::cat(category));
cl::opt<std::string>
    tools("tool",
          cl::desc("Checks of the simulator: memcheck, initcheck, racecheck, "
                   "synccheck, a list of these, or all"),
          cl::value_desc("names"), cl::cat(category));
cl::opt<bool> count("count",
                    cl::desc("Print the simulator's counters of each kernel"),
                    cl::cat(category));
cl::opt<bool>
    instrument("instrument",
               cl::desc("Check kernels, lookups and accesses at run time"),
               cl::cat(category));
cl::opt<bool> verbose("verbose", cl::desc("Say which device is used"),
                      cl::cat(category));

/// Results go to stdout, everything else to stderr, in the order it happened.
void flushOutput() {
  llvm::outs().flush();
  std::cout.flush();
  std::fflush(stdout);
}

int fail(const llvm::Twine &text) {
  flushOutput();
  llvm::errs() << "kvcache-run: error: " << text << "\n";
  return 1;
}

/// Owns the device, and collects the problems of the program that runs on it.
class DeviceOwner {
public:
  ~DeviceOwner() {
    if (!handle)
      return;
    kvcacheSetProgramDevice(nullptr, nullptr, nullptr);
    kvcacheDeviceDestroy(handle);
  }

  /// What is wrong with a setting, by the option that gave it.
  static std::string openError() {
    llvm::StringRef text = kvcacheLastError();
    for (const auto &[setting, option] :
         {std::pair(deviceSetting, &device), std::pair(toolSetting, &tools)}) {
      llvm::StringRef rest = text;
      if (rest.consume_front(setting) && rest.starts_with(": expected") &&
          rest.ends_with("got '" + option->getValue() + "'"))
        return ("--" + option->ArgStr + rest).str();
    }
    return text.str();
  }

  /// False with the reason in openError().
  bool open() {
    std::vector<std::string> settings;
    auto set = [&](const char *name, const std::string &value) {
      if (!value.empty())
        settings.push_back(std::string(name) + "=" + value);
    };
    set(deviceSetting, device);
    set(toolSetting, tools);
    set("KVCACHE_SIM_COUNT", count ? "1" : "");
    std::vector<const char *> pointers;
    pointers.reserve(settings.size() + 1);
    for (const std::string &setting : settings)
      pointers.push_back(setting.c_str());
    pointers.push_back(nullptr);
    return kvcacheDeviceCreate(pointers.data(), &handle) == 0 &&
           kvcacheSetProgramDevice(handle, onProblem, this) == 0;
  }

  std::string text(int (*get)(kvcacheDevice, char **)) const {
    char *text = nullptr;
    if (get(handle, &text))
      return "";
    std::string copy = text;
    kvcacheStringFree(text);
    return copy;
  }
  std::string counters() const {
    char *text = nullptr;
    if (kvcacheDeviceGetCounters(handle, KVCACHE_TEXT, &text))
      return "";
    std::string copy = text;
    kvcacheStringFree(text);
    return copy;
  }
  bool hadProblems() const { return problems; }

private:
  static constexpr const char *deviceSetting = "KVCACHE_DEVICE";
  static constexpr const char *toolSetting = "KVCACHE_SIM_TOOL";

  static void onProblem(kvcacheProblemKind kind, const char *text,
                        void *userData) {
    flushOutput();
    static_cast<DeviceOwner *>(userData)->problems = true;
    if (kind == KVCACHE_PROBLEM_REPORT) {
      llvm::errs() << text;
      return;
    }
    llvm::errs() << "kvcache-run: error: " << text << "\n";
    // Compiled code cannot be unwound.
    if (kind == KVCACHE_PROBLEM_FATAL)
      _exit(1);
  }

  kvcacheDevice handle = nullptr;
  std::atomic<bool> problems{false};
};

/// MLIR's runner libraries beside the libMLIR in use.
std::vector<std::string> runnerLibraries() {
  Dl_info info;
  std::vector<std::string> found;
  if (!dladdr(reinterpret_cast<void *>(&ExecutionEngine::create), &info))
    return found;
  for (const char *name :
       {"libmlir_c_runner_utils.so", "libmlir_runner_utils.so",
        "libmlir_async_runtime.so"}) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(info.dli_fname));
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      found.push_back(path.str().str());
  }
  return found;
}

/// Device code to PTX for `target`, host code to the LLVM dialect. The PTX
/// carries the program's lines, so that reports name them.
LogicalResult lower(ModuleOp module, const std::string &target) {
  kvcache::KVCacheToPTXOptions options;
  options.chips = {target};
  options.lineInfo = true;
  options.instrument = instrument;
  PassManager pm(module.getContext());
  kvcache::buildKVCacheToPTXPipeline(pm, options);
  kvcache::buildKVCacheHostPipeline(pm);
  return pm.run(module);
}

/// The program runs in this process: what ends it there ends the tool, without
/// a report on the tool's own state.
void endedBySignal(int signal) {
  const char *text = signal == SIGABRT
                         ? "kvcache-run: error: the program aborted\n"
                     : signal == SIGILL || signal == SIGTRAP
                         ? "kvcache-run: error: the program trapped\n"
                         : "kvcache-run: error: the program accessed memory "
                           "that is not there\n";
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    _exit(2);
  _exit(1);
}

/// Compiles the lowered program and calls its entry.
llvm::Error invoke(ModuleOp module, kvcache_run::ProgramArguments &arguments) {
  std::vector<std::string> libraries = runnerLibraries();
  SmallVector<StringRef> libraryNames(libraries.begin(), libraries.end());
  auto optimise = makeOptimizingTransformer(2, 0, nullptr);
  ExecutionEngineOptions options;
  options.transformer = optimise;
  options.sharedLibPaths = libraryNames;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options);
  if (!engine)
    return engine.takeError();
  std::string symbol = "_mlir_ciface_" + entryName;
  // Before any of the program runs, its module constructors included.
  if (auto function = (*engine)->lookupPacked(symbol); !function)
    return function.takeError();
  (*engine)->initialize();
  for (int signal : {SIGABRT, SIGILL, SIGTRAP, SIGSEGV, SIGBUS})
    std::signal(signal, endedBySignal);
  llvm::Error wrong = (*engine)->invokePacked(symbol, arguments.packed());
  for (int signal : {SIGABRT, SIGILL, SIGTRAP, SIGSEGV, SIGBUS})
    std::signal(signal, SIG_DFL);
  return wrong;
}

int run() {
  DeviceOwner owner;
  if (!owner.open())
    return fail(owner.openError());
  if (verbose)
    llvm::errs() << "kvcache-run: device "
                 << owner.text(kvcacheDeviceDescription) << "\n";
  std::string deviceChip = owner.text(kvcacheDeviceChip);
  bool isSimulator = deviceChip.empty();
  if (!isSimulator && (!tools.empty() || count))
    return fail("--tool and --count need --device sim, the device is " +
                owner.text(kvcacheDeviceDescription));
  std::string target = !chip.empty() ? chip
                       : isSimulator ? "sm_90a"
                                     : deviceChip;
  if (!kvcache::findChip(target))
    return fail("--chip: expected one of " +
                llvm::join(llvm::map_range(
                               kvcache::getKnownChips(),
                               [](const auto &known) { return known.name; }),
                           ", ") +
                "; " + (chip.empty() ? "the device is '" : "got '") + target +
                "'");

  DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  kvcache::registerAllDialects(registry);
  MLIRContext context(registry);
  mlirRegisterAllLLVMTranslations(wrap(&context));
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(inputFile, &error);
  if (!buffer)
    return fail(error);
  if (!mayRead(*buffer, registry))
    return 1;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;

  auto entry = module->lookupSymbol<func::FuncOp>(entryName);
  if (!entry || entry.isExternal())
    return fail(inputFile + ": there is no func.func '" + entryName +
                "' with a body; choose one by --entry");
  kvcache_run::ProgramArguments arguments;
  if (llvm::Error wrong = arguments.read(entry, argumentTexts))
    return fail(llvm::toString(std::move(wrong)));
  for (const std::string &text : outputTexts)
    if (llvm::Error wrong = arguments.addOutput(text))
      return fail(llvm::toString(std::move(wrong)));
  entry.setPublic();
  entry->setAttr("llvm.emit_c_interface", UnitAttr::get(&context));

  if (failed(lower(*module, target)))
    return 1;
  if (llvm::Error wrong = invoke(*module, arguments))
    return fail(llvm::toString(std::move(wrong)));
  if (std::string result = arguments.resultText(); !result.empty())
    llvm::outs() << result << "\n";
  flushOutput();
  if (count)
    llvm::errs() << owner.counters();
  if (owner.hadProblems())
    return 1;
  if (llvm::Error wrong = arguments.writeOutputs())
    return fail(llvm::toString(std::move(wrong)));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  // A failed assertion prints before it aborts.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  addVersion();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Lowers an MLIR program and runs its entry on a GPU or on the embedded "
      "PTX simulator.\nExit status 1 if anything went wrong or a check found "
      "something.\n");
  return run();
}
