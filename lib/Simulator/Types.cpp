// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Types.h"

#include <cstddef>

using namespace ptxsim;

// In the order of the enumeration.
static constexpr TypeInfo types[] = {
    {"", Type::None, TypeKind::None, 0, 1},
    {"pred", Type::Pred, TypeKind::Pred, 0, 1},
    {"b8", Type::B8, TypeKind::Bits, 1, 1},
    {"b16", Type::B16, TypeKind::Bits, 2, 1},
    {"b32", Type::B32, TypeKind::Bits, 4, 1},
    {"b64", Type::B64, TypeKind::Bits, 8, 1},
    {"b128", Type::B128, TypeKind::Bits, 16, 1},
    {"u8", Type::U8, TypeKind::Unsigned, 1, 1},
    {"u16", Type::U16, TypeKind::Unsigned, 2, 1},
    {"u32", Type::U32, TypeKind::Unsigned, 4, 1},
    {"u64", Type::U64, TypeKind::Unsigned, 8, 1},
    {"s8", Type::S8, TypeKind::Signed, 1, 1},
    {"s16", Type::S16, TypeKind::Signed, 2, 1},
    {"s32", Type::S32, TypeKind::Signed, 4, 1},
    {"s64", Type::S64, TypeKind::Signed, 8, 1},
    {"u16x2", Type::U16x2, TypeKind::Unsigned, 4, 2},
    {"s16x2", Type::S16x2, TypeKind::Signed, 4, 2},
    {"f16", Type::F16, TypeKind::Float, 2, 1},
    {"f16x2", Type::F16x2, TypeKind::Float, 4, 2},
    {"bf16", Type::BF16, TypeKind::Float, 2, 1},
    {"bf16x2", Type::BF16x2, TypeKind::Float, 4, 2},
    {"f32", Type::F32, TypeKind::Float, 4, 1},
    {"f32x2", Type::F32x2, TypeKind::Float, 8, 2},
    {"f64", Type::F64, TypeKind::Float, 8, 1},
    {"tf32", Type::TF32, TypeKind::Float, 4, 1},
    {"e4m3", Type::E4M3, TypeKind::Float, 1, 1},
    {"e5m2", Type::E5M2, TypeKind::Float, 1, 1},
    {"e4m3x2", Type::E4M3x2, TypeKind::Float, 2, 2},
    {"e5m2x2", Type::E5M2x2, TypeKind::Float, 2, 2},
    {"e2m1x2", Type::E2M1x2, TypeKind::Float, 1, 2},
    {"e2m3x2", Type::E2M3x2, TypeKind::Float, 2, 2},
    {"e3m2x2", Type::E3M2x2, TypeKind::Float, 2, 2},
    {"ue8m0x2", Type::UE8M0x2, TypeKind::Float, 2, 2},
    {"e4m3x4", Type::E4M3x4, TypeKind::Float, 4, 4},
    {"e5m2x4", Type::E5M2x4, TypeKind::Float, 4, 4},
    {"e2m1x4", Type::E2M1x4, TypeKind::Float, 2, 4},
    {"e2m3x4", Type::E2M3x4, TypeKind::Float, 4, 4},
    {"e3m2x4", Type::E3M2x4, TypeKind::Float, 4, 4},
};
static_assert(sizeof(types) / sizeof(types[0]) == size_t(Type::E3M2x4) + 1,
              "one row per type");

const TypeInfo *ptxsim::findType(std::string_view name) {
  for (const TypeInfo &info : types)
    if (info.type != Type::None && info.name == name)
      return &info;
  return nullptr;
}

const TypeInfo &ptxsim::typeInfo(Type type) { return types[size_t(type)]; }

/// Of narrow floats and most packed ones there are no registers.
static bool isUnregistered(Type type) {
  return isFloat(type) && type != Type::F16 && type != Type::F16x2 &&
         type != Type::F32 && type != Type::F64;
}

bool ptxsim::isRegisterType(Type type) {
  return type != Type::None && !isUnregistered(type) &&
         (typeInfo(type).lanes == 1 || type == Type::F16x2);
}

bool ptxsim::registerServes(Type reg, Type type) {
  const TypeInfo &of = typeInfo(reg), &wanted = typeInfo(type);
  bool isBits = of.kind == TypeKind::Bits;
  // Registers of a byte serve for bytes alone.
  if (of.size == 1 && wanted.size > 1)
    return false;
  if (isUnregistered(type))
    return isBits && of.size == wanted.size;
  if (wanted.lanes == 2)
    return reg == Type::B32 || reg == Type::F16x2;
  if (wanted.kind == TypeKind::Float)
    return isBits || reg == type;
  // Those of bits serve for every type, but none of floats for integers; pairs
  // of halves do.
  return wanted.kind == TypeKind::Bits || of.kind != TypeKind::Float ||
         reg == Type::F16x2;
}
