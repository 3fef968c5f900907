// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits PTX text into tokens.
#ifndef KVCACHE_LIB_SIMULATOR_LEXER_H
#define KVCACHE_LIB_SIMULATOR_LEXER_H

#include "kvcache/Simulator/Status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptxsim {

enum class TokenKind : uint8_t {
  End,
  /// A name: `%r1`, `foo`, `$L__BB0_1`, `_`.
  Identifier,
  /// `.word`, the text without the dot: `.global`, `.shared::cta`, `.2d`.
  DotWord,
  Integer,
  /// `0f3F800000` and `0d...`; the value holds the bits.
  Float32,
  Float64,
  String,
  /// One character.
  Punctuation
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  uint64_t value = 0;
  uint32_t line = 0;
  uint32_t column = 0;

  bool is(char c) const {
    return kind == TokenKind::Punctuation && text[0] == c;
  }
  bool isDot(std::string_view word) const {
    return kind == TokenKind::DotWord && text == word;
  }
};

struct LexError {
  uint32_t line = 0, column = 0;
  std::string message;
};

/// Tokens of `text`, an End token last. The tokens point into `text`.
bool lex(std::string_view text, std::vector<Token> &tokens, LexError &error);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_LEXER_H
