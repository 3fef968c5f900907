//===- ConvertLookups.cpp - Lengths, rows and pointers -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

template <typename Op> struct LookupPattern : public OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using OneToNOpAdaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

  /// What the op is replaced with.
  virtual SmallVector<Value> lower(Op op, OneToNOpAdaptor adaptor,
                                   ImplicitLocOpBuilder &b,
                                   Addressing &at) const = 0;

  LogicalResult
  matchAndRewrite(Op op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    rewriter.replaceOp(op, lower(op, adaptor, b, at));
    return success();
  }

protected:
  /// The pool that the op's source speaks of.
  static Pool poolOf(Op op) {
    return cast<MHAOperandTypeInterface>(op.getSource().getType()).getPool();
  }
};

struct ConvertCacheLength : public LookupPattern<CacheLengthOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(CacheLengthOp op, OneToNOpAdaptor adaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    Value batch = adaptor.getBatch().front();
    if (op.getPolicy() == OutOfRange::trap)
      at.trapUnless(Bound{"sequence", batch, at.getValues().batch});
    return {at.toIndex(TableReadOp::create(
        b, b.getI32Type(), at.getValues().lengths, at.toI32(batch),
        /*alignment=*/IntegerAttr()))};
  }
};

/// The number that a list of one entry holds.
Value onlyEntry(ImplicitLocOpBuilder &b, Addressing &at, Value list) {
  return TableReadOp::create(b, b.getI32Type(), list, at.i32(0),
                             /*alignment=*/IntegerAttr());
}

struct ConvertMaxPromptLength : public LookupPattern<MaxPromptLengthOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(MaxPromptLengthOp, OneToNOpAdaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    return {at.toIndex(onlyEntry(b, at, at.getValues().maxPrompt))};
  }
};

struct ConvertMaxContextLength : public LookupPattern<MaxContextLengthOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(MaxContextLengthOp, OneToNOpAdaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    return {at.toIndex(onlyEntry(b, at, at.getValues().maxCache))};
  }
};

struct ConvertEmptyCache : public LookupPattern<EmptyCacheOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(EmptyCacheOp, OneToNOpAdaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    return {arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                  onlyEntry(b, at, at.getValues().maxCache),
                                  at.i32(0))};
  }
};

/// Rows from one block of the pool to the next: pages are whole rows.
Value rowsPerBlock(Addressing &at, Pool pool) {
  return at.divide(at.getValues().pool(pool).pitch,
                   at.poolLayout(pool).rowBytes());
}

struct ConvertNumKVRows : public LookupPattern<NumKVRowsOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(NumKVRowsOp op, OneToNOpAdaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    Pool pool = poolOf(op);
    Value blocks = at.getValues().pool(pool).blocks;
    Value before = b.createOrFold<arith::SubIOp>(blocks, at.index(1));
    Value rows =
        at.add(b.createOrFold<arith::MulIOp>(before, rowsPerBlock(at, pool)),
               at.index(at.getLayoutAttr().getPageSize()));
    Value none = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, blocks,
                                               at.index(0));
    return {b.createOrFold<arith::SelectOp>(none, at.index(0), rows)};
  }
};

/// block * (pitch / row) + slot.
Value rowOf(ImplicitLocOpBuilder &b, Addressing &at, Pool pool,
            Position position) {
  Value first = b.createOrFold<arith::MulIOp>(at.toIndex(position.block),
                                              rowsPerBlock(at, pool));
  return at.add(first, at.toIndex(position.slot));
}

struct ConvertRowIdx : public LookupPattern<RowIdxOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(RowIdxOp op, OneToNOpAdaptor adaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    Pool pool = poolOf(op);
    return at.atPosition(pool, op.getPolicy(), adaptor.getBatch().front(),
                         adaptor.getToken().front(), /*alsoInside=*/{},
                         b.getIndexType(),
                         [&](Position position) -> SmallVector<Value> {
                           return {rowOf(b, at, pool, position)};
                         });
  }
};

