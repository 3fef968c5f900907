//===- PageRuntimeChecks.cpp - Contracts of kernels on whole pages --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"
#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

Value sizeOf(RuntimeChecks &check, Value memref, int64_t dim = 0) {
  return check.b.createOrFold<memref::DimOp>(memref, dim);
}

/// Blocks of a pool of a collection.
Value countBlocks(RuntimeChecks &check, Value collection, Pool pool) {
  Value keys = GetKeyCacheOp::create(check.b, collection, check.constant(0));
  Value operand = keys;
  if (pool == Pool::scales)
    operand = ScalesMHAOperandOp::create(check.b, keys);
  return NumBlocksOp::create(check.b, operand);
}

void checkLayers(RuntimeChecks &check, Value collection,
                 std::optional<ArrayRef<int64_t>> layers) {
  if (!layers || layers->empty())
    return;
  int64_t last = *llvm::max_element(*layers);
  check.require(check.constant(last), Predicate::ult,
                NumLayersOp::create(check.b, collection),
                "expected more layers than layer " + Twine(last));
}

/// `workspace` has `perItem` entries for each of `count` items and `more`.
void checkWorkspace(RuntimeChecks &check, Value workspace, Value count,
                    int64_t perItem, int64_t more, const Twine &what) {
  Value size = sizeOf(check, workspace);
  Value needed = check.b.createOrFold<arith::AddIOp>(
      check.b.createOrFold<arith::MulIOp>(count, check.constant(perItem)),
      check.constant(more));
  check.require(needed, Predicate::ule, size,
                "expected a 'workspace' of " + Twine(perItem) + " entries a " +
                    what + (more ? " and " + Twine(more) : Twine()));
}

struct PagePtrChecks : public ChecksModel<PagePtrOp, PagePtrChecks> {
  static void generate(PagePtrOp op, RuntimeChecks &check) {
    Value block = check.b.createOrFold<arith::IndexCastUIOp>(
        check.b.getIndexType(), op.getBlock());
    check.require(block, Predicate::ult,
                  NumBlocksOp::create(check.b, op.getSource()),
                  "expected 'block' to be a block of the pool");
  }
};

struct ClearPagesChecks : public ChecksModel<ClearPagesOp, ClearPagesChecks> {
  static void generate(ClearPagesOp op, RuntimeChecks &check) {
    checkLayers(check, op.getCollection(), op.getLayers());
  }
};

struct CopyPagesChecks : public ChecksModel<CopyPagesOp, CopyPagesChecks> {
  static void generate(CopyPagesOp op, RuntimeChecks &check) {
    checkLayers(check, op.getCollection(), op.getLayers());
    if (!op.getWorkspace())
      return;
    for (Value list : op.getPairs())
      checkWorkspace(check, op.getWorkspace(), sizeOf(check, list), 4, 0,
                     "pair");
  }
};

struct MoveTokensChecks : public ChecksModel<MoveTokensOp, MoveTokensChecks> {
  static void generate(MoveTokensOp op, RuntimeChecks &check) {
    checkLayers(check, op.getCollection(), op.getLayers());
    for (auto [source, target] :
         llvm::zip_equal(op.getSources(), op.getDestinations())) {
      check.require(sizeOf(check, source), Predicate::eq, sizeOf(check, target),
                    "expected as many 'destinations' as 'sources'");
      if (op.getWorkspace())
        checkWorkspace(check, op.getWorkspace(), sizeOf(check, source), 4, 0,
                       "pair");
    }
  }
};

struct CompactChecks : public ChecksModel<CompactOp, CompactChecks> {
  static void generate(CompactOp op, RuntimeChecks &check) {
    Value collection = op.getCollection();
    for (Value table : op.getTables()) {
      check.require(sizeOf(check, table, 0), Predicate::eq,
                    BatchSizeOp::create(check.b, collection),
                    "expected 'tables' of as many rows as the collection has "
                    "sequences");
      check.require(sizeOf(check, table, 1), Predicate::eq,
                    TableColumnsOp::create(check.b, collection),
                    "expected 'tables' of as many columns as the collection's");
    }
    SmallVector<Pool> pools = {Pool::values};
    if (op.getLayout().hasOwnScalesTable())
      pools.push_back(Pool::scales);
    for (Pool pool : pools)
      checkWorkspace(check, op.getWorkspace(),
                     countBlocks(check, collection, pool), 6, 64, "block");
  }
};

struct ConvertLayoutChecks
    : public ChecksModel<ConvertLayoutOp, ConvertLayoutChecks> {
  static void generate(ConvertLayoutOp op, RuntimeChecks &check) {
    checkLayers(check, op.getSource(), op.getLayers());
    check.require(NumLayersOp::create(check.b, op.getSource()), Predicate::eq,
                  NumLayersOp::create(check.b, op.getTarget()),
                  "expected as many layers in 'target' as in 'source'");
    if (op.getPolicy() == OutOfRange::skip)
      return;
    SmallVector<Pool> pools = {Pool::values};
    if (kvcache::getLayout(op.getTarget().getType()).hasOwnScalesTable())
      pools.push_back(Pool::scales);
    for (Pool pool : pools)
      check.require(countBlocks(check, op.getSource(), pool), Predicate::ule,
                    countBlocks(check, op.getTarget(), pool),
                    "expected as many blocks in 'target' as in 'source'");
  }
};

} // namespace

void mlir::kvcache::attachPageRuntimeChecks(MLIRContext *context) {
  PagePtrOp::attachInterface<PagePtrChecks>(*context);
  ClearPagesOp::attachInterface<ClearPagesChecks>(*context);
  CopyPagesOp::attachInterface<CopyPagesChecks>(*context);
  MoveTokensOp::attachInterface<MoveTokensChecks>(*context);
  CompactOp::attachInterface<CompactChecks>(*context);
  ConvertLayoutOp::attachInterface<ConvertLayoutChecks>(*context);
}
