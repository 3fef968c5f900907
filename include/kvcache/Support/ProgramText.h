//===- ProgramText.h - Programs that MLIR can parse -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_SUPPORT_PROGRAMTEXT_H
#define KVCACHE_SUPPORT_PROGRAMTEXT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::kvcache {

/// What is wrong with a text.
struct TextFault {
  /// The byte where it is.
  size_t offset;
  /// What and what to do, as errors say it.
  std::string message;
};

/// What in the text of a program would exhaust the stack or the time of MLIR's
/// parser, printer or passes, which recur with nesting and know no limit:
/// brackets, aliases of attributes and types in each other, and operators of an
/// affine expression. Nothing else of the text is looked at. Takes time linear
/// in the text.
std::optional<TextFault> findTextFault(llvm::StringRef text);

} // namespace mlir::kvcache

#endif // KVCACHE_SUPPORT_PROGRAMTEXT_H
