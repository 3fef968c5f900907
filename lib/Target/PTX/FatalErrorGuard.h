//===- FatalErrorGuard.h - Survive LLVM's fatal errors ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_TARGET_PTX_FATALERRORGUARD_H
#define KVCACHE_LIB_TARGET_PTX_FATALERRORGUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>

namespace mlir::kvcache {

/// Runs `function`. When LLVM reports a fatal error in it, on this thread,
/// leaves it at once and returns the error's text instead of ending the
/// process.
///
/// No destructor in `function` and below runs then: whatever it made and holds
/// leaks, so let it own only what is reached from the outside, and leave
/// untouched what LLVM was working on.
///
/// While any guard runs, LLVM's process-wide fatal error handler is ours. One
/// that the embedding program has installed is not restored, as LLVM has no way
/// to ask for it. Fatal errors of threads without a guard end the process as
/// they do without a handler.
std::optional<std::string> runGuarded(llvm::function_ref<void()> function);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_TARGET_PTX_FATALERRORGUARD_H
