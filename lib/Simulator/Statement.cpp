// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modifiers and operands of a statement.
#include "Decoder.h"

#include <algorithm>

using namespace ptxsim;

bool Statement::fail(std::string message) {
  if (error.empty())
    error = std::move(message);
  return false;
}

// Modifiers -------------------------------------------------------------------

bool Statement::take(std::string_view modifier) {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i] && ast.modifiers[i] == modifier) {
      taken[i] = true;
      return true;
    }
  return false;
}

bool Statement::has(std::string_view modifier) const {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i] && ast.modifiers[i] == modifier)
      return true;
  return false;
}

int Statement::takeOneOf(std::initializer_list<std::string_view> choices) {
  int index = 0;
  for (std::string_view choice : choices) {
    if (take(choice))
      return index;
    ++index;
  }
  return -1;
}

int Statement::takeLeftmost(std::initializer_list<std::string_view> choices) {
  for (size_t i = 0; i < taken.size(); ++i) {
    const auto *found =
        taken[i] ? choices.end()
                 : std::find(choices.begin(), choices.end(), ast.modifiers[i]);
    if (found == choices.end())
      continue;
    taken[i] = true;
    return int(found - choices.begin());
  }
  return -1;
}

bool Statement::takeLast(size_t count, std::string_view *words) {
  for (size_t i = taken.size(); i-- > 0 && count > 0;) {
    if (taken[i])
      continue;
    taken[i] = true;
    words[--count] = ast.modifiers[i];
  }
  return count == 0;
}

size_t Statement::numUntaken() const {
  return size_t(std::count(taken.begin(), taken.end(), false));
}

Type Statement::takeType() {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i])
      if (const TypeInfo *info = findType(ast.modifiers[i])) {
        taken[i] = true;
        return info->type;
      }
  return Type::None;
}

Type Statement::needType() {
  Type type = takeType();
  if (type == Type::None)
    fail("a type is missing");
  return type;
}

void Statement::takeCacheHints() {
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i])
      continue;
    std::string_view m = ast.modifiers[i];
    static constexpr std::string_view exact[] = {
        "ca", "cg", "cs",      "lu",       "cv",      "wb",
        "wt", "nc", "L2::64B", "L2::128B", "L2::256B"};
    bool hint =
        std::find(std::begin(exact), std::end(exact), m) != std::end(exact);
    for (std::string_view level : {"L1::", "L2::"})
      if (m.substr(0, 4) == level)
        for (std::string_view what :
             {"evict_normal", "evict_unchanged", "evict_first", "evict_last",
              "no_allocate"})
          hint |= m.substr(4) == what;
    taken[i] = hint;
  }
}

void Statement::takeScopeAndSemantics() {
  for (std::string_view word :
       {"relaxed", "acquire", "release", "acq_rel", "weak", "volatile", "sc",
        "mmio", "cta", "cluster", "gpu", "sys"})
    take(word);
}

Space Statement::takeSpace() {
  struct Row {
    std::string_view name;
    Space space;
  };
  static constexpr Row rows[] = {
      {"global", Space::Global},      {"const", Space::Const},
      {"param", Space::Param},        {"param::entry", Space::Param},
      {"param::func", Space::Param},  {"shared", Space::Shared},
      {"shared::cta", Space::Shared}, {"shared::cluster", Space::Shared},
      {"local", Space::Local},
  };
  for (const Row &row : rows)
    if (take(row.name))
      return row.space;
  return Space::Generic;
}

// Operands --------------------------------------------------------------------

bool Statement::expectOperands(size_t least, size_t most) {
  if (numOperands() >= least && numOperands() <= most)
    return true;
  return fail("expected " + std::to_string(least) +
              (least == most ? "" : " to " + std::to_string(most)) +
              " operands, found " + std::to_string(numOperands()));
}

static unsigned registerBytes(Type type) {
  unsigned size = sizeOf(type);
  return size == 1 ? 2 : size;
}

