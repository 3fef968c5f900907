//===- NarrowFloatToNVVM.cpp - 8 and 4 bit floats to NVVM -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Conversion/NarrowFloatToNVVM/NarrowFloatToNVVM.h"
#include "Codec.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_CONVERTNARROWFLOATTONVVMPASS
#include "kvcache/Conversion/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;
using namespace mlir::kvcache::narrow_float;

//===----------------------------------------------------------------------===//
// What can be lowered
//===----------------------------------------------------------------------===//

static bool isNarrow(Type type) {
  auto floatType = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return floatType && floatType.getWidth() < 16;
}

static bool isWide(Type elementType) {
  return elementType.isF16() || elementType.isBF16() || elementType.isF32() ||
         elementType.isF64();
}

/// Whether `op` converts from or to any float below 16 bits, or scales.
static bool isNarrowConversion(Operation *op) {
  if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp>(op))
    return true;
  return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
         (isNarrow(op->getOperand(0).getType()) ||
          isNarrow(op->getResult(0).getType()));
}

/// Whether `op` converts between integers and a narrow float. MLIR folds
/// `truncf(sitofp(x))` into one such operation.
static bool isNarrowIntegerConversion(Operation *op) {
  if (!isa<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(
          op))
    return false;
  for (Type type : {op->getOperand(0).getType(), op->getResult(0).getType()}) {
    auto vector = dyn_cast<VectorType>(type);
    if (isa<TensorType>(type) || (vector && vector.isScalable()))
      return false;
  }
  return getFormat(getElementTypeOrSelf(op->getOperand(0).getType())) ||
         getFormat(getElementTypeOrSelf(op->getResult(0).getType()));
}

static std::optional<arith::RoundingMode> getRoundingMode(Operation *op) {
  if (auto interface = dyn_cast<arith::ArithRoundingModeInterface>(op))
    if (arith::RoundingModeAttr mode = interface.getRoundingModeAttr())
      return mode.getValue();
  return std::nullopt;
}

static bool isRoundingSupported(arith::RoundingMode mode, Type result) {
  if (getFormat(result) == Format::E8M0)
    return mode == arith::RoundingMode::upward ||
           mode == arith::RoundingMode::toward_zero;
  return mode == arith::RoundingMode::to_nearest_even;
}

/// Whether `op`, if it converts narrow floats, can be lowered; otherwise
/// reports why not through `emitError`.
static LogicalResult check(Operation *op,
                           function_ref<InFlightDiagnostic()> emitError) {
  if (!isNarrowConversion(op))
    return success();

  SmallVector<Type> types(op->getOperandTypes());
  types.push_back(op->getResult(0).getType());
  for (Type type : types) {
    if (isa<TensorType>(type)) {
      emitError() << "expected scalars or vectors, got " << type
                  << "; bufferize and vectorize before lowering narrow floats";
      return failure();
    }
    auto vector = dyn_cast<VectorType>(type);
    if (vector && vector.isScalable()) {
      emitError() << "expected a vector of fixed size, got " << type;
      return failure();
    }
    Type element = getElementTypeOrSelf(type);
    if (!isWide(element) && !getFormat(element)) {
      emitError() << "cannot lower conversions of " << element
                  << ", expected f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN and "
                     "f16, bf16, f32 or f64";
      return failure();
    }
  }

  Type result = getElementTypeOrSelf(types.back());
  if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp>(op)) {
    Type scale = getElementTypeOrSelf(types[1]);
    if (getFormat(scale) != Format::E8M0) {
      emitError() << "expected a scale of f8E8M0FNU, got " << scale
                  << "; round it with 'arith.truncf' first";
      return failure();
    }
  } else if (isa<arith::ExtFOp>(op) && getFormat(result) == Format::E8M0) {
    emitError() << "f8E8M0FNU does not hold every value of "
                << getElementTypeOrSelf(types.front());
    return failure();
  }

  std::optional<arith::RoundingMode> mode = getRoundingMode(op);
  if (mode && getFormat(result) && !isRoundingSupported(*mode, result)) {
    emitError() << "cannot round " << result << " "
                << arith::stringifyRoundingMode(*mode) << ", expected "
                << (getFormat(result) == Format::E8M0
                        ? "upward (the default) or toward_zero"
                        : "to_nearest_even (the default)");
    return failure();
  }
  return success();
}

