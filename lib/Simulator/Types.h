// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types PTX instructions and variables are spelled with.
#ifndef KVCACHE_LIB_SIMULATOR_TYPES_H
#define KVCACHE_LIB_SIMULATOR_TYPES_H

#include <cstdint>
#include <string_view>

namespace ptxsim {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  U16x2,
  S16x2,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F32x2,
  F64,
  TF32,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M1x4,
  E2M3x4,
  E3M2x4
};

enum class TypeKind : uint8_t { None, Pred, Bits, Unsigned, Signed, Float };

struct TypeInfo {
  std::string_view name;
  Type type;
  TypeKind kind;
  /// Bytes; 0 for predicates.
  uint8_t size;
  /// Elements packed in one value.
  uint8_t lanes;
};

/// Null if `name` (without the dot) is no type.
const TypeInfo *findType(std::string_view name);
const TypeInfo &typeInfo(Type type);
inline unsigned sizeOf(Type type) { return typeInfo(type).size; }
inline bool isSigned(Type type) {
  return typeInfo(type).kind == TypeKind::Signed;
}
inline bool isFloat(Type type) {
  return typeInfo(type).kind == TypeKind::Float;
}
inline bool isInteger(Type type) {
  TypeKind kind = typeInfo(type).kind;
  return kind == TypeKind::Unsigned || kind == TypeKind::Signed ||
         kind == TypeKind::Bits;
}

/// Whether registers may be declared of a type.
bool isRegisterType(Type type);
/// Whether a register of one type may be an operand of an instruction of the
/// other, as far as sizes allow it.
bool registerServes(Type reg, Type type);

/// State spaces, as the prefix of an access and of a declaration.
enum class Space : uint8_t { Generic, Global, Const, Param, Shared, Local };

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_TYPES_H
