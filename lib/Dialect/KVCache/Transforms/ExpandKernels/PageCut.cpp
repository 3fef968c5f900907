//===- PageCut.cpp - How the pages of a cache are cut into threads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageCut.h"

#include "ControlFlow.h"
#include "Destinations.h"
#include "RowUnits.h"
#include "WidthRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

Stretch::Stretch(LayoutAttr layout, Pool pool, Side side, Value out,
                 int64_t rowAlignment)
    : pool(pool), shape(PoolLayout::get(layout, pool)) {
  outType = cast<MemRefType>(out.getType()).getElementType();
  int64_t outBytes = outType.getIntOrFloatBitWidth() / 8;
  int64_t perLane = pool == Pool::values ? shape.elementsPerStorage : 1;
  // Where nothing differs from head to head a row is one head.
  if (pool == Pool::values && !layout.isQuantized() &&
      shape.hasContiguousHeads() && hasPackedRows(out)) {
    shape.inner = shape.rowSize();
    shape.heads = 1;
    flat = true;
  }
  firstNumber = pool == Pool::tail ? layout.getQuantizedSize() : 0;
  headAlignment = shape.headAlignment();
  int64_t outAlignment = std::gcd(rowAlignment, firstNumber * outBytes);

  // Interleaved scales do not lie side by side.
  bool single = pool == Pool::scales && layout.isSwizzled(side);
  lanes = single ? 1 : maxBytes / shape.storageBytes;
  auto fits = [&](int64_t lanes) {
    return shape.inner % lanes == 0 &&
           headAlignment % (lanes * shape.storageBytes) == 0 &&
           outAlignment % std::min(lanes * perLane * outBytes, maxBytes) == 0;
  };
  while (lanes > 1 && !fits(lanes))
    lanes /= 2;
  numbers = lanes * perLane;
  // A byte of two numbers is read at once wherever these go.
  perStore = std::min(numbers, maxBytes / outBytes);
  while (outAlignment % (perStore * outBytes) != 0)
    perStore /= 2;
}

void Stretch::remarkWidth(Location location) const {
  int64_t bytes = shape.storageBytes,
          outBytes = outType.getIntOrFloatBitWidth() / 8;
  kvcache::remarkWidth(
      location, pool == Pool::tail ? "reads tails" : "reads values",
      lanes * bytes,
      {{shape.heads == 1 ? "a row has" : "a head has", shape.inner * bytes},
       {"heads of the pool start at multiples of", headAlignment},
       {"in the tensor they start at multiples of", firstNumber * outBytes}});
}

/// Pages are shared by at least so many threads, where they are large enough;
/// below, a block takes several.
static constexpr int64_t leastThreads = 64;

PageCut::PageCut(int64_t columns, int64_t pageSize, Tuning tuning) {
  int64_t most = tuning.threads;
  slices = llvm::divideCeil(columns, most);
  group = llvm::divideCeil(columns, slices);
  groups = 1;
  isFull = slices == 1 || columns == group * slices;
  if (slices > 1)
    return;
  // A thread takes twice what it has in flight, so that one loop serves whole
  // pages and others.
  int64_t rows = llvm::divideCeil(pageSize, 2 * tuning.chunks);
  group = columns * std::clamp<int64_t>(rows, 1, most / columns);
  if (group < leastThreads)
    groups = std::max<int64_t>(1, std::min(most, 4 * leastThreads) / group);
}

void PageCut::forColumns(ImplicitLocOpBuilder &b, Value lane, Value slice,
                         int64_t columns,
                         function_ref<void(Value, Value, int64_t)> body) const {
  Arith arith(b);
  if (slices == 1 && columns <= group) {
    int64_t rows = group / columns;
    Value inside = rows * columns == group
                       ? Value()
                       : arith.less(lane, arith.i32(rows * columns));
    return emitIf(b, inside, [&] {
      body(arith.rem(lane, columns), arith.div(lane, columns), rows);
    });
  }
  int64_t team = group * slices;
  Value first = slice ? arith.add(arith.mul(slice, group), lane) : lane;
  Value zero = arith.i32(0);
  if (columns <= team) {
    Value inside =
        columns == team ? Value() : arith.less(first, arith.i32(columns));
    return emitIf(b, inside, [&] { body(first, zero, 1); });
  }
  auto loop = scf::ForOp::create(b, first, arith.i32(columns), arith.i32(team));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar(), zero, 1);
}
