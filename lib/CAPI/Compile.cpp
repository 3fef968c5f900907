//===- Compile.cpp - Passes, pipelines and compilation in C ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache-c/Compile.h"

#include "kvcache/InitAll.h"
#include "kvcache/Support/ProgramText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <mutex>

using namespace mlir;
using namespace mlir::kvcache;

DEFINE_C_API_PTR_METHODS(MlirKVCacheCompiled, std::vector<CompiledFile>)

MlirStringRef mlirKVCacheGetVersion(void) {
  return wrap(StringRef(KVCACHE_VERSION));
}

MlirStringRef mlirKVCacheGetLLVMVersion(void) {
  return wrap(StringRef(LLVM_VERSION_STRING));
}

void mlirKVCacheRegisterAllDialects(MlirDialectRegistry registry) {
  if (!registry.ptr)
    return;
  kvcache::registerAllDialects(*unwrap(registry));
  unwrap(registry)
      ->insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
               gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
               memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
               vector::VectorDialect>();
}

void mlirKVCacheRegisterAllPasses(void) {
  static std::once_flag once;
  std::call_once(once, [] { kvcache::registerAllPasses(); });
}

MlirModule mlirKVCacheModuleCreateParse(MlirContext context,
                                        MlirStringRef source,
                                        MlirStringRef name) {
  if (!context.ptr)
    return {};
  // The parser wants a text, be it empty.
  StringRef text = source.data ? unwrap(source) : StringRef("");
  MLIRContext *into = unwrap(context);
  if (isBytecode(llvm::MemoryBufferRef(text, ""))) {
    emitError(UnknownLoc::get(into),
              "expected the text of a module, got bytecode; "
              "mlirModuleCreateParse reads it, of files that are trusted");
    return {};
  }
  if (std::optional<kvcache::TextFault> fault = kvcache::findTextFault(text)) {
    StringRef before = text.take_front(fault->offset);
    unsigned line = before.count('\n') + 1;
    unsigned column = before.size() - (before.rfind('\n') + 1) + 1;
    emitError(FileLineColLoc::get(into, unwrap(name), line, column),
              fault->message);
    return {};
  }
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(into), unwrap(name));
  return wrap(module.release());
}

MlirKVCacheToPTXOptions mlirKVCacheToPTXOptionsDefault(void) {
  MlirKVCacheToPTXOptions options = {};
  options.chips = wrap(StringRef("sm_80"));
  options.format = wrap(StringRef("isa"));
  options.optLevel = 2;
  options.output = options.toolkit = wrap(StringRef(""));
  return options;
}

/// The options in C++, or a failure that is reported.
static FailureOr<KVCacheToPTXOptions>
toOptions(MLIRContext *context, const MlirKVCacheToPTXOptions *given) {
  MlirKVCacheToPTXOptions fallback = mlirKVCacheToPTXOptionsDefault();
  if (!given)
    given = &fallback;
  KVCacheToPTXOptions options;
  options.chips.clear();
  SmallVector<StringRef> chips;
  unwrap(given->chips).split(chips, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef chip : chips)
    options.chips.push_back(chip.trim().str());
  std::optional<ObjectFormat> format = parseObjectFormat(unwrap(given->format));
  if (!format)
    return emitError(UnknownLoc::get(context))
           << "expected format isa, bin or fatbin, got '"
           << unwrap(given->format) << "'";
  options.format = *format;
  options.optLevel = given->optLevel;
  options.output = unwrap(given->output).str();
  options.toolkit = unwrap(given->toolkit).str();
  options.instrument = given->instrument;
  options.lineInfo = given->lineInfo;
  options.threads = given->threads;
  options.chunks = given->chunks;
  options.blocksPerSM = given->blocksPerSM;
  options.maxBlocks = given->maxBlocks;
  return options;
}

/// Reports a pass manager that cannot hold passes on modules.
static LogicalResult checkAnchor(MLIRContext *context,
                                 const OpPassManager &manager,
                                 StringRef pipeline) {
  std::string wrong = checkPipelineAnchor(manager, pipeline);
  return wrong.empty() ? LogicalResult::success()
                       : emitError(UnknownLoc::get(context)) << wrong;
}

MlirLogicalResult
mlirKVCacheAddToPTXPipeline(MlirContext context, MlirOpPassManager manager,
                            const MlirKVCacheToPTXOptions *options) {
  if (!context.ptr || !manager.ptr)
    return mlirLogicalResultFailure();
  FailureOr<KVCacheToPTXOptions> converted =
      toOptions(unwrap(context), options);
  if (failed(converted) ||
      failed(checkAnchor(unwrap(context), *unwrap(manager), "kvcache-to-ptx")))
    return mlirLogicalResultFailure();
  buildKVCacheToPTXPipeline(*unwrap(manager), *converted);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult mlirKVCacheAddHostToLLVMPipeline(MlirContext context,
                                                   MlirOpPassManager manager) {
  if (!context.ptr || !manager.ptr ||
      failed(checkAnchor(unwrap(context), *unwrap(manager),
                         "kvcache-host-to-llvm")))
    return mlirLogicalResultFailure();
  buildKVCacheHostPipeline(*unwrap(manager));
  return mlirLogicalResultSuccess();
}

MlirKVCacheCompiled mlirKVCacheCompile(MlirModule module,
                                       const MlirKVCacheToPTXOptions *options) {
  if (!module.ptr)
    return {};
  OwningOpRef<ModuleOp> copy = unwrap(module).clone();
  MLIRContext *context = copy->getContext();
  FailureOr<KVCacheToPTXOptions> converted = toOptions(context, options);
  // What a program has built may be anything; passes take it to be right.
  if (failed(converted) || failed(mlir::verify(*copy)))
    return {};
  auto files = std::make_unique<std::vector<CompiledFile>>();
  converted->files = files.get();
  PassManager manager(context);
  buildKVCacheToPTXPipeline(manager, *converted);
  if (failed(manager.run(*copy)))
    return {};
  return wrap(files.release());
}

void mlirKVCacheCompiledDestroy(MlirKVCacheCompiled compiled) {
  delete unwrap(compiled);
}

intptr_t mlirKVCacheCompiledGetNumFiles(MlirKVCacheCompiled compiled) {
  return compiled.ptr ? unwrap(compiled)->size() : 0;
}

/// The file of that number, or null.
static const CompiledFile *findFile(MlirKVCacheCompiled compiled,
                                    intptr_t file) {
  if (file < 0 || file >= mlirKVCacheCompiledGetNumFiles(compiled))
    return nullptr;
  return &(*unwrap(compiled))[file];
}

MlirStringRef mlirKVCacheCompiledGetName(MlirKVCacheCompiled compiled,
                                         intptr_t file) {
  const CompiledFile *found = findFile(compiled, file);
  return found ? wrap(StringRef(found->name)) : wrap(StringRef());
}

MlirStringRef mlirKVCacheCompiledGetContent(MlirKVCacheCompiled compiled,
                                            intptr_t file) {
  const CompiledFile *found = findFile(compiled, file);
  return found ? wrap(StringRef(found->content)) : wrap(StringRef());
}

MlirStringRef mlirKVCacheCompiledLookup(MlirKVCacheCompiled compiled,
                                        MlirStringRef name) {
  if (compiled.ptr)
    for (const CompiledFile &file : *unwrap(compiled))
      if (file.name == unwrap(name))
        return wrap(StringRef(file.content));
  return wrap(StringRef());
}