struct ConvertBlockRowIdx : public LookupPattern<BlockRowIdxOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(BlockRowIdxOp op, OneToNOpAdaptor adaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    return at.atPosition(poolOf(op), op.getPolicy(), adaptor.getBatch().front(),
                         adaptor.getToken().front(), /*alsoInside=*/{},
                         {b.getIndexType(), b.getIndexType()},
                         [&](Position position) -> SmallVector<Value> {
                           return {at.toIndex(position.block),
                                   at.toIndex(position.slot)};
                         });
  }
};

struct ConvertPopulate : public LookupPattern<PopulateOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(PopulateOp op, OneToNOpAdaptor adaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    Pool pool = poolOf(op);
    auto type = cast<VectorType>(op.getRows().getType());
    int64_t count = type.getDimSize(0);
    int64_t pageSize = at.getLayoutAttr().getPageSize();
    int64_t inPage = std::min(count, pageSize);
    int64_t pages = count / inPage;
    Value batch = adaptor.getBatch().front(),
          token = adaptor.getToken().front();

    if (op.getPolicy() == OutOfRange::trap) {
      Value last = at.add(token, at.index(count - 1));
      // A tile inside a page must not reach past it.
      SmallVector<Bound> bounds = {
          {"token after the last multiple of " + std::to_string(inPage),
           at.remainder(token, inPage), at.index(1)}};
      llvm::append_range(bounds,
                         at.insideTable(batch, at.divide(token, pageSize)));
      bounds.push_back({"last table column", at.divide(last, pageSize),
                        at.getValues().columns});
      at.trapUnless(bounds);
    }
    Value token32 = at.toI32(token);
    Value row = b.createOrFold<arith::MulIOp>(
        at.toI32(batch), at.getValues().pool(pool).tableStride);
    Value first = at.add(row, at.divide(token32, pageSize));
    SmallVector<Value> blocks = readEntries(op, b, at, pool, first, pages);
    if (op.getPolicy() == OutOfRange::trap)
      for (Value block : blocks)
        at.trapUnless(at.insidePool(pool, block));

    // A tile inside a page starts at some slot of it; one of whole pages at 0.
    Value slot = pages > 1 ? at.i32(0) : at.remainder(token32, pageSize);
    Value rows = arith::ConstantOp::create(b, b.getZeroAttr(type));
    Value lanes;
    {
      SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq(inPage));
      auto laneType = VectorType::get({inPage}, b.getIndexType());
      SmallVector<Attribute> attributes =
          llvm::map_to_vector(numbers, [&](int64_t number) -> Attribute {
            return b.getIndexAttr(number);
          });
      lanes = arith::ConstantOp::create(
          b, DenseElementsAttr::get(laneType, attributes));
    }
    for (auto [page, block] : llvm::enumerate(blocks)) {
      Value base = vector::BroadcastOp::create(
          b, lanes.getType(), rowOf(b, at, pool, {block, slot}));
      Value ofPage = arith::AddIOp::create(b, base, lanes);
      rows = pages == 1 ? ofPage
                        : vector::InsertStridedSliceOp::create(
                              b, ofPage, rows, {int64_t(page) * inPage}, {1})
                              .getResult();
    }
    return {rows};
  }

  /// `count` entries from `first` on, several at once where the alignment that
  /// was promised of the first one allows.
  static SmallVector<Value> readEntries(PopulateOp op, ImplicitLocOpBuilder &b,
                                        Addressing &at, Pool pool, Value first,
                                        int64_t count) {
    constexpr int64_t entryBytes = 4, maxBytes = 16;
    int64_t alignment = op.getAlignment().value_or(entryBytes);
    int64_t width = std::min(alignment, maxBytes) / entryBytes;
    SmallVector<Value> entries;
    for (int64_t next = 0; next < count;) {
      while (width > count - next)
        width /= 2;
      Value place = at.add(first, at.i32(next));
      Value table = at.getValues().pool(pool).table;
      if (width == 1) {
        entries.push_back(TableReadOp::create(b, b.getI32Type(), table, place,
                                              /*alignment=*/IntegerAttr()));
      } else {
        Value read = TableReadOp::create(
            b, VectorType::get({width}, b.getI32Type()), table, place,
            b.getI64IntegerAttr(width * entryBytes));
        for (int64_t lane = 0; lane < width; ++lane)
          entries.push_back(vector::ExtractOp::create(b, read, lane));
      }
      next += width;
    }
    return entries;
  }
};

