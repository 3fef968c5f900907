//===- CollectionRuntimeChecks.cpp - The contract of a collection ---------===//
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

constexpr int64_t maxUnsigned32 = 0xffffffff;

/// A memref with its sizes and strides.
struct Buffer {
  Buffer(RuntimeChecks &check, TypedValue<MemRefType> memref)
      : memref(memref), type(memref.getType()),
        metadata(memref::ExtractStridedMetadataOp::create(check.b, memref)) {
    for (OpFoldResult size : metadata.getConstifiedMixedSizes())
      sizes.push_back(check.value(size));
    for (OpFoldResult stride : metadata.getConstifiedMixedStrides())
      strides.push_back(check.value(stride));
  }

  TypedValue<MemRefType> memref;
  MemRefType type;
  memref::ExtractStridedMetadataOp metadata;
  SmallVector<Value> sizes, strides;
};

/// Rows of a table do not overlap, and its entries are found by 32-bit
/// arithmetic.
void checkTable(RuntimeChecks &check, StringRef name, const Buffer &table) {
  Value batch = table.sizes[0], columns = table.sizes[1],
        stride = table.strides[0], one = check.constant(1);
  Value oneRow = check.compare(batch, Predicate::ule, one);
  check.require(check.b.createOrFold<arith::OrIOp>(
                    oneRow, check.compare(stride, Predicate::sge, columns)),
                "expected stride 0 (B) of '" + name + "' to be at least M",
                {stride, columns});
  // A product could wrap; a quotient cannot.
  Value row = check.b.createOrFold<arith::SelectOp>(oneRow, columns, stride);
  Value entries = check.b.createOrFold<arith::DivUIOp>(
      check.constant(maxUnsigned32),
      check.b.createOrFold<arith::MaxUIOp>(row, one));
  check.require(batch, Predicate::ule, entries,
                "expected the number of entries of '" + name +
                    "' to be less than 4294967296");
}

void checkSameSize(RuntimeChecks &check, const Buffer &a, unsigned aDim,
                   const Buffer &b, unsigned bDim, const Twine &text) {
  check.require(a.sizes[aDim], Predicate::eq, b.sizes[bDim], text);
}

/// Everything but the pages is packed, pages are whole rows or what the layout
/// says of a pool of bytes, and the pool is aligned.
void checkPool(RuntimeChecks &check, StringRef name, const Buffer &pool,
               const PoolLayout &layout) {
  SmallVector<StringRef, 6> dims = layout.dimNames();
  SmallVector<int64_t, 6> packed = layout.packedStrides(1);
  Value layers = pool.sizes[2];
  // A side is all layers of it, a page all sides.
  Value side =
      check.b.createOrFold<arith::MulIOp>(layers, check.constant(packed[1]));
  Value page =
      check.b.createOrFold<arith::MulIOp>(side, check.constant(layout.sides));
  for (unsigned dim = 1; dim < dims.size(); ++dim) {
    Value expected = dim == 1 ? side : check.constant(packed[dim]);
    Value single =
        check.compare(pool.sizes[dim], Predicate::ule, check.constant(1));
    check.require(
        check.b.createOrFold<arith::OrIOp>(
            single, check.compare(pool.strides[dim], Predicate::eq, expected)),
        "expected stride " + Twine(dim) + " (" + dims[dim] + ") of '" + name +
            "' to be packed; only pages may be padded",
        {pool.strides[dim], expected});
  }
  // Nothing steps from a block to the next one where there is none.
  Value oneBlock =
      check.compare(pool.sizes[0], Predicate::ule, check.constant(1));
  auto requirePitch = [&](Value holds, const Twine &text, ValueRange numbers) {
    check.require(check.b.createOrFold<arith::OrIOp>(oneBlock, holds), text,
                  numbers);
  };
  Value pitch = pool.strides[0];
  // A pitch that is a multiple of what pages are padded to, and at least a
  // packed page, is at least a padded one.
  requirePitch(check.compare(pitch, Predicate::sge, page),
               "expected a page pitch (stride 0) of '" + name +
                   "' of at least a packed page",
               {pitch, page});
  int64_t multiple = layout.isBytes ? layout.pitchMultiple : layout.rowSize();
  requirePitch(check.isMultiple(pitch, multiple),
               "expected the page pitch (stride 0) of '" + name +
                   "' to be a multiple of " +
                   (layout.isBytes ? "" : "a row of ") + Twine(multiple) +
                   (layout.isBytes ? " bytes" : " elements"),
               pitch);
  Value address = check.b.createOrFold<arith::AddIOp>(
      memref::ExtractAlignedPointerAsIndexOp::create(check.b, pool.memref),
      check.b.createOrFold<arith::MulIOp>(
          check.value(memref::ExtractStridedMetadataOp(pool.metadata)
                          .getConstifiedMixedOffset()),
          check.constant(layout.poolBytes())));
  check.requireMultiple(address, poolAlignment,
                        "expected '" + name + "' to be aligned to " +
                            Twine(poolAlignment) + " bytes");
}

