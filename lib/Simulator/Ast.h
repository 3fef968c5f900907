// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parser makes of a module: declarations, and statements with their
// names resolved to registers and variables. Opcodes and modifiers are still
// text: understanding them is the decoder's work.
#ifndef KVCACHE_LIB_SIMULATOR_AST_H
#define KVCACHE_LIB_SIMULATOR_AST_H

#include "Types.h"
#include "kvcache/Simulator/Module.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptxsim::ast {

struct Location {
  /// `.loc`: index of the `.file`, 0 if none.
  uint32_t file = 0, line = 0, column = 0;
  /// `inlined_at`: where the function of this place was called; line 0 if it
  /// was not inlined.
  uint32_t callFile = 0, callLine = 0, callColumn = 0;
};

/// The address of `symbol` plus `addend`, stored into an initialiser.
struct Relocation {
  uint64_t offset = 0;
  /// Bytes stored: the low ones of (address & mask) >> (trailing zeros).
  uint32_t size = 8;
  uint64_t mask = ~uint64_t(0);
  std::string_view symbol;
  int64_t addend = 0;
};

struct Variable {
  std::string_view name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint64_t size = 0;
  uint32_t align = 1;
  uint32_t line = 0;
  bool isExtern = false;
  /// `.extern .shared x[]`: begins where static shared memory ends.
  bool isDynamic = false;
  bool hasInit = false;
  std::vector<uint8_t> init;
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::B32;
  /// Bytes a lane takes in the register file; 0 for predicates.
  uint8_t width = 4;
};

struct Operand {
  enum Kind : uint8_t {
    Register,
    Variable,
    /// A name that is neither: special register, label, function.
    Name,
    Integer,
    Float32,
    Float64,
    /// `{a, b}` and `(a, b)`.
    Vector,
    /// `[base + offset]` or `[base, {coordinates}]`; elements[0] is the base.
    Address,
    /// `p|q`
    Pair,
    /// `_`
    Discard
  };
  Kind kind = Discard;
  /// `!p`
  bool negated = false;
  /// Register number in the function, or the bits of a literal.
  uint64_t value = 0;
  /// Added to a variable or an address.
  int64_t offset = 0;
  const ast::Variable *variable = nullptr;
  std::string_view name;
  std::vector<Operand> elements;
};

struct Statement {
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
  /// Register number of the guard predicate, -1 if none.
  int32_t guard = -1;
  bool guardNegated = false;
  uint32_t line = 0;
  /// From the guard to the semicolon.
  std::string_view text;
  Location location;
  uint32_t scope = 0;
  /// `.pragma "used_bytes_mask …"` before it: which of the bytes that it loads
  /// are used, 0: all.
  uint32_t usedBytes = 0;
};

struct Label {
  std::string_view name;
  uint32_t scope = 0;
  /// Index of the statement it stands before.
  uint32_t statement = 0;
};

/// `.callprototype`, `.branchtargets`, `.calltargets`.
struct TargetList {
  std::string_view name;
  std::vector<std::string_view> targets;
};

struct Function {
  std::string_view name;
  bool isEntry = false;
  bool isExtern = false;
  bool hasBody = false;
  uint32_t line = 0;
  KernelInfo info;
  /// Parameters and results; `.param` variables of a device function.
  std::vector<const Variable *> params, results;
  std::deque<Variable> variables;
  std::vector<ast::Register> registers;
  std::vector<Statement> statements;
  std::vector<Label> labels;
  std::vector<TargetList> targetLists;
  /// Parent of each scope.
  std::vector<uint32_t> scopeParents;
  /// Module variables and functions named in the body.
  std::vector<const Variable *> usedVariables;
  std::vector<std::string_view> usedNames;
  /// What is wrong with the body; refuses this function alone.
  Status error;

  /// Statement index of a label visible from `scope`, -1 if none.
  int64_t findLabel(std::string_view name, uint32_t scope) const;
};

} // namespace ptxsim::ast

namespace ptxsim {

class ModuleImpl {
public:
  std::string name;
  std::string text;
  std::string target;
  unsigned targetNumber = 0;
  std::vector<std::string> files;
  std::deque<ast::Variable> variables;
  std::deque<ast::Function> functions;
  std::vector<KernelInfo> kernels;
  std::vector<GlobalInfo> globals;

  const ast::Function *findFunction(std::string_view name) const;
  const ast::Variable *findVariable(std::string_view name) const;
  /// `<name>:<line>: error: <message>` and the text of the line.
  std::string diagnose(uint32_t line, uint32_t column,
                       std::string_view message) const;
  std::string_view lineText(uint32_t line) const;

  std::unordered_map<std::string_view, const ast::Function *> functionByName;
  std::unordered_map<std::string_view, const ast::Variable *> variableByName;
  std::vector<size_t> lineStarts;
};

/// Fills `module`, whose text and name are set.
Status parseModule(ModuleImpl &module);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_AST_H
