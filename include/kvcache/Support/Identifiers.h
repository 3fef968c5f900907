//===- Identifiers.h - Names for C and C++ ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_SUPPORT_IDENTIFIERS_H
#define KVCACHE_SUPPORT_IDENTIFIERS_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir::kvcache {

/// Whether generated C can use `name` as it is: a C identifier, no word of C or
/// C++, no usual macro, none of the names that launchers use themselves.
bool isUsableIdentifier(llvm::StringRef name);

/// Returns a usable identifier that looks like `name` and is not in `taken`,
/// and adds it there.
std::string makeIdentifier(llvm::StringRef name,
                           std::vector<std::string> &taken);

} // namespace mlir::kvcache

#endif // KVCACHE_SUPPORT_IDENTIFIERS_H