static std::string describe(const ast::Operand &operand,
                            const ProgramBuilder &builder) {
  if (operand.kind == ast::Operand::Register)
    return "'" + builder.registerInfo(uint32_t(operand.value)).name + "'";
  if (operand.kind == ast::Operand::Name ||
      operand.kind == ast::Operand::Variable)
    return "'" + std::string(operand.name) + "'";
  return "operand";
}

bool Statement::serves(const ast::Register &reg, Type type) {
  if (registerServes(reg.type, type))
    return true;
  const TypeInfo &info = typeInfo(type);
  std::string bits = ".b" + std::to_string(registerBytes(type) * 8);
  std::string own = "." + std::string(info.name);
  // Of some types there are no registers.
  bool hasOwn = own != bits && isRegisterType(type);
  return fail("'" + reg.name + "' is a register of ." +
              std::string(typeInfo(reg.type).name) + ", expected one of " +
              (hasOwn ? own + " or " : "") + bits);
}

uint32_t Statement::readSlot(const ast::Operand &operand) {
  use.reads.push_back(uint32_t(operand.value));
  return builder.registerSlot(uint32_t(operand.value));
}

uint32_t Statement::writeSlot(const ast::Operand &operand) {
  use.writes.push_back(uint32_t(operand.value));
  return builder.registerSlot(uint32_t(operand.value));
}

uint32_t Statement::dst(const ast::Operand &operand, Type type) {
  uint8_t width = 0;
  uint32_t slot = dstWide(operand, type, width);
  if (slot != noSlot && width != registerBytes(type)) {
    fail(describe(operand, builder) + " has " + std::to_string(width * 8) +
         " bits, ." + std::string(typeInfo(type).name) + " needs " +
         std::to_string(registerBytes(type) * 8));
    return noSlot;
  }
  return slot;
}

uint32_t Statement::dstWide(const ast::Operand &operand, Type type,
                            uint8_t &width) {
  if (operand.kind == ast::Operand::Discard) {
    width = uint8_t(registerBytes(type));
    return builder.newSlot(width);
  }
  if (operand.kind != ast::Operand::Register || operand.negated ||
      operand.offset) {
    fail("the destination must be a register, found " +
         describe(operand, builder));
    return noSlot;
  }
  const ast::Register &reg = builder.registerInfo(uint32_t(operand.value));
  width = reg.width;
  if (width < registerBytes(type) || width == 0) {
    fail("'" + reg.name + "' is too narrow for ." +
         std::string(typeInfo(type).name));
    return noSlot;
  }
  return serves(reg, type) ? writeSlot(operand) : noSlot;
}

uint32_t Statement::dstPred(const ast::Operand &operand) {
  if (operand.kind == ast::Operand::Discard)
    return builder.newSlot(0);
  if (operand.kind != ast::Operand::Register || operand.negated ||
      builder.registerInfo(uint32_t(operand.value)).width != 0) {
    fail("the destination must be a predicate, found " +
         describe(operand, builder));
    return noSlot;
  }
  return writeSlot(operand);
}

uint32_t Statement::srcPred(const ast::Operand &operand, bool *negated) {
  *negated = operand.negated;
  // A literal serves as a predicate in `vote` and the like.
  if (operand.kind == ast::Operand::Integer)
    return builder.constant(operand.value ? 0xffffffff : 0, 0);
  if (operand.kind == ast::Operand::Name && operand.name == "%pt")
    return builder.constant(0xffffffff, 0);
  if (operand.kind != ast::Operand::Register ||
      builder.registerInfo(uint32_t(operand.value)).width != 0) {
    fail("expected a predicate, found " + describe(operand, builder));
    return noSlot;
  }
  return readSlot(operand);
}

