//===- SizeChecks.cpp - Sizes that only the host knows --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"

#include "../RuntimeChecks.h"
#include "Destinations.h"
#include "Indexer/BestRows.h"
#include "LastRows.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

/// The first of `caches` of each collection; of caches whose collection is not
/// known all.
static SmallVector<Value> onePerCollection(ValueRange caches) {
  SmallVector<Value> chosen;
  llvm::SmallPtrSet<Operation *, 2> seen;
  for (Value cache : caches) {
    Operation *collection = getPoolsOp(cache);
    if (!collection || seen.insert(collection).second)
      chosen.push_back(cache);
  }
  return chosen;
}

namespace {

/// Builds the assertions about one operation.
class SizeChecks {
public:
  explicit SizeChecks(Operation *op)
      : host(op->getLoc(), op), arith(host), op(op) {}

  void check(AppendOp op);
  void check(AppendScalesOp op);
  void check(QuantizeAppendOp op);
  void check(RopeQuantizeAppendOp op);
  void check(GatherOp op);
  void check(RopeOp op);
  void check(RMSNormOp op);
  void check(ClearPagesOp op) { layers(op.getCollection(), op.getLayers()); }
  void check(CopyPagesOp op);
  void check(MoveTokensOp op);
  void check(CompactOp op);
  void check(ConvertLayoutOp op);
  void check(PagedAttentionOp op);
  void check(MLADecodeOp op);
  void check(TopKOp op);
  void check(IndexerScoresOp op);
  void check(IndexerTopKOp op);
  void check(RemapIndicesOp op);

private:
  Value size(Value memref, int64_t dim = 0) {
    return sizeOf(host, memref, dim);
  }
  Value batch(Value paged) { return host.createOrFold<BatchSizeOp>(paged); }

  void require(Value a, Predicate predicate, Value b, const Twine &what);
  void same(Value a, Value b, const Twine &what) {
    require(a, Predicate::eq, b, what);
  }
  /// `tensor`, which may be null, has as many rows as `first`.
  void sameRows(StringRef name, Value tensor, StringRef firstName, Value first,
                unsigned leadingRank = 1) {
    sameRowsAs(("'" + name + "'").str(), tensor, ("'" + firstName + "'").str(),
               first, leadingRank);
  }
  void sameRowsAs(const Twine &name, Value tensor, const Twine &firstName,
                  Value first, unsigned leadingRank);

  /// A list of offsets has one more entry than `cache` has sequences.
  void offsets(StringRef name, Value list, Value cache);
  /// `rows` rows of new tokens are those of sequences, by `list` or, where that
  /// is null, one a sequence.
  void tokenRows(Value rows, Value list, Value cache);
  /// Two caches that are written are not keys, or values, of one layer.
  void targets(OperandRange targets);
  /// Tensors of rows to append have the same leading sizes, and the lists of
  /// the form fit these.
  template <typename Op> void appended(Op op, ValueRange tensors);
  /// The tables by which `rows` rows turn have as many rows as one another, and
  /// one at least: rows that go nowhere are turned by that of position 0.
  void turned(Value rows, Value cos, Value sin);
  template <typename Op> void scored(Op op, ValueRange results);

  void layers(Value collection, std::optional<ArrayRef<int64_t>> layers);
  /// `memref` has `perItem` entries for each of `count` items, and `more`.
  void workspace(Value memref, Value count, int64_t perItem, int64_t more,
                 StringRef item);
  /// Blocks of a pool of a collection.
  Value blocks(Value collection, Pool pool);
  /// The pools of a collection whose blocks are counted apart.
  static SmallVector<Pool> poolsOf(Value collection);

