// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps: the 128-byte descriptors that bulk tensor copies (TMA) take. The
// layout inside is the simulator's own, as the hardware's is NVIDIA's.
#ifndef KVCACHE_SIMULATOR_TENSORMAP_H
#define KVCACHE_SIMULATOR_TENSORMAP_H

#include "kvcache/Simulator/Status.h"

#include <cstdint>

namespace ptxsim {

/// Element types. Values are those of CUtensorMapDataType.
enum class TensorMapType : uint32_t {
  /// Integers.
  U8 = 0,
  U16,
  U32,
  S32,
  U64,
  S64,
  /// Floats; FTZ: denormals are read as 0.
  F16,
  F32,
  F64,
  BF16,
  F32FTZ,
  TF32,
  TF32FTZ
};
/// How channels are interleaved. Values are those of CUtensorMapInterleave.
enum class TensorMapInterleave : uint32_t {
  /// Not at all.
  None = 0,
  /// In slices of 16 or of 32 bytes.
  B16,
  B32
};
/// How the tile is swizzled in shared memory. Values are those of
/// CUtensorMapSwizzle.
enum class TensorMapSwizzle : uint32_t {
  /// Not at all.
  None = 0,
  /// Chunks of 16 bytes, in spans of 32, 64 or 128 bytes.
  B32,
  B64,
  B128
};
/// What elements outside of the tensor are read as. Values are those of
/// CUtensorMapFloatOOBfill.
enum class TensorMapFill : uint32_t {
  /// 0.
  Zeros = 0,
  /// A NaN, of floats.
  NaN
};

/// What a tensor map says, as cuTensorMapEncodeTiled takes it.
struct TensorMapSpec {
  /// What elements are.
  TensorMapType type = TensorMapType::U8;
  /// Dimensions, 1 to 5.
  uint32_t rank = 1;
  /// The first element's address in global memory.
  uint64_t address = 0;
  /// Innermost dimension first, elements.
  uint64_t dims[5] = {};
  /// Bytes between elements of dimension i+1; the innermost is contiguous.
  uint64_t strides[4] = {};
  /// Elements of a tile, and of which of them each is taken.
  uint32_t box[5] = {};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  /// How a tile lies in shared memory, and what is outside of the tensor.
  TensorMapInterleave interleave = TensorMapInterleave::None;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  TensorMapFill fill = TensorMapFill::Zeros;
};

/// A tensor map as kernels get it.
struct alignas(64) TensorMap {
  /// As the simulator encodes it.
  uint64_t opaque[16] = {};
};

/// A part of a map that PTX's tensormap.replace can change.
enum class TensorMapField : uint8_t {
  /// Members of TensorMapSpec; Box, Dim and strides are of one dimension.
  Address,
  Rank,
  Box,
  Dim,
  Stride,
  ElementStride,
  Type,
  Interleave,
  Swizzle,
  Fill
};

/// Checks the rules cuTensorMapEncodeTiled has (alignment of address and
/// strides, box limits, swizzle against the inner box) and encodes.
Result<TensorMap> encodeTensorMap(const TensorMapSpec &spec);
/// The inverse; an error if `map` was not made by encodeTensorMap.
Result<TensorMapSpec> decodeTensorMap(const TensorMap &map);
/// Changes a field, of a dimension where it has one each, as PTX numbers its
/// values: the rank is one less than the dimensions, types have an order of
/// their own. What the map says as a whole is checked when it is decoded; an
/// error if `map` is no map at all or there is no such value.
Status replaceTensorMapField(TensorMap &map, TensorMapField field,
                             uint32_t dimension, uint64_t value);

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_TENSORMAP_H