bool Statement::immediate(const ast::Operand &operand, uint64_t &value) {
  if (operand.kind != ast::Operand::Integer || operand.negated)
    return fail("expected an immediate integer, found " +
                describe(operand, builder));
  value = operand.value;
  return true;
}

uint32_t Statement::srcWide(const ast::Operand &operand, Type type,
                            uint8_t &width) {
  if (operand.kind == ast::Operand::Register && !operand.negated &&
      !operand.offset) {
    const ast::Register &reg = builder.registerInfo(uint32_t(operand.value));
    width = reg.width;
    if (width < registerBytes(type) || width == 0) {
      fail("'" + reg.name + "' is too narrow for ." +
           std::string(typeInfo(type).name));
      return noSlot;
    }
    return serves(reg, type) ? readSlot(operand) : noSlot;
  }
  width = uint8_t(registerBytes(type));
  return src(operand, type);
}

static uint64_t doubleToFloatBits(uint64_t bits) {
  return bitCast<uint32_t>(float(bitCast<double>(bits)));
}

uint32_t Statement::src(const ast::Operand &operand, Type type) {
  unsigned bytes = registerBytes(type);
  if (operand.negated) {
    fail("'!' before an operand that is no predicate");
    return noSlot;
  }
  switch (operand.kind) {
  case ast::Operand::Register: {
    const ast::Register &reg = builder.registerInfo(uint32_t(operand.value));
    if (reg.width != bytes || operand.offset) {
      fail("'" + reg.name + "' has " + std::to_string(reg.width * 8) +
           " bits, ." + std::string(typeInfo(type).name) + " needs " +
           std::to_string(bytes * 8));
      return noSlot;
    }
    return serves(reg, type) ? readSlot(operand) : noSlot;
  }
  case ast::Operand::Integer: {
    if (isFloat(type) && bytes > 2 && typeInfo(type).lanes == 1 &&
        type != Type::TF32) {
      // An integer literal of a float type would be a value, not bits.
      fail("an integer literal where ." + std::string(typeInfo(type).name) +
           " is expected; write it as 0f... or 0d...");
      return noSlot;
    }
    uint64_t high =
        bytes == 16 && int64_t(operand.value) < 0 ? ~uint64_t(0) : 0;
    return builder.constant(operand.value, uint8_t(bytes), high);
  }
  case ast::Operand::Float32:
    if (bytes == 8 && isFloat(type)) {
      double wide = double(bitCast<float>(uint32_t(operand.value)));
      return builder.constant(bitCast<uint64_t>(wide), 8);
    }
    if (bytes != 4) {
      fail("a 32-bit floating-point literal where ." +
           std::string(typeInfo(type).name) + " is expected");
      return noSlot;
    }
    return builder.constant(operand.value, 4);
  case ast::Operand::Float64:
    if (type == Type::F32)
      return builder.constant(doubleToFloatBits(operand.value), 4);
    if (bytes != 8) {
      fail("a 64-bit floating-point literal where ." +
           std::string(typeInfo(type).name) + " is expected");
      return noSlot;
    }
    return builder.constant(operand.value, 8);
  case ast::Operand::Variable: {
    Result<uint64_t> address = builder.variableAddress(*operand.variable);
    if (!address.ok()) {
      fail(address.message());
      return noSlot;
    }
    if (builder.isInFrame(*operand.variable) && (bytes == 4 || bytes == 8))
      return frameAddress(*address + uint64_t(operand.offset), bytes);
    if (bytes != 8 && bytes != 4) {
      fail("an address does not fit ." + std::string(typeInfo(type).name));
      return noSlot;
    }
    if (bytes == 4 && operand.variable->space != Space::Shared &&
        operand.variable->space != Space::Local) {
      fail("the address of '" + std::string(operand.name) +
           "' does not fit 32 bits");
      return noSlot;
    }
    return builder.constant(*address + uint64_t(operand.offset),
                            uint8_t(bytes));
  }
  case ast::Operand::Name: {
    if (operand.name == "WARP_SZ")
      return builder.constant(32, uint8_t(bytes));
    // Nothing here runs in a graph.
    if (operand.name == "%current_graph_exec" && bytes == 8)
      return builder.constant(0, 8);
    if (const Special *which = findSpecial(operand.name)) {
      if (bytes != 4 || operand.offset) {
        fail("special register " + std::string(operand.name) +
             " has 32 bits, ." + std::string(typeInfo(type).name) + " needs " +
             std::to_string(bytes * 8));
        return noSlot;
      }
      return builder.special(*which);
    }
    if (const ast::Function *function =
            builder.module.findFunction(operand.name)) {
      if (bytes != 8) {
        fail("the address of a function needs 64 bits");
        return noSlot;
      }
      return builder.constant(functionAddress(builder.module, *function), 8);
    }
    fail(operand.name[0] == '%'
             ? "unknown register '" + std::string(operand.name) + "'"
             : "unknown name '" + std::string(operand.name) + "'");
    return noSlot;
  }
  default:
    fail("expected a register or an immediate");
    return noSlot;
  }
}

