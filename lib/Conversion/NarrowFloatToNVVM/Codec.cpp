//===- Codec.cpp - Building blocks of the codecs --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache::narrow_float;

std::optional<Format> mlir::kvcache::narrow_float::getFormat(Type elementType) {
  return llvm::TypeSwitch<Type, std::optional<Format>>(elementType)
      .Case<Float8E4M3FNType>([](Type) { return Format::E4M3; })
      .Case<Float8E5M2Type>([](Type) { return Format::E5M2; })
      .Case<Float4E2M1FNType>([](Type) { return Format::E2M1; })
      .Case<Float8E8M0FNUType>([](Type) { return Format::E8M0; })
      .Default([](Type) { return std::nullopt; });
}

FormatInfo mlir::kvcache::narrow_float::getFormatInfo(Format format) {
  switch (format) {
  case Format::E4M3:
    return {
        /*width=*/8,        /*mantissaBits=*/3,   /*bias=*/7,
        /*largest=*/448.0f, /*largestCode=*/0x7E, /*nanCode=*/0x7F};
  case Format::E5M2:
    return {
        /*width=*/8,          /*mantissaBits=*/2,   /*bias=*/15,
        /*largest=*/57344.0f, /*largestCode=*/0x7B, /*nanCode=*/0x7F};
  case Format::E2M1:
    return {/*width=*/4,      /*mantissaBits=*/1,  /*bias=*/1,
            /*largest=*/6.0f, /*largestCode=*/0x7, /*nanCode=*/0x7};
  case Format::E8M0:
    break;
  }
  llvm_unreachable("f8E8M0FNU has no sign and no mantissa");
}

Type mlir::kvcache::narrow_float::getTypeLike(Value like, Type elementType) {
  if (auto shaped = dyn_cast<ShapedType>(like.getType()))
    return shaped.clone(elementType);
  return elementType;
}

//===----------------------------------------------------------------------===//
// CodecBuilder
//===----------------------------------------------------------------------===//

static Value createConstant(ImplicitLocOpBuilder &b, Type type,
                            TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, cast<Attribute>(element)));
  return arith::ConstantOp::create(b, element);
}

Value CodecBuilder::constantInt(Value like, unsigned width, uint64_t value) {
  Type element = getIntegerType(width);
  return createConstant(
      *this, getTypeLike(like, element),
      getIntegerAttr(element, APInt(width, value, /*isSigned=*/false,
                                    /*implicitTrunc=*/true)));
}

Value CodecBuilder::constantIntLike(Value like, uint64_t value) {
  return constantInt(like, getElementTypeOrSelf(like).getIntOrFloatBitWidth(),
                     value);
}

