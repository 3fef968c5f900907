// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of several words (mad with carry) and on bytes of a word (SIMD
// video instructions).
#include "Decoder.h"
#include "Handlers.h"

#include <algorithm>

using namespace ptxsim;

/// mad.cc and madc: a product into a register of its own, then a sum with
/// carry.
void ptxsim::decodeMadCarry(Statement &s) {
  bool carryIn = s.ast.opcode == "madc";
  bool carryOut = s.take("cc");
  int part = s.takeOneOf({"lo", "hi"});
  Type type = s.needType();
  if (!s.expectOperands(4))
    return;
  bool known = type == Type::U32 || type == Type::S32 || type == Type::U64 ||
               type == Type::S64;
  if (part < 0 || !known || (!carryIn && !carryOut)) {
    s.fail("mad with carry needs .lo or .hi, and .u32, .s32, .u64 or .s64");
    return;
  }
  uint32_t product = s.builder.newSlot(uint8_t(sizeOf(type)));
  s.inst.dst = product;
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, type);
  s.emit(InstClass::Integer,
         isa().integer(part == 0 ? IntOp::Mul : IntOp::MulHi, type));
  s.inst.dst = s.dst(0, type);
  s.inst.a = product;
  s.inst.b = s.src(3, type);
  s.inst.c = s.builder.carrySlot();
  BitOp sum = !carryIn ? BitOp::AddCC : carryOut ? BitOp::AddCCC : BitOp::AddC;
  s.emit(InstClass::Integer, isa().bits(sum, type));
}

/// add, sub and fma of .f32 with .f16 or .bf16 operands, which are exact in
/// .f32: all but the last are narrow.
bool ptxsim::decodeMixedFloat(Statement &s, FloatOp op, size_t sources) {
  Type narrow = s.has("f16")    ? Type::F16
                : s.has("bf16") ? Type::BF16
                                : Type::None;
  if (!s.has("f32") || narrow == Type::None)
    return false;
  s.take("f32");
  s.take(typeInfo(narrow).name);
  uint8_t flags = s.take("sat") ? FloatSat : 0;
  if (!s.expectOperands(sources + 1))
    return true;
  uint32_t wide[2] = {noSlot, noSlot};
  for (size_t k = 0; k + 1 < sources; ++k) {
    s.inst.dst = wide[k] = s.builder.newSlot(4);
    s.inst.dstWidth = 4;
    s.inst.a = s.src(k + 1, narrow);
    s.inst.aWidth = 2;
    s.emit(InstClass::Convert,
           isa().convert(Type::F32, narrow, Rounding::None));
  }
  s.inst.dst = s.dst(0, Type::F32);
  s.inst.a = wide[0];
  s.inst.b = sources == 3 ? wide[1] : s.src(sources, Type::F32);
  if (sources == 3)
    s.inst.c = s.src(sources, Type::F32);
  emitRounded(s, Type::F32, isa().floating(op, Type::F32, flags));
  return true;
}

/// vadd2 and its like, without masks and selectors.
template <VideoOp Op, unsigned Lanes> static void decodeVideo(Statement &s) {
  VideoOp op = Op;
  bool compares = Op == VideoOp::Eq;
  if (compares) {
    int which = s.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge"});
    if (which < 0)
      s.fail("a comparison such as .lt is missing");
    op = VideoOp(uint8_t(VideoOp::Eq) + which);
  }
  Type to = compares ? Type::U32 : s.needType();
  Type a = s.needType(), b = s.needType();
  uint8_t flags = 0;
  if (s.take("sat"))
    flags |= VideoSaturate;
  if (s.take("add"))
    flags |= VideoAccumulate;
  for (Type type : {to, a, b})
    if (type != Type::U32 && type != Type::S32)
      s.fail("only .u32 and .s32 are supported");
  if (!s.expectOperands(4) || flags == (VideoSaturate | VideoAccumulate)) {
    s.fail("unsupported form of a SIMD video instruction");
    return;
  }
  flags |= (a == Type::S32 ? VideoSignedA : 0) |
           (b == Type::S32 ? VideoSignedB : 0) |
           (to == Type::S32 ? VideoSignedD : 0);
  s.inst.dst = s.dst(0, Type::U32);
  s.inst.a = s.src(1, Type::U32);
  s.inst.b = s.src(2, Type::U32);
  size_t reads = s.use.reads.size();
  s.inst.c = s.src(3, Type::U32);
  if (!(flags & VideoAccumulate))
    s.use.reads.resize(std::min(reads, s.use.reads.size()));
  s.inst.flags = flags;
  s.inst.op = uint8_t(op);
  s.inst.count = Lanes;
  s.emit(InstClass::Integer, videoHandler);
}

const DecodeEntry ptxsim::wideDecoders[] = {
    {"madc", decodeMadCarry},
    {"vadd2", decodeVideo<VideoOp::Add, 2>},
    {"vadd4", decodeVideo<VideoOp::Add, 4>},
    {"vsub2", decodeVideo<VideoOp::Sub, 2>},
    {"vsub4", decodeVideo<VideoOp::Sub, 4>},
    {"vavrg2", decodeVideo<VideoOp::Average, 2>},
    {"vavrg4", decodeVideo<VideoOp::Average, 4>},
    {"vmin2", decodeVideo<VideoOp::Min, 2>},
    {"vmin4", decodeVideo<VideoOp::Min, 4>},
    {"vmax2", decodeVideo<VideoOp::Max, 2>},
    {"vmax4", decodeVideo<VideoOp::Max, 4>},
    {"vabsdiff2", decodeVideo<VideoOp::Absdiff, 2>},
    {"vabsdiff4", decodeVideo<VideoOp::Absdiff, 4>},
    {"vset2", decodeVideo<VideoOp::Eq, 2>},
    {"vset4", decodeVideo<VideoOp::Eq, 4>},
    {"", nullptr}};
