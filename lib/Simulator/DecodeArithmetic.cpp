// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer and floating-point arithmetic.
#include "Decoder.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

InstClass classOf(Type type) {
  return isFloat(type) ? InstClass::Float : InstClass::Integer;
}

uint8_t takeFloatFlags(Statement &s) {
  uint8_t flags = 0;
  if (s.take("ftz"))
    flags |= FloatFtz;
  if (s.take("sat"))
    flags |= FloatSat;
  return flags;
}

} // namespace

void ptxsim::emitRounded(Statement &s, Type type, Handler fn) {
  static const std::initializer_list<std::string_view> modes = {"rn", "rz",
                                                                "rm", "rp"};
  int mode = s.takeOneOf(modes);
  if (mode <= 0) {
    s.emit(classOf(type), fn);
    return;
  }
  if (type != Type::F32 && type != Type::F64 && type != Type::F32x2) {
    s.fail("directed rounding of ." + std::string(typeInfo(type).name) +
           " is not supported");
    return;
  }
  if (!fn) {
    s.emit(classOf(type), nullptr);
    return;
  }
  s.inst.imm = int64_t(reinterpret_cast<uintptr_t>(fn));
  s.inst.op = uint8_t(mode);
  s.emit(classOf(type), roundedHandler);
}

namespace {

template <IntOp Int, FloatOp Float> void decodeAddSub(Statement &s) {
  if (decodeMixedFloat(s, Float, 2))
    return;
  bool carryOut = s.take("cc");
  bool saturate = s.has("sat");
  Type type = s.needType();
  if (isFloat(type)) {
    uint8_t flags = takeFloatFlags(s);
    s.plainOperands(type, 2);
    emitRounded(s, type, isa().floating(Float, type, flags));
    return;
  }
  s.plainOperands(type, 2);
  if (carryOut) {
    s.inst.c = s.builder.carrySlot();
    s.emit(InstClass::Integer,
           isa().bits(Int == IntOp::Add ? BitOp::AddCC : BitOp::SubCC, type));
    return;
  }
  IntOp op = Int;
  if (saturate && s.take("sat"))
    op = Int == IntOp::Add ? IntOp::AddSat : IntOp::SubSat;
  s.emit(InstClass::Integer, isa().integer(op, type));
}

template <BitOp Plain, BitOp WithOut> void decodeCarry(Statement &s) {
  bool carryOut = s.take("cc");
  Type type = s.needType();
  s.plainOperands(type, 2);
  s.inst.c = s.builder.carrySlot();
  s.emit(InstClass::Integer, isa().bits(carryOut ? WithOut : Plain, type));
}

Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    return Type::None;
  }
}

void decodeMul(Statement &s) {
  Type type = s.needType();
  if (isFloat(type)) {
    uint8_t flags = takeFloatFlags(s);
    s.plainOperands(type, 2);
    emitRounded(s, type, isa().floating(FloatOp::Mul, type, flags));
    return;
  }
  int part = s.takeOneOf({"lo", "hi", "wide"});
  if (part < 0)
    s.fail("mul of integers needs .lo, .hi or .wide");
  if (part == 2) {
    if (!s.expectOperands(3) || widened(type) == Type::None) {
      s.fail("unsupported combination of modifiers and types");
      return;
    }
    s.inst.dst = s.dst(0, widened(type));
    s.inst.a = s.src(1, type);
    s.inst.b = s.src(2, type);
    s.emit(InstClass::Integer, isa().integer(IntOp::MulWide, type));
    return;
  }
  s.plainOperands(type, 2);
  s.emit(InstClass::Integer,
         isa().integer(part == 0 ? IntOp::Mul : IntOp::MulHi, type));
}

void decodeFma(Statement &s) {
  if (decodeMixedFloat(s, FloatOp::Fma, 3))
    return;
  Type type = s.needType();
  uint8_t flags = takeFloatFlags(s);
  FloatOp op = s.take("relu") ? FloatOp::FmaRelu : FloatOp::Fma;
  bool outside = s.take("oob");
  s.plainOperands(type, 3);
  if (!isFloat(type))
    s.fail("fma needs a floating-point type");
  if (outside) {
    bool isHalf = sizeOf(type) == 2 * typeInfo(type).lanes;
    Handler fn = isHalf && !flags && s.take("rn")
                     ? isa().floating(op, type, flags)
                     : nullptr;
    s.inst.imm = int64_t(reinterpret_cast<uintptr_t>(fn));
    s.inst.count = typeInfo(type).lanes;
    s.emit(InstClass::Float, fn ? fmaOutsideHandler : nullptr);
    return;
  }
  emitRounded(s, type, isa().floating(op, type, flags));
}