Value CodecBuilder::constantI32(uint32_t value) {
  return arith::ConstantOp::create(
      *this, getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value CodecBuilder::constantFloat(Type type, double value) {
  return createConstant(*this, type,
                        getFloatAttr(getElementTypeOrSelf(type), value));
}

Value CodecBuilder::constantF32Like(Value like, double value) {
  return constantFloat(getTypeLike(like, getF32Type()), value);
}

Value CodecBuilder::bitcastElements(Value value, Type elementType) {
  return createOrFold<arith::BitcastOp>(getTypeLike(value, elementType), value);
}

Value CodecBuilder::bitcastRegister(Value value, Type type) {
  return LLVM::BitcastOp::create(*this, type, value);
}

Value CodecBuilder::permuteBytes(Value low, Value high, Value selector) {
  return NVVM::PermuteOp::create(*this, getI32Type(), low, high, selector,
                                 NVVM::PermuteMode::DEFAULT);
}

Value CodecBuilder::permuteBytes(Value low, Value high, uint32_t selector) {
  return permuteBytes(low, high, constantI32(selector));
}

Value CodecBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(*this, a, b, c);
}

Value CodecBuilder::absF32(Value value) {
  return LLVM::CallIntrinsicOp::create(*this, getF32Type(),
                                       getStringAttr("llvm.fabs"), value)
      .getResult(0);
}

Value CodecBuilder::andI(Value value, uint64_t mask) {
  return arith::AndIOp::create(*this, value, constantIntLike(value, mask));
}

Value CodecBuilder::orI(Value lhs, Value rhs) {
  return arith::OrIOp::create(*this, lhs, rhs);
}

Value CodecBuilder::addI(Value lhs, Value rhs) {
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value CodecBuilder::shl(Value value, unsigned amount) {
  return arith::ShLIOp::create(*this, value, constantIntLike(value, amount));
}

Value CodecBuilder::lshr(Value value, unsigned amount) {
  return arith::ShRUIOp::create(*this, value, constantIntLike(value, amount));
}

Value CodecBuilder::ashr(Value value, unsigned amount) {
  return arith::ShRSIOp::create(*this, value, constantIntLike(value, amount));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

int64_t mlir::kvcache::narrow_float::getRowLength(Value row) {
  auto vector = dyn_cast<VectorType>(row.getType());
  return vector ? vector.getNumElements() : 1;
}

static Value extractElement(CodecBuilder &b, Value row, int64_t index) {
  return b.createOrFold<vector::ExtractOp>(row, index);
}

/// Bytes of the register for `numBytes` bytes of codes: one, two, or a multiple
/// of four.
static int64_t getRegisterBytes(int64_t numBytes) {
  return numBytes <= 2 ? numBytes : llvm::alignTo(numBytes, 4);
}

SmallVector<Value> mlir::kvcache::narrow_float::unpackCodes(CodecBuilder &b,
                                                            Value row) {
  Type i8 = b.getI8Type();
  Type i32 = b.getI32Type();
  unsigned width = getElementTypeOrSelf(row).getIntOrFloatBitWidth();
  int64_t length = getRowLength(row);
  if (length == 1) {
    Value code =
        isa<VectorType>(row.getType()) ? extractElement(b, row, 0) : row;
    code = b.bitcastElements(code, b.getIntegerType(width));
    return {arith::ExtUIOp::create(b, i32, code)};
  }

  // Padded as bytes: LLVM sends vectors of 4-bit integers through the stack.
  int64_t codeBytes = length * width / 8;
  int64_t numBytes = getRegisterBytes(codeBytes);
  if (codeBytes != numBytes) {
    Value bytes =
        b.createOrFold<vector::BitCastOp>(VectorType::get(codeBytes, i8), row);
    auto padded = VectorType::get(numBytes, i8);
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(padded));
    row = vector::InsertStridedSliceOp::create(
        b, bytes, zeros, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  }
  if (numBytes < 4) {
    auto type = VectorType::get(1, b.getIntegerType(8 * numBytes));
    Value word = b.createOrFold<vector::BitCastOp>(type, row);
    return {arith::ExtUIOp::create(b, i32, extractElement(b, word, 0))};
  }
  auto type = VectorType::get(numBytes / 4, i32);
  Value words = b.createOrFold<vector::BitCastOp>(type, row);
  SmallVector<Value> result;
  for (int64_t i = 0, e = numBytes / 4; i < e; ++i)
    result.push_back(extractElement(b, words, i));
  return result;
}

Value mlir::kvcache::narrow_float::packCodes(CodecBuilder &b,
                                             ArrayRef<Value> words,
                                             Type rowType) {
  Type narrow = getElementTypeOrSelf(rowType);
  unsigned width = narrow.getIntOrFloatBitWidth();
  auto vector = dyn_cast<VectorType>(rowType);
  int64_t length = vector ? vector.getNumElements() : 1;
  if (length == 1) {
    Value code =
        arith::TruncIOp::create(b, b.getIntegerType(width), words.front());
    code = b.bitcastElements(code, narrow);
    return vector ? vector::FromElementsOp::create(b, vector, code).getResult()
                  : code;
  }

  int64_t codeBytes = length * width / 8;
  int64_t numBytes = getRegisterBytes(codeBytes);
  Value row;
  if (numBytes < 4) {
    Type type = b.getIntegerType(8 * numBytes);
    Value word = arith::TruncIOp::create(b, type, words.front());
    row = vector::FromElementsOp::create(b, VectorType::get(1, type), word);
  } else {
    row = vector::FromElementsOp::create(
        b, VectorType::get(numBytes / 4, b.getI32Type()),
        words.take_front(numBytes / 4));
  }
  if (codeBytes != numBytes) {
    row = vector::BitCastOp::create(b, VectorType::get(numBytes, b.getI8Type()),
                                    row);
    row = vector::ExtractStridedSliceOp::create(b, row, ArrayRef<int64_t>{0},
                                                ArrayRef<int64_t>{codeBytes},
                                                ArrayRef<int64_t>{1});
  }
  return vector::BitCastOp::create(b, vector, row);
}

SmallVector<Value>
mlir::kvcache::narrow_float::unpackElements(CodecBuilder &b, Value row,
                                            unsigned multiple) {
  SmallVector<Value> elements;
  if (isa<VectorType>(row.getType())) {
    for (int64_t i = 0, e = getRowLength(row); i < e; ++i)
      elements.push_back(extractElement(b, row, i));
  } else {
    elements.push_back(row);
  }
  if (elements.size() % multiple) {
    Value zero = b.constantFloat(elements.front().getType(), 0.0);
    elements.resize(llvm::alignTo(elements.size(), multiple), zero);
  }
  return elements;
}

Value mlir::kvcache::narrow_float::packPairs(CodecBuilder &b,
                                             ArrayRef<Value> pairs,
                                             Type rowType) {
  auto vector = dyn_cast<VectorType>(rowType);
  if (!vector)
    return extractElement(b, pairs.front(), 0);
  SmallVector<Value> elements;
  for (int64_t i = 0, e = vector.getNumElements(); i < e; ++i)
    elements.push_back(extractElement(b, pairs[i / 2], i % 2));
  return vector::FromElementsOp::create(b, vector, elements);
}

Value mlir::kvcache::narrow_float::convertPair(CodecBuilder &b, Value pair,
                                               Type elementType) {
  Type source = getElementTypeOrSelf(pair);
  if (source == elementType)
    return pair;
  Type f32 = b.getF32Type();
  if (source != f32)
    pair = arith::ExtFOp::create(b, getTypeLike(pair, f32), pair);
  if (elementType != f32)
    pair = arith::TruncFOp::create(b, getTypeLike(pair, elementType), pair);
  return pair;
}
