// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_PARSER_H
#define KVCACHE_LIB_SIMULATOR_PARSER_H

#include "Ast.h"
#include "Lexer.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ptxsim {

/// Recursive descent over the tokens of a module. Errors outside of function
/// bodies, and unbalanced braces, end the parse; an error inside of a body is
/// kept with its function.
class Parser {
public:
  explicit Parser(ModuleImpl &module) : module(module) {}
  Status run();

private:
  // Tokens (Parser.cpp)
  const Token &peek(size_t ahead = 0) const {
    size_t p = pos + ahead;
    return tokens[p < tokens.size() ? p : tokens.size() - 1];
  }
  const Token &next() {
    const Token &token = peek();
    if (pos + 1 < tokens.size())
      ++pos;
    return token;
  }
  bool eat(char c);
  bool expect(char c, const char *where);
  /// Records the first error; always false.
  bool fail(const Token &at, const std::string &message);
  bool failed() const { return hasError; }
  bool expectInteger(uint64_t &value, uint64_t max, const char *what);
  bool expectName(std::string_view &name, const char *what);

  // Declarations (ParseModule.cpp)
  bool parseTopLevel();
  bool parseVersion();
  bool parseTarget();
  bool parseFile();
  bool parseAlias();
  /// Once all functions are known.
  bool resolveAliases();
  bool skipSection();
  bool parseVariable(Space space, bool isExtern, ast::Variable &variable,
                     bool inParamList);
  bool parseInitialiser(ast::Variable &variable);
  bool parseInitialiserElement(ast::Variable &variable, uint64_t &offset);
  bool parseArrayBounds(ast::Variable &variable, unsigned elementSize,
                        unsigned vectorWidth, bool allowEmpty);
  bool parseFunction(bool isEntry, bool isExtern);
  bool parseParamList(ast::Function &function,
                      std::vector<const ast::Variable *> &list);
  bool parseFunctionDirectives(ast::Function &function);
  bool parseDim(Dim3 &dim);
  void finishFunction(ast::Function &function);
  void finishModule();

  // Bodies (ParseBody.cpp)
  struct Scope {
    std::unordered_map<std::string_view, uint32_t> registers;
    /// `%r<10>`: the prefix and the count; members are made when first named.
    struct Range {
      std::string_view prefix;
      uint64_t count;
      Type type;
    };
    std::vector<Range> ranges;
    std::unordered_map<std::string_view, const ast::Variable *> variables;
    /// Labels, registers and variables.
    std::unordered_set<std::string_view> declared;
    uint32_t id = 0;
  };
  bool parseBody(ast::Function &function);
  bool parseBodyItem(ast::Function &function);
  bool parseRegisters(ast::Function &function);
  /// False if the innermost scope has something of that name.
  bool declare(const Token &at, std::string_view name);
  bool parseLocalVariable(ast::Function &function, Space space,
                          bool isExtern = false);
  bool parseLoc();
  bool parsePragma();
  bool parseTargetList(ast::Function &function, std::string_view name);
  bool parseStatement(ast::Function &function);
  bool parseOperand(ast::Function &function, ast::Operand &operand,
                    unsigned depth);
  bool parseAddress(ast::Function &function, ast::Operand &operand,
                    unsigned depth);
  bool parseList(ast::Function &function, ast::Operand &operand, char close,
                 unsigned depth);
  void resolveName(ast::Function &function, std::string_view name,
                   ast::Operand &operand);
  /// The register of that name in the scopes from `outermost` inwards, or -1.
  int64_t findRegister(ast::Function &function, std::string_view name,
                       size_t outermost = 0);
  uint32_t addRegister(ast::Function &function, Scope &scope,
                       std::string_view name, Type type);
  void openScope(ast::Function &function);

  ModuleImpl &module;
  struct Alias {
    Token at;
    std::string_view name, function;
  };

  std::vector<Token> tokens;
  std::vector<Alias> aliases;
  size_t pos = 0;
  bool hasError = false;
  Status error;
  /// While a body is parsed, errors are kept with its function.
  bool inBody = false;
  std::vector<Scope> scopes;
  ast::Location location;
  /// For the next statement.
  uint32_t usedBytes = 0;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_PARSER_H