  ImplicitLocOpBuilder host;
  Arith arith;
  Operation *op;
};

void SizeChecks::require(Value a, Predicate predicate, Value b,
                         const Twine &what) {
  Value holds = host.createOrFold<arith::CmpIOp>(predicate, a, b);
  std::string text = (reportedName(op) + " expected " + what).str();
  emitAssert(host, holds, locationText(op->getLoc()) + ": " + text, text,
             {a, b});
}

void SizeChecks::sameRowsAs(const Twine &name, Value tensor,
                            const Twine &firstName, Value first,
                            unsigned leadingRank) {
  if (!tensor)
    return;
  for (unsigned dim = 0; dim < leadingRank; ++dim)
    same(size(tensor, dim), size(first, dim),
         "as many rows (dimension " + Twine(dim) + ") of " + name + " as of " +
             firstName);
}

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

void SizeChecks::offsets(StringRef name, Value list, Value cache) {
  same(size(list), arith.add(batch(cache), 1),
       "one more of '" + name + "' than sequences (B)");
}

void SizeChecks::tokenRows(Value rows, Value list, Value cache) {
  if (list)
    return offsets("offsets", list, cache);
  same(rows, batch(cache), "a row for each sequence (B)");
}

void SizeChecks::targets(OperandRange targets) {
  if (targets.size() != 2 || targets[0].getType() != targets[1].getType())
    return;
  // The collection and the layer.
  auto place = [](Value cache) -> std::pair<Value, Value> {
    Operation *made = getPoolsOp(cache);
    auto known = [&](auto side) {
      Value collection = side.getCollection();
      return std::pair(made ? made->getResult(0) : collection,
                       Value(side.getLayer()));
    };
    if (auto keys = cache.getDefiningOp<GetKeyCacheOp>())
      return known(keys);
    if (auto values = cache.getDefiningOp<GetValueCacheOp>())
      return known(values);
    return {};
  };
  auto [collection, layer] = place(targets[0]);
  auto [other, otherLayer] = place(targets[1]);
  if (collection && collection == other)
    require(layer, Predicate::ne, otherLayer, "targets of two layers");
}

template <typename Op> void SizeChecks::appended(Op op, ValueRange tensors) {
  targets(op.getTargets());
  Value first = tensors.front();
  for (Value tensor : tensors.drop_front())
    sameRowsAs("each source", tensor, "the first", first, op.getLeadingRank());
  Value count = size(first);
  if (Value memref = op.getWorkspace())
    require(LastRows(host, AppendedRows::of(op)).entries(), Predicate::ule,
            size(memref),
            "a 'workspace' of an entry for each slot of the pools that rows go "
            "to");
  OperandRange rows = op.getRows();
  switch (op.getForm()) {
  case RowForm::ragged:
    for (Value target : onePerCollection(op.getTargets()))
      offsets("row_offsets", rows[0], target);
    return;
  case RowForm::padded:
    for (Value target : onePerCollection(op.getTargets()))
      same(count, batch(target),
           "as many sequences in the source as in the table (B)");
    return same(size(rows[0]), count, "as many 'new_lengths' as sequences (B)");
  case RowForm::positions:
  case RowForm::slots:
    for (Value list : rows)
      require(size(list), Predicate::uge, count,
              op.getForm() == RowForm::slots
                  ? "at least as many slots as rows (T)"
                  : "at least as many 'sequences' and 'positions' as rows (T)");
  }
}

void SizeChecks::check(AppendOp op) {
  SmallVector<Value> tensors(op.getSources());
  llvm::append_range(tensors, op.getScales());
  appended(op, tensors);
}

void SizeChecks::check(AppendScalesOp op) { appended(op, op.getScales()); }

void SizeChecks::check(QuantizeAppendOp op) { appended(op, op.getSources()); }

void SizeChecks::check(RopeQuantizeAppendOp op) {
  appended(op, op.getSources());
  sameRows("rope_positions", op.getRopePositions(), "sources",
           op.getSources().front(), op.getLeadingRank());
  Value rows = size(op.getSources().front());
  if (op.getLeadingRank() == 2)
    rows = arith.mul(rows, size(op.getSources().front(), 1));
  turned(rows, op.getCos(), op.getSin());
}

void SizeChecks::check(GatherOp op) {
  // Where all sequences are gathered, more of them than there are is out of
  // range, which `skip` allows.
  Value sequences = op.getSequences();
  Value count = sequences ? size(sequences) : batch(op.getSource());
  StringRef name = sequences ? "'sequences'" : "sequences (B)";
  bool more = !sequences && op.getPolicy() == OutOfRange::skip;
  Predicate predicate = more ? Predicate::uge : Predicate::eq;
  if (op.isRagged())
    require(size(op.getOffsets()), predicate, arith.add(count, 1),
            Twine(more ? "at least " : "") + "one more of 'offsets' than " +
                name);
  else
    require(size(op.getOut()), predicate, count,
            Twine(more ? "at least " : "") + "as many sequences in 'out' as " +
                name);
  sameRows("scales", op.getScales(), "out", op.getOut(), op.getLeadingRank());
}

void SizeChecks::turned(Value rows, Value cos, Value sin) {
  sameRows("sin", sin, "cos", cos);
  require(size(cos), Predicate::uge, arith.minimum(rows, arith.index(1)),
          "a row of 'cos' and 'sin' at least, where rows turn");
}

void SizeChecks::check(RopeOp op) {
  sameRows("out", op.getOut(), "x", op.getX());
  sameRows("positions", op.getPositions(), "x", op.getX());
  turned(size(op.getX()), op.getCos(), op.getSin());
}

void SizeChecks::check(RMSNormOp op) {
  sameRows("out", op.getOut(), "x", op.getX());
}

//===----------------------------------------------------------------------===//
// Whole pages
//===----------------------------------------------------------------------===//

void SizeChecks::layers(Value collection,
                        std::optional<ArrayRef<int64_t>> layers) {
  if (!layers || layers->empty())
    return;
  int64_t last = *llvm::max_element(*layers);
  require(arith.index(last), Predicate::ult,
          host.createOrFold<NumLayersOp>(collection),
          "more layers than layer " + Twine(last));
}

void SizeChecks::workspace(Value memref, Value count, int64_t perItem,
                           int64_t more, StringRef item) {
  Value needed = arith.mul(count, perItem);
  if (more)
    needed = arith.add(needed, more);
  require(needed, Predicate::ule, size(memref),
          "a 'workspace' of " + Twine(perItem) + " entries a " + item +
              (more ? " and " + Twine(more) : Twine()));
}

Value SizeChecks::blocks(Value collection, Pool pool) {
  Value keys = GetKeyCacheOp::create(host, collection, arith.index(0));
  return NumBlocksOp::create(host, operandOf(host, keys, pool));
}

SmallVector<Pool> SizeChecks::poolsOf(Value collection) {
  if (kvcache::getLayout(collection.getType()).hasOwnScalesTable())
    return {Pool::values, Pool::scales};
  return {Pool::values};
}

void SizeChecks::check(CopyPagesOp op) {
  layers(op.getCollection(), op.getLayers());
  if (op.getWorkspace())
    for (Value list : op.getPairs())
      workspace(op.getWorkspace(), size(list), workspacePerPair, 0, "pair");
}

void SizeChecks::check(MoveTokensOp op) {
  layers(op.getCollection(), op.getLayers());
  for (auto [source, target] :
       llvm::zip_equal(op.getSources(), op.getDestinations())) {
    same(size(source), size(target), "as many 'destinations' as 'sources'");
    if (op.getWorkspace())
      workspace(op.getWorkspace(), size(source), workspacePerPair, 0, "pair");
  }
}

void SizeChecks::check(CompactOp op) {
  Value collection = op.getCollection();
  for (Value table : op.getTables()) {
    same(size(table, 0), batch(collection),
         "'tables' of as many rows as the collection has sequences");
    same(size(table, 1), host.createOrFold<TableColumnsOp>(collection),
         "'tables' of as many columns as the collection's");
  }
  for (Pool pool : poolsOf(collection))
    workspace(op.getWorkspace(), blocks(collection, pool),
              CompactOp::workspacePerBlock, CompactOp::workspaceMore, "block");
}

void SizeChecks::check(ConvertLayoutOp op) {
  layers(op.getSource(), op.getLayers());
  same(host.createOrFold<NumLayersOp>(op.getSource()),
       host.createOrFold<NumLayersOp>(op.getTarget()),
       "as many layers in 'target' as in 'source'");
  if (op.getPolicy() == OutOfRange::skip)
    return;
  for (Pool pool : poolsOf(op.getTarget()))
    require(blocks(op.getSource(), pool), Predicate::ule,
            blocks(op.getTarget(), pool),
            "as many blocks in 'target' as in 'source'");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void SizeChecks::check(PagedAttentionOp op) {
  sameRows("out", op.getOut(), "q", op.getQ());
  sameRows("lse", op.getLse(), "q", op.getQ());
  for (Value cache : onePerCollection({op.getKeys(), op.getValues()}))
    offsets("row_offsets", op.getRowOffsets(), cache);
}

void SizeChecks::check(MLADecodeOp op) {
  sameRows("out", op.getOut(), "q", op.getQ());
  sameRows("lse", op.getLse(), "q", op.getQ());
  sameRows("q_scales", op.getQScales(), "q", op.getQ());
  static constexpr StringLiteral names[] = {"slots", "scale_slots"};
  for (auto [slots, name] : llvm::zip(op.getSlots(), names)) {
    sameRows(name, slots, "q", op.getQ());
    same(size(slots, 1), size(op.getSlots().front(), 1),
         "dimension 1 (K) of 'slots' and of '" + name + "' to be the same");
  }
  offsets("row_offsets", op.getRowOffsets(), op.getKeys());
}

void SizeChecks::check(TopKOp op) {
  sameRows("scores", op.getScores(), "indices", op.getIndices());
  sameRows("values", op.getValues(), "indices", op.getIndices());
  same(size(op.getLive()), size(op.getIndices()),
       "as many numbers in 'live' as rows of 'indices'");
  require(size(op.getScores(), 1), Predicate::ule, arith.index(maxKeys),
          "at most " + Twine(maxKeys) + " scores a row");
}

template <typename Op> void SizeChecks::scored(Op op, ValueRange results) {
  sameRows("weights", op.getWeights(), "queries", op.getQueries());
  for (Value result : results)
    if (result)
      sameRowsAs("each result", result, "'queries'", op.getQueries(), 1);
  if (Value scores = op.getScores())
    require(size(scores, 1), Predicate::ule, arith.index(maxKeys),
            "at most " + Twine(maxKeys) + " scores a row");
  tokenRows(size(op.getQueries()), op.getOffsets(), op.getSource());
}

void SizeChecks::check(IndexerScoresOp op) { scored(op, op.getScores()); }

void SizeChecks::check(IndexerTopKOp op) {
  scored(op,
         {op.getIndices(), op.getValues(), op.getScores(), op.getWorkspace()});
}

void SizeChecks::check(RemapIndicesOp op) {
  tokenRows(size(op.getIndices()), op.getOffsets(), op.getSource());
  for (auto [slots, pool] : {std::pair(op.getSlots(), Pool::values),
                             {op.getScaleSlots(), Pool::scales}}) {
    if (!slots)
      continue;
    for (int64_t dim : {0, 1})
      same(size(slots, dim), size(op.getIndices(), dim),
           "as many slots as indices");
    if (cast<MemRefType>(slots.getType()).getElementTypeBitWidth() == 64)
      continue;
    int64_t pageSize =
        kvcache::getLayout(op.getSource().getType()).getPageSize();
    require(NumBlocksOp::create(host, operandOf(host, op.getSource(), pool)),
            Predicate::ule, arith.index((int64_t(1) << 31) / pageSize),
            "slots that fit 32 bits; let them be of i64");
  }
}

} // namespace

void mlir::kvcache::emitSizeChecks(Operation *op) {
  SizeChecks checks(op);
  TypeSwitch<Operation *>(op)
      .Case<AppendOp, AppendScalesOp, QuantizeAppendOp, RopeQuantizeAppendOp,
            GatherOp, RopeOp, RMSNormOp, ClearPagesOp, CopyPagesOp,
            MoveTokensOp, CompactOp, ConvertLayoutOp, PagedAttentionOp,
            MLADecodeOp, TopKOp, IndexerScoresOp, IndexerTopKOp,
            RemapIndicesOp>([&](auto op) { checks.check(op); });
}
