// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies of boxes that a tensor map describes.
#include "Async.h"
#include "FloatFormats.h"

#include <algorithm>
#include <cstring>

using namespace ptxsim;

namespace {
struct TypeRow {
  unsigned bytes;
  bool isFloat;
};
} // namespace

static constexpr TypeRow typeRows[] = {
    {1, false}, {2, false}, {4, false}, {4, false}, {8, false},
    {8, false}, {2, true},  {4, true},  {8, true},  {2, true},
    {4, true},  {4, true},  {4, true}};
/// Of 64 bits; narrower types have its end.
static constexpr uint64_t outsideNaN = outsideNaN16 * 0x0001000100010001;

Status ptxsim::checkTensorCopy(const TensorMapSpec &spec) {
  auto error = [](const std::string &what) {
    return Status::error("tensor copy: " + what);
  };
  if (spec.interleave != TensorMapInterleave::None)
    return error("interleaved layouts are not supported");
  for (uint32_t i = 0; i < spec.rank; ++i)
    if (spec.elementStrides[i] != 1)
      return error("element strides other than 1 are not supported");
  if (spec.swizzle == TensorMapSwizzle::None)
    return {};
  uint64_t span = uint64_t(16) << uint32_t(spec.swizzle);
  uint64_t inner = uint64_t(spec.box[0]) * typeRows[uint32_t(spec.type)].bytes;
  // How narrower rows are laid out has not been shown.
  if (inner != span)
    return error("a row of the box has " + std::to_string(inner) +
                 " bytes; only the " + std::to_string(span) +
                 " of the swizzle are supported");
  uint64_t total = inner;
  for (uint32_t i = 1; i < spec.rank; ++i)
    total *= spec.box[i];
  if (total % 128)
    return error("a swizzled box of " + std::to_string(total) +
                 " bytes is not a multiple of 128");
  return {};
}

uint32_t ptxsim::boxBytes(const TensorMapSpec &spec) {
  uint64_t bytes = typeRows[uint32_t(spec.type)].bytes;
  for (uint32_t i = 0; i < spec.rank; ++i)
    bytes *= spec.box[i];
  return uint32_t(std::min<uint64_t>(bytes, 1u << 30));
}

/// 16-byte chunks change place by the 128-byte line they lie in.
static uint64_t swizzled(uint64_t offset, TensorMapSwizzle swizzle) {
  switch (swizzle) {
  case TensorMapSwizzle::B32:
    return offset ^ ((offset >> 7 & 1) << 4);
  case TensorMapSwizzle::B64:
    return offset ^ ((offset >> 7 & 3) << 4);
  case TensorMapSwizzle::B128:
    return offset ^ ((offset >> 7 & 7) << 4);
  default:
    return offset;
  }
}

namespace {

/// Moves one box between global memory and one block's shared memory.
class BoxMover {
public:
  BoxMover(PendingCopy &copy, uint64_t shared, bool counts)
      : copy(copy), spec(copy.map), shared(shared), counts(counts),
        type(typeRows[uint32_t(spec.type)]),
        toGlobal(copy.kind == CopyKind::TensorStore) {}

