//===- indexer_blocks.cpp - Building blocks of the indexer ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "building_block.h"

#include "Indexer/Candidates.h"
#include "Indexer/ScoreTiles.h"
#include "Indexer/TokenRows.h"
#include "Tiles/FastMath.h"
#include "Tiles/Words.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tiles;

namespace {

/// Words: a row of tokens, and one where each sequence has one. Gives sequence
/// and tokens for each kind of what is seen, then for the other row.
Values emitTokenRows(Kernel &kernel, ValueRange in) {
  Arith &arith = kernel.arith;
  Value cache = kernel.builder.take(kernel.keys);
  Value offsets = kernel.builder.takeList(kernel.arguments[0]);
  Values result;
  auto add = [&](Value offsets, Value row, Sees sees) {
    TokenRow tokens =
        emitTokenRow(kernel.b, cache, offsets, arith.toIndex(row), sees);
    result.append({arith.toI32(tokens.batch), arith.toI32(tokens.live)});
  };
  for (Sees sees : {Sees::cached, Sees::causal, Sees::all})
    add(offsets, in[0], sees);
  add(/*offsets=*/Value(), in[1], Sees::cached);
  return result;
}

/// Words: sequence, first token of a tile, end of what may be read. Gives words
/// of keys by group, the scale of the lane's token, and whether it has one.
Values emitKeys(Kernel &kernel, ValueRange in) {
  KeyTiles keys(kernel.b, kernel.warp, kernel.builder.take(kernel.keys),
                OutOfRange::skip);
  keys.setRow(kernel.arith.toIndex(in[0]), in[2]);
  Values blocks = keys.lookUp(in[1], {}, /*orPoison=*/false);
  Values loaded = keys.load(in[1], blocks, FastMath(kernel.b).number(7),
                            /*orPoison=*/false);
  Values result;
  for (Value vector : ArrayRef(loaded).drop_back(2))
    llvm::append_range(result, Words(kernel.b).of(vector));
  result.push_back(kernel.asWord(loaded.end()[-2]));
  result.push_back(kernel.asWordOf(loaded.back()));
  return result;
}

/// The same words, and the blocks of the tile before. Gives those of the tile.
Values emitBlocks(Kernel &kernel, ValueRange in) {
  KeyTiles keys(kernel.b, kernel.warp, kernel.builder.take(kernel.keys),
                OutOfRange::assume);
  keys.setRow(kernel.arith.toIndex(in[0]), in[2]);
  return keys.lookUp(in[1], in.drop_front(3), /*orPoison=*/false);
}

/// How the tiles of a row are scored: so many by each of the block's warps.
struct ScoreKind {
  int64_t warps, turns;
  TileOrder order;
  OutOfRange policy;
  bool isAlone;
  /// Whether queries are the first elements of longer rows, of which the type
  /// tells nothing.
  bool isSlice;
};

/// The first `size` elements of rows of heads, on the host.
Value slice(ImplicitLocOpBuilder &host, Value rows, int64_t size) {
  auto type = cast<MemRefType>(rows.getType());
  auto number = [&](int64_t n) -> OpFoldResult { return host.getIndexAttr(n); };
  SmallVector<OpFoldResult> zeros(3, number(0)), ones(3, number(1));
  SmallVector<OpFoldResult> sizes = {sizeOf(host, rows, 0),
                                     number(type.getDimSize(1)), number(size)};
  Value part = memref::SubViewOp::create(host, rows, zeros, sizes, ones);
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto layout = StridedLayoutAttr::get(host.getContext(), /*offset=*/dynamic,
                                       {dynamic, dynamic, 1});
  return memref::CastOp::create(
      host,
      MemRefType::get({dynamic, type.getDimSize(1), size},
                      type.getElementType(), layout),
      part);
}

/// Words: the row. After `in` and `out` main has queries, their weights,
/// offsets and what multiplies scales. Gives the tokens that the row sees, then
/// token and score of each of the lane's tiles, the last one first.
Values emitScoreTiles(Kernel &kernel, ValueRange in, const ScoreKind &kind) {
  Arith &arith = kernel.arith;
  ValueRange arguments = kernel.arguments;
  Value queries = arguments[0];
  int64_t size = kvcache::getLayout(kernel.keys.getType()).getHeadSize();
  if (kind.isSlice)
    queries = slice(kernel.builder.hostBuilder(), queries, size);
  ScoreInputs inputs = {queries,        arguments[1], kernel.keys,
                        arguments[2],   arguments[3], kind.policy,
                        /*causal=*/true};
  ScoreTiles tiles(kernel.builder, inputs, kind.warps, kind.isAlone);
  Value live = tiles.begin(arith.toIndex(in[0]), arith.index(1 << 20));
  tiles.stage();
  Values result = tiles.forTiles(
      kind.order, arith.i32(0), arith.ceilDiv(live, ScoreTiles::tokens),
      Values(2 * kind.turns, arith.i32(-1)),
      [&](Value token, Value score, ValueRange carried) {
        Values next = {token, kernel.asWord(score)};
        llvm::append_range(next, carried.drop_back(2));
        return next;
      });
  result.insert(result.begin(), live);
  return result;
}

struct CandidatesKind {
  int64_t k, threads, otherBytes;
  static constexpr int64_t rounds = 64;
};

/// After `in` and `out` main has ranks by round and thread, and the best ranks
/// and their indices. Each seventh is not wanted.
Values emitCandidates(Kernel &kernel, const CandidatesKind &kind) {
  ImplicitLocOpBuilder &b = kernel.b;
  Arith &arith = kernel.arith;
  Tensor ranks = kernel.builder.takeTensor(kernel.arguments[0],
                                           /*readOnly=*/true);
  Tensor best = kernel.builder.takeTensor(kernel.arguments[1],
                                          /*readOnly=*/false);
  kernel.builder.shareMemory(b.getI8Type(), kind.otherBytes, 16);
  Candidates candidates(kernel.builder, kind.k, kind.threads, kind.threads,
                        kind.otherBytes);
  Value thread =
      arith.add(arith.mul(kernel.warp.number, Warp::lanes), kernel.warp.lane);
  auto loop =
      scf::ForOp::create(b, arith.i32(0), arith.i32(CandidatesKind::rounds),
                         arith.i32(1), ValueRange{candidates.begin()});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value round = loop.getInductionVar();
    Value limit = candidates.makeRoom(loop.getRegionIterArgs()[0]);
    Value rank = memref::LoadOp::create(
        b, viewElement(b, ranks, arith.toIndex(round), arith.toIndex(thread)),
        ValueRange());
    Value index = arith.add(arith.mul(round, kind.threads), thread);
    Value isWanted = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                           arith.rem(index, 7), arith.i32(3));
    candidates.append({{rank, index, isWanted}}, limit);
    scf::YieldOp::create(b, limit);
  }
  candidates.finish([&](Value place, Value rank, Value index) {
    Value column = arith.toIndex(place);
    auto store = [&](Value value, int64_t row) {
      memref::StoreOp::create(b, value,
                              viewElement(b, best, arith.index(row), column),
                              ValueRange());
    };
    store(rank, 0);
    store(index, 1);
  });
  return {};
}

} // namespace

