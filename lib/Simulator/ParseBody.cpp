// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function bodies: scopes, registers, labels, statements and operands.
#include "Parser.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace ptxsim;

static constexpr unsigned maxOperandDepth = 8;
static constexpr size_t maxScopeDepth = 200;
static constexpr size_t maxRegisters = 1 << 20;

void Parser::openScope(ast::Function &function) {
  Scope scope;
  scope.id = uint32_t(function.scopeParents.size());
  function.scopeParents.push_back(scopes.empty() ? 0 : scopes.back().id);
  scopes.push_back(std::move(scope));
}

bool Parser::parseBody(ast::Function &function) {
  usedBytes = 0;
  Token at = peek();
  if (!expect('{', "before a function body"))
    return false;
  scopes.clear();
  location = {};
  openScope(function);
  for (const auto *list : {&function.params, &function.results})
    for (const ast::Variable *param : *list) {
      scopes.back().variables[param->name] = param;
      scopes.back().declared.insert(param->name);
    }
  while (!scopes.empty()) {
    if (peek().kind == TokenKind::End) {
      // Without its closing brace the rest of the module is not known either.
      hasError = false;
      return fail(at, "function body is not closed");
    }
    if (eat('{')) {
      if (scopes.size() >= maxScopeDepth)
        return fail(peek(), "scopes are nested too deeply");
      openScope(function);
      continue;
    }
    if (eat('}')) {
      scopes.pop_back();
      continue;
    }
    if (parseBodyItem(function))
      continue;
    // Keep the first error with the function and go on behind the statement.
    if (function.error.ok())
      function.error = error;
    hasError = false;
    while (!peek().is(';') && !peek().is('}') && peek().kind != TokenKind::End)
      next();
    eat(';');
  }
  return true;
}

bool Parser::parseBodyItem(ast::Function &function) {
  const Token &token = peek();
  if (token.kind == TokenKind::DotWord) {
    std::string_view word = token.text;
    if (word == "reg")
      return parseRegisters(function);
    if (word == "loc")
      return parseLoc();
    if (word == "pragma")
      return parsePragma();
    Space space;
    if (word == "shared" || word == "shared::cta")
      space = Space::Shared;
    else if (word == "local")
      space = Space::Local;
    else if (word == "param")
      space = Space::Param;
    else
      return fail(token, "unknown directive '." + std::string(word) + "'");
    next();
    return parseLocalVariable(function, space);
  }
  if (eat(';'))
    return true;
  if (token.kind == TokenKind::Identifier && peek(1).is(':')) {
    const Token at = next();
    std::string_view name = at.text;
    next();
    if (peek().isDot("callprototype") || peek().isDot("branchtargets") ||
        peek().isDot("calltargets"))
      return parseTargetList(function, name);
    if (!declare(at, name))
      return false;
    function.labels.push_back(
        {name, scopes.back().id, uint32_t(function.statements.size())});
    return true;
  }
  return parseStatement(function);
}

/// Pragmas are hints, but for one: what the next instruction loads beside the
/// bytes that it uses need not be initialised.
bool Parser::parsePragma() {
  constexpr std::string_view mask = "used_bytes_mask";
  next();
  while (peek().kind == TokenKind::String || peek().is(',')) {
    std::string_view text = next().text;
    size_t at = text.find(mask);
    if (at != std::string_view::npos)
      usedBytes = uint32_t(std::strtoul(
          std::string(text.substr(at + mask.size())).c_str(), nullptr, 0));
  }
  return expect(';', "after .pragma");
}

bool Parser::parseTargetList(ast::Function &function, std::string_view name) {
  ast::TargetList list;
  list.name = name;
  bool prototype = next().text == "callprototype";
  while (!peek().is(';')) {
    if (peek().kind == TokenKind::End || peek().is('}'))
      return fail(peek(), "expected ';' after a list of targets");
    if (!prototype && peek().kind == TokenKind::Identifier)
      list.targets.push_back(peek().text);
    next();
  }
  next();
  function.targetLists.push_back(std::move(list));
  return true;
}

bool Parser::parseLoc() {
  next();
  uint64_t v[3];
  for (uint64_t &field : v)
    if (!expectInteger(field, 0xffffffff, "a number after .loc"))
      return false;
  location = {};
  location.file = uint32_t(v[0]);
  location.line = uint32_t(v[1]);
  location.column = uint32_t(v[2]);
  if (!peek().is(','))
    return true;
  while (eat(',')) {
    std::string_view what;
    if (!expectName(what, "function_name or inlined_at"))
      return false;
    if (what == "function_name") {
      if (!expectName(what, "a label"))
        return false;
      if (eat('+')) {
        uint64_t ignored;
        if (!expectInteger(ignored, ~uint64_t(0), "an offset"))
          return false;
      }
    } else if (what == "inlined_at") {
      for (uint64_t &field : v)
        if (!expectInteger(field, 0xffffffff, "a number after inlined_at"))
          return false;
      location.callFile = uint32_t(v[0]);
      location.callLine = uint32_t(v[1]);
      location.callColumn = uint32_t(v[2]);
    } else {
      return fail(peek(),
                  "unknown word '" + std::string(what) + "' after .loc");
    }
  }
  return true;
}