  void move() {
    uint32_t bytes = boxBytes(spec);
    uint32_t align = spec.swizzle == TensorMapSwizzle::None ? 16 : 128;
    // The swizzle permutes within whole 128-byte lines.
    if (copy.hasRead)
      box = copy.held.empty() ? nullptr : copy.held.data();
    else
      box = copyTarget(copy, shared, bytes, align, Space::Shared,
                       toGlobal ? AccessMode::Read : AccessMode::Write);
    if (!box)
      return;
    uint64_t rows = bytes / (uint64_t(spec.box[0]) * type.bytes);
    for (uint64_t row = 0; row < rows; ++row)
      if (!moveRow(row))
        return;
  }

private:
  bool moveRow(uint64_t row) {
    uint64_t rest = row, address = spec.address;
    bool inside = true;
    for (uint32_t i = 1; i < spec.rank; ++i) {
      int64_t at = int64_t(copy.coordinates[i]) + int64_t(rest % spec.box[i]);
      rest /= spec.box[i];
      inside &= at >= 0 && uint64_t(at) < spec.dims[i];
      address += uint64_t(at) * spec.strides[i - 1];
    }
    int64_t first = copy.coordinates[0];
    int64_t begin = std::max<int64_t>(first, 0);
    int64_t end =
        std::min<int64_t>(first + int64_t(spec.box[0]), int64_t(spec.dims[0]));
    uint64_t rowBytes = uint64_t(spec.box[0]) * type.bytes;
    uint64_t rowOffset = row * rowBytes;
    char *global = nullptr;
    if (inside && begin < end) {
      global = copyTarget(copy, address + uint64_t(begin) * type.bytes,
                          uint32_t(end - begin) * type.bytes, type.bytes,
                          Space::Global,
                          copy.apply ? AccessMode::Atomic
                          : toGlobal ? AccessMode::Write
                                     : AccessMode::Read);
      if (!global)
        return false;
      // Several blocks receive what is read once.
      if (counts)
        countBulk(*copy.warp, *copy.inst, uint64_t(global),
                  uint64_t(end - begin) * type.bytes, false);
    } else {
      begin = end = first;
    }
    uint64_t base = shared & sharedOffsetMask;
    for (int64_t k = 0; k < int64_t(spec.box[0]); ++k) {
      uint64_t linear = base + rowOffset + uint64_t(k) * type.bytes;
      char *place = box + (swizzled(linear, spec.swizzle) - base);
      bool valid = first + k >= begin && first + k < end;
      char *other =
          valid ? global + uint64_t(first + k - begin) * type.bytes : nullptr;
      if (toGlobal) {
        if (valid)
          moveElements(copy, other, place, type.bytes);
      } else if (valid) {
        memcpy(place, other, type.bytes);
      } else {
        uint64_t fill = spec.fill == TensorMapFill::NaN ? outsideNaN : 0;
        memcpy(place, &fill, type.bytes);
      }
    }
    return true;
  }

  PendingCopy &copy;
  const TensorMapSpec &spec;
  uint64_t shared;
  bool counts;
  const TypeRow &type;
  bool toGlobal;
  char *box = nullptr;
};

} // namespace

unsigned ptxsim::tensorElementBytes(TensorMapType type) {
  return typeRows[uint32_t(type)].bytes;
}

AtomicApply ptxsim::tensorReduction(AtomicOp op, TensorMapType type) {
  constexpr Type types[] = {Type::None, Type::None, Type::U32, Type::S32,
                            Type::U64,  Type::S64,  Type::F16, Type::F32,
                            Type::F64,  Type::BF16, Type::F32, Type::None,
                            Type::None};
  unsigned bytes = tensorElementBytes(type);
  bool isBits =
      op == AtomicOp::And || op == AtomicOp::Or || op == AtomicOp::Xor;
  Type element = !isBits      ? types[uint32_t(type)]
                 : bytes == 4 ? Type::B32
                 : bytes == 8 ? Type::B64
                              : Type::None;
  return atomicForm(op, element).apply;
}

void ptxsim::landTensor(PendingCopy &copy) {
  if (copy.kind == CopyKind::TensorStore) {
    BoxMover(copy, copy.src, true).move();
    return;
  }
  uint32_t ranks = copy.multicast ? copy.multicast : 1;
  for (uint32_t rank = 0; ranks >> rank; ++rank) {
    if (!(ranks >> rank & 1))
      continue;
    uint64_t place = uint64_t(rank + 1) << sharedRankShift;
    uint64_t dst =
        copy.multicast ? place | (copy.dst & sharedOffsetMask) : copy.dst;
    uint64_t barrier = copy.multicast
                           ? place | (copy.barrier & sharedOffsetMask)
                           : copy.barrier;
    bool isFirst = (ranks & ((1u << rank) - 1)) == 0;
    BoxMover(copy, dst, isFirst).move();
    completeTransaction(*copy.warp, *copy.inst, copy.lane, barrier, copy.bytes);
    if (!copy.multicast)
      break;
  }
}
