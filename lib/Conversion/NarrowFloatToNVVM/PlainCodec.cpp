//===- PlainCodec.cpp - Narrow floats by plain arithmetic -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace mlir::kvcache::narrow_float;

static constexpr uint32_t kF32Infinity = 0x7F800000;
static constexpr uint32_t kF32NaN = 0x7FC00000;
static constexpr uint32_t kF32Magnitude = 0x7FFFFFFF;
/// 2^-127 as f32, the smallest f8E8M0FNU.
static constexpr uint32_t kTwoToMinus127 = 0x00400000;

static Value compare(CodecBuilder &b, arith::CmpIPredicate predicate, Value lhs,
                     Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

static Value select(CodecBuilder &b, Value condition, Value whenTrue,
                    Value whenFalse) {
  return arith::SelectOp::create(b, condition, whenTrue, whenFalse);
}

static Value i32Like(CodecBuilder &b, Value like, uint32_t value) {
  return b.constantInt(like, 32, value);
}

/// f16 or bf16 or f32 to the bits of an f32. bf16 is the upper half of one.
static Value toF32Bits(CodecBuilder &b, Value wide) {
  Type type = getElementTypeOrSelf(wide);
  Type i32 = b.getI32Type();
  if (type.isBF16()) {
    Value bits = b.bitcastElements(wide, b.getI16Type());
    return b.shl(arith::ExtUIOp::create(b, getTypeLike(wide, i32), bits), 16);
  }
  if (!type.isF32())
    wide = arith::ExtFOp::create(b, getTypeLike(wide, b.getF32Type()), wide);
  return b.bitcastElements(wide, i32);
}

/// The bits of an f32 to the wide type. No decoded value needs more than the
/// upper half of an f32, so bf16 takes that.
static Value fromF32Bits(CodecBuilder &b, Value bits, Type wideType) {
  if (wideType.isBF16()) {
    Value upper = b.lshr(bits, 16);
    upper =
        arith::TruncIOp::create(b, getTypeLike(bits, b.getI16Type()), upper);
    return b.bitcastElements(upper, wideType);
  }
  Value f32 = b.bitcastElements(bits, b.getF32Type());
  if (wideType.isF32())
    return f32;
  return arith::TruncFOp::create(b, getTypeLike(bits, wideType), f32);
}

static Value codesToI32(CodecBuilder &b, Value codes) {
  unsigned width = getElementTypeOrSelf(codes).getIntOrFloatBitWidth();
  Value bits = b.bitcastElements(codes, b.getIntegerType(width));
  return arith::ExtUIOp::create(b, getTypeLike(codes, b.getI32Type()), bits);
}

static Value codesFromI32(CodecBuilder &b, Value bits, Type narrowType) {
  Type integer = b.getIntegerType(narrowType.getIntOrFloatBitWidth());
  Value codes = arith::TruncIOp::create(b, getTypeLike(bits, integer), bits);
  return b.bitcastElements(codes, narrowType);
}

//===----------------------------------------------------------------------===//
// f8E8M0FNU
//===----------------------------------------------------------------------===//

/// The code is the exponent field of an f32, but at both ends.
static Value decodeE8M0(CodecBuilder &b, Value code) {
  Value bits = b.shl(code, kF32MantissaBits);
  bits = arith::MaxUIOp::create(b, bits, i32Like(b, code, kTwoToMinus127));
  Value isNaN =
      compare(b, arith::CmpIPredicate::eq, code, i32Like(b, code, 0xFF));
  return select(b, isNaN, i32Like(b, code, kF32NaN), bits);
}

static Value encodeE8M0(CodecBuilder &b, Value magnitude,
                        E8M0Rounding rounding) {
  Value rounded = magnitude;
  if (rounding == E8M0Rounding::Up) {
    // Any mantissa bit carries into the exponent; denormals up to 2^-127 are
    // lifted by less, so that they do not.
    rounded = b.addI(magnitude, i32Like(b, magnitude, 0x007FFFFF));
    Value isSmallest = compare(b, arith::CmpIPredicate::ule, magnitude,
                               i32Like(b, magnitude, kTwoToMinus127));
    rounded = select(b, isSmallest, i32Like(b, magnitude, 0), rounded);
  }
  Value code = b.lshr(rounded, kF32MantissaBits);
  code = arith::MinUIOp::create(b, code, i32Like(b, magnitude, 0xFE));
  Value isNaN = compare(b, arith::CmpIPredicate::ugt, magnitude,
                        i32Like(b, magnitude, kF32Infinity));
  return select(b, isNaN, i32Like(b, magnitude, 0xFF), code);
}

//===----------------------------------------------------------------------===//
// Formats with a sign
//===----------------------------------------------------------------------===//

/// The exponent and mantissa fields, put where an f32 has them, are the value
/// scaled by a power of two: denormals too, as denormal f32.
static Value decodeSigned(CodecBuilder &b, Value code, Format format) {
  FormatInfo info = getFormatInfo(format);
  unsigned shift = kF32MantissaBits - info.mantissaBits;
  uint32_t signBit = 1u << (info.width - 1);
  Value magnitudeCode = b.andI(code, signBit - 1);
  Value scaled = b.bitcastElements(b.shl(magnitudeCode, shift), b.getF32Type());
  Value value = arith::MulFOp::create(
      b, scaled,
      b.constantF32Like(scaled, std::ldexp(1.0, kF32Bias - info.bias)));
  Value bits = b.bitcastElements(value, b.getI32Type());
  if (format == Format::E4M3) {
    Value isNaN = compare(b, arith::CmpIPredicate::eq, magnitudeCode,
                          i32Like(b, code, info.nanCode));
    bits = select(b, isNaN, i32Like(b, code, kF32NaN), bits);
  } else if (format == Format::E5M2) {
    Value isInfinity = compare(b, arith::CmpIPredicate::eq, magnitudeCode,
                               i32Like(b, code, info.largestCode + 1));
    Value isNaN = compare(b, arith::CmpIPredicate::ugt, magnitudeCode,
                          i32Like(b, code, info.largestCode + 1));
    bits = select(b, isInfinity, i32Like(b, code, kF32Infinity), bits);
    bits = select(b, isNaN, i32Like(b, code, kF32NaN), bits);
  }
  Value sign = b.shl(b.andI(code, signBit), 32 - info.width);
  return b.orI(bits, sign);
}

/// Adding 2^(23 - mantissaBits) times the value's own power of two makes the
/// f32 adder round it to nearest even at the code's last bit. The power of two
/// is at least the format's smallest normal one, so denormals round right too.
static Value encodeSigned(CodecBuilder &b, Value bits, Format format) {
  FormatInfo info = getFormatInfo(format);
  unsigned shift = kF32MantissaBits - info.mantissaBits;
  uint32_t smallestExponent = kF32Bias - info.bias + 1;
  uint32_t largestBits = llvm::bit_cast<uint32_t>(info.largest);

  Value magnitude = b.andI(bits, kF32Magnitude);
  Value isNaN = compare(b, arith::CmpIPredicate::ugt, magnitude,
                        i32Like(b, bits, kF32Infinity));
  Value clamped =
      arith::MinUIOp::create(b, magnitude, i32Like(b, bits, largestBits));
  Value exponent = arith::MaxUIOp::create(
      b, b.andI(clamped, kF32Infinity),
      i32Like(b, bits, smallestExponent << kF32MantissaBits));
  Value adder = b.addI(exponent, i32Like(b, bits, shift << kF32MantissaBits));
  Type f32 = b.getF32Type();
  Value sum = arith::AddFOp::create(b, b.bitcastElements(clamped, f32),
                                    b.bitcastElements(adder, f32));
  // The sum's mantissa counts units of the code's last bit.
  Value units =
      arith::SubIOp::create(b, b.bitcastElements(sum, b.getI32Type()), adder);
  Value code = b.addI(units, b.lshr(exponent, shift));
  code = arith::SubIOp::create(
      b, code, i32Like(b, bits, smallestExponent << info.mantissaBits));
  Value sign = b.lshr(bits, 31);
  code = b.orI(code, b.shl(sign, info.width - 1));
  return select(b, isNaN, i32Like(b, bits, info.nanCode), code);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Value mlir::kvcache::narrow_float::decodePlain(CodecBuilder &b, Value codes,
                                               Type wideType) {
  Format format = *getFormat(getElementTypeOrSelf(codes));
  Value code = codesToI32(b, codes);
  Value bits = format == Format::E8M0 ? decodeE8M0(b, code)
                                      : decodeSigned(b, code, format);
  return fromF32Bits(b, bits, wideType);
}

Value mlir::kvcache::narrow_float::encodePlain(CodecBuilder &b, Value wide,
                                               Type narrowType,
                                               E8M0Rounding rounding) {
  Format format = *getFormat(narrowType);
  Value bits = toF32Bits(b, wide);
  Value code = format == Format::E8M0
                   ? encodeE8M0(b, b.andI(bits, kF32Magnitude), rounding)
                   : encodeSigned(b, bits, format);
  return codesFromI32(b, code, narrowType);
}