LogicalResult mlir::kvcache::checkNarrowFloatConversion(Operation *op) {
  return check(op, [op] { return op->emitOpError(); });
}

static bool isLowerable(Operation *op) {
  return succeeded(check(op, [] { return InFlightDiagnostic(); }));
}

void mlir::kvcache::configureNarrowFloatToNVVMLegality(
    ConversionTarget &target) {
  target.addDynamicallyLegalOp<arith::ExtFOp, arith::TruncFOp>(
      [](Operation *op) { return !isNarrowConversion(op); });
  target.addDynamicallyLegalOp<arith::SIToFPOp, arith::UIToFPOp,
                               arith::FPToSIOp, arith::FPToUIOp>(
      [](Operation *op) { return !isNarrowIntegerConversion(op); });
  target.addIllegalOp<arith::ScalingExtFOp, arith::ScalingTruncFOp>();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

static bool isDeviceCode(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<gpu::GPUModuleOp, gpu::GPUFuncOp, gpu::LaunchOp>(parent))
      return true;
  return false;
}

namespace {

/// Lowers conversions between any two supported types for one place.
class Converter {
public:
  Converter(OpBuilder &builder, Operation *op, const std::optional<Chip> &chip)
      : b(op->getLoc(), builder) {
    if (chip && isDeviceCode(op))
      this->chip = chip;
    if (getRoundingMode(op) == arith::RoundingMode::toward_zero)
      e8m0Rounding = E8M0Rounding::TowardZero;
  }

  /// Converts `value` to `elementType`, rounding once.
  Value convert(Value value, Type elementType);

  /// `value` times the f8E8M0FNU `scale`, in f32, as `elementType`.
  Value multiply(Value value, Value scale, Type elementType);

  CodecBuilder &builder() { return b; }

private:
  bool hasCvt(Format format) const {
    if (!chip)
      return false;
    return format == Format::E4M3 || format == Format::E5M2
               ? chip->hasF8Conversion
               : chip->hasF4F6E8M0Conversion;
  }

  /// Whether a row can be permuted. f8E8M0FNU gains nothing, and a row of
  /// 4-bit codes must fill its last byte.
  bool canPermute(Format format, Value row) const {
    return chip && format != Format::E8M0 && fillsBytes(format, row);
  }
  static bool fillsBytes(Format format, Value row) {
    int64_t length = getRowLength(row);
    return format != Format::E2M1 || length == 1 || length % 2 == 0;
  }

  Value decode(Value codes, Type wideType);
  Value encode(Value wide, Type narrowType);
  Value roundToOdd(Value f64);
  Value forEachRow(Value value, Type elementType,
                   function_ref<Value(Value)> convertRow);

  CodecBuilder b;
  std::optional<Chip> chip;
  E8M0Rounding e8m0Rounding = E8M0Rounding::Up;
};

} // namespace

/// Applies `convertRow` to a scalar, a vector of rank 1, or each innermost row
/// of a vector of higher rank.
Value Converter::forEachRow(Value value, Type elementType,
                            function_ref<Value(Value)> convertRow) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getRank() == 1)
    return convertRow(value);
  auto resultType = type.clone(elementType);
  if (type.getRank() == 0) {
    Value element = vector::ExtractOp::create(b, value, ArrayRef<int64_t>{});
    return vector::BroadcastOp::create(b, resultType, convertRow(element));
  }
  Value result = b.constantFloat(resultType, 0.0);
  SmallVector<int64_t> position(type.getRank() - 1, 0);
  ArrayRef<int64_t> outer = type.getShape().drop_back();
  int64_t numRows = type.getNumElements() / type.getShape().back();
  for (int64_t row = 0; row < numRows; ++row) {
    Value part = vector::ExtractOp::create(b, value, position);
    result = vector::InsertOp::create(b, convertRow(part), result, position);
    for (int64_t dim = outer.size() - 1; dim >= 0; --dim) {
      if (++position[dim] < outer[dim])
        break;
      position[dim] = 0;
    }
  }
  return result;
}

