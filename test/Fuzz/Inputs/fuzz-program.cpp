// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fuzzer over programs as text: the parsers and verifiers, and the passes on
// what they accept. A program is valid or refused with a message; nothing dies
// or hangs.
#include "kvcache/Conversion/KVCacheToMemRef/KVCacheToMemRef.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

#include <random>

using namespace mlir;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

/// A context, and the errors that it reported.
struct Session {
  Session() : context(MLIRContext::Threading::DISABLED) {
    context
        .loadDialect<kvcache::KVCacheDialect, func::FuncDialect,
                     gpu::GPUDialect, scf::SCFDialect, vector::VectorDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return success();
    });
  }

  MLIRContext context;
  unsigned errors = 0;
};

/// What attributes and types leave in a context is freed with it.
constexpr unsigned programsOfSession = 200;

Session &nextSession() {
  static std::unique_ptr<Session> session;
  static unsigned programs = 0;
  if (programs++ % programsOfSession == 0) {
    session.reset();
    session = std::make_unique<Session>();
  }
  session->errors = 0;
  return *session;
}

void require(bool condition) {
  if (!condition)
    abort();
}

/// Where the word around or after `at` starts, and its length.
std::pair<size_t, size_t> wordAt(StringRef text, size_t at) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (at < text.size() && !isWord(text[at]))
    ++at;
  size_t start = at;
  while (start > 0 && isWord(text[start - 1]))
    --start;
  while (at < text.size() && isWord(text[at]))
    ++at;
  return {start, at - start};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Session &session = nextSession();
  std::string text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&session.context));
  if (!module) {
    require(session.errors != 0);
    return 0;
  }
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  module->print(stream);
  // MLIR prints the symbol @"" in a way that it does not parse.
  bool isReadable =
      printed.find("<<INVALID EMPTY SYMBOL>>") == std::string::npos;
  require(!isReadable ||
          parseSourceString<ModuleOp>(printed, ParserConfig(&session.context)));

  PassManager passes(&session.context);
  passes.addPass(kvcache::createCheckFrozenTablesPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(kvcache::createExpandKernelsPass());
  passes.addPass(kvcache::createConvertKVCacheToMemRefPass());
  require(succeeded(passes.run(*module)) || session.errors != 0);
  return 0;
}

/// Half of the changes are to whole words, which gets past the lexer more
/// often: a number becomes one that is likely to be a limit of something, a
/// word another one of the program.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  if (size == 0 || random() % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  static constexpr StringLiteral numbers[] = {"0",
                                              "-1",
                                              "1",
                                              "2",
                                              "3",
                                              "255",
                                              "4294967295",
                                              "4294967296",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "18446744073709551616",
                                              "?"};
  std::string text(reinterpret_cast<const char *>(data), size);
  auto [start, length] = wordAt(text, random() % size);
  if (length && llvm::isDigit(text[start])) {
    text.replace(start, length, numbers[random() % std::size(numbers)].str());
  } else {
    auto [other, otherLength] = wordAt(text, random() % size);
    text.replace(start, length, text.substr(other, otherLength));
  }
  size = std::min(text.size(), maxSize);
  memcpy(data, text.data(), size);
  return size;
}
