// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchanges between the lanes of a warp. The executor has gathered the lanes of
// the member mask: a handler's mask is one complete member set.
#include "Checks.h"
#include "Decoder.h"
#include "FloatFormats.h"
#include "Handlers.h"
#include "State.h"

#include <cmath>

using namespace ptxsim;

namespace {

enum ShflMode : uint8_t { Up, Down, Bfly, Idx };
enum VoteMode : uint8_t { All, Any, Uni, Ballot };
enum ReduxOp : uint8_t { Add, Min, Max, And, Or, Xor };

} // namespace

void ptxsim::shflHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  uint32_t result[32], valid = 0;
  uint8_t sources[32];
  for (uint32_t m = mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    int clamp = int(c[lane] & 31), segment = int(c[lane] >> 8 & 31);
    int maxLane = (lane & segment) | (clamp & ~segment);
    int minLane = lane & segment;
    int offset = int(b[lane] & 31);
    int source;
    bool inRange;
    switch (i.op) {
    case Up:
      source = lane - offset;
      inRange = source >= maxLane;
      break;
    case Down:
      source = lane + offset;
      inRange = source <= maxLane;
      break;
    case Bfly:
      source = lane ^ offset;
      inRange = source <= maxLane;
      break;
    default:
      source = minLane | (offset & ~segment);
      inRange = source <= maxLane;
    }
    if (!inRange)
      source = lane;
    valid |= uint32_t(inRange) << lane;
    result[lane] = a[source & 31];
    sources[lane] = uint8_t(source & 31);
    if (!(mask >> (source & 31) & 1) && w.block->launch->tools & SyncCheck)
      report(w, i, unsigned(lane), SyncCheck, "inactive-source",
             "shfl reads lane " + std::to_string(source & 31) +
                 ", which does not take part");
  }
  forLanes(mask, [=, &result](unsigned l) { d[l] = result[l]; });
  if (i.numOperands)
    w.setPred(w.operands[i.operands].slot, valid, mask);
  if (!w.block->launch->program->registerEvents.empty())
    exchangeWritten(w, i, mask, sources);
}

void ptxsim::voteHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t votes = w.pred(i.a);
  votes = (i.flags & 1 ? ~votes : votes) & mask;
  switch (i.op) {
  case Ballot: {
    uint32_t *d = w.reg<uint32_t>(i.dst);
    forLanes(mask, [=](unsigned l) { d[l] = votes; });
    return;
  }
  case All:
    w.setPred(i.dst, votes == mask ? ~0u : 0u, mask);
    return;
  case Any:
    w.setPred(i.dst, votes ? ~0u : 0u, mask);
    return;
  default:
    w.setPred(i.dst, votes == mask || votes == 0 ? ~0u : 0u, mask);
  }
}

/// op: 0 any, 1 all.
void ptxsim::matchHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  uint32_t result[32], allEqual = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t own = readLane(w, i.a, i.aWidth, lane);
    uint32_t equal = 0;
    for (uint32_t n = mask; n; n &= n - 1) {
      unsigned other = unsigned(__builtin_ctz(n));
      equal |= uint32_t(readLane(w, i.a, i.aWidth, other) == own) << other;
    }
    result[lane] = i.op == 0 ? equal : equal == mask ? mask : 0;
    allEqual |= uint32_t(equal == mask) << lane;
  }
  forLanes(mask, [=, &result](unsigned l) { d[l] = result[l]; });
  if (i.numOperands)
    w.setPred(w.operands[i.operands].slot, allEqual, mask);
}

/// Inst::flags of redux.f32.
enum : uint8_t { ReduxAbs = 1, ReduxNaN = 2 };

/// min and max of f32: NaNs count only with .NaN, or where there is nothing
/// else; -0 is less than +0.
void ptxsim::reduxFloatHandler(Warp &w, const Inst &i, uint32_t mask) {
  float *d = w.reg<float>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a);
  float result = 0;
  bool found = false, sawNaN = false;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t bits = a[__builtin_ctz(m)];
    float value = bitCast<float>(i.flags & ReduxAbs ? bits & 0x7fffffff : bits);
    if (value != value) {
      sawNaN = true;
      continue;
    }
    bool less = value < result || (value == result && std::signbit(value));
    bool greater = value > result || (value == result && std::signbit(result));
    if (!found || (i.op == Min ? less : greater))
      result = value;
    found = true;
  }
  if (!found || (sawNaN && i.flags & ReduxNaN))
    result = bitCast<float>(canonicalNaN32);
  forLanes(mask, [=](unsigned l) { d[l] = result; });
}

/// flags: bit 0 signed.
void ptxsim::reduxHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a);
  bool isSigned = i.flags & 1;
  uint32_t value = a[__builtin_ctz(mask)];
  for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
    uint32_t next = a[__builtin_ctz(m)];
    bool less = isSigned ? int32_t(next) < int32_t(value) : next < value;
    switch (i.op) {
    case Add:
      value += next;
      break;
    case Min:
      value = less ? next : value;
      break;
    case Max:
      value = less ? value : next;
      break;
    case And:
      value &= next;
      break;
    case Or:
      value |= next;
      break;
    default:
      value ^= next;
    }
  }
  forLanes(mask, [=](unsigned l) { d[l] = value; });
}

void ptxsim::electHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t leader = uint32_t(__builtin_ctz(mask));
  if (i.dst != noSlot) {
    uint32_t *d = w.reg<uint32_t>(i.dst);
    forLanes(mask, [=](unsigned l) { d[l] = leader; });
  }
  w.setPred(i.c, 1u << leader, mask);
}

void ptxsim::activemaskHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  forLanes(mask, [=](unsigned l) { d[l] = mask; });
}