Value Converter::decode(Value codes, Type wideType) {
  Format format = *getFormat(getElementTypeOrSelf(codes));
  if (!chip)
    return decodePlain(b, codes, wideType);
  return forEachRow(codes, wideType, [&](Value row) {
    if (hasCvt(format) && fillsBytes(format, row))
      return decodeRowByCvt(b, row, wideType);
    if (canPermute(format, row))
      return decodeRowByPermute(b, row, wideType);
    return decodePlain(b, row, wideType);
  });
}

Value Converter::encode(Value wide, Type narrowType) {
  Format format = *getFormat(narrowType);
  if (!chip)
    return encodePlain(b, wide, narrowType, e8m0Rounding);
  return forEachRow(wide, narrowType, [&](Value row) {
    if (hasCvt(format) && fillsBytes(format, row))
      return encodeRowByCvt(b, row, narrowType, e8m0Rounding);
    if (canPermute(format, row))
      return encodeRowByPermute(b, row, narrowType);
    return encodePlain(b, row, narrowType, e8m0Rounding);
  });
}

/// f64 to f32 such that rounding the result once more is as good as rounding
/// the f64: truncated, with the last bit set where something was lost.
Value Converter::roundToOdd(Value f64) {
  Type i32 = b.getI32Type();
  Value nearest =
      arith::TruncFOp::create(b, getTypeLike(f64, b.getF32Type()), f64);
  Value back = arith::ExtFOp::create(b, f64.getType(), nearest);
  auto magnitudeBits = [&](Value value) {
    return b.andI(b.bitcastElements(value, b.getI64Type()), 0x7FFFFFFFFFFFFFFF);
  };
  Value wasRaised = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ugt, magnitudeBits(back), magnitudeBits(f64));
  // False for NaN.
  Value isInexact =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, f64);
  Value bits = b.bitcastElements(nearest, i32);
  Value truncated = arith::SubIOp::create(
      b, bits, arith::ExtUIOp::create(b, getTypeLike(f64, i32), wasRaised));
  truncated = b.orI(truncated, b.constantInt(f64, 32, 1));
  bits = arith::SelectOp::create(b, isInexact, truncated, bits);
  return b.bitcastElements(bits, b.getF32Type());
}

Value Converter::convert(Value value, Type elementType) {
  Type source = getElementTypeOrSelf(value);
  if (source == elementType)
    return value;
  Type f32 = b.getF32Type();
  if (getFormat(source)) {
    bool isDirect = isWide(elementType) && !elementType.isF64();
    return convert(decode(value, isDirect ? elementType : f32), elementType);
  }
  if (getFormat(elementType))
    return encode(source.isF64() ? roundToOdd(value) : value, elementType);
  Type result = getTypeLike(value, elementType);
  if (source.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, result, value);
  if (source.getIntOrFloatBitWidth() > elementType.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(b, result, value);
  return convert(convert(value, f32), elementType);
}

Value Converter::multiply(Value value, Value scale, Type elementType) {
  Type f32 = b.getF32Type();
  // A product with a power of two is the f64 rounded to odd once more.
  value = getElementTypeOrSelf(value).isF64() ? roundToOdd(value)
                                              : convert(value, f32);
  Value product = arith::MulFOp::create(b, value, convert(scale, f32));
  return convert(product, elementType);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

template <typename OpTy> class CastPattern : public OpRewritePattern<OpTy> {
public:
  CastPattern(MLIRContext *context, const NarrowFloatToNVVMOptions &options)
      : OpRewritePattern<OpTy>(context), chip(options.chip) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrowConversion(op) || !isLowerable(op))
      return failure();
    Converter converter(rewriter, op, chip);
    rewriter.replaceOp(
        op, converter.convert(op.getIn(), getElementTypeOrSelf(op.getType())));
    return success();
  }

private:
  std::optional<Chip> chip;
};

template <typename OpTy> class ScalingPattern : public OpRewritePattern<OpTy> {
public:
  ScalingPattern(MLIRContext *context, const NarrowFloatToNVVMOptions &options)
      : OpRewritePattern<OpTy>(context), chip(options.chip) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isLowerable(op))
      return failure();
    Converter converter(rewriter, op, chip);
    Value scale = op.getScale();
    if (std::is_same_v<OpTy, arith::ScalingTruncFOp>)
      scale = getReciprocal(converter.builder(), scale);
    rewriter.replaceOp(op,
                       converter.multiply(op.getIn(), scale,
                                          getElementTypeOrSelf(op.getType())));
    return success();
  }

