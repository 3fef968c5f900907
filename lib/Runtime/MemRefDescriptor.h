// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR's ranked memref descriptors, as compiled code passes them, speak
// of.
#ifndef KVCACHE_RUNTIME_MEMREFDESCRIPTOR_H
#define KVCACHE_RUNTIME_MEMREFDESCRIPTOR_H

#include "kvcache/Runtime/Device.h"

namespace kvrt {

struct MemoryRange {
  void *begin = nullptr;
  uint64_t bytes = 0;
};

/// The bytes from a memref's first to its last element, strides (negative ones
/// too) and offset considered; empty if a dimension is.
Result<MemoryRange> memRefRange(int64_t rank, const void *descriptor,
                                int64_t elementBytes);

struct TensorMapRequest {
  ptxsim::TensorMapSpec spec;
  uint32_t l2Promotion = 0;
};

/// The tensor map of a memref: dimensions and `boxDims` come outermost first,
/// as MLIR has them. Numbers are those of the CUDA driver's enumerations.
/// Values that do not fit the fields of a tensor map are errors here; the
/// device checks the rest.
Result<TensorMapRequest> tensorMapRequest(int64_t rank, const void *descriptor,
                                          int64_t dtype, int64_t interleave,
                                          int64_t swizzle, int64_t l2Promotion,
                                          int64_t fill, const int64_t *boxDims);

} // namespace kvrt

#endif // KVCACHE_RUNTIME_MEMREFDESCRIPTOR_H
