//===- Input.h - Programs that a tool may read ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TOOLS_LIB_INPUT_H
#define KVCACHE_TOOLS_LIB_INPUT_H

#include "kvcache/Support/ProgramText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/// Reads bytecode in a process of its own, and prints it to nowhere. MLIR's
/// reader has no defence against damaged files: it dies on them, or writes
/// where it should not and reports an error all the same, so that nobody should
/// go on after either. Errors are printed. Returns the process's status.
inline int tryBytecode(llvm::MemoryBufferRef file,
                       const mlir::DialectRegistry &registry) {
  constexpr rlim_t maxSeconds = 60;
  pid_t child = fork();
  if (child < 0)
    return 0;
  if (child == 0) {
    for (int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP})
      std::signal(signal, SIG_DFL);
    rlimit none = {0, 0}, seconds = {maxSeconds, maxSeconds};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.allowUnregisteredDialects();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(file, false),
                               llvm::SMLoc());
    mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
    mlir::Block block;
    if (failed(mlir::parseSourceFile(sources, &block, &context)))
      _exit(1);
    for (mlir::Operation &op : block)
      op.print(llvm::nulls());
    block.clear();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

/// Whether MLIR can read a tool's input, right or wrong, without dying on it.
/// If not, says on stderr what the matter is.
inline bool mayRead(const llvm::MemoryBuffer &file,
                    const mlir::DialectRegistry &registry) {
  if (mlir::isBytecode(file.getMemBufferRef())) {
    int status = tryBytecode(file.getMemBufferRef(), registry);
    if (!WIFSIGNALED(status))
      return status == 0;
    int signal = WTERMSIG(status);
    llvm::WithColor::error(llvm::errs(), file.getBufferIdentifier())
        << "MLIR's reader of bytecode does not survive this file (signal "
        << signal << ", " << strsignal(signal)
        << "), which is damaged; write it again\n";
    return false;
  }
  auto fault = mlir::kvcache::findTextFault(file.getBuffer());
  if (!fault)
    return true;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file.getMemBufferRef(), false),
      llvm::SMLoc());
  sources.PrintMessage(
      llvm::SMLoc::getFromPointer(file.getBufferStart() + fault->offset),
      llvm::SourceMgr::DK_Error, fault->message);
  return false;
}

#endif // KVCACHE_TOOLS_LIB_INPUT_H
