//===- kvcache-stress-reader.cpp - Read damaged programs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads many damaged copies of a program, each in a process of its own, and
// runs the passes on what can still be read. Damage must end in an error with a
// message or in a valid program. MLIR's own readers die on some damaged bytes;
// such a death is told from one of ours by its stack: it is MLIR's where no
// frame below the call into MLIR lies in this executable, which our libraries
// are linked into, and MLIR's are not. It is counted, and tolerated, and so is
// a piece of bytecode that MLIR's reader refuses without a word: a layout in
// bytecode is text, and its parser always says what is wrong.
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace {

enum Outcome { valid, refused, silent, died, diedInMLIR, hung };

constexpr unsigned secondsToHang = 10;

/// Whether an address lies in this executable.
bool isOurs(void *address) {
  Dl_info at, here;
  return dladdr(address, &at) &&
         dladdr(reinterpret_cast<void *>(&isOurs), &here) &&
         at.dli_fbase == here.dli_fbase;
}

/// Frames of this executable on the stack. In a signal handler those above the
/// signal's own frame, which the C library puts there, are the handler's.
__attribute__((noinline)) int countOurFrames(bool inHandler) {
  void *frames[512];
  int depth = backtrace(frames, 512), first = 0;
  if (inHandler)
    while (first < depth && isOurs(frames[first]))
      ++first;
  return std::count_if(frames + first, frames + depth, isOurs);
}

int framesOutsideMLIR = 0;

/// A heap that is broken can stop the search for frames, too.
volatile sig_atomic_t dying = 0;

void onDeath(int) {
  dying = 1;
  _exit(countOurFrames(/*inHandler=*/true) > framesOutsideMLIR ? died
                                                               : diedInMLIR);
}
void onAlarm(int) {
  if (dying)
    _exit(diedInMLIR);
  _exit(countOurFrames(/*inHandler=*/true) > framesOutsideMLIR ? hung
                                                               : diedInMLIR);
}

void catchDeath() {
  static char stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = onDeath;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP})
    sigaction(signal, &action, nullptr);
  action.sa_handler = onAlarm;
  sigaction(SIGALRM, &action, nullptr);
  alarm(secondsToHang);
}

/// Reads one program and, where it is valid, writes it and runs the passes.
/// Not inlined, so that every call has as many frames below it.
__attribute__((noinline)) Outcome read(MLIRContext &context, StringRef text) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  // The call below is into MLIR, with no template of it in this executable;
  // what counts our frames is not on the stack any more.
  framesOutsideMLIR = countOurFrames(/*inHandler=*/false) - 1;
  if (failed(
          parseSourceString(text, module->getBody(), ParserConfig(&context))))
    return refused;
  // The passes are ours, whatever part of them dies.
  framesOutsideMLIR = -1;
  std::string written;
  llvm::raw_string_ostream stream(written);
  module->print(stream);
  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(kvcache::createCheckFrozenTablesPass());
  return succeeded(passes.run(*module)) ? valid : refused;
}

/// A number that is likely to be a limit of something.
StringRef pickNumber(std::mt19937 &random) {
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
  return numbers[random() % std::size(numbers)];
}

bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The word around or after `at`: its start and length.
std::pair<size_t, size_t> wordAt(const std::string &text, size_t at) {
  while (at < text.size() && !isWord(text[at]))
    ++at;
  size_t start = at;
  while (start > 0 && isWord(text[start - 1]))
    --start;
  size_t end = at;
  while (end < text.size() && isWord(text[end]))
    ++end;
  return {start, end - start};
}

/// Damages a program. Half of the damage to text is to whole words, which gets
/// past the lexer more often.
std::string damage(StringRef original, bool words, std::mt19937 &random) {
  std::string text = original.str();
  auto position = [&] { return random() % text.size(); };
  if (random() % 8 == 0) {
    text.resize(position());
    return text;
  }
  for (unsigned times = 1 + random() % 3; times && !text.empty(); --times) {
    if (!words || random() % 2) {
      text[position()] ^= static_cast<char>(1u << (random() % 8));
      continue;
    }
    auto [start, length] = wordAt(text, position());
    if (length && llvm::isDigit(text[start])) {
      text.replace(start, length, pickNumber(random).str());
    } else {
      auto [other, otherLength] = wordAt(text, position());
      text.replace(start, length, text.substr(other, otherLength));
    }
  }
  return text;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5 ||
      (StringRef(argv[2]) != "text" && StringRef(argv[2]) != "bytecode")) {
    llvm::errs()
        << "usage: kvcache-stress-reader FILE text|bytecode COUNT SEED\n";
    return 2;
  }
  bool bytecode = StringRef(argv[2]) == "bytecode";
  unsigned count = std::strtoul(argv[3], nullptr, 10);
  unsigned seed = std::strtoul(argv[4], nullptr, 10);

  // No threads: each copy is read by a fork.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<kvcache::KVCacheDialect, func::FuncDialect,
                      scf::SCFDialect, vector::VectorDialect>();
  auto file = llvm::MemoryBuffer::getFile(argv[1]);
  if (!file) {
    llvm::errs() << argv[1] << ": " << file.getError().message() << "\n";
    return 2;
  }
  std::string program = (*file)->getBuffer().str();
  if (bytecode) {
    auto module = parseSourceString<ModuleOp>(program, ParserConfig(&context));
    std::string written;
    llvm::raw_string_ostream stream(written);
    if (!module || failed(writeBytecodeToFile(*module, stream)))
      return 2;
    program = written;
  }

  bool complained = false;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  unsigned outcomes[hung + 1] = {}, faults = 0;
  for (unsigned index = 0; index < count; ++index) {
    std::mt19937 random(seed + index);
    std::string copy = damage(program, !bytecode, random);
    pid_t child = fork();
    if (child < 0) {
      llvm::errs() << "cannot fork\n";
      return 2;
    }
    if (child == 0) {
      catchDeath();
      Outcome outcome = read(context, copy);
      _exit(outcome == refused && !complained ? silent : outcome);
    }
    int status = 0;
    waitpid(child, &status, 0);
    int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : int(died);
    if (outcome > hung)
      outcome = died;
    ++outcomes[outcome];
    bool fault =
        outcome == died || outcome == hung || (outcome == silent && !bytecode);
    faults += fault;
    if (fault)
      llvm::outs() << "seed " << seed + index << ": "
                   << (outcome == silent ? "refused without a message"
                       : outcome == died ? "died in our code"
                                         : "hung")
                   << "\n";
    // A copy to look at.
    if (std::getenv("KVCACHE_KEEP_DAMAGED") && outcome > refused) {
      std::error_code error;
      llvm::raw_fd_ostream kept("damaged-" + std::to_string(seed + index),
                                error);
      kept << copy;
    }
  }
  llvm::outs() << outcomes[valid] << " valid, " << outcomes[refused]
               << " refused, " << outcomes[silent]
               << " refused without a message, " << outcomes[diedInMLIR]
               << " deaths in MLIR's reader, " << faults << " faults\n";
  return faults != 0;
}
