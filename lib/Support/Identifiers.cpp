//===- Identifiers.cpp - Names for C --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Support/Identifiers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

/// Words of C and C++, macros that compilers and C's headers are known to
/// define, and members of the structures that headers declare.
static constexpr llvm::StringLiteral reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "assert", "auto", "bitand",
    "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t",
    "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
    "decltype", "default", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
    "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
    "typeof", "typeof_unqual", "union", "unsigned", "using", "virtual", "void",
    "volatile", "wchar_t", "while", "xor", "xor_eq",
    // Macros.
    "EOF", "NULL", "errno", "i386", "linux", "offsetof", "stderr", "stdin",
    "stdout", "unix", "complex", "imaginary", "I", "noreturn", "mips", "sun",
    "vax", "arm", "sparc", "near", "far",
    // Members.
    "workspace", "workspace_bytes"};

static bool isIdentifierChar(char c) { return llvm::isAlnum(c) || c == '_'; }

bool mlir::kvcache::isUsableIdentifier(StringRef name) {
  // C keeps names that begin with an underscore for itself.
  return !name.empty() && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, isIdentifierChar) &&
         !llvm::is_contained(reserved, name);
}

std::string mlir::kvcache::makeIdentifier(StringRef name,
                                          std::vector<std::string> &taken) {
  std::string identifier;
  for (char c : name)
    identifier += isIdentifierChar(c) ? c : '_';
  if (identifier.empty() || !llvm::isAlpha(identifier.front()))
    identifier.insert(0, "x");
  if (!isUsableIdentifier(identifier))
    identifier += '_';
  std::string unique = identifier;
  for (unsigned i = 2; llvm::is_contained(taken, unique); ++i)
    unique = identifier + "_" + std::to_string(i);
  taken.push_back(unique);
  return unique;
}
