//===- embed.cpp - A program that compiles kernels for itself -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the files that it is given, one after the other and the last one on
// several threads, in one process that registers no more than it parses. Prints
// one line for each: how many objects, or the errors. With --time, how long the
// pipeline took at best, in milliseconds.
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <thread>

using namespace mlir;

/// Parses and compiles `file`; returns what there is to say.
static std::string compile(const std::string &file, double &milliseconds) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                  kvcache::KVCacheDialect, LLVM::LLVMDialect,
                  memref::MemRefDialect>();
  MLIRContext context(registry);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += " " + diagnostic.str();
  });
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
  if (!module)
    return "cannot parse:" + said;

  PassManager pm(&context);
  kvcache::KVCacheToPTXOptions options;
  options.chips = {"sm_80", "sm_90a"};
  kvcache::buildKVCacheToPTXPipeline(pm, options);
  auto start = std::chrono::steady_clock::now();
  LogicalResult result = pm.run(*module);
  milliseconds = std::chrono::duration<double, std::milli>(
                     std::chrono::steady_clock::now() - start)
                     .count();
  if (failed(result))
    return "refused:" + said;
  unsigned objects = 0;
  module->walk(
      [&](gpu::BinaryOp binary) { objects += binary.getObjects().size(); });
  return "compiled to " + std::to_string(objects) + " objects";
}

int main(int argc, char **argv) {
  bool time = argc > 1 && StringRef(argv[1]) == "--time";
  double milliseconds = 0;
  for (int i = time ? 2 : 1; i < argc; ++i) {
    std::string said = compile(argv[i], milliseconds);
    llvm::outs() << said << '\n';
    if (!time)
      continue;
    double best = milliseconds;
    for (int again = 0; again < 20; ++again) {
      compile(argv[i], milliseconds);
      best = std::min(best, milliseconds);
    }
    llvm::outs() << "best of 21: " << best << " ms\n";
  }

  if (time || argc < 2)
    return 0;
  constexpr unsigned numThreads = 8;
  std::string answers[numThreads];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < numThreads; ++i)
    threads.emplace_back([&, i] {
      double unused;
      answers[i] = compile(argv[1 + i % (argc - 1)], unused);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &answer : answers)
    llvm::outs() << "thread: " << answer << '\n';
  return 0;
}
