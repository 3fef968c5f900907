// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes a kernel and the functions it calls, and lays out registers, shared
// and local memory.
#include "Decoder.h"
#include "Handlers.h"
#include "Targets.h"

#include <algorithm>
#include <tuple>

using namespace ptxsim;

/// Bytes between variables when red zones are asked for.
static constexpr uint32_t redZone = 64;

ProgramBuilder::ProgramBuilder(const ModuleImpl &module,
                               const ast::Function &kernel,
                               const DecodeOptions &options,
                               const AddressOf &addressOf)
    : module(module), kernel(kernel), options(options), addressOf(addressOf),
      program(std::make_unique<Program>()), graph(module, kernel) {
  program->module = &module;
  program->kernel = &kernel;
}

Result<std::unique_ptr<Program>> ptxsim::decode(const ModuleImpl &module,
                                                const ast::Function &kernel,
                                                const DecodeOptions &options,
                                                const AddressOf &addressOf) {
  return ProgramBuilder(module, kernel, options, addressOf).build();
}

Result<std::unique_ptr<Program>> ProgramBuilder::build() {
  std::string error;
  layoutShared();
  layoutFrames();
  // Code of a callee lies before its caller's, which lets divergent lanes meet
  // again after a call when the lowest program counter runs first.
  for (const ast::Function *function : graph.order()) {
    if (!function->hasBody)
      return Status::error(
          module.diagnose(function->line, 0,
                          "function '" + std::string(function->name) +
                              "' is declared but not defined"));
    if (!function->error.ok())
      return function->error;
    frame = frames[function].get();
    if (!decodeBody(*frame, error))
      return Status::error(error);
  }
  for (const CallFixup &fixup : callFixups)
    program->code[fixup.inst].target = fixup.callee->entry;
  program->entry = uint32_t(frame->entry);
  trackProducts();
  assignOffsets();
  return std::move(program);
}

// Slots -----------------------------------------------------------------------

uint32_t ProgramBuilder::newSlot(uint8_t width) {
  slots.push_back({width, 0});
  return uint32_t(slots.size() - 1);
}

uint32_t ProgramBuilder::registerSlot(uint32_t reg) {
  uint32_t &slot = frame->registerSlots[reg];
  if (slot == noSlot)
    slot = newSlot(frame->function->registers[reg].width);
  return slot;
}

uint32_t ProgramBuilder::constant(uint64_t low, uint8_t width, uint64_t high) {
  if (width < 8)
    low &= width ? (uint64_t(1) << (8 * width)) - 1 : 0xffffffff;
  auto [it, isNew] =
      constantSlots.try_emplace(std::make_tuple(low, high, width), noSlot);
  if (isNew) {
    it->second = newSlot(width);
    slots.back().isShared = true;
    program->constants.push_back({it->second, width, low, high});
  }
  return it->second;
}

uint32_t ProgramBuilder::special(Special which) {
  auto [it, isNew] = specialSlots.try_emplace(which, noSlot);
  if (isNew) {
    it->second = newSlot(4);
    slots.back().isShared = true;
    program->specials.push_back({which, it->second});
    program->usesReservedShared |= which >= Special::ReservedSmemBegin &&
                                   which <= Special::ReservedSmemSecond;
  }
  return it->second;
}

uint32_t ProgramBuilder::carrySlot() {
  if (frame->carrySlot == noSlot)
    frame->carrySlot = newSlot(0);
  return frame->carrySlot;
}

void ProgramBuilder::assignOffsets() {
  // Predicates together, then each width on its own cache lines.
  uint32_t offset = 0;
  for (SlotInfo &slot : slots)
    if (slot.width == 0) {
      slot.offset = offset;
      offset += 4;
    }
  offset = (offset + 63) / 64 * 64;
  for (SlotInfo &slot : slots)
    if (slot.width != 0) {
      slot.offset = offset;
      offset += 32u * slot.width;
    }
  program->registerBytes = offset;
  layoutBesideTime();

  auto patch = [&](uint32_t &slot) {
    if (slot != noSlot)
      slot = slots[slot].offset;
  };
  for (Inst &inst : program->code) {
    patch(inst.dst);
    patch(inst.a);
    patch(inst.b);
    patch(inst.c);
    patch(inst.guard);
  }
  for (OperandSlot &operand : program->operands)
    patch(operand.slot);
  for (Program::Constant &constant : program->constants)
    patch(constant.slot);
  for (Program::SpecialSlot &special : program->specials)
    patch(special.slot);
  for (TrackedRegister &tracked : program->trackedRegisters)
    patch(tracked.slot);
  for (FrameLayout &layout : program->frames)
    for (OperandSlot &saved : layout.saved)
      patch(saved.slot);
  patch(program->frameBaseSlot);
  patch(program->calleeBaseSlot);
}

