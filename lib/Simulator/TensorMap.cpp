//===- TensorMap.cpp - Encoding and decoding tensor maps ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those that the CUDA driver API documents for
// cuTensorMapEncodeTiled.
//
//===----------------------------------------------------------------------===//

#include "kvcache/Simulator/TensorMap.h"

#include <cstring>
#include <iterator>

using namespace ptxsim;

namespace {

constexpr uint32_t maxRank = 5;
constexpr uint64_t maxDim = uint64_t(1) << 32, maxStride = uint64_t(1) << 40;
constexpr uint32_t maxBox = 256, maxElementStride = 8;
/// First word of a map, so that other memory is not taken for one.
constexpr uint64_t magic = 0x70616d2d6d697378;

/// The 128 bytes: words 1 to 15 hold the spec.
struct Layout {
  uint64_t magic;
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4];
  uint16_t box[5];
  uint8_t elementStrides[5];
  uint8_t type, rank, interleave, swizzle, fill;
};
static_assert(sizeof(Layout) <= sizeof(TensorMap));

uint64_t elementBytes(TensorMapType type) {
  switch (type) {
  case TensorMapType::U8:
    return 1;
  case TensorMapType::U16:
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return 2;
  case TensorMapType::U32:
  case TensorMapType::S32:
  case TensorMapType::F32:
  case TensorMapType::F32FTZ:
  case TensorMapType::TF32:
  case TensorMapType::TF32FTZ:
    return 4;
  case TensorMapType::U64:
  case TensorMapType::S64:
  case TensorMapType::F64:
    return 8;
  }
  return 0;
}

bool isFloat(TensorMapType type) { return type >= TensorMapType::F16; }

std::string number(uint64_t value) { return std::to_string(value); }

Status checkShape(const TensorMapSpec &spec) {
  uint64_t bytes = elementBytes(spec.type);
  uint64_t align = spec.interleave == TensorMapInterleave::B32 ? 32 : 16;
  if (spec.address % align)
    return Status::error("the tensor's address must be a multiple of " +
                         number(align) + " bytes, it is " +
                         number(spec.address % align) + " bytes behind one");
  for (uint32_t i = 0; i < spec.rank; ++i)
    if (spec.dims[i] == 0 || spec.dims[i] > maxDim)
      return Status::error("dimension " + number(i) +
                           " of the tensor (innermost first) has size " +
                           number(spec.dims[i]) + ", expected 1 to 2^32");
  for (uint32_t i = 0; i + 1 < spec.rank; ++i) {
    std::string who = "the stride of dimension " + number(i + 1) +
                      " (innermost first) is " + number(spec.strides[i]) +
                      " bytes, ";
    if (spec.strides[i] % align)
      return Status::error(who + "expected a multiple of " + number(align) +
                           "; pad the rows");
    if (spec.strides[i] >= maxStride)
      return Status::error(who + "expected less than 2^40");
    if (i == 0 && spec.strides[i] < spec.dims[0] * bytes)
      return Status::error(who + "but a row has " +
                           number(spec.dims[0] * bytes));
  }
  return {};
}

Status checkBox(const TensorMapSpec &spec) {
  for (uint32_t i = 0; i < spec.rank; ++i) {
    std::string where = " of dimension " + number(i) + " (innermost first)";
    if (spec.box[i] == 0 || spec.box[i] > maxBox)
      return Status::error("the box" + where + " has " + number(spec.box[i]) +
                           " elements, expected 1 to " + number(maxBox));
    if (spec.elementStrides[i] == 0 ||
        spec.elementStrides[i] > maxElementStride)
      return Status::error("the element stride" + where + " is " +
                           number(spec.elementStrides[i]) + ", expected 1 to " +
                           number(maxElementStride));
  }
  if (spec.interleave != TensorMapInterleave::None)
    return {};
  uint64_t rowBytes = spec.box[0] * elementBytes(spec.type);
  if (rowBytes % 16)
    return Status::error("a row of the box has " + number(rowBytes) +
                         " bytes, expected a multiple of 16");
  uint64_t span = spec.swizzle == TensorMapSwizzle::None
                      ? rowBytes
                      : uint64_t(16) << uint32_t(spec.swizzle);
  if (rowBytes > span)
    return Status::error("a row of the box has " + number(rowBytes) +
                         " bytes, the swizzle of " + number(span) +
                         " bytes allows at most " + number(span) +
                         "; make the box narrower or the swizzle wider");
  return {};
}

Status checkSpec(const TensorMapSpec &spec) {
  if (!elementBytes(spec.type))
    return Status::error("unknown tensor map type " +
                         number(uint32_t(spec.type)));
  if (spec.rank == 0 || spec.rank > maxRank)
    return Status::error("a tensor map has 1 to 5 dimensions, got " +
                         number(spec.rank));
  if (spec.interleave > TensorMapInterleave::B32 ||
      spec.swizzle > TensorMapSwizzle::B128 || spec.fill > TensorMapFill::NaN)
    return Status::error("unknown interleave, swizzle or fill of a tensor map");
  if (spec.interleave != TensorMapInterleave::None && spec.rank < 3)
    return Status::error("an interleaved tensor map needs 3 or more "
                         "dimensions, got " +
                         number(spec.rank));
  if (spec.interleave == TensorMapInterleave::B32 &&
      spec.swizzle != TensorMapSwizzle::B32)
    return Status::error("an interleave of 32 bytes needs a swizzle of 32 "
                         "bytes");
  if (spec.fill == TensorMapFill::NaN && !isFloat(spec.type))
    return Status::error("filling with NaN needs a floating-point type");
  if (Status status = checkShape(spec); !status.ok())
    return status;
  return checkBox(spec);
}

} // namespace