static uint8_t registerWidth(Type type) {
  unsigned size = sizeOf(type);
  return uint8_t(size == 1 ? 2 : size);
}

uint32_t Parser::addRegister(ast::Function &function, Scope &scope,
                             std::string_view name, Type type) {
  uint32_t id = uint32_t(function.registers.size());
  function.registers.push_back({std::string(name), type, registerWidth(type)});
  scope.registers[name] = id;
  return id;
}

bool Parser::declare(const Token &at, std::string_view name) {
  return scopes.back().declared.insert(name).second ||
         fail(at, "'" + std::string(name) + "' is declared twice in one scope");
}

bool Parser::parseRegisters(ast::Function &function) {
  next();
  Token at = peek();
  const TypeInfo *type =
      at.kind == TokenKind::DotWord ? findType(at.text) : nullptr;
  if (!type || !isRegisterType(type->type))
    return fail(at, "expected a register type, found '." +
                        std::string(at.text) + "'");
  next();
  Scope &scope = scopes.back();
  do {
    std::string_view name;
    if (!expectName(name, "a register name"))
      return false;
    if (eat('<')) {
      uint64_t count;
      if (!expectInteger(count, uint64_t(1) << 32, "a number of registers") ||
          !expect('>', "after a number of registers"))
        return false;
      for (const Scope::Range &range : scope.ranges)
        if (range.prefix == name)
          return fail(at, "'" + std::string(name) +
                              "<>' is declared twice in one scope");
      scope.ranges.push_back({name, count, type->type});
    } else if (!declare(at, name)) {
      return false;
    } else {
      if (function.registers.size() >= maxRegisters)
        return fail(at, "more than 2^20 registers");
      addRegister(function, scope, name, type->type);
    }
  } while (eat(','));
  return expect(';', "after .reg");
}

bool Parser::parseLocalVariable(ast::Function &function, Space space,
                                bool isExtern) {
  function.variables.emplace_back();
  ast::Variable &variable = function.variables.back();
  const Token at = peek();
  if (!parseVariable(space, isExtern, variable, /*inParamList=*/false) ||
      !expect(';', "after a variable") ||
      (!isExtern && !declare(at, variable.name)))
    return false;
  // Those of the module that no kernel uses may have any size.
  constexpr uint64_t most = 227 * 1024;
  if (space == Space::Shared && variable.size > most)
    return fail(at, "shared variable of " + std::to_string(variable.size) +
                        " bytes; a block has at most " + std::to_string(most));
  scopes.back().variables[variable.name] = &variable;
  return true;
}

int64_t Parser::findRegister(ast::Function &function, std::string_view name,
                             size_t outermost) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  std::string_view prefix = name.substr(0, digits);
  std::string_view suffix = name.substr(digits);
  // `%r01` is not a member of `%r<2>`.
  bool member = !suffix.empty() && suffix.size() < 11 &&
                (suffix.size() == 1 || suffix[0] != '0');
  uint64_t index = 0;
  if (member)
    for (char c : suffix)
      index = index * 10 + uint64_t(c - '0');
  for (size_t i = scopes.size(); i-- > outermost;) {
    auto it = scopes[i].registers.find(name);
    if (it != scopes[i].registers.end())
      return it->second;
    if (!member)
      continue;
    for (const Scope::Range &range : scopes[i].ranges)
      if (range.prefix == prefix && index < range.count &&
          function.registers.size() < maxRegisters)
        return addRegister(function, scopes[i], name, range.type);
  }
  return -1;
}

void Parser::resolveName(ast::Function &function, std::string_view name,
                         ast::Operand &operand) {
  operand.name = name;
  // The innermost scope that declares the name, be it a variable or a register.
  size_t declaring = scopes.size();
  const ast::Variable *local = nullptr;
  while (!local && declaring-- > 0) {
    auto it = scopes[declaring].variables.find(name);
    if (it != scopes[declaring].variables.end())
      local = it->second;
  }
  int64_t reg = findRegister(function, name, local ? declaring + 1 : 0);
  if (reg >= 0) {
    operand.kind = ast::Operand::Register;
    operand.value = uint64_t(reg);
    return;
  }
  if (local) {
    operand.kind = ast::Operand::Variable;
    operand.variable = local;
    return;
  }
  if (const ast::Variable *variable = module.findVariable(name)) {
    operand.kind = ast::Operand::Variable;
    operand.variable = variable;
    auto &used = function.usedVariables;
    if (std::find(used.begin(), used.end(), variable) == used.end())
      used.push_back(variable);
    return;
  }
  operand.kind = ast::Operand::Name;
  if (name[0] != '%' && name[0] != '$') {
    auto &used = function.usedNames;
    if (std::find(used.begin(), used.end(), name) == used.end())
      used.push_back(name);
  }
}