void ptxsim::nothingHandler(Warp &, const Inst &, uint32_t) {}

void ptxsim::yieldHandler(Warp &w, const Inst &, uint32_t) { w.yield = true; }

// Decoding
// ------------------------------------------------------------------------

namespace {

void decodeShfl(Statement &s) {
  if (!s.take("sync")) {
    s.fail("shfl without .sync is not supported on sm_70 and later");
    return;
  }
  int mode = s.takeOneOf({"up", "down", "bfly", "idx"});
  Type type = s.needType();
  if (mode < 0 || type != Type::B32) {
    s.fail("shfl needs .up, .down, .bfly or .idx, and .b32");
    return;
  }
  if (!s.expectOperands(5))
    return;
  const ast::Operand &result = s.operand(0);
  bool pair = result.kind == ast::Operand::Pair;
  s.inst.dst = s.dst(pair ? result.elements[0] : result, Type::B32);
  if (pair)
    s.addOperand(s.dstPred(result.elements[1]), 0);
  s.inst.a = s.copied([&] { return s.src(1, Type::B32); });
  s.use.moveKind = MoveKind::Exchange;
  s.inst.b = s.src(2, Type::B32);
  s.inst.c = s.src(3, Type::B32);
  s.emitCollective(InstClass::Shuffle, shflHandler, s.operand(4),
                   uint8_t(mode));
}

void decodeVote(Statement &s) {
  if (!s.take("sync")) {
    s.fail("vote without .sync is not supported on sm_70 and later");
    return;
  }
  int mode = s.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = s.needType();
  if (mode < 0 || type != (mode == Ballot ? Type::B32 : Type::Pred)) {
    s.fail("vote needs .all, .any or .uni with .pred, or .ballot with .b32");
    return;
  }
  if (!s.expectOperands(3))
    return;
  bool negated = false;
  s.inst.dst = mode == Ballot ? s.dst(0, Type::B32) : s.dstPred(s.operand(0));
  s.inst.a = s.srcPred(s.operand(1), &negated);
  s.inst.flags = negated;
  s.emitCollective(InstClass::Shuffle, voteHandler, s.operand(2),
                   uint8_t(mode));
}

void decodeMatch(Statement &s) {
  int mode = s.takeOneOf({"any", "all"});
  if (!s.take("sync") || mode < 0)
    s.fail("match needs .any or .all, and .sync");
  Type type = s.needType();
  if (!s.expectOperands(3) || (type != Type::B32 && type != Type::B64)) {
    s.fail("match needs .b32 or .b64");
    return;
  }
  const ast::Operand &result = s.operand(0);
  bool pair = result.kind == ast::Operand::Pair;
  s.inst.dst = s.dst(pair ? result.elements[0] : result, Type::B32);
  if (pair && mode == 0)
    s.fail("match.any has one result");
  if (pair)
    s.addOperand(s.dstPred(result.elements[1]), 0);
  s.inst.a = s.src(1, type);
  s.inst.aWidth = uint8_t(sizeOf(type));
  s.emitCollective(InstClass::Shuffle, matchHandler, s.operand(2),
                   uint8_t(mode));
}

void decodeRedux(Statement &s) {
  if (!s.take("sync"))
    s.fail("redux needs .sync");
  int op = s.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = s.needType();
  if (type == Type::F32 && (op == Min || op == Max)) {
    if (!s.expectOperands(3))
      return;
    s.inst.flags =
        (s.take("abs") ? ReduxAbs : 0) | (s.take("NaN") ? ReduxNaN : 0);
    s.inst.dst = s.dst(0, type);
    s.inst.a = s.src(1, type);
    s.emitCollective(InstClass::Shuffle, reduxFloatHandler, s.operand(2),
                     uint8_t(op));
    return;
  }
  bool logic = op >= And;
  if (op < 0 ||
      (logic ? type != Type::B32 : type != Type::U32 && type != Type::S32)) {
    s.fail("unsupported operation or type");
    return;
  }
  if (!s.expectOperands(3))
    return;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.flags = type == Type::S32;
  s.emitCollective(InstClass::Shuffle, reduxHandler, s.operand(2), uint8_t(op));
}

void decodeElect(Statement &s) {
  if (!s.take("sync"))
    s.fail("elect needs .sync");
  if (!s.expectOperands(2) || s.operand(0).kind != ast::Operand::Pair) {
    s.fail("elect has two results");
    return;
  }
  const ast::Operand &result = s.operand(0);
  if (result.elements[0].kind != ast::Operand::Discard)
    s.inst.dst = s.dst(result.elements[0], Type::B32);
  s.inst.c = s.dstPred(result.elements[1]);
  s.emitCollective(InstClass::Shuffle, electHandler, s.operand(1), 0);
}

void decodeActivemask(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(1))
    return;
  s.inst.dst = s.dst(0, type);
  s.emit(InstClass::Shuffle, type == Type::B32 ? activemaskHandler : nullptr);
}

} // namespace

/// The member mask follows the handler's own operands.
void Statement::emitCollective(InstClass instClass, Handler fn,
                               const ast::Operand &members, uint8_t op) {
  inst.op = op;
  inst.flow = Flow::Collective;
  uint32_t slot = src(members, Type::B32);
  size_t results = extra.size();
  addOperand(slot, 4);
  size_t index = builder.program->code.size();
  emit(instClass, fn);
  // Handlers see the operands before the mask only.
  if (!failed())
    builder.program->code[index].numOperands = uint16_t(results);
}

const DecodeEntry ptxsim::collectiveDecoders[] = {
    {"shfl", decodeShfl},   {"vote", decodeVote},
    {"match", decodeMatch}, {"redux", decodeRedux},
    {"elect", decodeElect}, {"activemask", decodeActivemask},
    {"", nullptr}};
