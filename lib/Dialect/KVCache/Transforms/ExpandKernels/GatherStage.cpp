//===- GatherStage.cpp - Rows of a gather by way of shared memory --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "GatherKernel.h"
#include "PageRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

bool GatherKernel::isStaged(const Stretch &stretch, int64_t rows) const {
  int64_t outBytes = stretch.outType.getIntOrFloatBitWidth() / 8;
  return stretch.pool == Pool::values &&
         stretch.poolAlignment() == Stretch::maxBytes &&
         stretch.numbers * outBytes == 2 * Stretch::maxBytes &&
         stretch.perHead() % 2 == 0 && cut.keepsWarpsTogether() &&
         rows * cut.threads() * Stretch::maxBytes <= staticSharedBytes;
}

/// How many of a thread's `rows`, `rowStep` apart, the lanes of every warp of
/// `threads` cover, of which the last one may have fewer; 0 below 2. Divides
/// `rows`.
static int64_t countRowsTogether(int64_t rows, int64_t rowStep,
                                 int64_t threads) {
  int64_t last = threads % warpSize;
  int64_t covered = std::min((last ? last : warpSize) / rowStep, rows);
  while (covered > 1 && rows % covered)
    --covered;
  return covered > 1 ? covered : 0;
}

GatherKernel::Stage GatherKernel::makeStage(const Column &column,
                                            const GatherPage &page,
                                            Value firstRow, int64_t rowStep,
                                            int64_t rows) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Stretch &stretch = column.stretch;
  Stage stage;
  stage.memory = builder->shareMemory(stretch.shape.storageType,
                                      rows * cut.threads() * stretch.lanes,
                                      Stretch::maxBytes);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  auto bits = [&](Value value, int64_t mask) -> Value {
    return arith::AndIOp::create(b, value, arith.i32(mask));
  };
  Value odd = bits(thread, 1);
  stage.write = arith.mul(thread, stretch.lanes);
  // Eight threads on, halves are read in the other order: else these would
  // come from the same banks.
  Value turn = bits(b.createOrFold<arith::ShRUIOp>(thread, arith.i32(3)), 1);
  stage.half = stretch;
  stage.half->lanes /= 2;
  stage.half->numbers /= 2;
  assert(stage.half->perStore == stage.half->numbers && "a half is a store");
  // The first vector of the pair's, in the head and in the memory.
  Value storage = arith.sub(column.storage, arith.mul(odd, stretch.lanes));
  Value memory = arith.sub(stage.write, arith.mul(odd, stretch.lanes));
  int64_t pairNumbers = 2 * stretch.numbers;
  stage.oneScale =
      layout.isQuantized() && (layout.getScaleSlots() == 1 ||
                               layout.getGranularity() % pairNumbers == 0);
  stage.firstRow = firstRow;
  stage.rowStep = rowStep;
  stage.rows = rows;
  if (stage.oneScale && layout.getNumHeads() == 1 &&
      layout.getScaleSlots() == 1)
    stage.rowsTogether = countRowsTogether(rows, rowStep, cut.threads());
  for (bool second : {false, true}) {
    Value vector = turn;
    if (second)
      vector = arith::XOrIOp::create(b, turn, arith.i32(1));
    Value inPair = arith.add(arith.mul(vector, stretch.lanes),
                             arith.mul(odd, stage.half->lanes));
    Value at = arith.add(storage, inPair);
    Column part = {*stage.half, column.head, at, stage.oneScale ? storage : at,
                   Value()};
    part.place = placeOf(part, page);
    stage.parts.push_back(part);
    stage.reads.push_back(arith.add(memory, inPair));
  }
  return stage;
}

SmallVector<SmallVector<Value>>
GatherKernel::loadPairScales(const Stage &stage, const GatherPage &page,
                             Value row) {
  SmallVector<SmallVector<Value>> scales;
  for (const Column &part : ArrayRef(stage.parts).drop_back(stage.oneScale))
    scales.push_back(loadScales(part, page, row));
  return scales;
}