private:
  /// 254 - code: the exponents of 2^-127 and 2^127 change places, and NaN,
  /// 255, stays, as -1.
  static Value getReciprocal(CodecBuilder &b, Value scale) {
    Value codes = b.bitcastElements(scale, b.getI8Type());
    Value reciprocal =
        arith::SubIOp::create(b, b.constantInt(codes, 8, 254), codes);
    return b.bitcastElements(reciprocal, getElementTypeOrSelf(scale));
  }

  std::optional<Chip> chip;
};

/// Integers become narrow floats, and the reverse, through f32. That rounds an
/// integer once, since those that f32 does not hold saturate; f8E8M0FNU reaches
/// further and takes f64.
template <typename OpTy> class IntegerPattern : public OpRewritePattern<OpTy> {
public:
  IntegerPattern(MLIRContext *context, const NarrowFloatToNVVMOptions &options)
      : OpRewritePattern<OpTy>(context), chip(options.chip) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrowIntegerConversion(op))
      return failure();
    Converter converter(rewriter, op, chip);
    CodecBuilder &b = converter.builder();
    Type source = getElementTypeOrSelf(op.getIn());
    Type result = getElementTypeOrSelf(op.getType());
    if (isa<FloatType>(source)) {
      Value wide = converter.convert(op.getIn(), b.getF32Type());
      rewriter.replaceOpWithNewOp<OpTy>(op, op.getType(), wide);
      return success();
    }
    bool isExactInF32 = source.getIntOrFloatBitWidth() <= 24;
    Type wideType = getFormat(result) == Format::E8M0 && !isExactInF32
                        ? Type(b.getF64Type())
                        : Type(b.getF32Type());
    Value wide = OpTy::create(b, getTypeLike(op.getIn(), wideType), op.getIn());
    rewriter.replaceOp(op, converter.convert(wide, result));
    return success();
  }

private:
  std::optional<Chip> chip;
};

} // namespace

void mlir::kvcache::populateNarrowFloatToNVVMPatterns(
    RewritePatternSet &patterns, const NarrowFloatToNVVMOptions &options) {
  patterns
      .add<CastPattern<arith::ExtFOp>, CastPattern<arith::TruncFOp>,
           ScalingPattern<arith::ScalingExtFOp>,
           ScalingPattern<arith::ScalingTruncFOp>,
           IntegerPattern<arith::SIToFPOp>, IntegerPattern<arith::UIToFPOp>,
           IntegerPattern<arith::FPToSIOp>, IntegerPattern<arith::FPToUIOp>>(
          patterns.getContext(), options);
}

//===----------------------------------------------------------------------===//
// Products with scales
//===----------------------------------------------------------------------===//

/// Whether codes of e4m3 are decoded by permutation at `op`.
static bool permutesE4M3(Operation *op, const std::optional<Chip> &chip) {
  return chip && !chip->hasF8Conversion && isDeviceCode(op);
}

/// `scale` times 2^8, each number of it once.
static Value moveIntoScale(CodecBuilder &b, Value scale) {
  Type f32 = b.getF32Type();
  auto times = [&](Value number) -> Value {
    return arith::MulFOp::create(b, number, b.constantFloat(f32, 256.0));
  };
  if (auto broadcast = scale.getDefiningOp<vector::BroadcastOp>())
    if (broadcast.getSource().getType() == f32)
      return vector::BroadcastOp::create(b, scale.getType(),
                                         times(broadcast.getSource()));
  if (auto elements = scale.getDefiningOp<vector::FromElementsOp>()) {
    llvm::SmallDenseMap<Value, Value> known;
    SmallVector<Value> moved;
    for (Value number : elements.getElements()) {
      Value &place = known[number];
      if (!place)
        place = times(number);
      moved.push_back(place);
    }
    return vector::FromElementsOp::create(b, scale.getType(), moved);
  }
  return {};
}

