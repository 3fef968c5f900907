//===- Words.h - Several numbers in a register ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WORDS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WORDS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// Registers of 32 bits (`i32`) that hold two f16 or bf16 numbers, or four
/// codes of 8 bits, the first in the lowest bits.
class Words {
public:
  explicit Words(ImplicitLocOpBuilder &b) : b(b) {}

  /// The registers of a vector. One of 8 or 16 bits has zeros above.
  SmallVector<Value> of(Value vector);
  /// The registers of vectors that follow one another, of a power of two of
  /// bytes each, all of one length.
  SmallVector<Value> join(ArrayRef<Value> vectors);
  /// These as a vector: `vector<n x i32>`.
  Value vectorOf(Value vector);
  /// A vector just loaded, so that the load stays one: what is taken apart
  /// right away LLVM would load piece by piece.
  Value whole(Value vector);
  /// The vector of registers, `vector<n x i32>`.
  Value vector(ValueRange words);
  /// Bytes of `low` (0 to 3) and `high` (4 to 7), chosen by a nibble each.
  Value permute(Value low, Value high, int64_t selector);

  /// Two f32 rounded to `type`.
  Value pack(Value first, Value second, Type type);
  /// The same as a sum of `terms` registers, each what those before lack.
  SmallVector<Value> packTerms(Value first, Value second, Type type,
                               int64_t terms);
  /// The two numbers of a register of `type` in f32.
  std::pair<Value, Value> unpack(Value word, Type type);

  /// The numbers of a register of `type` times one of `factors` (f32) each, as
  /// `packTerms` has them.
  SmallVector<Value> multiply(Value word, ArrayRef<Value> factors, Type type,
                              int64_t terms = 1);

  /// The codes of `dtype` (f8E4M3FN or `i8`) in a register as two registers of
  /// f16, exactly.
  SmallVector<Value> decode(Value word, Type dtype);

  /// The same divided by `decodedUnit`, which takes less; what a NaN becomes is
  /// not said.
  SmallVector<Value> decodeScaled(Value word, Type dtype);
  /// What numbers of `decodeScaled` are to be multiplied by, in f32.
  Value decodedUnit(Type dtype);
  /// Register `word`, NaN where one of `decoded` was. All are of
  /// `decodeScaled`, and end in the same sum.
  Value restoreNaN(Value word, ValueRange decoded, Type dtype);

private:
  Value bitcast(Value value, Type type);
  ImplicitLocOpBuilder &b;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WORDS_H
