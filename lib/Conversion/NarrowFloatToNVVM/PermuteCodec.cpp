//===- PermuteCodec.cpp - Narrow floats in PTX without narrow cvt ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `prmt` counts bytes of its two operands from 0 (lowest of the first) to 7;
// a selector has one nibble a result byte, the lowest first, and bit 3 of the
// nibble repeats the byte's sign bit instead.
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::kvcache::narrow_float;

static constexpr uint32_t kF32Exponent = 0x7F800000;
static constexpr uint32_t kSignOfEachByte = 0x80808080;

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Bytes 0, 1 (pair 0) or 2, 3 (pair 1) to the upper halves of two 16-bit
/// lanes, zeros below.
static Value bytesToLanes(CodecBuilder &b, Value word, unsigned pair) {
  return b.permuteBytes(word, b.constantI32(0), pair ? 0x3424 : 0x1404);
}

/// Two e4m3 codes to f16 or bf16, times a power of two: the code's seven lower
/// bits go to the lane's exponent and mantissa, denormals included. NaN becomes
/// what 480 would.
static Value placeE4M3Pair(CodecBuilder &b, Value word, unsigned pair,
                           Type lane) {
  // Each lane is its byte twice, or its byte above the lower lane's sign: the
  // arithmetic shift then leaves every lane's sign at its top.
  Value lanes = b.permuteBytes(word, word, pair ? 0x3A22 : 0x1800);
  bool isBF16 = lane.isBF16();
  lanes = b.ashr(lanes, isBF16 ? 4 : 1);
  lanes = b.andI(lanes, isBF16 ? 0x87F087F0 : 0xBF80BF80);
  return b.bitcastRegister(lanes, VectorType::get(2, lane));
}

/// A multiplication as an fma: sm_80 has no other in bf16.
static Value multiplyPair(CodecBuilder &b, Value pair, double factor) {
  Type type = pair.getType();
  return b.fma(pair, b.constantFloat(type, factor),
               b.constantFloat(type, -0.0));
}

/// Puts NaN to `pair` where `numbers`, times 2^`exponent`, have 480. That is
/// the only one that overflows when 448 is stretched to the lane's largest
/// power of two: the infinity times zero is NaN, everything else times zero is
/// a zero to add.
static Value restoreNaN(CodecBuilder &b, Value pair, Value numbers,
                        int exponent) {
  Type type = pair.getType();
  int laneBias = getElementTypeOrSelf(type).isBF16() ? 127 : 15;
  // 448 * 1.09375 stays below the power of two that 480 * 1.09375 passes.
  Value stretched =
      multiplyPair(b, numbers, std::ldexp(1.09375, laneBias - 8 - exponent));
  return b.fma(stretched, b.constantFloat(type, 0.0), pair);
}

/// Two e4m3 codes to f16 or bf16.
static Value decodeE4M3Pair(CodecBuilder &b, Value word, unsigned pair,
                            Type lane) {
  int laneBias = lane.isBF16() ? 127 : 15;
  Value scaled = placeE4M3Pair(b, word, pair, lane);
  Value numbers = multiplyPair(b, scaled, std::ldexp(1.0, laneBias - 7));
  return restoreNaN(b, numbers, numbers, /*exponent=*/0);
}

Value mlir::kvcache::narrow_float::decodeScaledRowByPermute(CodecBuilder &b,
                                                            Value codes,
                                                            bool mayBeNaN) {
  Type f32 = b.getF32Type();
  SmallVector<Value> pairs;
  for (Value word : unpackCodes(b, codes))
    for (unsigned pair = 0; pair < 2; ++pair) {
      Value scaled = placeE4M3Pair(b, word, pair, b.getF16Type());
      if (mayBeNaN)
        scaled = restoreNaN(b, scaled, scaled, /*exponent=*/-8);
      pairs.push_back(convertPair(b, scaled, f32));
    }
  pairs.truncate((getRowLength(codes) + 1) / 2);
  return packPairs(b, pairs, getTypeLike(codes, f32));
}

