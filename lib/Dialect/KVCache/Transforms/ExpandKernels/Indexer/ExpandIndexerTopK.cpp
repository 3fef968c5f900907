//===- ExpandIndexerTopK.cpp - The kernels of kvcache.indexer_topk -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks score tiles of keys and keep candidates. With a workspace several
// blocks share a row: each writes the best of its part, and a second kernel
// finds the best of these.
//
//===----------------------------------------------------------------------===//

#include "../Destinations.h"
#include "ExpandIndexer.h"
#include "TokenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// The best of each part of a row, `[T, S, 2 K]` words: `K` ranks, then as many
/// indices.
class BestParts {
public:
  BestParts(KernelBuilder &builder, Value workspace, bool readOnly)
      : b(builder.body()), words(builder.takeTensor(workspace, readOnly)),
        k(cast<MemRefType>(workspace.getType()).getDimSize(2) / 2) {}

  void store(Value row, Value part, Value place, Value rank, Value index) {
    memref::StoreOp::create(b, rank, view(row, part, place, 0), ValueRange());
    memref::StoreOp::create(b, index, view(row, part, place, k), ValueRange());
  }
  Candidates::Item load(Value row, Value part, Value place) {
    Value rank =
        memref::LoadOp::create(b, view(row, part, place, 0), ValueRange());
    Value index =
        memref::LoadOp::create(b, view(row, part, place, k), ValueRange());
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, index,
                                          Arith(b).i32(-1));
    return {rank, index, isThere};
  }

private:
  Value view(Value row, Value part, Value place, int64_t first) {
    Arith arith(b);
    Value start = arith.add(arith.mul(row, words.strides[0]),
                            arith.mul(part, words.strides[1]));
    Value at = arith.add(start, arith.toIndex(arith.add(place, first)));
    return ByteViewOp::create(b, MemRefType::get({}, b.getI32Type()),
                              words.base, arith.mul(at, int64_t(4)));
  }

  ImplicitLocOpBuilder &b;
  Tensor words;
  int64_t k;
};

} // namespace

static int64_t getK(IndexerTopKOp op) {
  return cast<MemRefType>(op.getIndices().getType()).getDimSize(1);
}

/// Scores keys and keeps the best of a row or, with a workspace, of a part of
/// one.
static void emitFused(ImplicitLocOpBuilder &host, IndexerTopKOp op,
                      int64_t threads, Tuning tuning) {
  ScoreInputs inputs = ScoreInputs::of(op);
  int64_t warps = threads / Warp::lanes;
  Arith onHost(host);
  Value rows = sizeOf(host, op.getIndices(), 0), hostParts;
  if (op.getWorkspace())
    hostParts = sizeOf(host, op.getWorkspace(), 1);

  KernelBuilder builder(host, op, threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  keepRegisters(builder, inputs, tuning, threads);
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  ScoreTiles tiles(builder, inputs, warps, /*isAlone=*/false);
  Candidates candidates(
      builder, getK(op), threads, threads,
      ScoreTiles::sharedBytes(inputs.heads(), inputs.layout().getHeadSize()));
  std::optional<BestRows> best;
  std::optional<BestParts> bestParts;
  Value parts;
  if (hostParts) {
    bestParts.emplace(builder, op.getWorkspace(), /*readOnly=*/false);
    parts = builder.take(hostParts);
  } else {
    best.emplace(builder, op.getIndices(), op.getValues());
  }

  Value blocks = hostParts ? onHost.mul(rows, hostParts) : rows;
  Value row = builder.enterBlock(blocks), part;
  if (parts) {
    part = arith.rem(row, parts);
    row = arith.div(row, parts);
  }
  Value live = tiles.begin(row, arith.index(maxKeys));
  // Turns of the block's warps; all of them come to each.
  Value first = arith.i32(0);
  Value turns = arith.ceilDiv(live, warps * ScoreTiles::tokens), last = turns;
  if (parts) {
    Value each = arith.toI32(arith.div(
        arith.add(arith.toIndex(turns), arith.sub(parts, arith.index(1))),
        parts));
    Value before = arith.mul(arith.toIndex(each), part);
    first = arith.toI32(arith.minimum(before, arith.toIndex(turns)));
    last = arith.minimum(arith.add(first, each), turns);
  }
  Value limit = candidates.begin();
  tiles.stage();
  tiles.forTiles(
      TileOrder::rising, arith.mul(first, warps), arith.mul(last, warps),
      {limit},
      [&](Value token, Value score, ValueRange carried) -> SmallVector<Value> {
        Value limit = candidates.makeRoom(carried[0]);
        Value isKey = arith.less(token, live);
        candidates.append({{emitRank(b, score), token, isKey}}, limit);
        return {limit};
      });
  if (best)
    best->store(candidates, row);
  else
    candidates.finish([&](Value place, Value rank, Value index) {
      bestParts->store(row, part, place, rank, index);
    });
  builder.launch(blocks);
}

/// Finds the best of a row's parts.
static void emitMerge(ImplicitLocOpBuilder &host, IndexerTopKOp op,
                      int64_t threads, int64_t maxBlocks) {
  int64_t k = getK(op);
  KernelBuilder builder(host, op, threads, /*blocksPerSM=*/0, maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  BestParts bestParts(builder, op.getWorkspace(), /*readOnly=*/true);
  BestRows best(builder, op.getIndices(), op.getValues());
  Value parts = builder.take(sizeOf(host, op.getWorkspace(), 1));
  // A step is a part: indices rise from part to part, but not inside of one.
  int64_t perThread = llvm::divideCeil(k, threads);
  Candidates candidates(builder, k, threads, k);
  Value rows = sizeOf(host, op.getIndices(), 0);
  Value row = builder.enterBlock(rows);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  auto loop = scf::ForOp::create(b, arith.index(0), parts, arith.index(1),
                                 ValueRange{candidates.begin()});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Candidates::Item> items;
    for (int64_t i = 0; i < perThread; ++i) {
      Value place = arith.add(thread, i * threads);
      items.push_back(candidates.itemIf(arith.less(place, arith.i32(k)), [&] {
        return bestParts.load(row, loop.getInductionVar(), place);
      }));
    }
    Value limit = candidates.makeRoom(loop.getRegionIterArgs()[0]);
    candidates.append(items, limit);
    scf::YieldOp::create(b, limit);
  }
  best.store(candidates, row);
  builder.launch(rows);
}

LogicalResult mlir::kvcache::expandIndexerTopK(IndexerTopKOp op,
                                               Tuning forScores,
                                               Tuning forBest) {
  forScores = Tuning::get(op.getTuningAttr(), forScores);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  ScoreInputs inputs = ScoreInputs::of(op);
  if (op.getScores()) {
    expandScores(host, op, inputs, op.getScores(), forScores);
    expandBest(host, op, op.getScores(), op.getIndices(), op.getValues(),
               forBest, [&](KernelBuilder &builder) {
                 ImplicitLocOpBuilder &b = builder.body();
                 Value cache = builder.take(op.getSource());
                 Value offsets = builder.takeList(op.getOffsets());
                 Sees sees = op.getCausal() ? Sees::causal : Sees::all;
                 return RowLengths([&b, cache, offsets, sees](Value row) {
                   return emitTokenRow(b, cache, offsets, row, sees).live;
                 });
               });
    return success();
  }
  int64_t threads = getBlockThreads(forScores.threads);
  emitFused(host, op, threads, forScores);
  if (op.getWorkspace())
    emitMerge(host, op, getBlockThreads(forBest.threads), forBest.maxBlocks);
  return success();
}
