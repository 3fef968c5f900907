//===- Unwrap.h - Handles of the C API to layouts ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_CAPI_UNWRAP_H
#define KVCACHE_LIB_CAPI_UNWRAP_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/CAPI/IR.h"

namespace mlir::kvcache {

/// Returns the layout, or null for another attribute.
inline LayoutAttr toLayout(MlirAttribute attribute) {
  return dyn_cast_if_present<LayoutAttr>(unwrap(attribute));
}

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_CAPI_UNWRAP_H