Value mlir::kvcache::narrow_float::decodeScaledRowToF16(CodecBuilder &b,
                                                        Value codes) {
  Type f16 = b.getF16Type();
  SmallVector<Value> pairs;
  for (Value word : unpackCodes(b, codes))
    for (unsigned pair = 0; pair < 2; ++pair)
      pairs.push_back(placeE4M3Pair(b, word, pair, f16));
  pairs.truncate((getRowLength(codes) + 1) / 2);
  return packPairs(b, pairs, getTypeLike(codes, f16));
}

Value mlir::kvcache::narrow_float::restoreScaledNaN(CodecBuilder &b, Value pair,
                                                    ValueRange scaled) {
  auto call = [&](StringRef intrinsic, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, pair.getType(),
                                         b.getStringAttr(intrinsic), operands)
        .getResult(0);
  };
  // The magnitude of NaN's number is the largest of all.
  Value largest;
  for (Value number : scaled) {
    number = call("llvm.fabs", number);
    largest =
        largest ? call("llvm.maxnum", ValueRange{largest, number}) : number;
  }
  return largest ? restoreNaN(b, pair, largest, /*exponent=*/-8) : pair;
}

/// An e5m2 code is the upper byte of its f16.
static Value decodeE5M2Pair(CodecBuilder &b, Value word, unsigned pair) {
  return b.bitcastRegister(bytesToLanes(b, word, pair),
                           VectorType::get(2, b.getF16Type()));
}

/// Eight e2m1 codes to four pairs of f16. The magnitude's three bits look up
/// the upper byte of the f16 (the lower is 0) in a table of two registers.
static void decodeE2M1Word(CodecBuilder &b, Value word,
                           SmallVectorImpl<Value> &pairs) {
  Value table0 = b.constantI32(0x3E3C3800); // 0, 0.5, 1, 1.5
  Value table1 = b.constantI32(0x46444240); // 2, 3, 4, 6
  Value magnitudes = b.andI(word, 0x77777777);
  // The even codes' signs are at the top of a byte here, the odd codes' in
  // `word`.
  Value evens = b.shl(word, 4);
  for (unsigned half = 0; half < 2; ++half) {
    Value selector = half ? b.lshr(magnitudes, 16) : magnitudes;
    Value bytes = b.permuteBytes(table0, table1, selector);
    Value signs = b.permuteBytes(evens, word, half ? 0x7362 : 0x5140);
    bytes = b.orI(bytes, b.andI(signs, kSignOfEachByte));
    for (unsigned pair = 0; pair < 2; ++pair)
      pairs.push_back(b.bitcastRegister(bytesToLanes(b, bytes, pair),
                                        VectorType::get(2, b.getF16Type())));
  }
}