uint32_t Statement::addressSlot(const ast::Operand &base, Space space,
                                int64_t &disp, uint8_t &width) {
  width = 8;
  disp = base.offset;
  switch (base.kind) {
  case ast::Operand::Register: {
    const ast::Register &reg = builder.registerInfo(uint32_t(base.value));
    width = reg.width;
    if (base.negated || (width != 8 && width != 4)) {
      fail("'" + reg.name + "' cannot hold an address");
      return noSlot;
    }
    if (width == 4 && space != Space::Shared && space != Space::Local &&
        space != Space::Param && space != Space::Const) {
      fail("a 32-bit address in a 64-bit space");
      return noSlot;
    }
    return readSlot(base);
  }
  case ast::Operand::Integer:
    if (space != Space::Local) {
      fail("the immediate address " + std::to_string(base.value) +
           " outside of .local memory; move it to a register first");
      return noSlot;
    }
    disp = int64_t(uint64_t(base.offset) + base.value);
    return noSlot;
  case ast::Operand::Variable: {
    Space own = base.variable->space;
    bool matches =
        own == space || (own == Space::Const && space == Space::Global);
    if (!matches && space != Space::Generic) {
      fail("'" + std::string(base.name) + "' is not in the space accessed");
      return noSlot;
    }
    if (space == Space::Generic && own != Space::Global &&
        own != Space::Const) {
      fail("'" + std::string(base.name) +
           "' needs its space in the instruction");
      return noSlot;
    }
    Result<uint64_t> address = builder.variableAddress(*base.variable);
    if (!address.ok())
      fail(address.message());
    else
      disp = int64_t(*address + uint64_t(base.offset));
    return builder.isInFrame(*base.variable) ? builder.frameBase() : noSlot;
  }
  case ast::Operand::Name:
    fail("unknown name '" + std::string(base.name) + "' in an address");
    return noSlot;
  default:
    fail("expected an address");
    return noSlot;
  }
}

void Statement::address(const ast::Operand &operand, Space space) {
  if (operand.kind != ast::Operand::Address || operand.elements.size() != 1) {
    fail("expected an address in brackets");
    return;
  }
  inst.space = space;
  inst.a = addressSlot(operand.elements[0], space, inst.imm, inst.aWidth);
}

void Statement::plainOperands(Type type, size_t sources) {
  if (!expectOperands(1 + sources))
    return;
  inst.dst = dst(0, type);
  uint32_t *slots[] = {&inst.a, &inst.b, &inst.c};
  for (size_t i = 0; i < sources; ++i)
    *slots[i] = src(1 + i, type);
}

