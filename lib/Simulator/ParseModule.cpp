// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module-level directives, variables and function headers.
#include "Parser.h"
#include "Targets.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <unordered_set>

using namespace ptxsim;

/// Largest variable accepted; keeps sums of sizes far from overflow.
static constexpr uint64_t maxVariableBytes = uint64_t(1) << 40;

static bool spaceFromWord(std::string_view word, Space &space) {
  if (word == "global")
    space = Space::Global;
  else if (word == "const")
    space = Space::Const;
  else if (word == "shared" || word == "shared::cta")
    space = Space::Shared;
  else if (word == "local")
    space = Space::Local;
  else if (word == "param")
    space = Space::Param;
  else
    return false;
  return true;
}

bool Parser::parseTopLevel() {
  if (peek().kind == TokenKind::Punctuation && peek().is(';')) {
    next();
    return true;
  }
  if (peek().kind != TokenKind::DotWord)
    return fail(peek(), "expected a directive, found '" +
                            std::string(peek().text) + "'");
  std::string_view word = peek().text;
  if (word == "version")
    return parseVersion();
  if (word == "target")
    return parseTarget();
  if (word == "address_size") {
    next();
    uint64_t size = 0;
    Token at = peek();
    if (!expectInteger(size, 64, "an address size"))
      return false;
    return size == 64 || fail(at, "only .address_size 64 is supported");
  }
  if (word == "file")
    return parseFile();
  if (word == "section")
    return skipSection();
  if (word == "loc")
    return parseLoc();
  if (word == "alias")
    return parseAlias();
  if (word == "pragma") {
    next();
    while (peek().kind == TokenKind::String || peek().is(','))
      next();
    return expect(';', "after .pragma");
  }

  bool isExtern = false;
  while (peek().kind == TokenKind::DotWord) {
    word = peek().text;
    if (word == "extern")
      isExtern = true;
    else if (word != "visible" && word != "weak" && word != "common")
      break;
    next();
  }
  if (word == "entry" || word == "func") {
    next();
    return parseFunction(word == "entry", isExtern);
  }
  Space space;
  if (!spaceFromWord(word, space) || space == Space::Param)
    return fail(peek(), "unknown directive '." + std::string(word) + "'");
  next();
  module.variables.emplace_back();
  ast::Variable &variable = module.variables.back();
  if (!parseVariable(space, isExtern, variable, /*inParamList=*/false) ||
      !expect(';', "after a variable"))
    return false;
  const ast::Variable *&known = module.variableByName[variable.name];
  // A declaration yields to the definition.
  if (!known || known->isExtern)
    known = &variable;
  return true;
}

bool Parser::parseVersion() {
  next();
  if (peek().kind != TokenKind::Integer && peek().kind != TokenKind::Float64)
    return fail(peek(), "expected a version as in '.version 8.0'");
  constexpr unsigned newest = 9;
  const Token &version = next();
  std::string text(version.text);
  if (std::strtoul(text.c_str(), nullptr, 10) > newest)
    return fail(version, "version " + text + " of PTX is not known; up to " +
                             std::to_string(newest) + ".x is");
  return true;
}

bool Parser::parseTarget() {
  next();
  std::string_view name;
  Token at = peek();
  if (!expectName(name, "a target as in '.target sm_90a'"))
    return false;
  unsigned number = 0;
  if (name.substr(0, 3) == "sm_")
    for (char c : name.substr(3)) {
      if (c < '0' || c > '9')
        break;
      number = std::min(number * 10 + unsigned(c - '0'), 9999u);
    }
  if (!isKnownTarget(number))
    return fail(at, "unknown target '" + std::string(name) + "'");
  module.target = name;
  module.targetNumber = number;
  while (eat(','))
    if (!expectName(name, "a target option"))
      return false;
  return true;
}

bool Parser::parseFile() {
  next();
  uint64_t index = 0;
  Token at = peek();
  if (!expectInteger(index, 1 << 20, "a file number"))
    return false;
  if (peek().kind != TokenKind::String)
    return fail(peek(), "expected a file name in quotes");
  if (module.files.size() <= index) {
    if (index > module.files.size() + 4096)
      return fail(at, "file numbers leave too large a gap");
    module.files.resize(index + 1);
  }
  module.files[index] = std::string(next().text);
  while (eat(',')) {
    uint64_t ignored;
    if (!expectInteger(ignored, ~uint64_t(0), "a time stamp or a size"))
      return false;
  }
  return true;
}

