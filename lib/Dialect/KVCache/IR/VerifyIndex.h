//===- VerifyIndex.h - Checks that verifiers share -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_IR_VERIFYINDEX_H
#define LIB_DIALECT_KVCACHE_IR_VERIFYINDEX_H

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

namespace mlir::kvcache {

/// Checks that `value`, where it is constant, is at least 0 and, where `size`
/// is known, less than it. `unit` names what `size` counts.
LogicalResult verifyIndex(Operation *op, StringRef name, Value value,
                          std::optional<int64_t> size, StringRef unit);

/// Checks an `alignment` in bytes: a power of two of at least `least`.
LogicalResult verifyAlignment(Operation *op, std::optional<int64_t> alignment,
                              int64_t least = 1);

/// Checks constant `batch` and `token` against the tables, where they are in
/// sight; `count` tokens from `token` on are accessed.
LogicalResult verifyPosition(Operation *op, Value paged, Value batch,
                             Value token, int64_t count = 1);

/// Checks that tokens are rows of a matrix: `placement = pool, order = nhd`.
LogicalResult verifyHasRows(Operation *op, LayoutAttr layout, StringRef remedy);

/// Checks that `type` is not a vector of scalable length.
LogicalResult verifyFixedLength(Operation *op, Type type);

/// The constant behind `value`, if there is one.
std::optional<int64_t> getConstant(Value value);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_IR_VERIFYINDEX_H
