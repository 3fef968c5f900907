// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits and bytes: counts, fields, permutations, truth tables, dot products.
#include "Decoder.h"

using namespace ptxsim;

namespace {

template <BitOp Op> void decodeCount(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dst(0, Type::U32);
  s.inst.a = s.src(1, type);
  bool known = type == Type::B32 || type == Type::B64;
  s.emit(InstClass::Integer, known ? isa().bits(Op, type) : nullptr);
}

void decodeBrev(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 1);
  s.emit(InstClass::Integer, isa().bits(BitOp::Brev, type));
}

void decodeBfind(Statement &s) {
  bool shift = s.take("shiftamt");
  Type type = s.needType();
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dst(0, Type::U32);
  s.inst.a = s.src(1, type);
  s.emit(InstClass::Integer,
         isa().bits(shift ? BitOp::BfindShift : BitOp::Bfind, type));
}

void decodeBfe(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(4))
    return;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, Type::U32);
  s.inst.c = s.src(3, Type::U32);
  s.emit(InstClass::Integer, isa().bits(BitOp::Bfe, type));
}

void decodeBfi(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(5))
    return;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, type);
  s.inst.c = s.src(3, Type::U32);
  s.addOperand(s.src(4, Type::U32), 4);
  s.emit(InstClass::Integer, isa().bits(BitOp::Bfi, type));
}

void decodePrmt(Statement &s) {
  int mode = s.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  Type type = s.needType();
  static constexpr BitOp ops[] = {BitOp::PrmtF4e, BitOp::PrmtB4e,
                                  BitOp::PrmtRc8, BitOp::PrmtEcl,
                                  BitOp::PrmtEcr, BitOp::PrmtRc16};
  if (!s.expectOperands(4))
    return;
  s.inst.dst = s.dst(0, type);
  // Bytes are only moved: compilers fill with unwritten ones what does not
  // matter.
  s.inst.a = s.copied([&] { return s.src(1, type); });
  s.inst.b = s.copied([&] { return s.src(2, type); });
  s.inst.c = s.src(3, type);
  s.emit(InstClass::Integer,
         isa().bits(mode < 0 ? BitOp::Prmt : ops[mode], type));
}

void decodeShf(Statement &s) {
  int direction = s.takeOneOf({"l", "r"});
  int mode = s.takeOneOf({"clamp", "wrap"});
  Type type = s.needType();
  if (direction < 0 || mode < 0) {
    s.fail("shf needs .l or .r, and .clamp or .wrap");
    return;
  }
  s.plainOperands(type, 3);
  BitOp op = direction == 0 ? (mode == 0 ? BitOp::ShfLClamp : BitOp::ShfLWrap)
                            : (mode == 0 ? BitOp::ShfRClamp : BitOp::ShfRWrap);
  s.emit(InstClass::Integer, isa().bits(op, type));
}

/// lop3; with .or or .and also whether the result is not zero, combined with a
/// predicate.
void decodeLop3(Statement &s) {
  int combine = s.takeOneOf({"or", "and"});
  Type type = s.needType();
  uint64_t table = 0;
  if (!s.expectOperands(combine < 0 ? 5 : 6) ||
      !s.immediate(s.operand(4), table))
    return;
  if (table > 255) {
    s.fail("the truth table of lop3 has 8 bits");
    return;
  }
  const ast::Operand &results = s.operand(0);
  bool isPair = results.kind == ast::Operand::Pair;
  if (isPair != (combine >= 0)) {
    s.fail("lop3 with .or or .and, and no other, gives a predicate, too");
    return;
  }
  uint32_t result = s.dst(isPair ? results.elements[0] : results, type);
  s.inst.dst = result;
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, type);
  s.inst.c = s.src(3, type);
  s.inst.imm = int64_t(table);
  s.emit(InstClass::Integer, isa().bits(BitOp::Lop3, type));
  if (!isPair)
    return;
  uint32_t isSet = s.builder.newSlot(0);
  s.inst.dst = isSet;
  s.inst.a = result;
  s.inst.b = s.builder.constant(0, 4);
  s.emit(InstClass::Predicate,
         isa().compare(CompareOp::Ne, Type::B32, /*ftz=*/false));
  bool negated = false;
  s.inst.dst = s.dstPred(results.elements[1]);
  s.inst.a = isSet;
  s.inst.b = s.srcPred(s.operand(5), &negated);
  s.inst.flags = negated ? 2 : 0;
  s.emit(InstClass::Predicate,
         isa().predicate(combine == 0 ? PredOp::Or : PredOp::And));
}

void decodeFns(Statement &s) {
  Type type = s.needType();
  s.plainOperands(type, 3);
  s.emit(InstClass::Integer, isa().bits(BitOp::Fns, type));
}

void decodeDot(Statement &s, BitOp op) {
  Type aType = s.needType(), bType = s.needType();
  if ((aType != Type::U32 && aType != Type::S32) ||
      (bType != Type::U32 && bType != Type::S32)) {
    s.fail("unsupported types");
    return;
  }
  s.plainOperands(Type::B32, 3);
  s.inst.flags = uint8_t((aType == Type::S32) | (bType == Type::S32) << 1);
  s.emit(InstClass::Integer, isa().bits(op, Type::B32));
}
void decodeDp4a(Statement &s) { decodeDot(s, BitOp::Dp4a); }
void decodeDp2a(Statement &s) {
  int half = s.takeOneOf({"lo", "hi"});
  if (half < 0)
    s.fail("dp2a needs .lo or .hi");
  decodeDot(s, half == 1 ? BitOp::Dp2aHi : BitOp::Dp2aLo);
}

template <BitOp Clamp, BitOp Wrap> void decodeMaskLike(Statement &s) {
  int mode = s.takeOneOf({"clamp", "wrap"});
  if (mode < 0)
    s.fail("expected .clamp or .wrap");
  Type type = s.needType();
  if (!s.expectOperands(3))
    return;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, Type::U32);
  s.emit(InstClass::Integer, isa().bits(mode == 1 ? Wrap : Clamp, type));
}

} // namespace

const DecodeEntry ptxsim::bitDecoders[] = {
    {"popc", decodeCount<BitOp::Popc>},
    {"clz", decodeCount<BitOp::Clz>},
    {"brev", decodeBrev},
    {"bfind", decodeBfind},
    {"bfe", decodeBfe},
    {"bfi", decodeBfi},
    {"prmt", decodePrmt},
    {"shf", decodeShf},
    {"lop3", decodeLop3},
    {"dp4a", decodeDp4a},
    {"dp2a", decodeDp2a},
    {"szext", decodeMaskLike<BitOp::Szext, BitOp::SzextWrap>},
    {"bmsk", decodeMaskLike<BitOp::Bmsk, BitOp::BmskWrap>},
    {"fns", decodeFns},
    {"", nullptr}};