/// `.alias name, function;`, which may stand in front of the definition.
bool Parser::parseAlias() {
  Alias alias;
  alias.at = next();
  if (!expectName(alias.name, "a function name") ||
      !expect(',', "between the names of .alias") ||
      !expectName(alias.function, "a function name"))
    return false;
  aliases.push_back(alias);
  return expect(';', "after .alias");
}

bool Parser::resolveAliases() {
  for (const Alias &alias : aliases) {
    const ast::Function *function = module.findFunction(alias.function);
    if (!function || !function->hasBody || function->isEntry)
      return fail(alias.at, "'" + std::string(alias.function) +
                                "' is not the name of a defined function");
    const ast::Function *&known = module.functionByName[alias.name];
    if (known && known->hasBody)
      return fail(alias.at, "function '" + std::string(alias.name) +
                                "' has a body, an alias has none");
    known = function;
  }
  return true;
}

bool Parser::skipSection() {
  Token at = next();
  while (!peek().is('{') && peek().kind != TokenKind::End)
    next();
  int depth = 0;
  do {
    if (peek().kind == TokenKind::End)
      return fail(at, ".section is not closed");
    if (peek().is('{'))
      ++depth;
    if (peek().is('}'))
      --depth;
    next();
  } while (depth > 0);
  return true;
}

bool Parser::parseVariable(Space space, bool isExtern, ast::Variable &variable,
                           bool inParamList) {
  variable.space = space;
  variable.isExtern = isExtern;
  variable.line = peek().line;
  const TypeInfo *type = nullptr;
  unsigned vectorWidth = 1;
  bool alignGiven = false;
  while (peek().kind == TokenKind::DotWord) {
    Token at = next();
    if (at.text == "align") {
      uint64_t align = 0;
      if (!expectInteger(align, 4096, "an alignment"))
        return false;
      if (align == 0 || (align & (align - 1)))
        return fail(at, "alignment " + std::to_string(align) +
                            " is not a power of two");
      variable.align = uint32_t(align);
      alignGiven = true;
    } else if (at.text == "v2" || at.text == "v4") {
      vectorWidth = unsigned(at.text[1] - '0');
    } else if (at.text == "attribute") {
      if (!expect('(', "after .attribute"))
        return false;
      while (!peek().is(')') && peek().kind != TokenKind::End)
        next();
      if (!expect(')', "after .attribute"))
        return false;
    } else if (inParamList && at.text == "ptr") {
      // `.ptr .global .align 16` describes what the pointer points to.
      if (peek().kind == TokenKind::DotWord &&
          (peek().text == "global" || peek().text == "shared" ||
           peek().text == "const" || peek().text == "local"))
        next();
      if (peek().isDot("align")) {
        next();
        uint64_t ignored;
        if (!expectInteger(ignored, 1 << 30, "an alignment"))
          return false;
      }
    } else if (const TypeInfo *found = findType(at.text)) {
      type = found;
    } else {
      return fail(at, "unknown word '." + std::string(at.text) +
                          "' in a variable declaration");
    }
  }
  if (!type || type->type == Type::Pred || type->size == 0)
    return fail(peek(), "expected a variable type");
  variable.type = type->type;
  if (!alignGiven)
    variable.align = type->size * vectorWidth;
  if (!expectName(variable.name, "a variable name"))
    return false;
  if (!parseArrayBounds(variable, type->size, vectorWidth,
                        isExtern || space == Space::Param || inParamList))
    return false;
  if (isExtern && space == Space::Shared && variable.size == 0)
    variable.isDynamic = true;
  if (peek().is('=')) {
    if (space != Space::Global && space != Space::Const)
      return fail(peek(), "only .global and .const variables take an "
                          "initial value");
    next();
    return parseInitialiser(variable);
  }
  return true;
}

bool Parser::parseArrayBounds(ast::Variable &variable, unsigned elementSize,
                              unsigned vectorWidth, bool allowEmpty) {
  uint64_t size = uint64_t(elementSize) * vectorWidth;
  bool first = true;
  while (peek().is('[')) {
    Token at = next();
    uint64_t bound = 0;
    if (peek().is(']')) {
      if (!first || (!allowEmpty && variable.space != Space::Global &&
                     variable.space != Space::Const))
        return fail(at, "array bound is missing");
    } else if (!expectInteger(bound, maxVariableBytes, "an array bound")) {
      return false;
    }
    if (!expect(']', "after an array bound"))
      return false;
    if (bound && size > maxVariableBytes / bound)
      return fail(at, "variable is larger than 2^40 bytes");
    size *= bound;
    first = false;
  }
  variable.size = size;
  return true;
}

