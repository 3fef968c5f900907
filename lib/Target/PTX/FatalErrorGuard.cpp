//===- FatalErrorGuard.cpp - Survive LLVM's fatal errors ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatalErrorGuard.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <csetjmp>
#include <mutex>

namespace mlir::kvcache {
namespace {

/// Where a fatal error on this thread returns to.
struct Frame {
  std::jmp_buf buffer;
  std::string reason;
};
thread_local Frame *currentFrame = nullptr;

/// How many guards run in the process; the first installs the handler and the
/// last removes it.
std::mutex guardMutex;
unsigned guardCount = 0;

void handleFatalError(void *, const char *reason, bool) {
  if (Frame *frame = currentFrame) {
    frame->reason = reason;
    std::longjmp(frame->buffer, 1);
  }
  // Not our thread: say what LLVM would say; it aborts when we return.
  llvm::errs() << "LLVM ERROR: " << reason << '\n';
}

void enterGuard() {
  std::lock_guard<std::mutex> lock(guardMutex);
  if (guardCount++ == 0)
    llvm::install_fatal_error_handler(handleFatalError);
}

void leaveGuard() {
  std::lock_guard<std::mutex> lock(guardMutex);
  if (--guardCount == 0)
    llvm::remove_fatal_error_handler();
}

} // namespace

std::optional<std::string> runGuarded(llvm::function_ref<void()> function) {
  Frame frame;
  Frame *outer = currentFrame;
  enterGuard();
  bool failed;
  if (setjmp(frame.buffer) == 0) {
    currentFrame = &frame;
    function();
    failed = false;
  } else {
    failed = true;
  }
  currentFrame = outer;
  leaveGuard();
  if (failed)
    return std::move(frame.reason);
  return std::nullopt;
}

} // namespace mlir::kvcache