/// A product of s32, and a sum with c that saturates.
void emitSaturatedMad(Statement &s, IntOp product) {
  Inst sum = s.inst;
  s.inst.dst = s.builder.newSlot(4);
  sum.a = s.inst.dst;
  sum.b = sum.c;
  sum.c = noSlot;
  s.inst.c = noSlot;
  s.emit(InstClass::Integer, isa().integer(product, Type::S32));
  s.inst = sum;
  s.emit(InstClass::Integer, isa().integer(IntOp::AddSat, Type::S32));
}

void decodeMad(Statement &s) {
  if (s.has("cc"))
    return decodeMadCarry(s);
  Type type = s.needType();
  if (isFloat(type)) {
    uint8_t flags = takeFloatFlags(s);
    s.plainOperands(type, 3);
    emitRounded(s, type, isa().floating(FloatOp::Fma, type, flags));
    return;
  }
  int part = s.takeOneOf({"lo", "hi", "wide"});
  if (part < 0)
    s.fail("mad of integers needs .lo, .hi or .wide");
  if (part == 2) {
    if (!s.expectOperands(4) || widened(type) == Type::None) {
      s.fail("unsupported combination of modifiers and types");
      return;
    }
    s.inst.dst = s.dst(0, widened(type));
    s.inst.a = s.src(1, type);
    s.inst.b = s.src(2, type);
    s.inst.c = s.src(3, widened(type));
    s.emit(InstClass::Integer, isa().integer(IntOp::MadWide, type));
    return;
  }
  s.plainOperands(type, 3);
  if (part == 1 && type == Type::S32 && s.take("sat"))
    return emitSaturatedMad(s, IntOp::MulHi);
  s.emit(InstClass::Integer,
         isa().integer(part == 0 ? IntOp::Mad : IntOp::MadHi, type));
}

template <IntOp Low, IntOp High, size_t Sources> void decode24(Statement &s) {
  int part = s.takeOneOf({"lo", "hi"});
  Type type = s.needType();
  s.plainOperands(type, Sources);
  if (part < 0)
    s.fail("a 24-bit product needs .lo or .hi");
  if (Sources == 3 && part == 1 && type == Type::S32 && s.take("sat"))
    return emitSaturatedMad(s, IntOp::Mul24Hi);
  s.emit(InstClass::Integer, isa().integer(part == 1 ? High : Low, type));
}

void decodeDiv(Statement &s) {
  Type type = s.needType();
  if (!isFloat(type)) {
    s.plainOperands(type, 2);
    s.emit(InstClass::Integer, typeInfo(type).kind == TypeKind::Bits
                                   ? nullptr
                                   : isa().integer(IntOp::Div, type));
    return;
  }
  bool approx = s.take("approx") || s.take("full");
  uint8_t flags = s.take("ftz") ? FloatFtz : 0;
  s.plainOperands(type, 2);
  Handler fn = isa().floating(FloatOp::Div, type, flags);
  if (approx)
    s.emit(InstClass::Float, fn);
  else
    emitRounded(s, type, fn);
}

template <IntOp Op> void decodeIntBinary(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 2);
  s.emit(InstClass::Integer,
         isFloat(type) || typeInfo(type).kind == TypeKind::Bits
             ? nullptr
             : isa().integer(Op, type));
}

template <IntOp Op> void decodeIntUnary(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 1);
  s.emit(InstClass::Integer, isa().integer(Op, type));
}

/// Replaces the three sources of an f32 instruction by their magnitudes.
void takeMagnitudes(Statement &s) {
  Inst whole = s.inst;
  for (uint32_t *source : {&whole.a, &whole.b, &whole.c}) {
    s.inst.dst = s.builder.newSlot(4);
    s.inst.a = *source;
    *source = s.inst.dst;
    s.emit(InstClass::Float,
           isa().floating(FloatOp::Abs, Type::F32, /*flags=*/0));
  }
  s.inst = whole;
}