bool Parser::parseInitialiser(ast::Variable &variable) {
  variable.hasInit = true;
  if (!peek().is('{')) {
    uint64_t offset = 0;
    return parseInitialiserElement(variable, offset);
  }
  // Nested braces list the elements in order; a flat offset serves.
  Token at = peek();
  int depth = 0;
  uint64_t offset = 0;
  do {
    if (peek().kind == TokenKind::End)
      return fail(at, "initial value is not closed");
    if (eat('{')) {
      ++depth;
    } else if (eat('}')) {
      --depth;
    } else if (!eat(',')) {
      if (!parseInitialiserElement(variable, offset))
        return false;
    }
  } while (depth > 0);
  // `x[] = {...}`: the values say how large it is.
  if (variable.size == 0)
    variable.size = variable.init.size();
  return true;
}

bool Parser::parseInitialiserElement(ast::Variable &variable,
                                     uint64_t &offset) {
  unsigned size = sizeOf(variable.type);
  Token at = peek();
  if (offset + size > (variable.size ? variable.size : maxVariableBytes))
    return fail(at, "more initial values than '" + std::string(variable.name) +
                        "' has elements");
  variable.init.resize(offset + size);
  bool negative = eat('-');
  uint64_t value = 0;
  if (peek().kind == TokenKind::Integer && !peek(1).is('(')) {
    value = next().value;
    if (negative)
      value = uint64_t(0) - value;
  } else if (peek().kind == TokenKind::Float32 ||
             peek().kind == TokenKind::Float64) {
    bool isDouble = next().kind == TokenKind::Float64;
    value = tokens[pos - 1].value;
    if (isDouble && variable.type == Type::F32) {
      double wide;
      memcpy(&wide, &value, 8);
      float narrow = float(wide);
      value = 0;
      memcpy(&value, &narrow, 4);
    }
    if (negative)
      value ^= uint64_t(1) << (size * 8 - 1);
  } else {
    ast::Relocation relocation;
    relocation.offset = offset;
    relocation.size = size;
    bool masked = false;
    if (peek().kind == TokenKind::Integer) {
      relocation.mask = next().value;
      masked = true;
      if (relocation.mask == 0)
        return fail(at, "address mask is zero");
      if (!expect('(', "after an address mask"))
        return false;
    }
    bool generic = peek().kind == TokenKind::Identifier &&
                   peek().text == "generic" && peek(1).is('(');
    if (generic)
      next(), next();
    if (negative || !expectName(relocation.symbol, "an initial value"))
      return fail(at, "expected an initial value");
    if (generic && !expect(')', "after generic(..."))
      return false;
    bool minus = peek().is('-');
    if (eat('+') || eat('-')) {
      minus ^= eat('-');
      uint64_t addend;
      if (!expectInteger(addend, uint64_t(1) << 40, "an offset"))
        return false;
      relocation.addend = minus ? -int64_t(addend) : int64_t(addend);
    }
    if (masked && !expect(')', "after a masked address"))
      return false;
    if (!masked && size != 8)
      return fail(at, "an address needs a 64-bit element or a mask");
    variable.relocations.push_back(relocation);
  }
  memcpy(&variable.init[offset], &value, std::min(size, 8u));
  offset += size;
  return true;
}

bool Parser::parseParamList(ast::Function &function,
                            std::vector<const ast::Variable *> &list) {
  if (!expect('(', "before parameters"))
    return false;
  if (eat(')'))
    return true;
  do {
    if (list.size() >= 4096)
      return fail(peek(), "more than 4096 parameters");
    if (peek().isDot("reg"))
      return fail(peek(), "parameters in registers are not supported");
    if (!peek().isDot("param"))
      return fail(peek(), "expected '.param'");
    next();
    function.variables.emplace_back();
    ast::Variable &variable = function.variables.back();
    if (!parseVariable(Space::Param, false, variable, /*inParamList=*/true))
      return false;
    list.push_back(&variable);
  } while (eat(','));
  return expect(')', "after parameters");
}

bool Parser::parseDim(Dim3 &dim) {
  uint64_t v[3] = {1, 1, 1};
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && !eat(','))
      break;
    if (!expectInteger(v[i], 0x7fffffff, "a dimension"))
      return false;
  }
  dim = {uint32_t(v[0]), uint32_t(v[1]), uint32_t(v[2])};
  return true;
}

