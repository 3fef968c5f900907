//===- TranslateToPTX.cpp - LLVM dialect to PTX text ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatalErrorGuard.h"
#include "LargeFunctionGate.h"
#include "kvcache/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace mlir::kvcache;
using llvm::StringRef;

namespace {

/// One translation. What LLVM works on is owned here and not by the guarded
/// functions, and it is abandoned, not destroyed, after a fatal error.
class Translation {
public:
  Translation(gpu::GPUModuleOp op, const Chip &chip, const PTXOptions &options)
      : op(op), chip(chip), options(options) {}
  ~Translation();

  FailureOr<std::string> run();

private:
  LogicalResult createTargetMachine();
  LogicalResult translate();
  LogicalResult linkLibdevice();
  LogicalResult optimize();
  LogicalResult checkUndefined();
  LogicalResult generate();

  /// Where `function` is called, or the module.
  Location findCall(StringRef function);

  gpu::GPUModuleOp op;
  const Chip &chip;
  const PTXOptions &options;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<LargeFunctionGate> gate;
  std::unique_ptr<llvm::legacy::PassManager> codegen;
  llvm::SmallString<0> ptx;
  bool reportedError = false;
  bool abandoned = false;
};

} // namespace

Translation::~Translation() {
  if (!abandoned)
    return;
  (void)codegen.release();
  (void)gate.release();
  (void)module.release();
  (void)machine.release();
  (void)context.release();
}

Location Translation::findCall(StringRef function) {
  Location location = op.getLoc();
  op.walk([&](LLVM::CallOp call) {
    if (call.getCallee() != function)
      return WalkResult::advance();
    location = call.getLoc();
    return WalkResult::interrupt();
  });
  return location;
}

LogicalResult Translation::createTargetMachine() {
  constexpr StringRef tripleName = "nvptx64-nvidia-cuda";
  NVVM::SerializeGPUModuleBase::init();
  std::string error;
  llvm::Triple triple(tripleName);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(op.getLoc())
           << "this LLVM has no NVPTX code generator: " << error;
  machine.reset(target->createTargetMachine(
      triple, chip.name, chip.getPTXFeature(), {}, /*RM=*/std::nullopt,
      /*CM=*/std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(options.optLevel)));
  if (!machine)
    return emitError(op.getLoc())
           << "LLVM cannot generate code for " << chip.name;
  return success();
}

LogicalResult Translation::translate() {
  // Translation gives accesses the alignment of their types, which for 64 bits
  // is 4 bytes where nobody says what the target is.
  llvm::DataLayout layout = machine->createDataLayout();
  StringRef layoutName = LLVM::LLVMDialect::getDataLayoutAttrName();
  Attribute before = op->getDiscardableAttr(layoutName);
  op->setDiscardableAttr(
      layoutName,
      StringAttr::get(op.getContext(), layout.getStringRepresentation()));
  module = translateModuleToLLVMIR(op, *context, "kvcache",
                                   /*disableVerification=*/true);
  if (before)
    op->setDiscardableAttr(layoutName, before);
  else
    op->removeDiscardableAttr(layoutName);
  if (!module)
    return failure();
  module->setDataLayout(layout);
  module->setTargetTriple(machine->getTargetTriple());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream))
    return emitError(op.getLoc()) << "LLVM refuses the translated module: "
                                  << StringRef(message).trim();
  return success();
}

/// Returns the first function that `module` calls and lacks, or null.
static const llvm::Function *
findUndefined(const llvm::Module &module,
              llvm::function_ref<bool(StringRef)> matters) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && matters(function.getName()))
      return &function;
  return nullptr;
}

static bool isLibdeviceName(StringRef name) {
  return name.starts_with("__nv_");
}

