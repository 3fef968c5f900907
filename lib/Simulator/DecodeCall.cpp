// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of device functions, by name and by address, and of the functions the
// driver provides.
#include "Decoder.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

/// `call (result), callee, (arguments)` with any part left out.
struct CallParts {
  const ast::Operand *results = nullptr, *callee = nullptr,
                     *arguments = nullptr, *prototype = nullptr;
};

bool splitCall(Statement &s, CallParts &parts) {
  size_t k = 0;
  if (k < s.numOperands() && s.operand(k).kind == ast::Operand::Vector)
    parts.results = &s.operand(k++);
  if (k < s.numOperands())
    parts.callee = &s.operand(k++);
  if (k < s.numOperands() && s.operand(k).kind == ast::Operand::Vector)
    parts.arguments = &s.operand(k++);
  if (k < s.numOperands())
    parts.prototype = &s.operand(k++);
  if (!parts.callee || k != s.numOperands())
    return s.fail("expected call (results), function, (arguments)");
  return true;
}

const ast::Variable *paramOf(Statement &s, const ast::Operand &operand) {
  if (operand.kind == ast::Operand::Variable &&
      operand.variable->space == Space::Param)
    return operand.variable;
  s.fail("expected a .param variable in a call");
  return nullptr;
}

/// Copies variables between the caller's and the callee's local memory.
void emitCopies(Statement &s, const ast::Operand *list,
                const std::vector<const ast::Variable *> &formal,
                FunctionFrame &callee, bool intoCallee) {
  size_t given = list ? list->elements.size() : 0;
  if (given != formal.size()) {
    s.fail("the function has " + std::to_string(formal.size()) +
           (intoCallee ? " parameters, " : " results, ") +
           std::to_string(given) + " are given");
    return;
  }
  for (size_t i = 0; i < given; ++i) {
    const ast::Variable *own = paramOf(s, list->elements[i]);
    if (!own)
      return;
    if (own->size != formal[i]->size) {
      s.fail("parameter " + std::to_string(i) + " has " +
             std::to_string(formal[i]->size) + " bytes, " +
             std::to_string(own->size) + " are given");
      return;
    }
    uint32_t mine = s.builder.localOffset(*own);
    FunctionFrame *saved = s.builder.frame;
    s.builder.frame = &callee;
    uint32_t theirs = s.builder.localOffset(*formal[i]);
    s.builder.frame = saved;
    s.inst.imm = int64_t(uint64_t(intoCallee ? mine : theirs) << 32 |
                         (intoCallee ? theirs : mine));
    s.inst.target = int32_t(own->size);
    s.emit(InstClass::Control, copyLocalHandler);
  }
}

void emitCall(Statement &s, const CallParts &parts, const ast::Function &callee,
              FunctionFrame &frame) {
  emitCopies(s, parts.arguments, callee.params, frame, /*intoCallee=*/true);
  s.inst.flow = Flow::Call;
  s.inst.target = frame.entry;
  s.inst.a = frame.returnSlot;
  s.emit(InstClass::Control, nullptr);
  emitCopies(s, parts.results, callee.results, frame, /*intoCallee=*/false);
}

/// Whether the parameters and results of a call have the function's sizes.
bool accepts(const ast::Function &function, const CallParts &parts) {
  auto fits = [](const ast::Operand *list,
                 const std::vector<const ast::Variable *> &formal) {
    size_t given = list ? list->elements.size() : 0;
    if (given != formal.size())
      return false;
    for (size_t i = 0; i < given; ++i)
      if (list->elements[i].kind != ast::Operand::Variable ||
          list->elements[i].variable->size != formal[i]->size)
        return false;
    return true;
  };
  return fits(parts.arguments, function.params) &&
         fits(parts.results, function.results);
}

/// Functions that the driver provides.
struct Builtin {
  std::string_view name;
  Handler handler;
  size_t arguments;
};
constexpr Builtin builtins[] = {{"vprintf", vprintfHandler, 2},
                                {"__assertfail", assertFailHandler, 5},
                                {"malloc", mallocHandler, 1},
                                {"free", freeHandler, 1}};

