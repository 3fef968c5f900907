//===- ProgramText.cpp - Programs that MLIR can parse ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Support/ProgramText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace mlir::kvcache;
using llvm::StringRef;

namespace {

/// A fraction of what 8 MiB of stack hold, for passes and sanitised builds take
/// more than the parser.
constexpr size_t maxNesting = 256;
constexpr size_t maxOperators = 1000;
/// What is printed of one alias, where those in it are written out.
constexpr uint64_t maxAliasBytes = uint64_t(1) << 30;

/// Goes through a text once. Brackets need not match: the parser says so.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}
  std::optional<TextFault> scan();

private:
  struct Level {
    char bracket;
    /// Since the last comma, those of the parentheses around it included.
    size_t operators;
  };
  /// How deep an alias is nested, and how long it is, written out.
  struct Alias {
    size_t nesting;
    uint64_t bytes;
  };

  char at(size_t offset) const {
    return offset < text.size() ? text[offset] : '\0';
  }
  void skipString();
  void skipComment();
  void open(char bracket);
  void close(char bracket);
  void countOperator();
  void takeAlias();
  void takeWord();
  void reach(size_t nesting);
  void fail(const llvm::Twine &message) {
    if (!fault)
      fault = TextFault{start, message.str()};
  }

  StringRef text;
  size_t next = 0;
  /// Of the token that is looked at.
  size_t start = 0;
  llvm::SmallVector<Level> levels;
  llvm::StringMap<Alias> aliases;
  /// The alias that is being defined.
  Alias *definition = nullptr;
  size_t definitionStart = 0;
  std::optional<TextFault> fault;
};

} // namespace

/// A string ends with its line at the latest.
void Scanner::skipString() {
  while (next < text.size() && text[next] != '\n') {
    char character = text[next++];
    if (character == '"')
      return;
    if (character == '\\' && at(next) != '\n')
      ++next;
  }
}

/// What stands between the parts of a split file begins anew.
void Scanner::skipComment() {
  size_t end = std::min(text.find('\n', start), text.size());
  if (text.slice(start, end).starts_with("// -----")) {
    levels.clear();
    aliases.clear();
    definition = nullptr;
  }
  next = end;
}

void Scanner::reach(size_t nesting) {
  if (definition)
    definition->nesting = std::max(definition->nesting, nesting);
  if (nesting > maxNesting)
    fail("brackets are nested " + llvm::Twine(nesting) +
         " deep here, those of aliases included, but at most " +
         llvm::Twine(maxNesting) +
         " are read; split the program into functions");
}

void Scanner::open(char bracket) {
  size_t operators =
      bracket == '(' && !levels.empty() && levels.back().bracket == '('
          ? levels.back().operators
          : 0;
  levels.push_back({bracket, operators});
  reach(levels.size());
}

void Scanner::close(char bracket) {
  auto it = llvm::find_if(llvm::reverse(levels), [&](const Level &level) {
    return level.bracket == bracket;
  });
  if (it != levels.rend())
    levels.erase(std::prev(it.base()), levels.end());
}

void Scanner::countOperator() {
  if (levels.empty() || levels.back().bracket != '(')
    return;
  if (++levels.back().operators > maxOperators)
    fail("an expression has more than " + llvm::Twine(maxOperators) +
         " operators here; write it as several expressions");
}

void Scanner::takeAlias() {
  while (llvm::isAlnum(at(next)) || StringRef("_$.").contains(at(next)) ||
         (at(next) == '-' && at(next + 1) != '>'))
    ++next;
  StringRef name = text.slice(start, next);
  size_t after = text.find_first_not_of(" \t\n\r", next);
  if (levels.empty() && at(after) == '=' && at(after + 1) != '=') {
    definition = &aliases[name];
    *definition = {0, 0};
    definitionStart = next = after + 1;
    return;
  }
  auto it = aliases.find(name);
  if (it == aliases.end())
    return;
  Alias alias = it->second;
  reach(levels.size() + alias.nesting);
  if (!definition)
    return;
  definition->bytes += alias.bytes;
  if (definition->bytes > maxAliasBytes)
    fail("an alias stands for more than " + llvm::Twine(maxAliasBytes) +
         " bytes of text with those in it; name it in them less often");
}

void Scanner::takeWord() {
  while (llvm::isAlnum(at(next)) || StringRef("_$.").contains(at(next)))
    ++next;
  StringRef word = text.slice(start, next);
  if (word == "floordiv" || word == "ceildiv" || word == "mod")
    countOperator();
}

std::optional<TextFault> Scanner::scan() {
  while (next < text.size() && !fault) {
    start = next;
    char character = text[next++];
    switch (character) {
    case '"':
      skipString();
      break;
    case '/':
      if (at(next) == '/')
        skipComment();
      break;
    case '<':
      if (at(next) == '=')
        break;
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      open(character);
      break;
    case ')':
      close('(');
      break;
    case ']':
      close('[');
      break;
    case '}':
      close('{');
      break;
    case '>':
      if (at(next) != '=')
        close('<');
      break;
    case '-':
      if (at(next) == '>')
        ++next;
      else
        countOperator();
      break;
    case '+':
    case '*':
      countOperator();
      break;
    case ',':
      if (!levels.empty())
        levels.back().operators = 0;
      break;
    case '\n':
      // An alias ends with its line, or where its brackets do.
      if (definition && levels.empty() &&
          !text.slice(definitionStart, start).trim().empty()) {
        definition->bytes += start - definitionStart;
        definition = nullptr;
      }
      break;
    case '#':
    case '!':
      takeAlias();
      break;
    default:
      if (llvm::isAlnum(character) || character == '_')
        takeWord();
    }
  }
  return fault;
}

std::optional<TextFault> mlir::kvcache::findTextFault(StringRef text) {
  return Scanner(text).scan();
}
