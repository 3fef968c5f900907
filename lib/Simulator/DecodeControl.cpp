// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, exits and barriers.
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
  if (s.takeOneOf({"relaxed", "release", "acquire"}) == 0)
    s.inst.flags = BarrierRelaxed;
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
  auto literal = [&](size_t i) {
    return s.operand(i).kind == ast::Operand::Integer ? s.operand(i).value : 0;
  };
  if (literal(first) >= 16)
    s.fail("barrier " + std::to_string(literal(first)) +
           " does not exist; there are 16, from 0 on");
  if (first + 1 < last && literal(first + 1) % 32)
    s.fail("barrier of " + std::to_string(literal(first + 1)) +
           " threads, expected a multiple of 32");
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
    {"bar", decodeBar},
    {"barrier", decodeBar},
    {"", nullptr}};
