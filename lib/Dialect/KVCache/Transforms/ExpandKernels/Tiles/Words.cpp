//===- Words.cpp - Several numbers in a register -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Words.h"

#include "../KernelBuilder.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

Value Words::vectorOf(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  Type i32 = b.getI32Type();
  if (bits >= 32)
    return b.createOrFold<vector::BitCastOp>(VectorType::get({bits / 32}, i32),
                                             vector);
  Value one = vector::BitCastOp::create(
      b, VectorType::get({1}, b.getIntegerType(bits)), vector);
  return arith::ExtUIOp::create(b, VectorType::get({1}, i32), one);
}

Value Words::whole(Value vector) { return LLVM::FreezeOp::create(b, vector); }

SmallVector<Value> Words::of(Value vector) {
  Value all = vectorOf(vector);
  SmallVector<Value> words;
  for (int64_t i = 0; i < cast<VectorType>(all.getType()).getDimSize(0); ++i)
    words.push_back(vector::ExtractOp::create(b, all, i));
  return words;
}

SmallVector<Value> Words::join(ArrayRef<Value> vectors) {
  auto type = cast<VectorType>(vectors[0].getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  SmallVector<Value> words;
  for (Value vector : vectors)
    llvm::append_range(words, of(vector));
  Arith arith(b);
  for (; bits < 32; bits *= 2) {
    // Two of fewer bits are one of more.
    SmallVector<Value> joined;
    for (size_t i = 0; i < words.size(); i += 2)
      joined.push_back(arith::OrIOp::create(
          b, words[i],
          arith::ShLIOp::create(b, words[i + 1], arith.i32(bits))));
    words = joined;
  }
  return words;
}

Value Words::vector(ValueRange words) {
  return vector::FromElementsOp::create(
      b, VectorType::get({static_cast<int64_t>(words.size())}, b.getI32Type()),
      words);
}

Value Words::permute(Value low, Value high, int64_t selector) {
  return NVVM::PermuteOp::create(b, b.getI32Type(), low, high,
                                 Arith(b).i32(selector),
                                 NVVM::PermuteMode::DEFAULT);
}

Value Words::bitcast(Value value, Type type) {
  return LLVM::BitcastOp::create(b, type, value);
}

Value Words::pack(Value first, Value second, Type type) {
  auto pair = VectorType::get({2}, b.getF32Type());
  Value both =
      vector::FromElementsOp::create(b, pair, ValueRange{first, second});
  both = arith::TruncFOp::create(b, VectorType::get({2}, type), both);
  return bitcast(both, b.getI32Type());
}

SmallVector<Value> Words::packTerms(Value first, Value second, Type type,
                                    int64_t terms) {
  SmallVector<Value> words = {pack(first, second, type)};
  while (words.size() < static_cast<size_t>(terms)) {
    auto [roundedFirst, roundedSecond] = unpack(words.back(), type);
    first = arith::SubFOp::create(b, first, roundedFirst);
    second = arith::SubFOp::create(b, second, roundedSecond);
    words.push_back(pack(first, second, type));
  }
  return words;
}

std::pair<Value, Value> Words::unpack(Value word, Type type) {
  Value both = bitcast(word, VectorType::get({2}, type));
  both = arith::ExtFOp::create(b, VectorType::get({2}, b.getF32Type()), both);
  return {vector::ExtractOp::create(b, both, 0),
          vector::ExtractOp::create(b, both, 1)};
}

SmallVector<Value> Words::multiply(Value word, ArrayRef<Value> factors,
                                   Type type, int64_t terms) {
  auto [first, second] = unpack(word, type);
  return packTerms(arith::MulFOp::create(b, first, factors[0]),
                   arith::MulFOp::create(b, second, factors[1]), type, terms);
}

SmallVector<Value> Words::decodeScaled(Value word, Type dtype) {
  if (dtype.isInteger(8))
    return decode(word, dtype);
  Value codes = bitcast(word, VectorType::get({4}, b.getI8Type()));
  codes = arith::BitcastOp::create(b, VectorType::get({4}, dtype), codes);
  return of(
      DecodeScaledOp::create(b, VectorType::get({4}, b.getF16Type()), codes));
}

Value Words::decodedUnit(Type dtype) {
  if (dtype.isInteger(8))
    return arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  return DecodedUnitOp::create(b, b.getF32Type());
}

Value Words::restoreNaN(Value word, ValueRange decoded, Type dtype) {
  if (dtype.isInteger(8))
    return word;
  auto pair = VectorType::get({2}, b.getF16Type());
  auto pairs = llvm::map_to_vector(
      decoded, [&](Value other) { return bitcast(other, pair); });
  return bitcast(RestoreNaNOp::create(b, pair, bitcast(word, pair), pairs),
                 b.getI32Type());
}

SmallVector<Value> Words::decode(Value word, Type dtype) {
  Arith arith(b);
  Type i32 = b.getI32Type();
  SmallVector<Value> halves;
  if (dtype.isInteger(8)) {
    // 0x6400 + n is the f16 1024 + n. With the sign turned, a code's byte is
    // the code plus 128.
    Value bytes =
        arith::XOrIOp::create(b, word, arith.i32(int64_t(0x80808080)));
    auto pair = VectorType::get({2}, b.getF16Type());
    Value excess = arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               pair, cast<Attribute>(b.getF16FloatAttr(1024 + 128))));
    for (int64_t i = 0; i < 2; ++i) {
      Value biased =
          permute(bytes, arith.i32(0x64646464), i == 0 ? 0x4140 : 0x4342);
      Value exact = arith::SubFOp::create(b, bitcast(biased, pair), excess);
      halves.push_back(bitcast(exact, i32));
    }
    return halves;
  }
  Value codes = bitcast(word, VectorType::get({4}, b.getI8Type()));
  codes = arith::BitcastOp::create(b, VectorType::get({4}, dtype), codes);
  return of(
      arith::ExtFOp::create(b, VectorType::get({4}, b.getF16Type()), codes));
}