void tiles::addIndexerBlocks(SmallVectorImpl<BuildingBlock> &blocks) {
  blocks.push_back({"token-rows", 32, 2, emitTokenRows});
  for (StringRef name : {"keys-of-pages", "keys-of-short-pages"})
    blocks.push_back({name, 32, 3, emitKeys});
  blocks.push_back({"blocks-of-pages", 32, 5, emitBlocks});
  auto scores = [&](StringRef name, ScoreKind kind) {
    blocks.push_back(
        {name, kind.warps * Warp::lanes, 1, [=](Kernel &kernel, ValueRange in) {
           return emitScoreTiles(kernel, in, kind);
         }});
  };
  scores("key-scores-by-warp",
         {/*warps=*/2, /*turns=*/5, TileOrder::byWarp, OutOfRange::skip,
          /*isAlone=*/false, /*isSlice=*/false});
  scores("key-scores-by-warpgroup",
         {/*warps=*/4, /*turns=*/3, TileOrder::rising, OutOfRange::assume,
          /*isAlone=*/true, /*isSlice=*/false});
  scores("key-scores-of-slices",
         {/*warps=*/1, /*turns=*/10, TileOrder::rising, OutOfRange::assume,
          /*isAlone=*/true, /*isSlice=*/true});
  auto candidates = [&](StringRef name, CandidatesKind kind) {
    blocks.push_back({name, kind.threads, 1, [=](Kernel &kernel, ValueRange) {
                        return emitCandidates(kernel, kind);
                      }});
  };
  candidates("candidates", {/*k=*/100, /*threads=*/64, /*otherBytes=*/64});
  // More than is static.
  candidates("candidates-beside-queries",
             {/*k=*/2048, /*threads=*/128, /*otherBytes=*/33280});
}