Value mlir::kvcache::narrow_float::decodeRowByPermute(CodecBuilder &b,
                                                      Value codes,
                                                      Type wideType) {
  Format format = *getFormat(getElementTypeOrSelf(codes));
  Type lane =
      format == Format::E4M3 && wideType.isBF16() ? wideType : b.getF16Type();
  SmallVector<Value> pairs;
  for (Value word : unpackCodes(b, codes)) {
    if (format == Format::E2M1) {
      decodeE2M1Word(b, word, pairs);
      continue;
    }
    for (unsigned pair = 0; pair < 2; ++pair)
      pairs.push_back(format == Format::E4M3
                          ? decodeE4M3Pair(b, word, pair, lane)
                          : decodeE5M2Pair(b, word, pair));
  }
  pairs.truncate((getRowLength(codes) + 1) / 2);
  for (Value &pair : pairs)
    pair = convertPair(b, pair, wideType);
  return packPairs(b, pairs, getTypeLike(codes, wideType));
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// The code of an f32's magnitude in an i32; NaN gives more than 127.
///
/// Adding 2^(23 - mantissaBits) times the value's own power of two, which is at
/// least the format's smallest normal one, makes the adder round to nearest
/// even at the code's last bit. Taken away again and scaled so that the
/// format's exponent range starts at that of f32, the bits are the code's.
static Value encodeMagnitude(CodecBuilder &b, Value element, Format format) {
  FormatInfo info = getFormatInfo(format);
  unsigned shift = kF32MantissaBits - info.mantissaBits;
  uint32_t smallestExponent = kF32Bias - info.bias + 1;
  Type f32 = b.getF32Type();
  Type i32 = b.getI32Type();
  auto constant = [&](double value) { return b.constantFloat(f32, value); };

  Value magnitude = b.absF32(element);
  // This minimum keeps NaN.
  Value clamped =
      arith::MinimumFOp::create(b, magnitude, constant(info.largest));
  Value exponent = b.andI(b.bitcastRegister(clamped, i32), kF32Exponent);
  exponent = arith::MaxUIOp::create(
      b, exponent, b.constantI32(smallestExponent << kF32MantissaBits));
  exponent = b.bitcastRegister(exponent, f32);
  Value sum = b.fma(exponent, constant(std::ldexp(1.0, shift)), clamped);
  int scale = static_cast<int>(info.bias) - static_cast<int>(kF32Bias);
  Value scaled =
      arith::MulFOp::create(b, sum, constant(std::ldexp(1.0, scale)));
  int shiftAndScale = static_cast<int>(shift) + scale;
  scaled = b.fma(exponent, constant(-std::ldexp(1.0, shiftAndScale)), scaled);
  return b.lshr(b.bitcastRegister(scaled, i32), shift);
}

/// Packs two integers, saturated to [-128, 127], under the lower half of
/// `upper`.
static Value packSaturated(CodecBuilder &b, Value second, Value first,
                           Value upper) {
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), ValueRange{second, first, upper},
             "cvt.pack.sat.s8.s32.b32 $0, $1, $2, $3;", "=r,r,r,r",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

namespace {
/// Four codes, one a byte: magnitudes (0x7F for NaN), and the signs at the top
/// of each byte (none for NaN).
struct CodeBytes {
  Value magnitudes;
  Value signs;
};
} // namespace

static CodeBytes encodeBytes(CodecBuilder &b, std::array<Value, 4> elements,
                             Format format) {
  std::array<Value, 4> codes;
  std::array<Value, 4> bits;
  for (unsigned i = 0; i < 4; ++i) {
    codes[i] = encodeMagnitude(b, elements[i], format);
    bits[i] = b.bitcastRegister(elements[i], b.getI32Type());
  }
  CodeBytes bytes;
  bytes.magnitudes = packSaturated(b, codes[3], codes[2], b.constantI32(0));
  bytes.magnitudes = packSaturated(b, codes[1], codes[0], bytes.magnitudes);

  Value lower = b.permuteBytes(bits[0], bits[1], 0x0073);
  Value upper = b.permuteBytes(bits[2], bits[3], 0x0073);
  Value signs = b.permuteBytes(lower, upper, 0x5410);
  // Only 0x7F + 1 reaches the top bit.
  Value isNaN = b.addI(bytes.magnitudes, b.constantI32(0x01010101));
  Value isNumber = arith::XOrIOp::create(b, isNaN, b.constantI32(0xFFFFFFFF));
  bytes.signs =
      b.andI(arith::AndIOp::create(b, signs, isNumber), kSignOfEachByte);
  return bytes;
}

Value mlir::kvcache::narrow_float::encodeRowByPermute(CodecBuilder &b,
                                                      Value wide,
                                                      Type narrowType) {
  Format format = *getFormat(narrowType);
  Type f32 = b.getF32Type();
  if (getElementTypeOrSelf(wide) != f32)
    wide = arith::ExtFOp::create(b, getTypeLike(wide, f32), wide);

  unsigned codesPerWord = 32 / narrowType.getIntOrFloatBitWidth();
  SmallVector<Value> elements = unpackElements(b, wide, codesPerWord);
  SmallVector<Value> words;
  for (size_t i = 0; i < elements.size(); i += codesPerWord) {
    const Value *e = &elements[i];
    if (format != Format::E2M1) {
      CodeBytes bytes = encodeBytes(b, {e[0], e[1], e[2], e[3]}, format);
      words.push_back(b.orI(bytes.magnitudes, bytes.signs));
      continue;
    }
    CodeBytes even = encodeBytes(b, {e[0], e[2], e[4], e[6]}, format);
    CodeBytes odd = encodeBytes(b, {e[1], e[3], e[5], e[7]}, format);
    Value low =
        b.orI(b.andI(even.magnitudes, 0x07070707), b.lshr(even.signs, 4));
    Value high = b.orI(b.shl(b.andI(odd.magnitudes, 0x07070707), 4), odd.signs);
    words.push_back(b.orI(low, high));
  }
  return packCodes(b, words, getTypeLike(wide, narrowType));
}
