//===- KVCacheBounds.cpp - When lookups may be speculated ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Whether `value` is proved to lie in [0, size - count].
static bool isProvedInside(Value value, std::optional<int64_t> size,
                           int64_t count = 1) {
  if (!size || count > *size)
    return false;
  FailureOr<int64_t> lower = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::LB, {value});
  if (failed(lower) || *lower < 0)
    return false;
  FailureOr<int64_t> upper = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {value}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(upper) && *upper <= *size - count;
}

/// A lookup reads the table at (batch, token): it may only be moved to where
/// the program did not ask for it if that entry is sure to exist. A lookup that
/// traps may not be moved at all, since the block it finds is checked too.
static Speculation::Speculatability speculateLookup(Value paged, Value batch,
                                                    Value token, int64_t count,
                                                    OutOfRange policy) {
  if (policy == OutOfRange::trap)
    return Speculation::NotSpeculatable;
  KnownTables tables = getKnownTables(paged);
  if (!isProvedInside(batch, tables.batch))
    return Speculation::NotSpeculatable;
  if (!token)
    return Speculation::Speculatable;
  int64_t positions;
  if (!tables.columns ||
      llvm::MulOverflow(*tables.columns,
                        getLayout(paged.getType()).getPageSize(), positions) ||
      !isProvedInside(token, positions, count))
    return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}

Speculation::Speculatability CacheLengthOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), /*token=*/Value(), 1,
                         getPolicy());
}

Speculation::Speculatability RowIdxOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), getToken(), 1, getPolicy());
}

Speculation::Speculatability BlockRowIdxOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), getToken(), 1, getPolicy());
}

Speculation::Speculatability PopulateOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), getToken(),
                         cast<VectorType>(getRows().getType()).getDimSize(0),
                         getPolicy());
}

Speculation::Speculatability BlockPagedPtrOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), getToken(), 1, getPolicy());
}

Speculation::Speculatability ScalesBlockPagedPtrOp::getSpeculatability() {
  return speculateLookup(getSource(), getBatch(), getToken(), 1, getPolicy());
}

Speculation::Speculatability BlockIdOp::getSpeculatability() {
  if (getPolicy() == OutOfRange::skip)
    return Speculation::Speculatable;
  KnownTables tables = getKnownTables(getSource());
  return getPolicy() == OutOfRange::assume &&
                 isProvedInside(getBatch(), tables.batch) &&
                 isProvedInside(getPage(), tables.columns)
             ? Speculation::Speculatable
             : Speculation::NotSpeculatable;
}