bool decodeBuiltin(Statement &s, const CallParts &parts) {
  const Builtin *builtin = nullptr;
  for (const Builtin &candidate : builtins)
    if (candidate.name == parts.callee->name)
      builtin = &candidate;
  if (!builtin)
    return false;
  // Local offsets of the arguments, then of the result.
  size_t arguments = parts.arguments ? parts.arguments->elements.size() : 0;
  if (arguments != builtin->arguments) {
    s.fail("wrong number of arguments");
    return true;
  }
  for (const ast::Operand &argument : parts.arguments->elements)
    if (const ast::Variable *variable = paramOf(s, argument))
      s.addOperand(s.builder.constant(s.builder.localOffset(*variable), 4), 4);
  if (parts.results && parts.results->elements.size() == 1)
    if (const ast::Variable *variable = paramOf(s, parts.results->elements[0]))
      s.addOperand(s.builder.constant(s.builder.localOffset(*variable), 4), 4);
  s.inst.flow = Flow::MayYield;
  // What is printed has an order, and so has what malloc gives.
  s.builder.program->orderDependent = true;
  s.emit(InstClass::Control, builtin->handler);
  return true;
}

/// `call (results), %rd1, (arguments), prototype`: compares the address with
/// every function that can have been taken and calls the one it is.
void decodeIndirectCall(Statement &s, const CallParts &parts) {
  ProgramBuilder &builder = s.builder;
  uint32_t address = s.src(*parts.callee, Type::U64);
  uint32_t nothing = builder.constant(0, 0);
  uint32_t matched = builder.newSlot(0), unmatched = builder.newSlot(0);
  auto clear = [&](uint32_t slot) {
    s.guardBy(noSlot);
    s.inst.dst = slot;
    s.inst.a = nothing;
    s.emit(InstClass::Control, isa().predicate(PredOp::Mov));
  };
  clear(matched);
  for (const ast::Function *candidate : builder.addressedFunctions()) {
    FunctionFrame *frame = builder.decodedFrame(*candidate);
    if (!frame || !accepts(*candidate, parts))
      continue;
    uint32_t isIt = builder.newSlot(0);
    clear(isIt);
    s.guardByStatement();
    s.inst.dst = isIt;
    s.inst.a = address;
    s.inst.b = builder.constant(functionAddress(builder.module, *candidate), 8);
    s.emit(InstClass::Control, isa().compare(CompareOp::Eq, Type::U64, false));
    s.guardBy(noSlot);
    s.inst.dst = s.inst.a = matched;
    s.inst.b = isIt;
    s.emit(InstClass::Control, isa().predicate(PredOp::Or));
    s.guardBy(isIt);
    emitCall(s, parts, *candidate, *frame);
  }
  clear(unmatched);
  s.guardByStatement();
  s.inst.dst = unmatched;
  s.inst.a = matched;
  s.inst.flags = 1;
  s.emit(InstClass::Control, isa().predicate(PredOp::Mov));
  s.guardBy(unmatched);
  s.inst.a = address;
  s.inst.flow = Flow::MayYield;
  s.emit(InstClass::Control, badCallHandler);
}

void decodeCall(Statement &s) {
  s.take("uni");
  CallParts parts;
  if (!splitCall(s, parts))
    return;
  if (parts.callee->kind == ast::Operand::Register)
    return decodeIndirectCall(s, parts);
  const ast::Function *callee =
      s.builder.module.findFunction(parts.callee->name);
  if (!callee || !callee->hasBody) {
    if (decodeBuiltin(s, parts))
      return;
    s.fail("function '" + std::string(parts.callee->name) +
           "' is not defined in this module");
    return;
  }
  if (callee->isEntry) {
    s.fail("a kernel cannot be called");
    return;
  }
  std::string error;
  FunctionFrame *frame = s.builder.functionFrame(*callee, error);
  if (!frame) {
    s.fail(error);
    return;
  }
  emitCall(s, parts, *callee, *frame);
}

} // namespace

const DecodeEntry ptxsim::callDecoders[] = {{"call", decodeCall},
                                            {"", nullptr}};
