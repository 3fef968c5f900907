// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, calls, exits and barriers.
#include "Barriers.h"
#include "Decoder.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

void decodeBra(Statement &s) {
  s.take("uni");
  if (!s.expectOperands(1))
    return;
  if (s.operand(0).kind != ast::Operand::Name) {
    s.fail("expected a label");
    return;
  }
  s.inst.flow = Flow::Branch;
  s.emitBranchTo(s.operand(0).name);
}

void decodeBrx(Statement &s) {
  s.take("uni");
  if (!s.take("idx"))
    s.fail("expected .idx");
  if (!s.expectOperands(2))
    return;
  const ast::TargetList *list = nullptr;
  for (const ast::TargetList &candidate :
       s.builder.frame->function->targetLists)
    if (candidate.name == s.operand(1).name)
      list = &candidate;
  if (!list) {
    s.fail("no list of branch targets of that name");
    return;
  }
  s.inst.flow = Flow::BranchIndexed;
  s.inst.a = s.src(0, Type::U32);
  s.emitBranchTable(list->targets);
}

void decodeExit(Statement &s) {
  s.expectOperands(0);
  s.inst.flow = Flow::Exit;
  s.emit(InstClass::Control, nullptr);
}

void decodeRet(Statement &s) {
  s.take("uni");
  s.expectOperands(0);
  bool inKernel = s.builder.frame->function == &s.builder.kernel;
  s.inst.flow = inKernel ? Flow::Exit : Flow::Return;
  if (!inKernel)
    s.inst.a = s.builder.frame->returnSlot;
  s.emit(InstClass::Control, nullptr);
}

void decodeTrap(Statement &s) {
  s.expectOperands(0);
  s.inst.flow = Flow::Trap;
  s.emit(InstClass::Control, nullptr);
}

void decodeNothing(Statement &s) {
  // Debugger and profiler events, hints about launches and registers.
  s.takeOneOf({"mask"});
  s.takeOneOf({"launch_dependents", "wait"});
  s.takeOneOf({"inc", "dec"});
  s.take("sync");
  s.take("aligned");
  s.take("u32");
  for (size_t i = 0; i < s.numOperands(); ++i) {
    uint64_t ignored;
    s.immediate(s.operand(i), ignored);
  }
  s.emit(InstClass::Control, nothingHandler);
}

void decodeNanosleep(Statement &s) {
  s.needType();
  if (!s.expectOperands(1))
    return;
  s.inst.a = s.src(0, Type::U32);
  s.inst.flow = Flow::MayYield;
  s.emit(InstClass::Control, yieldHandler);
}

// Calls
// -------------------------------------------------------------------------

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

bool decodeBuiltin(Statement &s, const CallParts &parts) {
  std::string_view name = parts.callee->name;
  Handler fn = name == "vprintf"        ? vprintfHandler
               : name == "__assertfail" ? assertFailHandler
                                        : nullptr;
  if (!fn)
    return false;
  // Local offsets of the arguments, then of the result.
  size_t arguments = parts.arguments ? parts.arguments->elements.size() : 0;
  if (arguments != (name == "vprintf" ? 2u : 5u)) {
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
  // What is printed has an order.
  s.builder.program->orderDependent = true;
  s.emit(InstClass::Control, fn);
  return true;
}

void decodeCall(Statement &s) {
  s.take("uni");
  CallParts parts;
  if (!splitCall(s, parts))
    return;
  if (parts.callee->kind == ast::Operand::Register) {
    s.fail("indirect calls are not supported");
    return;
  }
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
  emitCopies(s, parts.arguments, callee->params, *frame, /*intoCallee=*/true);
  s.inst.flow = Flow::Call;
  s.inst.target = frame->entry;
  s.inst.a = frame->returnSlot;
  s.emit(InstClass::Control, nullptr);
  emitCopies(s, parts.results, callee->results, *frame, /*intoCallee=*/false);
}

// Barriers
// ----------------------------------------------------------------------

void decodeBarWarp(Statement &s) {
  s.take("sync");
  if (!s.expectOperands(1))
    return;
  s.inst.flow = Flow::WarpBarrier;
  s.inst.a = s.src(0, Type::B32);
  s.emit(InstClass::Barrier, nothingHandler);
}

void decodeBarrierCluster(Statement &s) {
  int what = s.takeOneOf({"arrive", "wait"});
  s.take("aligned");
  s.takeOneOf({"release", "relaxed", "acquire"});
  s.expectOperands(0);
  if (what < 0) {
    s.fail("expected .arrive or .wait");
    return;
  }
  s.inst.flow = what == 1 ? Flow::ClusterWait : Flow::Plain;
  s.emit(InstClass::Barrier, what == 1 ? nothingHandler : clusterArriveHandler);
}

/// bar and barrier: arrive, sync, red.
void decodeBar(Statement &s) {
  if (s.take("warp"))
    return decodeBarWarp(s);
  if (s.take("cluster"))
    return decodeBarrierCluster(s);
  s.take("cta");
  int what = s.takeOneOf({"sync", "arrive", "red"});
  bool alignedForm = s.take("aligned") || s.ast.opcode == "bar";
  if (what < 0) {
    s.fail("expected .sync, .arrive or .red");
    return;
  }
  int op = -1;
  size_t first = 0;
  size_t last = s.numOperands();
  if (what == 2) {
    op = s.takeOneOf({"popc", "and", "or"});
    Type type = s.needType();
    if (op < 0 || type != (op == 0 ? Type::U32 : Type::Pred)) {
      s.fail("bar.red needs .popc.u32, .and.pred or .or.pred");
      return;
    }
    if (!s.expectOperands(3, 4))
      return;
    bool negated = false;
    s.inst.dst = op == 0 ? s.dst(0, Type::U32) : s.dstPred(s.operand(0));
    s.inst.c = s.srcPred(s.operand(s.numOperands() - 1), &negated);
    s.inst.flags |= negated ? BarrierNegated : 0;
    first = 1;
    --last;
  } else if (!s.expectOperands(what == 1 ? 2 : 1, 2)) {
    return;
  }
  s.inst.a = s.src(first, Type::U32);
  if (first + 1 < last)
    s.inst.b = s.src(first + 1, Type::U32);
  s.inst.flow = Flow::Barrier;
  s.inst.op = uint8_t(what == 0   ? BarrierSync
                      : what == 1 ? BarrierArrive
                                  : BarrierRedPopc + op);
  if (alignedForm)
    s.inst.flags |= BarrierAligned;
  s.emit(InstClass::Barrier, nullptr);
}

} // namespace

const DecodeEntry ptxsim::controlDecoders[] = {
    {"bra", decodeBra},
    {"brx", decodeBrx},
    {"exit", decodeExit},
    {"ret", decodeRet},
    {"trap", decodeTrap},
    {"brkpt", decodeNothing},
    {"pmevent", decodeNothing},
    {"griddepcontrol", decodeNothing},
    {"setmaxnreg", decodeNothing},
    {"nanosleep", decodeNanosleep},
    {"call", decodeCall},
    {"bar", decodeBar},
    {"barrier", decodeBar},
    {"", nullptr}};