/// Multiplies a 256th of the number that a code of e4m3 stands for, which is
/// cheaper to decode, by 256 times the scale, where the product may be
/// reassociated.
static void reassociateProducts(Operation *root,
                                const std::optional<Chip> &chip) {
  SmallVector<std::pair<arith::MulFOp, arith::ExtFOp>> products;
  root->walk([&](arith::MulFOp op) {
    auto type = dyn_cast<VectorType>(op.getType());
    auto decode = op.getLhs().getDefiningOp<arith::ExtFOp>();
    if (arith::bitEnumContainsAny(op.getFastmath(),
                                  arith::FastMathFlags::reassoc) &&
        type && type.getRank() == 1 && type.getElementType().isF32() &&
        decode &&
        getFormat(getElementTypeOrSelf(decode.getIn())) == Format::E4M3)
      products.push_back({op, decode});
  });
  for (auto [op, decode] : products) {
    bool mayBeNaN = !arith::bitEnumContainsAny(op.getFastmath(),
                                               arith::FastMathFlags::nnan);
    // The liberty is taken here, by nobody else.
    op.setFastmath(arith::FastMathFlags::none);
    if (!permutesE4M3(op, chip))
      continue;
    OpBuilder builder(op);
    CodecBuilder b(op.getLoc(), builder);
    Value scale = moveIntoScale(b, op.getRhs());
    if (!scale)
      continue;
    Value product = arith::MulFOp::create(
        b, decodeScaledRowByPermute(b, decode.getIn(), mayBeNaN), scale);
    op.replaceAllUsesWith(product);
    op.erase();
    if (decode->use_empty())
      decode.erase();
  }
}

/// Decodes codes of e4m3 to a 256th, where that is cheaper, and tells so.
static void lowerScaledDecoding(Operation *root,
                                const std::optional<Chip> &chip) {
  root->walk([&](Operation *op) {
    if (!isa<DecodeScaledOp, DecodedUnitOp, RestoreNaNOp>(op))
      return;
    OpBuilder builder(op);
    CodecBuilder b(op->getLoc(), builder);
    bool isScaled = permutesE4M3(op, chip);
    Value result;
    if (auto decode = dyn_cast<DecodeScaledOp>(op))
      // Otherwise a conversion like any other.
      result = isScaled ? decodeScaledRowToF16(b, decode.getCodes())
                        : arith::ExtFOp::create(b, decode.getType(),
                                                decode.getCodes());
    else if (auto restore = dyn_cast<RestoreNaNOp>(op))
      result = isScaled ? restoreScaledNaN(b, restore.getNumber(),
                                           restore.getDecoded())
                        : restore.getNumber();
    else
      result = b.constantFloat(b.getF32Type(), isScaled ? 256.0 : 1.0);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

/// Tells up to which scales that gives the same.
static void lowerScaleLimits(Operation *root, const std::optional<Chip> &chip) {
  root->walk([&](ScaleLimitOp op) {
    OpBuilder b(op);
    // The largest f32 below 2^120.
    APFloat limit = APFloat::getInf(APFloat::IEEEsingle());
    if (permutesE4M3(op, chip))
      limit = APFloat(0x1.fffffep119f);
    op.replaceAllUsesWith(
        arith::ConstantOp::create(b, op.getLoc(),
                                  b.getF32FloatAttr(limit.convertToFloat()))
            .getResult());
    op.erase();
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

class ConvertNarrowFloatToNVVMPass
    : public kvcache::impl::ConvertNarrowFloatToNVVMPassBase<
          ConvertNarrowFloatToNVVMPass> {
public:
  using ConvertNarrowFloatToNVVMPassBase::ConvertNarrowFloatToNVVMPassBase;

  void runOnOperation() override {
    Operation *root = getOperation();
    NarrowFloatToNVVMOptions options;
    if (!chip.empty()) {
      FailureOr<Chip> found =
          lookupChip(chip, [&] { return root->emitError(); });
      if (failed(found))
        return signalPassFailure();
      options.chip = *found;
    }

    bool isLowerable = true;
    root->walk([&](Operation *op) {
      isLowerable &= succeeded(checkNarrowFloatConversion(op));
    });
    if (!isLowerable)
      return signalPassFailure();

    reassociateProducts(root, options.chip);
    lowerScaleLimits(root, options.chip);
    lowerScaledDecoding(root, options.chip);
    RewritePatternSet patterns(&getContext());
    populateNarrowFloatToNVVMPatterns(patterns, options);
    ConversionTarget target(getContext());
    configureNarrowFloatToNVVMLegality(target);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(
            applyPartialConversion(root, target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
