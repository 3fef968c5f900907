//===- BestRows.cpp - Rows of the best indices and their scores ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BestRows.h"

#include "TokenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvcache;

int64_t mlir::kvcache::getBlockThreads(int64_t wished) {
  return llvm::bit_floor(
      static_cast<uint64_t>(std::clamp<int64_t>(wished, 64, 512)));
}

BestRows::BestRows(KernelBuilder &builder, Value indices, Value values)
    : b(builder.body()),
      count(cast<MemRefType>(indices.getType()).getDimSize(1)),
      indices(builder.takeTensor(indices, /*readOnly=*/false)) {
  if (values)
    this->values = builder.takeTensor(values, /*readOnly=*/false);
}

void BestRows::store(Candidates &candidates, Value row) {
  Arith arith(b);
  candidates.finish([&](Value place, Value rank, Value index) {
    Value column = arith.toIndex(place);
    memref::StoreOp::create(b, index, viewElement(b, indices, row, column),
                            ValueRange());
    if (!values)
      return;
    Value lowest = arith::ConstantOp::create(
        b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Value isNone = arith.equal(index, arith.i32(-1));
    Value score =
        arith::SelectOp::create(b, isNone, lowest, emitScoreOf(b, rank));
    memref::StoreOp::create(b, score, viewElement(b, *values, row, column),
                            ValueRange());
  });
}
