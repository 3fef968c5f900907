// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Parser.h"

#include <algorithm>

using namespace ptxsim;

Status ptxsim::parseModule(ModuleImpl &module) {
  module.lineStarts.push_back(0);
  for (size_t i = 0; i < module.text.size(); ++i)
    if (module.text[i] == '\n')
      module.lineStarts.push_back(i + 1);
  return Parser(module).run();
}

Status Parser::run() {
  LexError lexError;
  if (!lex(module.text, tokens, lexError))
    return Status::error(
        module.diagnose(lexError.line, lexError.column, lexError.message));
  while (peek().kind != TokenKind::End)
    if (!parseTopLevel())
      return error;
  if (module.target.empty()) {
    fail(peek(), "no .target directive: this is not a PTX module");
    return error;
  }
  if (!resolveAliases())
    return error;
  finishModule();
  return {};
}

bool Parser::eat(char c) {
  if (!peek().is(c))
    return false;
  next();
  return true;
}

static std::string spell(const Token &token) {
  switch (token.kind) {
  case TokenKind::End:
    return "the end of the text";
  case TokenKind::DotWord:
    return "'." + std::string(token.text) + "'";
  case TokenKind::String:
    return "\"" + std::string(token.text) + "\"";
  default:
    return "'" + std::string(token.text) + "'";
  }
}

bool Parser::expect(char c, const char *where) {
  if (eat(c))
    return true;
  return fail(peek(), std::string("expected '") + c + "' " + where +
                          ", found " + spell(peek()));
}

bool Parser::fail(const Token &at, const std::string &message) {
  if (!hasError) {
    hasError = true;
    error = Status::error(module.diagnose(at.line, at.column, message));
  }
  return false;
}

bool Parser::expectInteger(uint64_t &value, uint64_t max, const char *what) {
  if (peek().kind != TokenKind::Integer)
    return fail(peek(),
                std::string("expected ") + what + ", found " + spell(peek()));
  if (peek().value > max)
    return fail(peek(), std::string(what) + " " + std::string(peek().text) +
                            " is more than " + std::to_string(max));
  value = next().value;
  return true;
}

bool Parser::expectName(std::string_view &name, const char *what) {
  if (peek().kind != TokenKind::Identifier)
    return fail(peek(),
                std::string("expected ") + what + ", found " + spell(peek()));
  name = next().text;
  return true;
}

// ModuleImpl ----------------------------------------------------------------

const ast::Function *ModuleImpl::findFunction(std::string_view name) const {
  auto it = functionByName.find(name);
  return it == functionByName.end() ? nullptr : it->second;
}

const ast::Variable *ModuleImpl::findVariable(std::string_view name) const {
  auto it = variableByName.find(name);
  return it == variableByName.end() ? nullptr : it->second;
}

std::string_view ModuleImpl::lineText(uint32_t line) const {
  if (line == 0 || line > lineStarts.size())
    return {};
  size_t begin = lineStarts[line - 1];
  size_t end = line < lineStarts.size() ? lineStarts[line] - 1 : text.size();
  std::string_view view = std::string_view(text).substr(begin, end - begin);
  while (!view.empty() && (view.back() == '\r' || view.back() == ' '))
    view.remove_suffix(1);
  return view;
}

std::string ModuleImpl::diagnose(uint32_t line, uint32_t column,
                                 std::string_view message) const {
  std::string out = name + ":" + std::to_string(line) + ":";
  if (column)
    out += std::to_string(column) + ":";
  out += " error: ";
  out += message;
  std::string_view shown = lineText(line).substr(0, 200);
  if (!shown.empty()) {
    out += "\n";
    // It may be no text at all.
    for (char c : shown)
      out += uint8_t(c) >= 127 ? '?' : uint8_t(c) < 32 && c != '\t' ? ' ' : c;
  }
  return out;
}

int64_t ast::Function::findLabel(std::string_view label, uint32_t scope) const {
  for (;;) {
    for (const Label &candidate : labels)
      if (candidate.scope == scope && candidate.name == label)
        return candidate.statement;
    if (scope == 0)
      return -1;
    scope = scopeParents[scope];
  }
}
