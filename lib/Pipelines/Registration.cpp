//===- Registration.cpp - Names and options of the pipelines --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// KVCacheToPTXOptions as text.
struct ToPTXTextOptions : public PassPipelineOptions<ToPTXTextOptions> {
  ListOption<std::string> chips{
      *this, "chip",
      llvm::cl::desc("Chips to compile for, for example sm_80,sm_90a "
                     "(default: sm_80)")};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What to compile to: isa (PTX text), bin (cubin) or "
                     "fatbin; the last two need the CUDA toolkit"),
      llvm::cl::init("isa")};
  Option<unsigned> optLevel{
      *this, "opt-level",
      llvm::cl::desc("Optimisation level of LLVM and ptxas, 0 to 3"),
      llvm::cl::init(2)};
  Option<std::string> output{
      *this, "output",
      llvm::cl::desc("Folder to write each gpu.module to as "
                     "<module>.<chip>.<ptx|cubin|fatbin>")};
  Option<std::string> toolkit{
      *this, "toolkit",
      llvm::cl::desc("Folder of the CUDA toolkit; searched for when empty")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Threads of a block of a kernel operation at most"),
      llvm::cl::init(0)};
  Option<int64_t> chunks{
      *this, "chunks",
      llvm::cl::desc("Vectors that a thread of one has in flight"),
      llvm::cl::init(0)};
  Option<int64_t> blocksPerSM{
      *this, "blocks-per-sm",
      llvm::cl::desc("Blocks of a multiprocessor that registers are kept free "
                     "for"),
      llvm::cl::init(0)};
  Option<int64_t> maxBlocks{
      *this, "max-blocks",
      llvm::cl::desc("Blocks in the first dimension of a grid at most"),
      llvm::cl::init(0)};
  Option<bool> instrument{
      *this, "instrument",
      llvm::cl::desc("Check kernels, lookups and accesses at run time"),
      llvm::cl::init(false)};
  Option<bool> lineInfo{
      *this, "line-info",
      llvm::cl::desc("Write .loc directives with the lines of the program"),
      llvm::cl::init(false)};
};

} // namespace

std::string kvcache::checkPipelineAnchor(const OpPassManager &manager,
                                         StringRef pipeline) {
  StringRef anchor = manager.getOpAnchorName();
  if (anchor == ModuleOp::getOperationName() ||
      anchor == OpPassManager::getAnyOpAnchorName())
    return {};
  return ("expected a pass manager of '" + ModuleOp::getOperationName() +
          "' for the pipeline " + pipeline + ", got one of '" + anchor + "'")
      .str();
}

static LogicalResult
buildFromText(OpPassManager &pm, StringRef text,
              function_ref<LogicalResult(const Twine &)> emitError) {
  if (std::string wrong = checkPipelineAnchor(pm, "kvcache-to-ptx");
      !wrong.empty())
    return emitError(wrong);
  ToPTXTextOptions parsed;
  if (failed(parsed.parseFromString(text)))
    return failure();
  KVCacheToPTXOptions options;
  if (!parsed.chips.empty())
    options.chips.assign(parsed.chips.begin(), parsed.chips.end());
  std::optional<ObjectFormat> format = parseObjectFormat(parsed.format);
  if (!format)
    return emitError("expected format isa, bin or fatbin, got '" +
                     parsed.format + "'");
  options.format = *format;
  options.optLevel = parsed.optLevel;
  options.output = parsed.output;
  options.toolkit = parsed.toolkit;
  options.threads = parsed.threads;
  options.chunks = parsed.chunks;
  options.blocksPerSM = parsed.blocksPerSM;
  options.maxBlocks = parsed.maxBlocks;
  options.instrument = parsed.instrument;
  options.lineInfo = parsed.lineInfo;
  buildKVCacheToPTXPipeline(pm, options);
  return success();
}

static LogicalResult
buildHostFromText(OpPassManager &pm, StringRef text,
                  function_ref<LogicalResult(const Twine &)> emitError) {
  if (std::string wrong = checkPipelineAnchor(pm, "kvcache-host-to-llvm");
      !wrong.empty())
    return emitError(wrong);
  if (!text.trim().empty())
    return emitError("kvcache-host-to-llvm takes no options, got '" + text +
                     "'");
  buildKVCacheHostPipeline(pm);
  return success();
}

void kvcache::registerPipelines() {
  registerPassPipeline(
      "kvcache-to-ptx", "Compile device code with kvcache operations to PTX",
      buildFromText,
      [](function_ref<void(const mlir::detail::PassOptions &)> describe) {
        describe(ToPTXTextOptions());
      });
  registerPassPipeline(
      "kvcache-host-to-llvm",
      "Lower host code around gpu.binary to the LLVM dialect",
      buildHostFromText,
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