template <IntOp Int, bool Max> void decodeMinMax(Statement &s) {
  Type type = s.needType();
  if (!isFloat(type)) {
    bool relu = s.take("relu");
    if (relu && type != Type::S32 && type != Type::S16x2) {
      s.fail(".relu needs .s32 or .s16x2");
      return;
    }
    s.plainOperands(type, 2);
    uint32_t result = s.inst.dst;
    s.emit(InstClass::Integer, typeInfo(type).kind == TypeKind::Bits
                                   ? nullptr
                                   : isa().integer(Int, type));
    if (!relu || s.failed())
      return;
    s.inst.dst = s.inst.a = result;
    s.inst.b = s.builder.constant(0, 4);
    s.emit(InstClass::Integer, isa().integer(IntOp::Max, type));
    return;
  }
  uint8_t flags = s.take("ftz") ? FloatFtz : 0;
  bool nan = s.take("NaN");
  bool xorsign = s.take("xorsign");
  bool three = s.numOperands() == 4;
  bool absolute = s.take("abs");
  if (xorsign ? !absolute : absolute && !three) {
    s.fail(".xorsign and .abs stand together");
    return;
  }
  if (three && (xorsign || type != Type::F32)) {
    s.fail("three inputs are supported for plain .f32 only");
    return;
  }
  if (type == Type::F32x2) {
    s.fail("unsupported type .f32x2");
    return;
  }
  s.plainOperands(type, three ? 3 : 2);
  if (three && absolute)
    takeMagnitudes(s);
  FloatOp op;
  if (three)
    op = Max ? (nan ? FloatOp::Max3NaN : FloatOp::Max3)
             : (nan ? FloatOp::Min3NaN : FloatOp::Min3);
  else if (xorsign)
    op = Max ? (nan ? FloatOp::MaxXorsignNaN : FloatOp::MaxXorsign)
             : (nan ? FloatOp::MinXorsignNaN : FloatOp::MinXorsign);
  else
    op = Max ? (nan ? FloatOp::MaxNaN : FloatOp::Max)
             : (nan ? FloatOp::MinNaN : FloatOp::Min);
  s.emit(InstClass::Float, isa().floating(op, type, flags));
}

template <IntOp Int, FloatOp Float> void decodeNegAbs(Statement &s) {
  Type type = s.needType();
  if (isFloat(type)) {
    uint8_t flags = s.take("ftz") ? FloatFtz : 0;
    s.plainOperands(type, 1);
    s.emit(InstClass::Float, isa().floating(Float, type, flags));
    return;
  }
  s.plainOperands(type, 1);
  s.emit(InstClass::Integer,
         isSigned(type) ? isa().integer(Int, type) : nullptr);
}

template <IntOp Int, PredOp Pred> void decodeLogic(Statement &s) {
  Type type = s.needType();
  bool unary = Int == IntOp::Not;
  if (type == Type::Pred) {
    if (!s.expectOperands(unary ? 2 : 3))
      return;
    bool negated = false;
    s.inst.dst = s.dstPred(s.operand(0));
    s.inst.a = s.srcPred(s.operand(1), &negated);
    s.inst.flags = negated ? 1 : 0;
    if (!unary) {
      s.inst.b = s.srcPred(s.operand(2), &negated);
      s.inst.flags |= negated ? 2 : 0;
    }
    s.emit(InstClass::Predicate, isa().predicate(Pred));
    return;
  }
  s.plainOperands(type, unary ? 1 : 2);
  s.emit(InstClass::Integer, typeInfo(type).kind == TypeKind::Bits
                                 ? isa().integer(Int, type)
                                 : nullptr);
}

template <IntOp Op> void decodeShift(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(3))
    return;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, Type::U32);
  bool known = isInteger(type) &&
               (Op == IntOp::Shr || typeInfo(type).kind == TypeKind::Bits);
  s.emit(InstClass::Integer, known ? isa().integer(Op, type) : nullptr);
}

void decodeSad(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 3);
  s.emit(InstClass::Integer, isa().integer(IntOp::Sad, type));
}

