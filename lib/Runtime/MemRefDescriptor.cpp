//===- MemRefDescriptor.cpp - Reading MLIR's memref descriptors -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemRefDescriptor.h"

#include "Address.h"

#include <cstdint>

using namespace kvrt;

namespace {

/// Upper bound of a rank that is no nonsense.
constexpr int64_t maxRank = 64;

/// The layout that MLIR gives a ranked memref: two pointers, the offset in
/// elements, then `rank` sizes and `rank` strides.
class Descriptor {
public:
  Descriptor(int64_t rank, const void *data)
      : rank(rank), words(static_cast<const int64_t *>(data)) {}
  char *aligned() const {
    return static_cast<char *>(toPointer(static_cast<uint64_t>(words[1])));
  }
  int64_t offset() const { return words[2]; }
  int64_t size(int64_t dim) const { return words[3 + dim]; }
  int64_t stride(int64_t dim) const { return words[3 + rank + dim]; }

private:
  int64_t rank;
  const int64_t *words;
};

Status checkDescriptor(int64_t rank, const void *descriptor, int64_t limit) {
  if (rank < 0 || rank > limit)
    return Status::error("expected a memref of rank 0 to " +
                         std::to_string(limit) + ", got " +
                         std::to_string(rank));
  if (!descriptor)
    return Status::error("the memref descriptor is null");
  return {};
}

} // namespace

Result<MemoryRange> kvrt::memRefRange(int64_t rank, const void *data,
                                      int64_t elementBytes) {
  if (Status status = checkDescriptor(rank, data, maxRank); !status.ok())
    return status;
  if (elementBytes <= 0)
    return Status::error("expected elements of 1 or more bytes, got " +
                         std::to_string(elementBytes));
  Descriptor memref(rank, data);
  const __int128 limit = static_cast<__int128>(1) << 62;
  const Status tooLarge =
      Status::error("the memref's sizes and strides exceed the address space");
  __int128 lowest = memref.offset(), highest = memref.offset();
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = memref.size(dim);
    if (size < 0)
      return Status::error("dimension " + std::to_string(dim) +
                           " of the memref has size " + std::to_string(size));
    if (size == 0)
      return MemoryRange{};
    __int128 reach = static_cast<__int128>(size - 1) * memref.stride(dim);
    (reach < 0 ? lowest : highest) += reach;
    if (highest - lowest > limit)
      return tooLarge;
  }
  if (elementBytes > limit / (highest - lowest + 1))
    return tooLarge;
  __int128 first = lowest * elementBytes;
  __int128 bytes = (highest - lowest + 1) * elementBytes;
  if (first < -limit || first > limit || bytes > limit)
    return tooLarge;
  return MemoryRange{memref.aligned() + static_cast<int64_t>(first),
                     static_cast<uint64_t>(bytes)};
}

namespace {

/// Bytes of an element; 0 for a type that tensor maps of memrefs do not have.
uint64_t elementBytesOf(int64_t dtype) {
  static const uint64_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  const int64_t count = sizeof(bytes) / sizeof(bytes[0]);
  return dtype >= 0 && dtype < count ? bytes[dtype] : 0;
}

Status checkEnum(const char *what, int64_t value, int64_t last) {
  if (value >= 0 && value <= last)
    return {};
  return Status::error(std::string("expected a ") + what + " from 0 to " +
                       std::to_string(last) + ", got " + std::to_string(value));
}

} // namespace

Result<TensorMapRequest>
kvrt::tensorMapRequest(int64_t rank, const void *data, int64_t dtype,
                       int64_t interleave, int64_t swizzle, int64_t l2Promotion,
                       int64_t fill, const int64_t *boxDims) {
  const int64_t maxTensorRank = 5;
  if (rank == 0)
    return Status::error("expected a tensor of rank 1 to 5, got 0");
  if (Status s = checkDescriptor(rank, data, maxTensorRank); !s.ok())
    return s;
  uint64_t elementBytes = elementBytesOf(dtype);
  if (!elementBytes)
    return Status::error("expected a tensor map data type from 0 to 12, got " +
                         std::to_string(dtype));
  for (Status s :
       {checkEnum("interleave", interleave, 2),
        checkEnum("swizzle", swizzle, 3),
        checkEnum("L2 promotion", l2Promotion, 3), checkEnum("fill", fill, 1)})
    if (!s.ok())
      return s;
  if (!boxDims)
    return Status::error("the box dimensions are null");

  Descriptor memref(rank, data);
  TensorMapRequest request;
  request.l2Promotion = static_cast<uint32_t>(l2Promotion);
  ptxsim::TensorMapSpec &spec = request.spec;
  spec.type = static_cast<ptxsim::TensorMapType>(dtype);
  spec.interleave = static_cast<ptxsim::TensorMapInterleave>(interleave);
  spec.swizzle = static_cast<ptxsim::TensorMapSwizzle>(swizzle);
  spec.fill = static_cast<ptxsim::TensorMapFill>(fill);
  spec.rank = static_cast<uint32_t>(rank);
  spec.address = toAddress(memref.aligned()) +
                 static_cast<uint64_t>(memref.offset()) * elementBytes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t inner = rank - 1 - dim; // tensor maps count from the innermost
    int64_t size = memref.size(dim), stride = memref.stride(dim);
    std::string where = "dimension " + std::to_string(dim) + " of the memref";
    if (size <= 0)
      return Status::error(where + " has size " + std::to_string(size) +
                           ", a tensor map needs at least 1");
    if (inner == 0 && stride != 1 && size != 1)
      return Status::error(where + " has stride " + std::to_string(stride) +
                           ", a tensor map needs 1 in the innermost");
    if (stride < 0 || static_cast<uint64_t>(stride) > UINT64_MAX / elementBytes)
      return Status::error(where + " has stride " + std::to_string(stride));
    if (boxDims[dim] < 1 || boxDims[dim] > 256)
      return Status::error("expected a box of 1 to 256 elements in dimension " +
                           std::to_string(dim) + ", got " +
                           std::to_string(boxDims[dim]));
    spec.dims[inner] = static_cast<uint64_t>(size);
    spec.box[inner] = static_cast<uint32_t>(boxDims[dim]);
    if (inner > 0)
      spec.strides[inner - 1] = static_cast<uint64_t>(stride) * elementBytes;
  }
  return request;
}
