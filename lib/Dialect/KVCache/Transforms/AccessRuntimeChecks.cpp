//===- AccessRuntimeChecks.cpp - Bounds of lookups and accesses -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr int64_t limit32 = int64_t(1) << 32;

Value dimOf(RuntimeChecks &check, Value memref, int64_t dim) {
  return check.b.createOrFold<memref::DimOp>(memref, dim);
}

void checkBatch(RuntimeChecks &check, GetPagedCacheOp collection, Value batch) {
  Value size = collection ? dimOf(check, collection.getLookupTable(), 0)
                          : check.constant(limit32);
  check.require(batch, Predicate::ult, size,
                collection ? "expected 'batch' to be less than the number of "
                             "sequences (B)"
                           : "expected 'batch' to be less than 4294967296");
}

/// Checks the positions of the `count` tokens from `token` on.
void checkToken(RuntimeChecks &check, GetPagedCacheOp collection, Value token,
                int64_t count, int64_t pageSize) {
  // Compared before the sum is made, so that nothing wraps.
  check.require(token, Predicate::ult, check.constant(limit32),
                "expected 'token' to be less than 4294967296");
  if (!collection)
    return;
  Value last =
      check.b.createOrFold<arith::AddIOp>(token, check.constant(count - 1));
  Value page =
      check.b.createOrFold<arith::DivUIOp>(last, check.constant(pageSize));
  check.require(page, Predicate::ult,
                dimOf(check, collection.getLookupTable(), 1),
                "expected the page of 'token' to be less than the number of "
                "table columns (M)");
}

/// Checks that the block that the table names lies in the pool.
void checkBlock(RuntimeChecks &check, GetPagedCacheOp collection, Pool pool,
                Value batch, Value token, int64_t pageSize) {
  if (!collection)
    return;
  Value page =
      check.b.createOrFold<arith::DivUIOp>(token, check.constant(pageSize));
  Value entry = memref::LoadOp::create(check.b, collection.getTable(pool),
                                       ValueRange{batch, page});
  Value block =
      arith::IndexCastUIOp::create(check.b, check.b.getIndexType(), entry);
  check.require(block, Predicate::ult,
                dimOf(check, collection.getPool(pool), 0),
                pool == Pool::scales && collection.getScales()
                    ? "expected the block to be less than the number of scales "
                      "blocks (NBs)"
                    : "expected the block to be less than the number of value "
                      "blocks (NB)");
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
  check.require(check.b.createOrFold<arith::RemUIOp>(dim, check.constant(2)),
                Predicate::eq, check.constant(0), "expected an even 'dim'");
}

void checkHead(RuntimeChecks &check, LayoutAttr layout, Value head) {
  check.require(head, Predicate::ult, check.constant(layout.getNumHeads()),
                "expected 'head' to be less than num_heads " +
                    Twine(layout.getNumHeads()));
}

template <typename Op, typename Derived>
struct Checks
    : public RuntimeVerifiableOpInterface::ExternalModel<Derived, Op> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc,
                                   RuntimeChecks::MessageFn message) const {
    RuntimeChecks check(op, builder, loc, message);
    Derived::generate(cast<Op>(op), check);
  }
};

template <typename Op> struct LayerChecks : public Checks<Op, LayerChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    if (GetPagedCacheOp collection = getCollectionOp(op.getCollection()))
      check.require(
          op.getLayer(), Predicate::ult,
          dimOf(check, collection.getBlocks(), 2),
          "expected 'layer' to be less than the number of layers (L)");
    else
      check.require(op.getLayer(), Predicate::sge, check.constant(0),
                    "expected 'layer' to be at least 0");
  }
};

struct LengthChecks : public Checks<CacheLengthOp, LengthChecks> {
  static void generate(CacheLengthOp op, RuntimeChecks &check) {
    checkBatch(check, getCollectionOp(op.getSource()), op.getBatch());
  }
};

template <typename Op> struct RowChecks : public Checks<Op, RowChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    GetPagedCacheOp collection = getCollectionOp(op.getSource());
    int64_t pageSize = getLayout(op.getSource().getType()).getPageSize();
    checkBatch(check, collection, op.getBatch());
    checkToken(check, collection, op.getToken(), 1, pageSize);
  }
};

struct PopulateChecks : public Checks<PopulateOp, PopulateChecks> {
  static void generate(PopulateOp op, RuntimeChecks &check) {
    GetPagedCacheOp collection = getCollectionOp(op.getSource());
    int64_t pageSize = getLayout(op.getSource().getType()).getPageSize();
    int64_t count = cast<VectorType>(op.getRows().getType()).getDimSize(0);
    checkBatch(check, collection, op.getBatch());
    checkToken(check, collection, op.getToken(), count, pageSize);
    int64_t step = std::min(count, pageSize);
    check.require(check.b.createOrFold<arith::RemUIOp>(op.getToken(),
                                                       check.constant(step)),
                  Predicate::eq, check.constant(0),
                  "expected 'token' to be a multiple of " + Twine(step));
  }
};

template <typename Op>
struct PointerChecks : public Checks<Op, PointerChecks<Op>> {
  static void generate(Op op, RuntimeChecks &check) {
    Value source = op.getSource();
    GetPagedCacheOp collection = getCollectionOp(source);
    LayoutAttr layout = getLayout(source.getType());
    auto view = cast<MemRefType>(op.getView().getType());
    int64_t tile = view.getDimSize(0), pageSize = layout.getPageSize();
    checkBatch(check, collection, op.getBatch());
    checkToken(check, collection, op.getToken(), 1, pageSize);
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
struct AccessChecks : public Checks<Op, AccessChecks<Op>> {
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
    GetPagedCacheOp collection = getCollectionOp(paged);
    checkBatch(check, collection, op.getBatch());
    checkToken(check, collection, op.getToken(), 1, pageSize);
    checkBlock(check, collection, stretch.pool, op.getBatch(), op.getToken(),
               pageSize);
    // A dequantising load reads the scale too, which may have another block.
    if (std::is_same_v<Op, LoadOp> && layout.isQuantized() &&
        layout.hasSeparatePools())
      checkBlock(check, collection, Pool::scales, op.getBatch(), op.getToken(),
                 pageSize);
    checkHead(check, layout, op.getHead());
    auto vector = dyn_cast<VectorType>(accessed);
    int64_t lanes = vector ? vector.getDimSize(0) : 1;
    checkStretch(check, layout, stretch, op.getDim(), lanes);
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
  LoadOp::attachInterface<AccessChecks<LoadOp>>(*context);
  LoadQuantizedOp::attachInterface<AccessChecks<LoadQuantizedOp>>(*context);
  LoadScaleOp::attachInterface<AccessChecks<LoadScaleOp>>(*context);
  StoreOp::attachInterface<AccessChecks<StoreOp>>(*context);
  StoreScaleOp::attachInterface<AccessChecks<StoreScaleOp>>(*context);
}
