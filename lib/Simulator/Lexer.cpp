// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lexer.h"

#include <cstdlib>
#include <cstring>
#include <string>

using namespace ptxsim;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}
bool isName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) ||
         c == '_' || c == '$';
}
int hexDigit(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

class Lexer {
public:
  Lexer(std::string_view text, std::vector<Token> &tokens, LexError &error)
      : text(text), tokens(tokens), error(error) {}

  bool run() {
    while (skipBlanks()) {
      if (pos == text.size()) {
        push(TokenKind::End, pos, pos);
        return true;
      }
      if (!lexToken())
        return false;
    }
    return false;
  }

private:
  char at(size_t p) const { return p < text.size() ? text[p] : '\0'; }

  bool fail(std::string message) {
    error = {line, uint32_t(pos - lineStart + 1), std::move(message)};
    return false;
  }

  void push(TokenKind kind, size_t begin, size_t end, uint64_t value = 0) {
    Token token;
    token.kind = kind;
    token.text = text.substr(begin, end - begin);
    token.value = value;
    token.line = line;
    token.column = uint32_t(begin - lineStart + 1);
    tokens.push_back(token);
  }

  void newLine() {
    ++line;
    lineStart = pos + 1;
  }

  bool skipBlanks() {
    while (pos < text.size()) {
      char c = text[pos];
      if (c == '\n') {
        newLine();
        ++pos;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos;
      } else if (c == '/' && at(pos + 1) == '/') {
        while (pos < text.size() && text[pos] != '\n')
          ++pos;
      } else if (c == '/' && at(pos + 1) == '*') {
        size_t close = text.find("*/", pos + 2);
        if (close == std::string_view::npos)
          return fail("comment is not closed");
        for (; pos < close + 2; ++pos)
          if (text[pos] == '\n')
            newLine();
      } else {
        break;
      }
    }
    return true;
  }

  bool lexToken() {
    char c = text[pos];
    if (isNameStart(c)) {
      size_t begin = pos++;
      while (isName(at(pos)))
        ++pos;
      push(TokenKind::Identifier, begin, pos);
      return true;
    }
    if (isDigit(c))
      return lexNumber();
    if (c == '.') {
      size_t begin = ++pos;
      while (isName(at(pos)) ||
             (at(pos) == ':' && at(pos + 1) == ':' && isName(at(pos + 2))) ||
             (at(pos) == ':' && pos > begin && at(pos - 1) == ':'))
        ++pos;
      if (pos == begin)
        return fail("a name must follow the '.'");
      push(TokenKind::DotWord, begin, pos);
      return true;
    }
    if (c == '"') {
      size_t begin = ++pos;
      while (pos < text.size() && text[pos] != '"' && text[pos] != '\n')
        pos += text[pos] == '\\' ? 2 : 1;
      if (at(pos) != '"' || pos >= text.size()) {
        pos = begin;
        return fail("string is not closed");
      }
      push(TokenKind::String, begin, pos);
      ++pos;
      return true;
    }
    if (strchr("()[]{},;:+-*/!~|@<>=&^?", c)) {
      push(TokenKind::Punctuation, pos, pos + 1);
      ++pos;
      return true;
    }
    std::string shown = c >= 32 && c < 127
                            ? std::string("'") + c + "'"
                            : "with code " + std::to_string(uint8_t(c));
    return fail("unexpected character " + shown);
  }

  bool lexNumber() {
    size_t begin = pos;
    char next = at(pos + 1);
    if (text[pos] == '0' &&
        (next == 'f' || next == 'F' || next == 'd' || next == 'D')) {
      bool isDouble = next == 'd' || next == 'D';
      unsigned digits = isDouble ? 16 : 8;
      uint64_t bits = 0;
      unsigned count = 0;
      for (pos += 2; hexDigit(at(pos)) >= 0 && count <= digits; ++pos, ++count)
        bits = bits << 4 | uint64_t(hexDigit(at(pos)));
      if (count != digits || isName(at(pos))) {
        pos = begin;
        return fail("floating-point literal needs exactly " +
                    std::to_string(digits) + " hexadecimal digits");
      }
      push(isDouble ? TokenKind::Float64 : TokenKind::Float32, begin, pos,
           bits);
      return true;
    }
    unsigned base = 10;
    if (text[pos] == '0' && (next == 'x' || next == 'X'))
      base = 16, pos += 2;
    else if (text[pos] == '0' && (next == 'b' || next == 'B'))
      base = 2, pos += 2;
    else if (text[pos] == '0')
      base = 8;
    uint64_t value = 0;
    size_t first = pos;
    for (; hexDigit(at(pos)) >= 0 && unsigned(hexDigit(at(pos))) < base;
         ++pos) {
      uint64_t digit = uint64_t(hexDigit(at(pos)));
      if (value > (~uint64_t(0) - digit) / base) {
        pos = begin;
        return fail("integer does not fit 64 bits");
      }
      value = value * base + digit;
    }
    if (pos == first) {
      pos = begin;
      return fail("number has no digits");
    }
    if (base == 10 || base == 8) {
      bool exponent = at(pos) == 'e' || at(pos) == 'E';
      if (exponent || (at(pos) == '.' && isDigit(at(pos + 1))))
        return lexDecimalFloat(begin);
    }
    if (at(pos) == 'U' || at(pos) == 'u')
      ++pos;
    if (isName(at(pos))) {
      pos = begin;
      return fail("number ends in a letter or an unexpected digit");
    }
    push(TokenKind::Integer, begin, pos, value);
    return true;
  }

  bool lexDecimalFloat(size_t begin) {
    size_t end = begin;
    while (isDigit(at(end)) || at(end) == '.' || at(end) == 'e' ||
           at(end) == 'E' ||
           ((at(end) == '+' || at(end) == '-') &&
            (at(end - 1) == 'e' || at(end - 1) == 'E')))
      ++end;
    std::string digits(text.substr(begin, end - begin));
    char *stop = nullptr;
    double value = strtod(digits.c_str(), &stop);
    if (*stop) {
      pos = begin;
      return fail("malformed floating-point literal '" + digits + "'");
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pos = end;
    push(TokenKind::Float64, begin, end, bits);
    return true;
  }

  std::string_view text;
  std::vector<Token> &tokens;
  LexError &error;
  size_t pos = 0;
  size_t lineStart = 0;
  uint32_t line = 1;
};

} // namespace

bool ptxsim::lex(std::string_view text, std::vector<Token> &tokens,
                 LexError &error) {
  return Lexer(text, tokens, error).run();
}