// Variables -------------------------------------------------------------------

static bool callsByAddress(const ast::Function &function) {
  for (const ast::Statement &statement : function.statements)
    if (statement.opcode == "call")
      for (const ast::Operand &operand : statement.operands)
        if (operand.kind == ast::Operand::Register)
          return true;
  return false;
}

void ProgramBuilder::layoutShared() {
  std::vector<const ast::Function *> order{&kernel};
  std::vector<const ast::Variable *> variables;
  for (size_t i = 0; i < order.size(); ++i) {
    const ast::Function *function = order[i];
    if (callsByAddress(*function))
      for (const ast::Function *callee : graph.addressed())
        if (std::find(order.begin(), order.end(), callee) == order.end())
          order.push_back(callee);
    for (const ast::Variable *used : function->usedVariables)
      if (used->space == Space::Shared)
        variables.push_back(used);
    for (const ast::Variable &own : function->variables)
      if (own.space == Space::Shared)
        variables.push_back(&own);
    for (std::string_view name : function->usedNames)
      if (const ast::Function *callee = module.findFunction(name))
        if (std::find(order.begin(), order.end(), callee) == order.end())
          order.push_back(callee);
  }
  uint64_t offset = 0;
  std::vector<const ast::Variable *> dynamic;
  for (const ast::Variable *variable : variables) {
    if (sharedOffsets.count(variable))
      continue;
    if (variable->isDynamic) {
      dynamic.push_back(variable);
      sharedOffsets[variable] = 0;
      continue;
    }
    if (options.redZones && offset)
      offset += redZone;
    offset = (offset + variable->align - 1) / variable->align * variable->align;
    sharedOffsets[variable] = uint32_t(offset);
    program->sharedVariables.push_back(
        {variable->name, uint32_t(offset), uint32_t(variable->size)});
    offset = std::min<uint64_t>(offset + variable->size, 0x7fff0000);
  }
  uint32_t align = 16;
  for (const ast::Variable *variable : dynamic)
    align = std::max(align, variable->align);
  program->dynamicSharedAlign = align;
  if (!dynamic.empty()) {
    if (options.redZones && offset)
      offset += redZone;
    offset = (offset + align - 1) / align * align;
    for (const ast::Variable *variable : dynamic)
      sharedOffsets[variable] = uint32_t(offset);
  }
  program->staticSharedBytes = uint32_t(offset);
}

uint32_t ProgramBuilder::localOffset(FunctionFrame &own,
                                     const ast::Variable &variable) {
  auto [it, isNew] = own.localOffsets.try_emplace(&variable, 0);
  if (isNew) {
    FrameLayout *layout =
        own.layout < 0 ? nullptr : &program->frames[size_t(own.layout)];
    uint32_t &bytes = layout ? layout->bytes : program->localBytes;
    uint64_t offset = bytes;
    if (options.redZones)
      offset += 16;
    uint32_t align = std::max(variable.align, 8u);
    offset = (offset + align - 1) / align * align;
    it->second = uint32_t(offset);
    (layout ? layout->variables : program->localVariables)
        .push_back({variable.name, uint32_t(offset), uint32_t(variable.size)});
    bytes = uint32_t(std::min<uint64_t>(
        offset + std::max<uint64_t>(variable.size, 1), 0x3fff0000));
    if (layout)
      layout->align = std::max(layout->align, align);
  }
  return it->second;
}

bool ProgramBuilder::isInFrame(const ast::Variable &variable) const {
  return frame->layout >= 0 &&
         (variable.space == Space::Local || variable.space == Space::Param);
}

