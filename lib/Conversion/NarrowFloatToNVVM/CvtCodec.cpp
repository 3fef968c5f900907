//===- CvtCodec.cpp - Conversion instructions -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::kvcache::narrow_float;

/// Two codes from the low bits of `word` to a pair of f16, or bf16 for e8m0.
static Value decodePair(CodecBuilder &b, Value word, Type narrow) {
  auto f16x2 = VectorType::get(2, b.getF16Type());
  Format format = *getFormat(narrow);
  if (format == Format::E2M1) {
    Value codes = arith::TruncIOp::create(b, b.getI8Type(), word);
    return NVVM::ConvertF4x2ToF16x2Op::create(b, f16x2, codes, /*relu=*/false,
                                              narrow);
  }
  Value codes = arith::TruncIOp::create(b, b.getI16Type(), word);
  codes = b.bitcastRegister(codes, VectorType::get(2, b.getI8Type()));
  if (format == Format::E8M0)
    return NVVM::ConvertF8x2ToBF16x2Op::create(
        b, VectorType::get(2, b.getBF16Type()), codes, narrow);
  return NVVM::ConvertF8x2ToF16x2Op::create(b, f16x2, codes, /*relu=*/false,
                                            narrow);
}

Value mlir::kvcache::narrow_float::decodeRowByCvt(CodecBuilder &b, Value codes,
                                                  Type wideType) {
  Type narrow = getElementTypeOrSelf(codes);
  unsigned pairBits = 2 * narrow.getIntOrFloatBitWidth();
  int64_t numPairs = (getRowLength(codes) + 1) / 2;
  SmallVector<Value> pairs;
  for (Value word : unpackCodes(b, codes)) {
    for (unsigned bit = 0; bit < 32; bit += pairBits) {
      if (static_cast<int64_t>(pairs.size()) == numPairs)
        break;
      Value shifted = bit ? b.lshr(word, bit) : word;
      pairs.push_back(convertPair(b, decodePair(b, shifted, narrow), wideType));
    }
  }
  return packPairs(b, pairs, getTypeLike(codes, wideType));
}

/// Encodes a pair, the first element into the low bits of the result, which
/// has the width of two codes.
static Value encodePair(CodecBuilder &b, Value first, Value second, Type narrow,
                        E8M0Rounding rounding) {
  Type i16 = b.getI16Type();
  switch (*getFormat(narrow)) {
  case Format::E2M1:
    return NVVM::ConvertF32x2ToF4x2Op::create(b, b.getI8Type(), second, first,
                                              /*relu=*/false, narrow);
  case Format::E8M0: {
    auto mode = rounding == E8M0Rounding::Up ? NVVM::FPRoundingMode::RP
                                             : NVVM::FPRoundingMode::RZ;
    // The magnitude, so that the result does not hang on what the instruction
    // makes of a sign.
    first = b.absF32(first);
    second = b.absF32(second);
    return NVVM::ConvertF32x2ToF8x2Op::create(b, i16, second, first, mode,
                                              NVVM::SaturationMode::SATFINITE,
                                              /*relu=*/false, narrow);
  }
  case Format::E4M3:
  case Format::E5M2:
    break;
  }
  if (first.getType().isF16()) {
    Value pair = vector::FromElementsOp::create(
        b, VectorType::get(2, first.getType()), ValueRange{first, second});
    return NVVM::ConvertF16x2ToF8x2Op::create(b, i16, pair, /*relu=*/false,
                                              narrow);
  }
  return NVVM::ConvertF32x2ToF8x2Op::create(
      b, i16, second, first, NVVM::FPRoundingMode::RN,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false, narrow);
}

Value mlir::kvcache::narrow_float::encodeRowByCvt(CodecBuilder &b, Value wide,
                                                  Type narrowType,
                                                  E8M0Rounding rounding) {
  Format format = *getFormat(narrowType);
  Type wideType = getElementTypeOrSelf(wide);
  // f16 goes to f8 as it is; everything else has one instruction, from f32.
  bool isDirect =
      wideType.isF16() && (format == Format::E4M3 || format == Format::E5M2);
  if (!isDirect && !wideType.isF32())
    wide = arith::ExtFOp::create(b, getTypeLike(wide, b.getF32Type()), wide);

  SmallVector<Value> elements = unpackElements(b, wide, /*multiple=*/2);
  SmallVector<Value> pairs;
  for (size_t i = 0; i < elements.size(); i += 2)
    pairs.push_back(
        encodePair(b, elements[i], elements[i + 1], narrowType, rounding));

  Type pairType = pairs.front().getType();
  unsigned pairsPerWord = 32 / pairType.getIntOrFloatBitWidth();
  SmallVector<Value> words;
  for (size_t i = 0; i < pairs.size(); i += pairsPerWord) {
    ArrayRef<Value> group = ArrayRef(pairs).slice(
        i, std::min<size_t>(pairsPerWord, pairs.size() - i));
    if (group.size() == 1) {
      words.push_back(arith::ExtUIOp::create(b, b.getI32Type(), group[0]));
      continue;
    }
    SmallVector<Value> parts(group);
    if (parts.size() < pairsPerWord)
      parts.resize(pairsPerWord,
                   arith::ConstantOp::create(b, b.getZeroAttr(pairType)));
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get(pairsPerWord, pairType), parts);
    words.push_back(b.bitcastRegister(vector, b.getI32Type()));
  }
  return packCodes(b, words, getTypeLike(wide, narrowType));
}
