//===- AccessRuntimeChecks.cpp - Bounds of lookups and accesses -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr int64_t limit32 = int64_t(1) << 32;

void checkBatch(RuntimeChecks &check, Value paged, Value batch) {
  check.require(batch, Predicate::ult, check.b.createOrFold<BatchSizeOp>(paged),
                "expected 'batch' to be less than the number of sequences (B)");
}

void checkPage(RuntimeChecks &check, Value paged, Value page,
               const Twine &what) {
  check.require(
      page, Predicate::ult, check.b.createOrFold<TableColumnsOp>(paged),
      "expected " + what + " to be less than the number of table columns (M)");
}

/// Checks the positions of the `count` tokens from `token` on.
void checkToken(RuntimeChecks &check, Value paged, Value token, int64_t count,
                int64_t pageSize) {
  // Compared before the sum is made, so that nothing wraps.
  check.require(token, Predicate::ult, check.constant(limit32),
                "expected 'token' to be less than 4294967296");
  Value last =
      check.b.createOrFold<arith::AddIOp>(token, check.constant(count - 1));
  Value page =
      check.b.createOrFold<arith::DivUIOp>(last, check.constant(pageSize));
  checkPage(check, paged, page, "the page of 'token'");
}

/// Checks a block (`i32`) against the pool that `operand` speaks of.
void checkBlockId(RuntimeChecks &check, Value operand, Value block) {
  auto type = cast<MHAOperandTypeInterface>(operand.getType());
  bool scales =
      type.getPool() == Pool::scales && type.getLayout().hasSeparatePools();
  check.require(
      arith::IndexCastUIOp::create(check.b, check.b.getIndexType(), block),
      Predicate::ult, check.b.createOrFold<NumBlocksOp>(operand),
      scales ? "expected the block to be less than the number of scales "
               "blocks (NBs)"
             : "expected the block to be less than the number of value "
               "blocks (NB)");
}

/// The operand of `paged`, a cache or an operand, that speaks of `pool`.
Value operandOf(RuntimeChecks &check, Value paged, Pool pool) {
  if (auto plain = paged.getDefiningOp<MHAOperandOp>())
    paged = plain.getCache();
  if (pool == Pool::scales && isa<CacheType>(paged.getType()))
    return ScalesMHAOperandOp::create(check.b, paged);
  return paged;
}

/// Checks that the block that the table names lies in the pool. The scales of a
/// plain operand are not spoken of by any operand of it: theirs is not checked.
void checkBlock(RuntimeChecks &check, Value paged, Pool pool, Value batch,
                Value token, int64_t pageSize) {
  Value operand = operandOf(check, paged, pool);
  if (pool == Pool::scales &&
      cast<MHAOperandTypeInterface>(operand.getType()).getPool() != pool)
    return;
  Value page =
      check.b.createOrFold<arith::DivUIOp>(token, check.constant(pageSize));
  Value block =
      BlockIdOp::create(check.b, operand, batch, page, OutOfRange::assume);
  checkBlockId(check, operand, block);
}

/// Checks that `lanes` lanes from `dim` on lie in what an access may reach.
void checkStretch(RuntimeChecks &check, LayoutAttr layout,
                  AccessedStretch stretch, Value dim, int64_t lanes) {
  if (stretch.end == layout.getHeadSize())
    check.require(dim, Predicate::ult, check.constant(stretch.end),
                  "expected 'dim' to be less than head_size " +
                      Twine(stretch.end));
  else
    check.require(dim, Predicate::ult, check.constant(stretch.end),
                  "expected 'dim' to be less than " + Twine(stretch.end) +
                      " (head_size less the rope size)");
  if (stretch.begin > 0)
    check.require(dim, Predicate::uge, check.constant(stretch.begin),
                  "expected 'dim' to be at least " + Twine(stretch.begin) +
                      " (head_size less the rope size)");
  int64_t count = lanes * stretch.perLane;
  if (count <= 1)
    return;
  Value first = stretch.slots
                    ? check.b.createOrFold<arith::DivUIOp>(
                          dim, check.constant(layout.getGranularity()))
                    : dim;
  int64_t size = stretch.slots ? layout.getScaleSlots() : stretch.end;
  check.require(first, Predicate::ule, check.constant(size - count),
                "expected " + Twine(count) +
                    (stretch.slots ? " scales" : " elements") +
                    " from 'dim' on to lie in the head");
}