Result<uint64_t>
ProgramBuilder::variableAddress(const ast::Variable &variable) {
  switch (variable.space) {
  case Space::Shared: {
    auto it = sharedOffsets.find(&variable);
    if (it == sharedOffsets.end())
      return Status::error("'" + std::string(variable.name) +
                           "' is a shared variable of another function");
    return uint64_t(it->second);
  }
  case Space::Local:
    return uint64_t(localOffset(*frame, variable));
  case Space::Param:
    if (frame->function == &kernel)
      for (size_t i = 0; i < kernel.params.size(); ++i)
        if (kernel.params[i] == &variable)
          return uint64_t(kernel.info.params[i].offset);
    return uint64_t(localOffset(*frame, variable));
  default: {
    uint64_t address = addressOf(variable);
    if (!address)
      return Status::error("'" + std::string(variable.name) +
                           "' is declared .extern and defined nowhere");
    return address;
  }
  }
}

uint64_t ptxsim::functionAddress(const ModuleImpl &module,
                                 const ast::Function &function) {
  uint64_t index = 1;
  for (const ast::Function &candidate : module.functions) {
    if (&candidate == &function)
      break;
    ++index;
  }
  return functionAddressBase + index * 16;
}

const ast::Function *ptxsim::functionAt(const ModuleImpl &module,
                                        uint64_t address) {
  uint64_t index = (address - functionAddressBase) / 16;
  return address < functionAddressBase || address % 16 || index == 0 ||
                 index > module.functions.size()
             ? nullptr
             : &module.functions[size_t(index) - 1];
}

// Functions -------------------------------------------------------------------

static bool takesStack(const ast::Function &function) {
  return std::any_of(function.statements.begin(), function.statements.end(),
                     [](const ast::Statement &s) {
                       return s.opcode == "alloca" || s.opcode == "stacksave" ||
                              s.opcode == "stackrestore";
                     });
}

void ProgramBuilder::layoutFrames() {
  for (const ast::Function *function : graph.order()) {
    auto own = std::make_unique<FunctionFrame>();
    own->function = function;
    own->registerSlots.assign(function->registers.size(), noSlot);
    bool takes = takesStack(*function);
    program->usesStack |= takes;
    if (function != &kernel) {
      own->returnSlot = newSlot(4);
      // What alloca takes goes with the frame.
      if (takes || graph.inOneCycle(*function, *function)) {
        own->layout = int32_t(program->frames.size());
        program->frames.emplace_back();
        program->frames.back().name = function->name;
        program->usesStack = true;
      }
    }
    frames[function] = std::move(own);
  }
  if (!program->usesStack)
    return;
  for (uint32_t *slot : {&program->frameBaseSlot, &program->calleeBaseSlot}) {
    *slot = newSlot(8);
    slots.back().isShared = true;
  }
}

void ProgramBuilder::saveRegisters(FunctionFrame &own, size_t first) {
  if (!graph.inOneCycle(*own.function, *own.function))
    return;
  FrameLayout &layout = program->frames[size_t(own.layout)];
  auto add = [&](size_t slot) {
    OperandSlot saved;
    saved.slot = uint32_t(slot);
    saved.width = slots[slot].width;
    layout.saved.push_back(saved);
    layout.savedBytesPerLane += std::max<uint32_t>(saved.width, 1);
  };
  add(own.returnSlot);
  for (size_t slot = first; slot < slots.size(); ++slot)
    if (!slots[slot].isShared)
      add(slot);
}

FunctionFrame *ProgramBuilder::functionFrame(const ast::Function &function) {
  auto it = frames.find(&function);
  return it == frames.end() ? nullptr : it->second.get();
}

void ProgramBuilder::callTarget(FunctionFrame &callee) {
  callFixups.push_back({program->code.size() - 1, &callee});
}

static const std::unordered_map<std::string_view, DecodeFunction> &decoders() {
  static const auto *table = [] {
    auto *map = new std::unordered_map<std::string_view, DecodeFunction>();
    for (const DecodeEntry *family :
         {arithmeticDecoders, bitDecoders, dataDecoders, convertDecoders,
          memoryDecoders, controlDecoders, callDecoders, wideDecoders,
          collectiveDecoders, asyncDecoders, matrixDecoders,
          matrixMoveDecoders})
      for (; family->decode; ++family)
        (*map)[family->opcode] = family->decode;
    return map;
  }();
  return *table;
}

