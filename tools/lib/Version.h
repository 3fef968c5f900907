//===- Version.h - What --version says --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TOOLS_LIB_VERSION_H
#define KVCACHE_TOOLS_LIB_VERSION_H

#include "kvcache-c/Compile.h"

#include "mlir/CAPI/Support.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

/// Lets a tool's `--version` say kvcache's version beside LLVM's.
inline void addVersion() {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "kvcache version " << unwrap(mlirKVCacheGetVersion()) << '\n';
  });
}

#endif // KVCACHE_TOOLS_LIB_VERSION_H