bool Parser::parseFunctionDirectives(ast::Function &function) {
  KernelInfo &info = function.info;
  Token atClusters;
  while (peek().kind == TokenKind::DotWord) {
    Token at = next();
    uint64_t number = 0;
    if (at.text == "maxntid") {
      Dim3 dim;
      if (!parseDim(dim))
        return false;
      info.maxThreads = uint32_t(std::min<uint64_t>(dim.count(), 1u << 30));
    } else if (at.text == "reqntid") {
      if (!parseDim(info.requiredBlock))
        return false;
    } else if (at.text == "reqnctapercluster") {
      if (!parseDim(info.requiredCluster))
        return false;
    } else if (at.text == "blocksareclusters") {
      info.gridCountsClusters = true;
      atClusters = at;
    } else if (at.text == "maxclusterrank") {
      if (!expectInteger(number, 1 << 20, "a cluster size"))
        return false;
      info.maxClusterBlocks = uint32_t(number);
    } else if (at.text == "minnctapersm" || at.text == "maxnreg" ||
               at.text == "maxnctapersm") {
      if (!expectInteger(number, 1 << 30, "a number"))
        return false;
    } else if (at.text == "pragma") {
      while (peek().kind == TokenKind::String || peek().is(','))
        next();
      if (!expect(';', "after .pragma"))
        return false;
    } else if (at.text != "noreturn" && at.text != "explicitcluster") {
      return fail(at, "unknown directive '." + std::string(at.text) +
                          "' in a function header");
    }
  }
  if (info.gridCountsClusters &&
      (info.requiredBlock.count() == 0 || info.requiredCluster.count() == 0))
    return fail(atClusters, ".blocksareclusters needs .reqntid and "
                            ".reqnctapercluster");
  return true;
}

bool Parser::parseFunction(bool isEntry, bool isExtern) {
  module.functions.emplace_back();
  ast::Function &function = module.functions.back();
  function.isEntry = isEntry;
  function.isExtern = isExtern;
  function.line = function.info.line = peek().line;
  if (!isEntry && peek().is('(') && !parseParamList(function, function.results))
    return false;
  if (!expectName(function.name, "a function name"))
    return false;
  if (peek().is('(') && !parseParamList(function, function.params))
    return false;
  if (!parseFunctionDirectives(function))
    return false;
  function.info.name = function.name;

  uint64_t bytes = 0;
  for (const ast::Variable *param : function.params) {
    bytes = (bytes + param->align - 1) / param->align * param->align;
    function.info.params.push_back({std::string(param->name), uint32_t(bytes),
                                    uint32_t(param->size), param->align,
                                    std::string(typeInfo(param->type).name)});
    bytes += param->size;
    if (isEntry && bytes > 32764)
      return fail(peek(), "parameters take more than 32764 bytes");
  }
  function.info.paramBytes = uint32_t(bytes);

  if (eat(';')) {
    if (!module.findFunction(function.name))
      module.functionByName[function.name] = &function;
    return true;
  }
  function.hasBody = true;
  const ast::Function *&known = module.functionByName[function.name];
  if (known && known->hasBody)
    return fail(peek(), "function '" + std::string(function.name) +
                            "' is defined twice");
  known = &function;
  return parseBody(function);
}

void Parser::finishModule() {
  for (const ast::Variable &variable : module.variables)
    if ((variable.space == Space::Global || variable.space == Space::Const) &&
        !variable.isExtern)
      module.globals.push_back({std::string(variable.name), variable.size,
                                variable.align, variable.space == Space::Const,
                                variable.hasInit});

  // Shared memory a kernel names itself or through the functions it calls.
  for (ast::Function &function : module.functions) {
    if (!function.isEntry || !function.hasBody)
      continue;
    std::unordered_set<const ast::Function *> seen;
    std::vector<const ast::Function *> todo{&function};
    std::vector<const ast::Variable *> shared;
    while (!todo.empty()) {
      const ast::Function *current = todo.back();
      todo.pop_back();
      if (!seen.insert(current).second)
        continue;
      for (const ast::Variable &variable : current->variables)
        if (variable.space == Space::Shared)
          shared.push_back(&variable);
      for (const ast::Variable *used : current->usedVariables)
        if (used->space == Space::Shared)
          shared.push_back(used);
      for (std::string_view name : current->usedNames)
        if (const ast::Function *callee = module.findFunction(name))
          todo.push_back(callee);
    }
    std::unordered_set<const ast::Variable *> counted;
    uint64_t bytes = 0;
    for (const ast::Variable *variable : shared) {
      if (!counted.insert(variable).second)
        continue;
      if (variable->isDynamic) {
        function.info.usesDynamicShared = true;
        continue;
      }
      bytes = (bytes + variable->align - 1) / variable->align * variable->align;
      bytes = std::min<uint64_t>(bytes + variable->size, 0x7fffffff);
    }
    function.info.staticSharedBytes = uint32_t(bytes);
    module.kernels.push_back(function.info);
  }
}