template <typename PtrOp, bool scales>
struct ConvertPagedPtr : public LookupPattern<PtrOp> {
  using LookupPattern<PtrOp>::LookupPattern;
  using OneToNOpAdaptor = typename LookupPattern<PtrOp>::OneToNOpAdaptor;

  SmallVector<Value> lower(PtrOp op, OneToNOpAdaptor adaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    Pool pool = scales ? Pool::scales : this->poolOf(op);
    auto view = cast<MemRefType>(op.getView().getType());
    Value head = adaptor.getHead().front();
    Value dim = adaptor.getDim().empty() ? Value() : adaptor.getDim().front();
    SmallVector<Bound> inside;
    if (op.getPolicy() == OutOfRange::trap) {
      int64_t lanes = view.getDimSize(1);
      int64_t per = at.poolLayout(pool).elementsPerStorage;
      inside = at.insideRow(pool, head, dim,
                            pool == Pool::scales ? lanes : lanes * per);
      // All tokens of the tile lie in the page of the first one.
      if (int64_t tile = view.getDimSize(0); tile > 1) {
        int64_t pageSize = at.getLayoutAttr().getPageSize();
        Value slot = at.remainder(adaptor.getToken().front(), pageSize);
        inside.push_back({"first slot of " + std::to_string(tile), slot,
                          at.index(pageSize - tile + 1)});
      }
    }
    return at.atPosition(
        pool, op.getPolicy(), adaptor.getBatch().front(),
        adaptor.getToken().front(), inside, view,
        [&](Position position) -> SmallVector<Value> {
          Value page = at.pageView(pool, position.block);
          Value offset = at.inPage(pool, position.slot, head, dim);
          SmallVector<OpFoldResult> sizes = {
              b.getIndexAttr(view.getDimSize(0)),
              b.getIndexAttr(view.getDimSize(1))};
          SmallVector<OpFoldResult> strides = {
              b.getIndexAttr(at.poolLayout(pool).slotStride()),
              b.getIndexAttr(1)};
          return {memref::ReinterpretCastOp::create(
              b, view, page, OpFoldResult(offset), sizes, strides)};
        });
  }
};

struct ConvertScalesRawPtr : public LookupPattern<ScalesRawPtrOp> {
  using LookupPattern::LookupPattern;

  SmallVector<Value> lower(ScalesRawPtrOp op, OneToNOpAdaptor,
                           ImplicitLocOpBuilder &b,
                           Addressing &at) const override {
    // The operand already points to the scales, or there are none.
    if (!cast<MHAOperandTypeInterface>(op.getSource().getType())
             .getScaleDtype())
      return {LLVM::ZeroOp::create(b, op.getType())};
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(
        b, at.getValues().scales->base);
    Value integer = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
    return {LLVM::IntToPtrOp::create(b, op.getType(), integer)};
  }
};

} // namespace

void mlir::kvcache::populateLookupPatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  patterns.add<
      ConvertCacheLength, ConvertMaxPromptLength, ConvertMaxContextLength,
      ConvertEmptyCache, ConvertNumKVRows, ConvertRowIdx, ConvertBlockRowIdx,
      ConvertPopulate, ConvertPagedPtr<BlockPagedPtrOp, false>,
      ConvertPagedPtr<ScalesBlockPagedPtrOp, true>, ConvertScalesRawPtr>(
      converter, patterns.getContext());
}