LogicalResult Translation::linkLibdevice() {
  const llvm::Function *wanted = findUndefined(*module, isLibdeviceName);
  if (!wanted)
    return success();
  std::string path =
      findInToolkit("nvvm/libdevice/libdevice.10.bc", options.toolkit);
  if (path.empty())
    return emitError(findCall(wanted->getName()))
           << "needs '" << wanted->getName()
           << "' of CUDA's libdevice, and no CUDA toolkit was found; set "
              "CUDA_ROOT, or use operations that the GPU has instructions for";
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> library =
      llvm::getLazyIRFileModule(path, problem, *context);
  if (!library)
    return emitError(op.getLoc())
           << "cannot read '" << path << "': " << problem.getMessage();
  // libdevice says so of itself: it fits every target.
  library->setTargetTriple(module->getTargetTriple());
  library->setDataLayout(module->getDataLayout());
  bool failed = llvm::Linker::linkModules(
      *module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  if (failed)
    return emitError(op.getLoc()) << "cannot link '" << path << "'";
  return success();
}

LogicalResult Translation::optimize() {
  auto transform = makeOptimizingTransformer(options.optLevel, /*sizeLevel=*/0,
                                             machine.get());
  if (llvm::Error error = transform(module.get()))
    return emitError(op.getLoc()) << "LLVM cannot optimize the module: "
                                  << llvm::toString(std::move(error));
  return success();
}

LogicalResult Translation::checkUndefined() {
  // What the CUDA driver adds to every module by itself.
  auto isMissing = [](StringRef name) {
    return name != "vprintf" && name != "__assertfail" && name != "malloc" &&
           name != "free";
  };
  if (const llvm::Function *function = findUndefined(*module, isMissing)) {
    InFlightDiagnostic diagnostic = emitError(findCall(function->getName()));
    diagnostic << "calls '" << function->getName()
               << "', which nothing defines";
    if (isLibdeviceName(function->getName()))
      diagnostic << "; this CUDA toolkit's libdevice lacks it";
    else
      diagnostic << "; define it in the gpu.module";
    return diagnostic;
  }
  for (const llvm::GlobalVariable &global : module->globals()) {
    // An undefined shared array is dynamic shared memory.
    if (global.isDeclaration() && !global.use_empty() &&
        global.getAddressSpace() != 3)
      return emitError(op.getLoc())
             << "uses the variable '" << global.getName()
             << "', which nothing defines; define it in the gpu.module";
  }
  return success();
}

LogicalResult Translation::generate() {
  gate = std::make_unique<LargeFunctionGate>(*module);
  context->setOptPassGate(*gate);
  llvm::raw_svector_ostream stream(ptx);
  codegen = std::make_unique<llvm::legacy::PassManager>();
  if (machine->addPassesToEmitFile(*codegen, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return emitError(op.getLoc()) << "LLVM cannot write PTX for " << chip.name;
  codegen->run(*module);
  codegen.reset();
  return success();
}

FailureOr<std::string> Translation::run() {
  if (failed(checkTranslatable(op)) || failed(createTargetMachine()))
    return failure();
  context = std::make_unique<llvm::LLVMContext>();
  // Without a handler, LLVM ends the process on an error.
  context->setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *data) {
        auto *translation = static_cast<Translation *>(data);
        if (info->getSeverity() != llvm::DS_Error)
          return;
        std::string message;
        llvm::raw_string_ostream stream(message);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        emitError(translation->op.getLoc()) << "LLVM: " << message;
        translation->reportedError = true;
      },
      this);

  LogicalResult result = success();
  std::optional<std::string> fatal = runGuarded([&] {
    result = success(succeeded(translate()) && succeeded(linkLibdevice()) &&
                     succeeded(optimize()) && succeeded(checkUndefined()) &&
                     succeeded(generate()));
  });
  if (fatal) {
    abandoned = true;
    return emitError(op.getLoc())
           << "LLVM cannot generate code for " << chip.name << ": " << *fatal;
  }
  if (failed(result) || reportedError)
    return failure();
  return std::string(ptx);
}

FailureOr<std::string> kvcache::translateToPTX(gpu::GPUModuleOp module,
                                               const Chip &chip,
                                               const PTXOptions &options) {
  return Translation(module, chip, options).run();
}
