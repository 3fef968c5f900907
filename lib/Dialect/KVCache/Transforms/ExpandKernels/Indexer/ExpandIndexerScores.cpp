//===- ExpandIndexerScores.cpp - The kernel of kvcache.indexer_scores ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "ExpandIndexer.h"
#include "TokenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvcache;

void mlir::kvcache::keepRegisters(KernelBuilder &builder,
                                  const ScoreInputs &inputs,
                                  const Tuning &tuning, int64_t threads) {
  constexpr int64_t most = 255, ofBlock = 65536;
  if (inputs.policy == OutOfRange::trap && tuning.blocksPerSM == 0 &&
      threads * (most + 1) <= ofBlock)
    builder.limitRegisters(most);
}

/// A block has a stretch of the keys of one row, and each of its warps a part
/// of that.
void mlir::kvcache::expandScores(ImplicitLocOpBuilder &host, Operation *op,
                                 const ScoreInputs &inputs, Value scores,
                                 Tuning tuning) {
  int64_t warps = std::max<int64_t>(1, tuning.threads / Warp::lanes);
  int64_t perBlock = warps * tuning.chunks;
  constexpr int64_t tokens = ScoreTiles::tokens;
  Arith onHost(host);
  Value columns = sizeOf(host, scores, 1);
  Value hostPerRow = onHost.ceilDiv(columns, perBlock * tokens);

  KernelBuilder builder(host, op, warps * Warp::lanes, tuning.blocksPerSM,
                        tuning.maxBlocks);
  keepRegisters(builder, inputs, tuning, warps * Warp::lanes);
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  ScoreTiles tiles(builder, inputs, warps, /*isAlone=*/true);
  Tensor out = builder.takeTensor(scores, /*readOnly=*/false);
  Value most = builder.take(columns), perRow = builder.take(hostPerRow);
  Value blocks = onHost.mul(sizeOf(host, scores, 0), hostPerRow);
  Value block = builder.enterBlock(blocks);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value row = arith.div(block, perRow);
  Value live = tiles.begin(row, most);

  Value first =
      arith.mul(arith.toI32(arith.rem(block, perRow)), arith.i32(perBlock));
  Value last = arith.add(first, perBlock);
  Value end = arith.minimum(arith.ceilDiv(live, tokens), last);
  Value width = arith.toI32(most);
  Value outRow = out.row(b, {row}, maxKeys);
  auto storeAt = [&](Value token, Value score) {
    memref::StoreOp::create(b, score, outRow, arith.toIndex(token));
  };
  emitIf(b, arith.less(first, end), [&] {
    tiles.stage();
    tiles.forTiles(TileOrder::byWarp, first, end, {},
                   [&](Value token, Value score, ValueRange) {
                     emitIf(b, arith.less(token, live),
                            [&] { storeAt(token, score); });
                     return SmallVector<Value>();
                   });
  });
  // What is behind the last key of the row.
  Value from = b.createOrFold<arith::MaxUIOp>(live, arith.mul(first, tokens));
  auto loop = scf::ForOp::create(b, arith.add(from, thread),
                                 arith.minimum(arith.mul(last, tokens), width),
                                 arith.i32(warps * Warp::lanes));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value lowest = arith::ConstantOp::create(
        b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    storeAt(loop.getInductionVar(), lowest);
  }
  builder.launch(blocks);
}

LogicalResult mlir::kvcache::expandIndexerScores(IndexerScoresOp op,
                                                 Tuning defaults) {
  ImplicitLocOpBuilder host(op.getLoc(), op);
  expandScores(host, op, ScoreInputs::of(op), op.getScores(),
               Tuning::get(op.getTuningAttr(), defaults));
  return success();
}
