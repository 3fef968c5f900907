//===- VerifyIndexer.cpp - Verifiers of the indexer's kernels ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {
constexpr int64_t dynamic = ShapedType::kDynamic;
/// The threads of a block that keeps candidates, at least, and why.
constexpr int64_t candidateThreads = 64;
constexpr StringLiteral ofCandidates = "which keep candidates together";
} // namespace

LogicalResult RemapIndicesOp::verify() {
  Type i32 = IntegerType::get(getContext(), 32);
  Type i64 = IntegerType::get(getContext(), 64);
  StringRef lead = getOffsets() ? "T" : "B";
  if (failed(verifyTensor(*this, "indices", getIndices(), {i32},
                          {dynamic, dynamic}, {lead, "K"})))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getSource().getType());
  if (getScaleSlots() && !(layout.isQuantized() && layout.hasSeparatePools()))
    return emitOpError("expected no 'scale_slots', since the layout has no "
                       "scales in a pool of their own");
  for (auto [name, slots] : {std::pair<StringRef, Value>("slots", getSlots()),
                             {"scale_slots", getScaleSlots()}}) {
    if (!slots)
      continue;
    if (failed(verifyTensor(*this, name, slots, {i32, i64}, {dynamic, dynamic},
                            {lead, "K"})))
      return failure();
    for (unsigned dim : {0, 1})
      if (failed(
              verifySameSize(*this, dim, "indices", getIndices(), name, slots)))
        return failure();
  }
  return getOffsets() ? verifyOffsets(*this, "offsets", getOffsets())
                      : success();
}

/// Checks `indices` of the best `K` of each row, and `values` beside them where
/// there are any.
static LogicalResult verifyBest(Operation *op, int64_t maxK, Value indices,
                                Value values) {
  MLIRContext *context = op->getContext();
  if (failed(verifyTensor(op, "indices", indices,
                          {IntegerType::get(context, 32)}, {dynamic, dynamic},
                          {"T", "K"})))
    return failure();
  int64_t k = cast<MemRefType>(indices.getType()).getDimSize(1);
  if (ShapedType::isDynamic(k))
    return op->emitOpError("expected dimension 1 (K) of 'indices' to be "
                           "static, got a dynamic size");
  if (k < 1 || k > maxK)
    return op->emitOpError("expected a K, dimension 1 of 'indices', of 1 to ")
           << maxK << ", got " << k;
  if (!values)
    return success();
  if (failed(verifyTensor(op, "values", values, {Float32Type::get(context)},
                          {dynamic, k}, {"T", "K"})))
    return failure();
  return verifySameSize(op, 0, "indices", indices, "values", values);
}

LogicalResult TopKOp::verify() {
  if (failed(verifyTensor(*this, "scores", getScores(),
                          {Float32Type::get(getContext())}, {dynamic, dynamic},
                          {"T", "N"})) ||
      failed(verifyList(*this, "live", getLive(), "T")) ||
      failed(verifyBest(*this, maxK, getIndices(), getValues())) ||
      failed(verifyThreads(*this, getTuningAttr(), candidateThreads,
                           ofCandidates)))
    return failure();
  if (failed(
          verifySameSize(*this, 0, "scores", getScores(), "live", getLive())))
    return failure();
  return verifySameSize(*this, 0, "scores", getScores(), "indices",
                        getIndices());
}

/// Checks a cache, and the queries for its keys.
static LogicalResult verifyQueries(Operation *op, Value cache, Value queries,
                                   Value weights, Value offsets,
                                   Value globalScale) {
  constexpr int64_t maxHeads = 128, maxHeadSize = 128, headSizeStep = 16;
  auto type = cast<CacheType>(cache.getType());
  LayoutAttr layout = type.getLayout();
  Type f8 = Float8E4M3FNType::get(op->getContext());
  if (type.getSide() != Side::key)
    return op->emitOpError("expected a cache of keys, got one of values");
  if (layout.getDtype() != f8)
    return op->emitOpError("expected a cache of ")
           << f8 << ", got " << layout.getDtype();
  if (layout.getNumHeads() != 1)
    return op->emitOpError("expected a cache of 1 head, got ")
           << layout.getNumHeads();
  int64_t size = layout.getHeadSize();
  if (size % headSizeStep != 0 || size > maxHeadSize)
    return op->emitOpError("expected a head size that is a multiple of ")
           << headSizeStep << " and at most " << maxHeadSize << ", got "
           << size;
  if (layout.getRope())
    return op->emitOpError("expected a cache without an unquantised tail, got "
                           "one of ")
           << layout.getRope().getSize() << " elements";
  if (!layout.isQuantized())
    return op->emitOpError("expected a cache with scales; add 'scales = <...>' "
                           "to the layout");
  if (layout.getScaleSlots() != 1)
    return op->emitOpError("expected one scale a token, got ")
           << layout.getScaleSlots()
           << "; let the granularity be the head size, " << size;
  auto queryType = cast<MemRefType>(queries.getType());
  if (failed(verifyTensor(op, "queries", queries, {f8},
                          {dynamic, dynamic, size}, {"T", "Hq", "D"})))
    return failure();
  int64_t heads = queryType.getDimSize(1);
  if (ShapedType::isDynamic(heads))
    return op->emitOpError("expected dimension 1 (Hq) of 'queries' to be "
                           "static, got a dynamic size");
  if (heads < 1 || heads > maxHeads)
    return op->emitOpError("expected queries of 1 to ")
           << maxHeads << " heads, got " << heads;
  if (failed(verifyTensor(op, "weights", weights,
                          {Float32Type::get(op->getContext())},
                          {dynamic, heads}, {"T", "Hq"})) ||
      failed(verifySameSize(op, 0, "queries", queries, "weights", weights)) ||
      failed(verifyGlobalScale(op, layout, globalScale)))
    return failure();
  return verifyOffsets(op, "offsets", offsets);
}

/// Checks the tensor of all scores.
static LogicalResult verifyScores(Operation *op, Value queries, Value scores) {
  if (failed(verifyTensor(op, "scores", scores,
                          {Float32Type::get(op->getContext())},
                          {dynamic, dynamic}, {"T", "N"})))
    return failure();
  return verifySameSize(op, 0, "queries", queries, "scores", scores);
}

LogicalResult IndexerScoresOp::verify() {
  if (failed(verifyQueries(*this, getSource(), getQueries(), getWeights(),
                           getOffsets(), getGlobalScale())))
    return failure();
  return verifyScores(*this, getQueries(), getScores());
}

LogicalResult IndexerTopKOp::verify() {
  if (failed(verifyQueries(*this, getSource(), getQueries(), getWeights(),
                           getOffsets(), getGlobalScale())) ||
      failed(verifyBest(*this, TopKOp::maxK, getIndices(), getValues())) ||
      failed(verifySameSize(*this, 0, "queries", getQueries(), "indices",
                            getIndices())))
    return failure();
  if (getScores() && getWorkspace())
    return emitOpError("expected 'scores' or 'workspace', got both");
  if (getScores())
    return verifyScores(*this, getQueries(), getScores());
  if (failed(verifyThreads(*this, getTuningAttr(), candidateThreads,
                           ofCandidates)))
    return failure();
  if (!getWorkspace())
    return success();
  int64_t words = 2 * cast<MemRefType>(getIndices().getType()).getDimSize(1);
  if (failed(verifyTensor(*this, "workspace", getWorkspace(),
                          {IntegerType::get(getContext(), 32)},
                          {dynamic, dynamic, words}, {"T", "S", "2 K"})))
    return failure();
  return verifySameSize(*this, 0, "queries", getQueries(), "workspace",
                        getWorkspace());
}