void ProgramBuilder::markGuesses() {
  for (size_t load : plainLoads) {
    Inst &inst = program->code[load];
    if (swapAddresses.count({inst.space, inst.a, inst.imm}))
      inst.flags |= AccessStrong | AccessGuess;
  }
  plainLoads.clear();
  swapAddresses.clear();
}

/// A selp reads its predicate, and copies one of two registers.
void RegisterUse::select(const ast::Statement &selp) {
  moveKind = MoveKind::Select;
  for (size_t k = 1; k <= 2; ++k) {
    const ast::Operand &operand = selp.operands[k];
    copies.push_back(operand.kind == ast::Operand::Register
                         ? uint32_t(operand.value)
                         : noSlot);
  }
  reads = {uint32_t(selp.operands[3].value)};
}

bool ProgramBuilder::decodeBody(FunctionFrame &own, std::string &error) {
  const ast::Function &function = *own.function;
  size_t firstSlot = slots.size();
  size_t firstFixup = fixups.size();
  size_t begin = program->code.size();
  own.entry = int32_t(begin);
  if (options.trackRegisters && &function != &kernel) {
    // Where the registers of a new call become unknown; no loop leads here.
    Inst entry;
    entry.fn = nothingHandler;
    entry.instClass = uint8_t(InstClass::Control);
    program->code.push_back(entry);
    program->info.push_back({function.line, "call", {}, 0});
  }
  bool needsUses =
      options.trackRegisters || options.instrumented ||
      std::any_of(function.statements.begin(), function.statements.end(),
                  [](const ast::Statement &statement) {
                    return statement.opcode == "wgmma" || readsTime(statement);
                  });
  std::vector<uint32_t> statementStart;
  for (const ast::Statement &statement : function.statements) {
    statementStart.push_back(uint32_t(program->code.size()));
    auto it = decoders().find(statement.opcode);
    Statement decoder(*this, statement);
    if (it == decoders().end())
      decoder.fail("unsupported instruction '" + std::string(statement.opcode) +
                   "'");
    else if (std::string missing = missingTarget(module, statement);
             !missing.empty())
      decoder.fail(std::move(missing));
    else
      it->second(decoder);
    decoder.finish();
    if (decoder.failed()) {
      error = decoder.error.find(": error: ") != std::string::npos
                  ? decoder.error
                  : module.diagnose(statement.line, 0, decoder.error);
      return false;
    }
    if (program->code.size() > (1u << 24)) {
      error = module.diagnose(statement.line, 0, "kernel is too large");
      return false;
    }
    if (needsUses) {
      decoder.use.pc = statementStart.back();
      decoder.use.guard = statement.guard;
      if (statement.opcode == "mov")
        decoder.use.copies = std::move(decoder.use.reads);
      else if (statement.opcode == "selp")
        decoder.use.select(statement);
      own.uses.push_back(std::move(decoder.use));
    }
  }
  statementStart.push_back(uint32_t(program->code.size()));

  // Falling off the end is a return.
  Inst last;
  last.flow = &function == &kernel ? Flow::Exit : Flow::Return;
  last.a = own.returnSlot;
  last.instClass = uint8_t(InstClass::Control);
  program->code.push_back(last);
  InstInfo info;
  info.line = function.statements.empty() ? function.line
                                          : function.statements.back().line;
  info.text = "ret";
  program->info.push_back(info);

  for (size_t i = firstFixup; i < fixups.size(); ++i) {
    const Fixup &fixup = fixups[i];
    int64_t statement = function.findLabel(fixup.label, fixup.scope);
    if (statement < 0) {
      error = module.diagnose(fixup.line, 0,
                              "no label '" + std::string(fixup.label) + "'");
      return false;
    }
    int32_t target = int32_t(statementStart[size_t(statement)]);
    if (fixup.table >= 0)
      program->branchTables[size_t(fixup.table)][size_t(fixup.entry)] = target;
    else
      program->code[fixup.inst].target = target;
  }
  fixups.resize(firstFixup);

  markGuesses();
  findTimeRegisters(own);
  if (options.trackRegisters)
    trackRegisters(own, uint32_t(begin));
  saveRegisters(own, firstSlot);
  return true;
}