/// sqrt, rsqrt and rcp: approximate or rounded.
template <FloatOp Op> void decodeRoot(Statement &s) {
  bool approx = s.take("approx");
  uint8_t flags = s.take("ftz") ? FloatFtz : 0;
  Type type = s.needType();
  s.plainOperands(type, 1);
  if (type == Type::F64 && approx && flags && Op != FloatOp::Sqrt) {
    s.emit(InstClass::Special,
           Op == FloatOp::Rcp ? coarseRcpHandler : coarseRsqrtHandler);
    return;
  }
  if (type == Type::F64 && approx && Op != FloatOp::Rsqrt) {
    s.fail("unsupported combination of modifiers and types");
    return;
  }
  Handler fn = isa().floating(Op, type, flags);
  if (approx)
    s.emit(InstClass::Special, fn);
  else if (Op == FloatOp::Rsqrt)
    s.fail("rsqrt needs .approx");
  else
    emitRounded(s, type, fn);
}

template <FloatOp Op> void decodeApprox(Statement &s) {
  if (!s.take("approx"))
    s.fail("expected .approx");
  uint8_t flags = s.take("ftz") ? FloatFtz : 0;
  Type type = s.needType();
  s.plainOperands(type, 1);
  bool allowed = type == Type::F32 ||
                 ((Op == FloatOp::Ex2 || Op == FloatOp::Tanh) && isFloat(type));
  s.emit(InstClass::Special,
         allowed ? isa().floating(Op, type, flags) : nullptr);
}

void decodeCopysign(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 2);
  s.emit(InstClass::Float, isa().floating(FloatOp::Copysign, type, 0));
}

void decodeTestp(Statement &s) {
  int property = s.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = s.needType();
  if (property < 0) {
    s.fail("testp needs a property");
    return;
  }
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dstPred(s.operand(0));
  s.inst.a = s.src(1, type);
  s.inst.imm = property;
  s.emit(InstClass::Predicate, isa().testp(unsigned(property), type));
}

} // namespace

const DecodeEntry ptxsim::arithmeticDecoders[] = {
    {"add", decodeAddSub<IntOp::Add, FloatOp::Add>},
    {"sub", decodeAddSub<IntOp::Sub, FloatOp::Sub>},
    {"addc", decodeCarry<BitOp::AddC, BitOp::AddCCC>},
    {"subc", decodeCarry<BitOp::SubC, BitOp::SubCCC>},
    {"mul", decodeMul},
    {"mad", decodeMad},
    {"fma", decodeFma},
    {"mul24", decode24<IntOp::Mul24, IntOp::Mul24Hi, 2>},
    {"mad24", decode24<IntOp::Mad24, IntOp::Mad24Hi, 3>},
    {"div", decodeDiv},
    {"rem", decodeIntBinary<IntOp::Rem>},
    {"min", decodeMinMax<IntOp::Min, false>},
    {"max", decodeMinMax<IntOp::Max, true>},
    {"neg", decodeNegAbs<IntOp::Neg, FloatOp::Neg>},
    {"abs", decodeNegAbs<IntOp::Abs, FloatOp::Abs>},
    {"and", decodeLogic<IntOp::And, PredOp::And>},
    {"or", decodeLogic<IntOp::Or, PredOp::Or>},
    {"xor", decodeLogic<IntOp::Xor, PredOp::Xor>},
    {"not", decodeLogic<IntOp::Not, PredOp::Not>},
    {"cnot", decodeIntUnary<IntOp::CNot>},
    {"shl", decodeShift<IntOp::Shl>},
    {"shr", decodeShift<IntOp::Shr>},
    {"sad", decodeSad},
    {"sqrt", decodeRoot<FloatOp::Sqrt>},
    {"rsqrt", decodeRoot<FloatOp::Rsqrt>},
    {"rcp", decodeRoot<FloatOp::Rcp>},
    {"ex2", decodeApprox<FloatOp::Ex2>},
    {"lg2", decodeApprox<FloatOp::Lg2>},
    {"sin", decodeApprox<FloatOp::Sin>},
    {"cos", decodeApprox<FloatOp::Cos>},
    {"tanh", decodeApprox<FloatOp::Tanh>},
    {"copysign", decodeCopysign},
    {"testp", decodeTestp},
    {"", nullptr}};