/// Two codes of f4E2M1FN share a byte, which the first of a pair starts.
void checkEven(RuntimeChecks &check, Value dim) {
  check.requireMultiple(dim, 2, "expected an even 'dim'");
}

void checkHead(RuntimeChecks &check, LayoutAttr layout, Value head) {
  check.require(head, Predicate::ult, check.constant(layout.getNumHeads()),
                "expected 'head' to be less than num_heads " +
                    Twine(layout.getNumHeads()));
}

template <typename Op>
struct LayerChecks : public ChecksModel<Op, LayerChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    check.require(op.getLayer(), Predicate::ult,
                  check.b.createOrFold<NumLayersOp>(op.getCollection()),
                  "expected 'layer' to be less than the number of layers (L)");
  }
};

struct LengthChecks : public ChecksModel<CacheLengthOp, LengthChecks> {
  static void generate(CacheLengthOp op, RuntimeChecks &check) {
    checkBatch(check, op.getSource(), op.getBatch());
  }
};

template <typename Op>
struct RowChecks : public ChecksModel<Op, RowChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    int64_t pageSize = getLayout(op.getSource().getType()).getPageSize();
    checkBatch(check, op.getSource(), op.getBatch());
    checkToken(check, op.getSource(), op.getToken(), 1, pageSize);
  }
};

struct PopulateChecks : public ChecksModel<PopulateOp, PopulateChecks> {
  static void generate(PopulateOp op, RuntimeChecks &check) {
    int64_t pageSize = getLayout(op.getSource().getType()).getPageSize();
    int64_t count = cast<VectorType>(op.getRows().getType()).getDimSize(0);
    checkBatch(check, op.getSource(), op.getBatch());
    checkToken(check, op.getSource(), op.getToken(), count, pageSize);
    int64_t step = std::min(count, pageSize);
    check.requireMultiple(op.getToken(), step,
                          "expected 'token' to be a multiple of " +
                              Twine(step));
  }
};

template <typename Op>
struct PointerChecks : public ChecksModel<Op, PointerChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    Value source = op.getSource();
    LayoutAttr layout = getLayout(source.getType());
    auto view = cast<MemRefType>(op.getView().getType());
    int64_t tile = view.getDimSize(0), pageSize = layout.getPageSize();
    checkBatch(check, op.getSource(), op.getBatch());
    checkToken(check, op.getSource(), op.getToken(), 1, pageSize);
    if (tile > 1)
      check.require(check.b.createOrFold<arith::RemUIOp>(
                        op.getToken(), check.constant(pageSize)),
                    Predicate::ule, check.constant(pageSize - tile),
                    "expected " + Twine(tile) +
                        " tokens from 'token' on to lie in one page");
    checkHead(check, layout, op.getHead());
    if (!op.getDim())
      return;
    AccessedStretch stretch = getAccessedStretch(op);
    if (stretch.perLane == 2)
      checkEven(check, op.getDim());
    checkStretch(check, layout, stretch, op.getDim(), view.getDimSize(1));
  }
};

template <typename Op>
struct AccessChecks : public ChecksModel<Op, AccessChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    Value paged;
    Type accessed;
    if constexpr (llvm::is_one_of<Op, StoreOp, StoreScaleOp>::value) {
      paged = op.getTarget();
      accessed = op.getValue().getType();
    } else {
      paged = op.getSource();
      accessed = op.getResult().getType();
    }
    LayoutAttr layout = getLayout(paged.getType());
    AccessedStretch stretch = getAccessedStretch(op);
    int64_t pageSize = layout.getPageSize();
    // Codes of f4E2M1FN come two at a time.
    if (stretch.perLane == 2)
      checkEven(check, op.getDim());
    // What is out of range under `skip` is left out, which is no fault.
    if (op.getPolicy() == OutOfRange::skip)
      return;
    checkBatch(check, paged, op.getBatch());
    checkToken(check, paged, op.getToken(), 1, pageSize);
    checkBlock(check, paged, stretch.pool, op.getBatch(), op.getToken(),
               pageSize);
    // A dequantising load reads the scale too, which may have another block.
    if (std::is_same_v<Op, LoadOp> && layout.isQuantized() &&
        layout.hasSeparatePools())
      checkBlock(check, paged, Pool::scales, op.getBatch(), op.getToken(),
                 pageSize);
    checkHead(check, layout, op.getHead());
    auto vector = dyn_cast<VectorType>(accessed);
    int64_t lanes = vector ? vector.getDimSize(0) : 1;
    checkStretch(check, layout, stretch, op.getDim(), lanes);
  }
};