Value GatherKernel::copyStaged(const Stage &stage, const Column &column,
                               const GatherPage &page, Value step, bool isWhole,
                               Value doubts) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  int64_t rowSize = cut.threads() * column.stretch.lanes;
  bool together = stage.rowsTogether && layout.isQuantized();
  SmallVector<Value> rows, codes;
  SmallVector<SmallVector<Value>> scales;
  auto held = [&](Value row) {
    return isWhole ? row
                   : arith.minimum(row, arith.sub(page.copied, arith.i32(1)));
  };
  // Where rows are no constants apart, what is the lane's alone comes first:
  // then a row is one multiplication from there.
  const Stretch &stretch = column.stretch;
  auto type = VectorType::get({stretch.lanes}, stretch.shape.storageType);
  std::optional<PageRows> pageRows;
  Value start;
  if (!isWhole) {
    pageRows.emplace(b, operandOf(b, cache, Pool::values), stretch.shape,
                     page.block);
    start = pageRows->at(
        arith.add(arith.mul(column.head, stretch.shape.headBytes),
                  arith.mul(column.storage, stretch.shape.storageBytes)));
  }
  for (int64_t i = 0; i < stage.rows; ++i) {
    Value row =
        held(arith.add(arith.add(step, stage.firstRow), i * stage.rowStep));
    rows.push_back(row);
    codes.push_back(isWhole ? loadCodes(column, page, row)
                            : pageRows->load(start, arith.toIndex(row),
                                             /*bytes=*/0, type,
                                             stretch.poolAlignment()));
    if (!together)
      llvm::append_range(scales, loadPairScales(stage, page, row));
  }
  if (together) {
    // A lane reads the scale of a row, and tells those whose row it is.
    Value lane = arith::AndIOp::create(
        b, arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x)),
        arith.i32(warpSize - 1));
    Value first =
        arith.add(step, arith.rem(lane, stage.rowsTogether * stage.rowStep));
    Value scale;
    for (int64_t i = 0; i < stage.rows; ++i) {
      int64_t inAccess = i % stage.rowsTogether;
      if (inAccess == 0)
        scale = loadScales(stage.parts.front(), page,
                           held(arith.add(first, i * stage.rowStep)))
                    .front();
      scales.push_back({NVVM::ShflOp::create(
          b, b.getF32Type(), arith.i32(-1), scale,
          arith.add(stage.firstRow, inAccess * stage.rowStep),
          arith.i32(warpSize - 1), NVVM::ShflKind::idx,
          /*return_value_and_is_valid=*/UnitAttr())});
    }
  }
  auto place = [&](Value at, int64_t row) {
    return arith.add(arith.toIndex(at), row * rowSize);
  };
  // What was there is read. All of a warp are here: rows are whole steps.
  Value all = arith.i32(-1);
  NVVM::SyncWarpOp::create(b, all);
  for (auto [row, code] : llvm::enumerate(codes))
    vector::StoreOp::create(
        b, code, stage.memory, ValueRange{place(stage.write, row)},
        /*nontemporal=*/false, llvm::MaybeAlign(Stretch::maxBytes));
  NVVM::SyncWarpOp::create(b, all);
  auto halfType =
      VectorType::get({stage.half->lanes}, stage.half->shape.storageType);
  for (int64_t number = 0; number < stage.rows; ++number)
    for (auto [half, part] : llvm::enumerate(stage.parts)) {
      Value code = vector::LoadOp::create(
          b, halfType, stage.memory,
          ValueRange{place(stage.reads[half], number)},
          /*nontemporal=*/false, llvm::MaybeAlign(Stretch::maxBytes / 2));
      size_t scale = stage.oneScale ? number : 2 * number + half;
      store(part, rows[number],
            convert(part, code, scales[scale], /*exact=*/false));
    }
  return addDoubts(doubts, codes, scales);
}
