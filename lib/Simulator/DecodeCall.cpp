// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of device functions, by name and by address, and of the functions the
// driver provides.
#include "Decoder.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

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
  ProgramBuilder &builder = s.builder;
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
    uint32_t mine = builder.localOffset(*builder.frame, *own);
    uint32_t theirs = builder.localOffset(callee, *formal[i]);
    s.inst.imm = int64_t(uint64_t(intoCallee ? mine : theirs) << 32 |
                         (intoCallee ? theirs : mine));
    s.inst.target = int32_t(own->size);
    uint32_t theirBase =
        callee.layout < 0 ? noSlot : builder.program->calleeBaseSlot;
    s.inst.a = intoCallee ? builder.frameBase() : theirBase;
    s.inst.b = intoCallee ? theirBase : builder.frameBase();
    s.emit(InstClass::Control, copyLocalHandler);
  }
}

void emitCall(Statement &s, const CallParts &parts, const ast::Function &callee,
              FunctionFrame &frame) {
  ProgramBuilder &builder = s.builder;
  bool onStack = frame.layout >= 0;
  auto emitFrame = [&](Handler handler) {
    s.inst.target = frame.layout;
    s.inst.imm = builder.graph.inOneCycle(*builder.frame->function, callee)
                     ? builder.frame->layout
                     : -1;
    s.emit(InstClass::Control, handler);
  };
  // Where the call returns the guard is still the callee's.
  size_t skip = onStack ? s.beginSkip() : noSlot;
  if (onStack)
    emitFrame(prepareFrameHandler);
  emitCopies(s, parts.arguments, callee.params, frame, /*intoCallee=*/true);
  if (onStack)
    emitFrame(pushFrameHandler);
  s.inst.flow = Flow::Call;
  s.inst.a = frame.returnSlot;
  s.emit(InstClass::Control, nullptr);
  if (s.failed())
    return;
  builder.callTarget(frame);
  if (onStack)
    s.emit(InstClass::Control, popFrameHandler);
  emitCopies(s, parts.results, callee.results, frame, /*intoCallee=*/false);
  s.endSkip(skip);
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

uint32_t argumentSlot(Statement &s, const ast::Variable &variable) {
  ProgramBuilder &builder = s.builder;
  return builder.constant(builder.localOffset(*builder.frame, variable), 4);
}

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
      s.addOperand(argumentSlot(s, *variable), 4);
  if (parts.results && parts.results->elements.size() == 1)
    if (const ast::Variable *variable = paramOf(s, parts.results->elements[0]))
      s.addOperand(argumentSlot(s, *variable), 4);
  s.inst.c = s.builder.frameBase();
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
  for (const ast::Function *candidate : builder.graph.addressed()) {
    FunctionFrame *frame = builder.functionFrame(*candidate);
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
  if (!splitCall(s.ast, parts)) {
    s.fail("expected call (results), function, (arguments)");
    return;
  }
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
  FunctionFrame *frame = s.builder.functionFrame(*callee);
  if (!frame) {
    s.fail("expected call (results), function, (arguments)");
    return;
  }
  emitCall(s, parts, *callee, *frame);
}

void decodeAlloca(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(2, 3) || s.failed())
    return;
  uint64_t align = 8;
  if (s.numOperands() == 3 && !s.immediate(s.operand(2), align))
    return;
  if ((type != Type::U32 && type != Type::U64) || align == 0 ||
      align > 1 << 16 || (align & (align - 1))) {
    s.fail("expected alloca.u32 or alloca.u64 and an alignment that is a power "
           "of two of at most 65536");
    return;
  }
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.dstWidth = s.inst.aWidth = uint8_t(sizeOf(type));
  s.inst.imm = int64_t(align);
  s.emit(InstClass::Control, allocaHandler);
}

/// stacksave.type d; stackrestore.type a;
void decodeStackPointer(Statement &s) {
  bool saves = s.ast.opcode == "stacksave";
  Type type = s.needType();
  if (!s.expectOperands(1) || s.failed())
    return;
  if (type != Type::U32 && type != Type::U64) {
    s.fail("expected .u32 or .u64");
    return;
  }
  (saves ? s.inst.dst : s.inst.a) = saves ? s.dst(0, type) : s.src(0, type);
  s.inst.dstWidth = s.inst.aWidth = uint8_t(sizeOf(type));
  s.emit(InstClass::Control, saves ? stackSaveHandler : stackRestoreHandler);
}

} // namespace

const DecodeEntry ptxsim::callDecoders[] = {
    {"call", decodeCall},
    {"alloca", decodeAlloca},
    {"stacksave", decodeStackPointer},
    {"stackrestore", decodeStackPointer},
    {"", nullptr}};