bool Statement::addRegisters(const ast::Operand &vector, size_t count,
                             Type type, bool written) {
  uint8_t width = uint8_t(sizeOf(type));
  bool isVector = vector.kind == ast::Operand::Vector;
  size_t given = isVector ? vector.elements.size() : 1;
  if (given != count)
    return fail("expected " + std::to_string(count) + " registers, found " +
                std::to_string(given));
  for (size_t k = 0; k < count; ++k) {
    const ast::Operand &element = isVector ? vector.elements[k] : vector;
    addOperand(written ? dst(element, type) : src(element, type), width);
  }
  return !failed();
}

void Statement::finish() {
  if (failed())
    return;
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) {
      fail("unsupported modifier '." + std::string(ast.modifiers[i]) + "'");
      return;
    }
  if (!didEmit)
    fail("unsupported form");
}

void Statement::emit(InstClass instClass, Handler fn) {
  didEmit = true;
  if (failed())
    return;
  if (!fn && inst.flow == Flow::Plain) {
    fail("unsupported combination of modifiers and types");
    return;
  }
  inst.fn = fn;
  inst.instClass = uint8_t(instClass);
  inst.usedBytes = ast.usedBytes;
  if (ownGuard) {
    inst.guard = guardSlot;
  } else if (ast.guard >= 0) {
    inst.guard = builder.registerSlot(uint32_t(ast.guard));
    inst.guardNegated = ast.guardNegated;
  }
  Program &program = *builder.program;
  inst.operands = uint32_t(program.operands.size());
  inst.numOperands = uint16_t(extra.size());
  program.operands.insert(program.operands.end(), extra.begin(), extra.end());
  program.code.push_back(inst);
  InstInfo info;
  info.line = ast.line;
  info.text = ast.text;
  info.location = ast.location;
  program.info.push_back(info);
  // Further instructions of the same statement start afresh.
  inst = Inst();
  extra.clear();
}

uint32_t Statement::frameAddress(uint64_t offset, unsigned bytes) {
  uint32_t slot = builder.newSlot(uint8_t(bytes));
  // In front of the instruction that is being put together.
  Statement before(builder, ast);
  before.guardBy(noSlot);
  before.inst.dst = slot;
  before.inst.dstWidth = uint8_t(bytes);
  before.inst.a = builder.frameBase();
  before.inst.aWidth = 8;
  before.inst.imm = int64_t(offset);
  before.emit(InstClass::Integer, frameAddressHandler);
  return slot;
}

size_t Statement::beginSkip() {
  if (!isGuarded())
    return noSlot;
  inst.flow = Flow::Branch;
  emit(InstClass::Control, nullptr);
  if (failed())
    return noSlot;
  std::vector<Inst> &code = builder.program->code;
  code.back().guardNegated = !code.back().guardNegated;
  guardBy(noSlot);
  return code.size() - 1;
}

void Statement::endSkip(size_t skip) {
  std::vector<Inst> &code = builder.program->code;
  if (skip != noSlot)
    code[skip].target = int32_t(code.size());
}

void Statement::emitBranchTo(std::string_view label) {
  size_t index = builder.program->code.size();
  emit(InstClass::Control, nullptr);
  ProgramBuilder::Fixup fixup;
  fixup.inst = index;
  fixup.label = label;
  fixup.scope = ast.scope;
  fixup.line = ast.line;
  builder.fixups.push_back(fixup);
}

void Statement::emitBranchTable(const std::vector<std::string_view> &labels) {
  Program &program = *builder.program;
  size_t table = program.branchTables.size();
  program.branchTables.emplace_back(labels.size(), 0);
  inst.imm = int64_t(table);
  size_t index = program.code.size();
  emit(InstClass::Control, nullptr);
  for (size_t i = 0; i < labels.size(); ++i) {
    ProgramBuilder::Fixup fixup;
    fixup.inst = index;
    fixup.label = labels[i];
    fixup.scope = ast.scope;
    fixup.line = ast.line;
    fixup.table = int64_t(table);
    fixup.entry = int64_t(i);
    builder.fixups.push_back(fixup);
  }
}
