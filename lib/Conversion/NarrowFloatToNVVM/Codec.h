//===- Codec.h - Encoding and decoding narrow floats ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three ways to emit the same conversions:
//
//   plain    elementwise integer and f32 arithmetic, on any target;
//   permute  PTX without narrow `cvt`: four codes in a 32-bit register, `prmt`,
//            packed f16 or bf16 arithmetic;
//   cvt      the chip's own conversion instructions.
//
// "Codes" are values of a narrow float type, "wide" ones are f16, bf16 or f32.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_CONVERSION_NARROWFLOATTONVVM_CODEC_H
#define KVCACHE_LIB_CONVERSION_NARROWFLOATTONVVM_CODEC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::kvcache::narrow_float {

enum class Format { E4M3, E5M2, E2M1, E8M0 };

/// The format of a narrow float type; none when it is not one of the four.
std::optional<Format> getFormat(Type elementType);

/// What the arithmetic needs to know of a format with a sign.
struct FormatInfo {
  unsigned width;        ///< bits of a code
  unsigned mantissaBits; ///< stored mantissa bits
  unsigned bias;         ///< exponent bias
  float largest;         ///< largest finite magnitude
  unsigned largestCode;  ///< its code
  unsigned nanCode;      ///< what NaN is encoded as
};
FormatInfo getFormatInfo(Format format);

/// The same of f32.
inline constexpr unsigned kF32MantissaBits = 23;
inline constexpr unsigned kF32Bias = 127;

/// How f8E8M0FNU rounds a magnitude; the others always round to nearest even.
enum class E8M0Rounding { Up, TowardZero };

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Returns `elementType`, or `like`'s type with that element type.
Type getTypeLike(Value like, Type elementType);

/// A builder with short names for what codecs emit. Constants and bitcasts take
/// the shape of the value `like`.
class CodecBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value constantInt(Value like, unsigned width, uint64_t value);
  Value constantI32(uint32_t value);
  Value constantFloat(Type type, double value);
  Value constantF32Like(Value like, double value);
  /// Reinterprets each element; widths are equal.
  Value bitcastElements(Value value, Type elementType);
  /// Reinterprets a register (LLVM bitcast).
  Value bitcastRegister(Value value, Type type);
  Value permuteBytes(Value low, Value high, uint32_t selector);
  Value permuteBytes(Value low, Value high, Value selector);
  Value fma(Value a, Value b, Value c);
  /// As a call of the intrinsic: convert-gpu-to-nvvm takes no llvm.intr.fabs
  /// and makes a library call of math.absf.
  Value absF32(Value value);
  Value andI(Value value, uint64_t mask);
  Value orI(Value lhs, Value rhs);
  Value addI(Value lhs, Value rhs);
  Value shl(Value value, unsigned amount);
  Value lshr(Value value, unsigned amount);
  Value ashr(Value value, unsigned amount);

private:
  Value constantIntLike(Value like, uint64_t value);
};

//===----------------------------------------------------------------------===//
// Rows: scalars and vectors of rank 1 as lists of registers
//===----------------------------------------------------------------------===//

/// Number of elements of a row: 1 for a scalar.
int64_t getRowLength(Value row);

/// The codes of a row as 32-bit registers, the first code in the lowest bits,
/// the rest of the last register zero. The length of a row of 4-bit codes must
/// be even or 1.
SmallVector<Value> unpackCodes(CodecBuilder &b, Value row);

/// The reverse of unpackCodes: a value of `rowType` from registers.
Value packCodes(CodecBuilder &b, ArrayRef<Value> words, Type rowType);

/// The elements of a row, zeros after it up to a multiple of `multiple`.
SmallVector<Value> unpackElements(CodecBuilder &b, Value row,
                                  unsigned multiple);

/// A value of `rowType` from pairs (vector<2xT>); what is over is dropped.
Value packPairs(CodecBuilder &b, ArrayRef<Value> pairs, Type rowType);

/// Converts pairs of f16 or bf16 to pairs of a wide type. Exact where the
/// value fits, otherwise rounded to nearest.
Value convertPair(CodecBuilder &b, Value pair, Type elementType);

//===----------------------------------------------------------------------===//
// Codecs
//===----------------------------------------------------------------------===//

/// Any shape. `wideType` and the element type of `wide` are f16, bf16 or f32.
Value decodePlain(CodecBuilder &b, Value codes, Type wideType);
Value encodePlain(CodecBuilder &b, Value wide, Type narrowType,
                  E8M0Rounding rounding);

/// Rows of e4m3, e5m2 and e2m1.
Value decodeRowByPermute(CodecBuilder &b, Value codes, Type wideType);
Value encodeRowByPermute(CodecBuilder &b, Value wide, Type narrowType);

/// Codes of e4m3 to f32, 2^-8 times the number, which is cheaper. NaN is NaN
/// where there may be some, else a number.
Value decodeScaledRowByPermute(CodecBuilder &b, Value codes, bool mayBeNaN);

/// Codes of e4m3 to f16, 2^-8 times the number; NaN becomes what 480 would.
Value decodeScaledRowToF16(CodecBuilder &b, Value codes);

/// `pair` of f16, NaN where one of the pairs of such numbers has what NaN
/// became.
Value restoreScaledNaN(CodecBuilder &b, Value pair, ValueRange scaled);

/// Rows of all formats that the chip converts.
Value decodeRowByCvt(CodecBuilder &b, Value codes, Type wideType);
Value encodeRowByCvt(CodecBuilder &b, Value wide, Type narrowType,
                     E8M0Rounding rounding);

} // namespace mlir::kvcache::narrow_float

#endif // KVCACHE_LIB_CONVERSION_NARROWFLOATTONVVM_CODEC_H