bool Parser::parseStatement(ast::Function &function) {
  ast::Statement statement;
  const Token first = peek();
  statement.line = first.line;
  statement.location = location;
  statement.scope = scopes.back().id;
  if (eat('@')) {
    statement.guardNegated = eat('!');
    std::string_view name;
    Token at = peek();
    if (!expectName(name, "a predicate after '@'"))
      return false;
    int64_t reg = findRegister(function, name);
    if (reg < 0 || function.registers[size_t(reg)].type != Type::Pred)
      return fail(at, "'" + std::string(name) + "' is no predicate register");
    statement.guard = int32_t(reg);
  }
  if (!expectName(statement.opcode, "an instruction"))
    return false;
  while (peek().kind == TokenKind::DotWord)
    statement.modifiers.push_back(next().text);
  if (!peek().is(';')) {
    do {
      if (statement.operands.size() >= 64)
        return fail(peek(), "more than 64 operands");
      statement.operands.emplace_back();
      if (!parseOperand(function, statement.operands.back(), 0))
        return false;
    } while (eat(','));
  }
  const Token last = peek();
  if (!expect(';', "after an instruction"))
    return false;
  const char *begin = first.text.data();
  statement.text = std::string_view(begin, size_t(last.text.data() - begin));
  statement.usedBytes = std::exchange(usedBytes, 0);
  function.statements.push_back(std::move(statement));
  return true;
}

bool Parser::parseList(ast::Function &function, ast::Operand &operand,
                       char close, unsigned depth) {
  if (eat(close))
    return true;
  do {
    if (operand.elements.size() >= 512)
      return fail(peek(), "more than 512 elements");
    operand.elements.emplace_back();
    if (!parseOperand(function, operand.elements.back(), depth + 1))
      return false;
  } while (eat(','));
  return expect(close, "after a list of operands");
}

bool Parser::parseAddress(ast::Function &function, ast::Operand &operand,
                          unsigned depth) {
  operand.kind = ast::Operand::Address;
  return parseList(function, operand, ']', depth);
}

bool Parser::parseOperand(ast::Function &function, ast::Operand &operand,
                          unsigned depth) {
  if (depth > maxOperandDepth)
    return fail(peek(), "operands are nested too deeply");
  if (eat('{')) {
    operand.kind = ast::Operand::Vector;
    return parseList(function, operand, '}', depth);
  }
  if (eat('(')) {
    operand.kind = ast::Operand::Vector;
    return parseList(function, operand, ')', depth);
  }
  if (eat('['))
    return parseAddress(function, operand, depth);
  if (eat('!')) {
    if (!parseOperand(function, operand, depth + 1))
      return false;
    operand.negated = !operand.negated;
    return true;
  }
  bool minus = false, invert = false;
  while (peek().is('-') || peek().is('~') || peek().is('+')) {
    if (peek().is('-'))
      minus = !minus;
    if (peek().is('~'))
      invert = !invert;
    if (minus && invert)
      return fail(peek(), "'-' and '~' together are not supported");
    next();
  }
  const Token token = peek();
  switch (token.kind) {
  case TokenKind::Integer:
    next();
    operand.kind = ast::Operand::Integer;
    operand.value = minus    ? uint64_t(0) - token.value
                    : invert ? ~token.value
                             : token.value;
    return true;
  case TokenKind::Float32:
  case TokenKind::Float64: {
    next();
    bool isDouble = token.kind == TokenKind::Float64;
    operand.kind = isDouble ? ast::Operand::Float64 : ast::Operand::Float32;
    operand.value = token.value;
    if (minus)
      operand.value ^= uint64_t(1) << (isDouble ? 63 : 31);
    return !invert || fail(token, "'~' before a floating-point literal");
  }
  case TokenKind::Identifier:
    break;
  default:
    return fail(token, token.kind == TokenKind::End
                           ? "expected an operand, found the end of the text"
                           : "expected an operand, found '" +
                                 std::string(token.text) + "'");
  }
  if (minus || invert)
    return fail(token, "a sign needs a number, found '" +
                           std::string(token.text) + "'");
  next();
  std::string_view name = token.text;
  if (name == "_") {
    operand.kind = ast::Operand::Discard;
  } else {
    // `%tid.x`
    if (name[0] == '%' && peek().kind == TokenKind::DotWord &&
        peek().text.data() == name.data() + name.size() + 1) {
      name =
          std::string_view(name.data(), name.size() + 1 + peek().text.size());
      next();
    }
    resolveName(function, name, operand);
  }
  if (peek().is('+') || peek().is('-')) {
    bool negative = next().is('-');
    negative ^= eat('-');
    uint64_t value;
    if (!expectInteger(value, uint64_t(1) << 62, "an offset"))
      return false;
    operand.offset = negative ? -int64_t(value) : int64_t(value);
  }
  if (eat('|')) {
    ast::Operand first = operand;
    operand = ast::Operand();
    operand.kind = ast::Operand::Pair;
    operand.elements.push_back(std::move(first));
    operand.elements.emplace_back();
    return parseOperand(function, operand.elements.back(), depth + 1);
  }
  return true;
}
