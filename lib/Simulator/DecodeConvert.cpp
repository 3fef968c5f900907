// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt.
#include "Decoder.h"
#include "Handlers.h"

#include <algorithm>

using namespace ptxsim;

namespace {

Rounding takeRounding(Statement &s) {
  struct Row {
    std::string_view name;
    Rounding rounding;
  };
  static constexpr Row rows[] = {
      {"rn", Rounding::Rn},   {"rz", Rounding::Rz},   {"rm", Rounding::Rm},
      {"rp", Rounding::Rp},   {"rna", Rounding::Rna}, {"rni", Rounding::Rni},
      {"rzi", Rounding::Rzi}, {"rmi", Rounding::Rmi}, {"rpi", Rounding::Rpi}};
  for (const Row &row : rows)
    if (s.take(row.name))
      return row.rounding;
  return Rounding::None;
}

/// Types of one register that convert from two f32 sources.
bool isPair(Type type) {
  return typeInfo(type).lanes == 2 && isFloat(type) && type != Type::F32x2;
}

/// Checks a float-to-float conversion's modifiers against the ISA manual:
/// narrowing needs a rounding mode, widening has none.
bool checkFloatRounding(Statement &s, Type to, Type from, Rounding mode) {
  bool integral = mode >= Rounding::Rni;
  bool narrows = sizeOf(to) < sizeOf(from) ||
                 (to != from && sizeOf(to) == 2 && sizeOf(from) == 2) ||
                 to == Type::TF32;
  if (narrows && (mode == Rounding::None || integral))
    return s.fail("a conversion from ." + std::string(typeInfo(from).name) +
                  " to ." + std::string(typeInfo(to).name) +
                  " needs a rounding mode");
  bool toTf32 = to == Type::TF32;
  if ((mode == Rounding::Rna && !toTf32) ||
      (toTf32 &&
       (from != Type::F32 || mode == Rounding::Rm || mode == Rounding::Rp)))
    return s.fail("unsupported rounding mode of a conversion from ." +
                  std::string(typeInfo(from).name) + " to ." +
                  std::string(typeInfo(to).name));
  if (!narrows && mode != Rounding::None && !integral)
    return s.fail("a conversion that is exact takes no rounding mode");
  if (to != from && integral)
    return s.fail("rounding to an integral value needs equal types");
  return true;
}

/// cvt.pack: two integers of 16 bits, or of fewer in front of a third operand.
void decodeCvtPack(Statement &s) {
  s.take("pack");
  bool sat = s.take("sat");
  int to = s.takeOneOf({"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"});
  Type from = s.needType();
  if (!sat || to < 0 || from != Type::S32) {
    s.fail("cvt.pack needs .sat, a type of 2 to 16 bits and .s32 sources");
    return;
  }
  unsigned bits = 2u << to / 2;
  bool pushes = bits < 16;
  if (s.takeType() != (pushes ? Type::B32 : Type::None)) {
    s.fail("unsupported types");
    return;
  }
  if (!s.expectOperands(pushes ? 4 : 3))
    return;
  s.inst.dst = s.dst(0, Type::U32);
  s.inst.a = s.src(1, Type::S32);
  s.inst.b = s.src(2, Type::S32);
  s.inst.c = pushes ? s.src(3, Type::B32) : noSlot;
  s.inst.size = uint8_t(bits);
  s.inst.flags = to % 2 == 1;
  s.emit(InstClass::Convert, cvtPackHandler);
}

/// cvt.rs: two f32 sources, or four in braces, and random bits.
void decodeStochastic(Statement &s) {
  s.inst.flags = uint8_t((s.take("satfinite") ? CvtSatfinite : 0) |
                         (s.take("relu") ? CvtRelu : 0));
  Type to = s.needType(), from = s.needType();
  bool two = typeInfo(to).lanes == 2;
  if (s.failed() || !s.expectOperands(two ? 4 : 3))
    return;
  if (!two && !(s.inst.flags & CvtSatfinite))
    s.fail("conversion to ." + std::string(typeInfo(to).name) +
           " needs .satfinite");
  if (two) {
    s.addOperand(s.src(1, from), 4);
    s.addOperand(s.src(2, from), 4);
  } else {
    s.addRegisters(s.operand(1), 4, from, false);
  }
  s.inst.dst = s.dst(0, to);
  s.inst.dstWidth = uint8_t(sizeOf(to));
  s.inst.a = s.src(two ? 3 : 2, Type::B32);
  s.emit(InstClass::Convert,
         from == Type::F32 ? stochasticHandler(to) : nullptr);
}

void decodeCvt(Statement &s) {
  if (s.has("pack"))
    return decodeCvtPack(s);
  if (s.take("rs"))
    return decodeStochastic(s);
  Rounding mode = takeRounding(s);
  uint8_t flags = 0;
  if (s.take("ftz"))
    flags |= CvtFtz;
  if (s.take("satfinite"))
    flags |= CvtSatfinite;
  if (s.take("sat"))
    flags |= CvtSat;
  if (s.take("relu"))
    flags |= CvtRelu;
  Type to = s.needType(), from = s.needType();
  if (s.failed())
    return;
  s.inst.op = uint8_t(mode);
  s.inst.flags = flags;

  bool narrowFormat = to == Type::E4M3x2 || to == Type::E5M2x2 ||
                      to == Type::E2M1x2 || to == Type::E2M3x2 ||
                      to == Type::E3M2x2;
  if (isPair(to) || isPair(from)) {
    bool two = from == Type::F32 && isPair(to);
    if (!s.expectOperands(two ? 3 : 2))
      return;
    if (narrowFormat && !(flags & CvtSatfinite))
      s.fail("conversion to ." + std::string(typeInfo(to).name) +
             " needs .satfinite");
    bool saturates = narrowFormat || to == Type::UE8M0x2 || two;
    if (!saturates && flags & CvtSatfinite)
      s.fail("unsupported modifier '.satfinite' here");
    if (to == Type::UE8M0x2 && flags & CvtRelu)
      s.fail("unsupported modifier '.relu' here");
    if (from == Type::UE8M0x2 && flags)
      s.fail("unsupported modifier for .ue8m0x2");
    if (flags & (CvtFtz | CvtSat))
      s.fail("unsupported modifier for a packed conversion");
    // Pairs of bf16 that come from or become ue8m0 lie in any register.
    s.inst.dst = s.dst(0, from == Type::UE8M0x2 ? Type::B32 : to);
    s.inst.dstWidth = uint8_t(sizeOf(to) == 4 ? 4 : 2);
    s.inst.a = s.src(1, to == Type::UE8M0x2 && !two ? Type::B32 : from);
    s.inst.aWidth = uint8_t(sizeOf(from));
    if (two)
      s.inst.b = s.src(2, from);
    s.emit(InstClass::Convert, isa().convert(to, from, mode));
    return;
  }

  if (!s.expectOperands(2))
    return;
  // Wider registers serve, but beside these types.
  bool exact = false;
  for (Type type : {to, from})
    exact |= type == Type::BF16 || type == Type::TF32;
  if (exact) {
    // Of a byte: 16 bits.
    s.inst.dst = s.dst(0, to);
    s.inst.dstWidth = uint8_t(std::max(2u, sizeOf(to)));
    s.inst.a = s.src(1, from);
    s.inst.aWidth = uint8_t(std::max(2u, sizeOf(from)));
  } else {
    s.inst.dst = s.dstWide(s.operand(0), to, s.inst.dstWidth);
    s.inst.a = s.srcWide(s.operand(1), from, s.inst.aWidth);
  }
  Handler fn = nullptr;
  if (isFloat(to) && isFloat(from)) {
    if (!checkFloatRounding(s, to, from, mode))
      return;
    if (to == Type::F64 || from == Type::F64 || to == Type::BF16 ||
        from == Type::BF16) {
      if (flags & CvtFtz && to != Type::F32 && from != Type::F32)
        s.fail("unsupported modifier '.ftz' here");
    }
    if (flags & CvtSatfinite && to != Type::F16 && to != Type::BF16 &&
        to != Type::TF32)
      s.fail("unsupported modifier '.satfinite' here");
    if (flags & CvtRelu && to != Type::F16 && to != Type::BF16 &&
        to != Type::TF32)
      s.fail("unsupported modifier '.relu' here");
    bool plain = flags == 0 &&
                 (mode == Rounding::None || mode == Rounding::Rn) &&
                 s.inst.dstWidth == sizeOf(to) && s.inst.aWidth == sizeOf(from);
    if (plain)
      fn = isa().plainConvert(to, from);
    if (!fn)
      fn = isa().convert(to, from, mode);
  } else if (isFloat(to)) {
    if (flags & ~(CvtSat | CvtFtz))
      s.fail("unsupported modifier for a conversion from an integer");
    if (mode == Rounding::None || mode >= Rounding::Rna)
      s.fail("a conversion from an integer needs .rn, .rz, .rm or .rp");
    else
      fn = isa().convert(to, from, mode);
  } else if (isFloat(from)) {
    // Conversions to integers always saturate.
    if (flags & ~(CvtSat | CvtFtz))
      s.fail("unsupported modifier for a conversion to an integer");
    if (mode < Rounding::Rni)
      s.fail("a conversion to an integer needs .rni, .rzi, .rmi or .rpi");
    else
      fn = isa().convert(to, from, mode);
  } else {
    if (flags & ~CvtSat || mode != Rounding::None ||
        typeInfo(to).kind == TypeKind::Bits ||
        typeInfo(from).kind == TypeKind::Bits)
      s.fail("unsupported modifier or type for an integer conversion");
    else
      fn = isa().convert(to, from,
                         flags & CvtSat ? Rounding::Rz : Rounding::None);
  }
  s.emit(InstClass::Convert, fn);
}

} // namespace

const DecodeEntry ptxsim::convertDecoders[] = {{"cvt", decodeCvt},
                                               {"", nullptr}};