struct BlockIdChecks : public ChecksModel<BlockIdOp, BlockIdChecks> {
  static void generate(BlockIdOp op, RuntimeChecks &check) {
    if (op.getPolicy() == OutOfRange::skip)
      return;
    checkBatch(check, op.getSource(), op.getBatch());
    checkPage(check, op.getSource(), op.getPage(), "'page'");
  }
};

template <typename Op>
struct InPageChecks : public ChecksModel<Op, InPageChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    Value operand;
    Type accessed;
    if constexpr (std::is_same_v<Op, StoreInPageOp>) {
      operand = op.getTarget();
      accessed = op.getValue().getType();
    } else {
      operand = op.getSource();
      accessed = op.getResult().getType();
    }
    LayoutAttr layout = getLayout(operand.getType());
    PoolLayout pool = PoolLayout::get(layout, op.getPool());
    checkBlockId(check, operand, op.getBlock());
    check.require(op.getSlot(), Predicate::ult,
                  check.constant(layout.getPageSize()),
                  "expected 'slot' to be less than page_size " +
                      Twine(layout.getPageSize()));
    checkHead(check, layout, op.getHead());
    // Elements count on over heads that lie side by side.
    Value first = check.b.createOrFold<arith::DivUIOp>(
        op.getDim(), check.constant(pool.elementsPerStorage));
    int64_t end = pool.inner;
    if (pool.hasContiguousHeads()) {
      end = pool.rowSize();
      first = check.b.createOrFold<arith::AddIOp>(
          first, check.b.createOrFold<arith::MulIOp>(
                     op.getHead(), check.constant(pool.inner)));
    }
    auto vector = dyn_cast<VectorType>(accessed);
    int64_t lanes = vector ? vector.getDimSize(0) : 1;
    check.require(first, Predicate::ule, check.constant(end - lanes),
                  "expected " + Twine(lanes) + " of " + Twine(end) +
                      " stored elements side by side from 'dim' on");
  }
};

struct PagePtrChecks : public ChecksModel<PagePtrOp, PagePtrChecks> {
  static void generate(PagePtrOp op, RuntimeChecks &check) {
    Value block = check.b.createOrFold<arith::IndexCastUIOp>(
        check.b.getIndexType(), op.getBlock());
    check.require(block, Predicate::ult,
                  NumBlocksOp::create(check.b, op.getSource()),
                  "expected 'block' to be a block of the pool");
  }
};

} // namespace

void mlir::kvcache::attachAccessRuntimeChecks(MLIRContext *context) {
  GetKeyCacheOp::attachInterface<LayerChecks<GetKeyCacheOp>>(*context);
  GetValueCacheOp::attachInterface<LayerChecks<GetValueCacheOp>>(*context);
  CacheLengthOp::attachInterface<LengthChecks>(*context);
  RowIdxOp::attachInterface<RowChecks<RowIdxOp>>(*context);
  BlockRowIdxOp::attachInterface<RowChecks<BlockRowIdxOp>>(*context);
  PopulateOp::attachInterface<PopulateChecks>(*context);
  BlockPagedPtrOp::attachInterface<PointerChecks<BlockPagedPtrOp>>(*context);
  ScalesBlockPagedPtrOp::attachInterface<PointerChecks<ScalesBlockPagedPtrOp>>(
      *context);
  PagePtrOp::attachInterface<PagePtrChecks>(*context);
  BlockIdOp::attachInterface<BlockIdChecks>(*context);
  LoadInPageOp::attachInterface<InPageChecks<LoadInPageOp>>(*context);
  StoreInPageOp::attachInterface<InPageChecks<StoreInPageOp>>(*context);
  LoadOp::attachInterface<AccessChecks<LoadOp>>(*context);
  LoadQuantizedOp::attachInterface<AccessChecks<LoadQuantizedOp>>(*context);
  LoadScaleOp::attachInterface<AccessChecks<LoadScaleOp>>(*context);
  StoreOp::attachInterface<AccessChecks<StoreOp>>(*context);
  StoreScaleOp::attachInterface<AccessChecks<StoreScaleOp>>(*context);
}