/// Checks the pools of a collection, against one another too.
template <typename Op> void checkPools(RuntimeChecks &check, Op op) {
  LayoutAttr layout = op.getCollection().getType().getLayout();
  Buffer blocks(check, op.getBlocks());
  checkPool(check, "blocks", blocks, PoolLayout::get(layout, Pool::values));
  if (!op.getScales())
    return;
  Buffer scales(check, op.getScales());
  checkPool(check, "scales", scales, PoolLayout::get(layout, Pool::scales));
  checkSameSize(check, scales, 2, blocks, 2,
                "expected as many layers (L) of 'scales' as of 'blocks'");
  if (!layout.hasOwnScalesTable())
    checkSameSize(check, scales, 0, blocks, 0,
                  "expected as many scales blocks (NBs) as value blocks (NB) "
                  "where both share a table");
}

struct GetPagedCacheChecks
    : public RuntimeVerifiableOpInterface::ExternalModel<GetPagedCacheChecks,
                                                         GetPagedCacheOp> {
  void generateRuntimeVerification(Operation *operation, OpBuilder &builder,
                                   Location loc,
                                   RuntimeChecks::MessageFn message) const {
    auto op = cast<GetPagedCacheOp>(operation);
    LayoutAttr layout = op.getLayout();
    RuntimeChecks check(op, builder, loc, message);

    Buffer table(check, op.getLookupTable());
    Buffer lengths(check, op.getCacheLengths());
    checkSameSize(check, lengths, 0, table, 0,
                  "expected as many 'cache_lengths' as rows of 'lookup_table' "
                  "(B)");
    checkTable(check, "lookup_table", table);
    check.require(table.sizes[1], Predicate::ule,
                  check.constant(maxUnsigned32 / layout.getPageSize()),
                  "expected the number of positions, M * P, to be less than "
                  "4294967296");
    for (auto [name, memref] :
         {std::pair("max_prompt_length", op.getMaxPromptLength()),
          std::pair("max_cache_length", op.getMaxCacheLength())})
      check.require(check.b.createOrFold<memref::DimOp>(memref, 0),
                    Predicate::eq, check.constant(1),
                    Twine("expected '") + name + "' to have 1 entry");

    checkPools(check, op);
    if (!op.getScalesLookupTable())
      return;
    Buffer scalesTable(check, op.getScalesLookupTable());
    checkSameSize(check, scalesTable, 0, table, 0,
                  "expected as many rows (B) of 'scales_lookup_table' as of "
                  "'lookup_table'");
    checkSameSize(check, scalesTable, 1, table, 1,
                  "expected as many columns (M) of 'scales_lookup_table' as of "
                  "'lookup_table'");
    checkTable(check, "scales_lookup_table", scalesTable);
  }
};

struct GetPagePoolsChecks
    : public RuntimeVerifiableOpInterface::ExternalModel<GetPagePoolsChecks,
                                                         GetPagePoolsOp> {
  void generateRuntimeVerification(Operation *operation, OpBuilder &builder,
                                   Location loc,
                                   RuntimeChecks::MessageFn message) const {
    auto op = cast<GetPagePoolsOp>(operation);
    RuntimeChecks check(op, builder, loc, message);
    checkPools(check, op);
  }
};

} // namespace

void mlir::kvcache::attachCollectionRuntimeChecks(MLIRContext *context) {
  GetPagedCacheOp::attachInterface<GetPagedCacheChecks>(*context);
  GetPagePoolsOp::attachInterface<GetPagePoolsChecks>(*context);
}