Result<TensorMap> ptxsim::encodeTensorMap(const TensorMapSpec &spec) {
  if (Status status = checkSpec(spec); !status.ok())
    return status;
  Layout layout{};
  layout.magic = magic;
  layout.address = spec.address;
  layout.type = static_cast<uint8_t>(spec.type);
  layout.rank = static_cast<uint8_t>(spec.rank);
  layout.interleave = static_cast<uint8_t>(spec.interleave);
  layout.swizzle = static_cast<uint8_t>(spec.swizzle);
  layout.fill = static_cast<uint8_t>(spec.fill);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    layout.dims[i] = spec.dims[i];
    layout.box[i] = static_cast<uint16_t>(spec.box[i]);
    layout.elementStrides[i] = static_cast<uint8_t>(spec.elementStrides[i]);
    if (i + 1 < spec.rank)
      layout.strides[i] = spec.strides[i];
  }
  TensorMap map;
  std::memcpy(&map, &layout, sizeof(layout));
  return map;
}

Result<TensorMapSpec> ptxsim::decodeTensorMap(const TensorMap &map) {
  Layout layout;
  std::memcpy(&layout, &map, sizeof(layout));
  if (layout.magic != magic || layout.rank > maxRank)
    return Status::error("the memory holds no tensor map of this simulator");
  TensorMapSpec spec;
  spec.type = static_cast<TensorMapType>(layout.type);
  spec.rank = layout.rank;
  spec.address = layout.address;
  spec.interleave = static_cast<TensorMapInterleave>(layout.interleave);
  spec.swizzle = static_cast<TensorMapSwizzle>(layout.swizzle);
  spec.fill = static_cast<TensorMapFill>(layout.fill);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    spec.dims[i] = layout.dims[i];
    spec.box[i] = layout.box[i];
    spec.elementStrides[i] = layout.elementStrides[i];
    if (i + 1 < spec.rank)
      spec.strides[i] = layout.strides[i];
  }
  // Made by hand or damaged: the rules hold all the same.
  if (Status status = checkSpec(spec); !status.ok())
    return status;
  return spec;
}

Status ptxsim::replaceTensorMapField(TensorMap &map, TensorMapField field,
                                     uint32_t dimension, uint64_t value) {
  Layout layout;
  std::memcpy(&layout, &map, sizeof(layout));
  if (layout.magic != magic)
    return Status::error("the memory holds no tensor map of this simulator");
  // The order that PTX gives the types.
  static constexpr TensorMapType types[] = {
      TensorMapType::U8,     TensorMapType::U16,  TensorMapType::U32,
      TensorMapType::S32,    TensorMapType::U64,  TensorMapType::S64,
      TensorMapType::F16,    TensorMapType::F32,  TensorMapType::F32FTZ,
      TensorMapType::F64,    TensorMapType::BF16, TensorMapType::TF32,
      TensorMapType::TF32FTZ};
  uint32_t dimensions = field == TensorMapField::Stride ? maxRank - 1 : maxRank;
  uint64_t most =
      field == TensorMapField::Type         ? std::size(types) - 1
      : field == TensorMapField::Rank       ? maxRank - 1
      : field == TensorMapField::Interleave ? uint64_t(TensorMapInterleave::B32)
      : field == TensorMapField::Swizzle    ? uint64_t(TensorMapSwizzle::B128)
      : field == TensorMapField::Fill       ? uint64_t(TensorMapFill::NaN)
      : field == TensorMapField::Box        ? maxBox
      : field == TensorMapField::ElementStride ? maxElementStride
                                               : ~uint64_t(0);
  if (value > most || dimension >= dimensions)
    return Status::error("no tensor map has " + number(value) + " as field " +
                         number(uint32_t(field)) + " of dimension " +
                         number(dimension));
  switch (field) {
  case TensorMapField::Address:
    layout.address = value;
    break;
  case TensorMapField::Rank:
    layout.rank = static_cast<uint8_t>(value + 1);
    break;
  case TensorMapField::Box:
    layout.box[dimension] = static_cast<uint16_t>(value);
    break;
  case TensorMapField::Dim:
    layout.dims[dimension] = value;
    break;
  case TensorMapField::Stride:
    layout.strides[dimension] = value;
    break;
  case TensorMapField::ElementStride:
    layout.elementStrides[dimension] = static_cast<uint8_t>(value);
    break;
  case TensorMapField::Type:
    layout.type = static_cast<uint8_t>(types[value]);
    break;
  case TensorMapField::Interleave:
    layout.interleave = static_cast<uint8_t>(value);
    break;
  case TensorMapField::Swizzle:
    layout.swizzle = static_cast<uint8_t>(value);
    break;
  case TensorMapField::Fill:
    layout.fill = static_cast<uint8_t>(value);
    break;
  }
  std::memcpy(&map, &layout, sizeof(layout));
  return {};
}
