//===- GatherPages.cpp - The pages that kvcache.gather reads -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Items of work are numbered by the host, which knows sizes only. A padded
// tensor has as many for each sequence. In a ragged one sequence i starts at
// item floor(offsets[i] / P) + i: that leaves it one item more than whole pages
// fit between the floors, enough for all of its pages, and the items of all
// sequences are no more than floor(T / P) + B + 1. The last ones are for rows
// that belong to no sequence.
//
//===----------------------------------------------------------------------===//

#include "GatherPages.h"

#include "ControlFlow.h"
#include "Destinations.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

GatherPages::GatherPages(KernelBuilder &builder, GatherOp op,
                         const PageCut &cut)
    : builder(builder), host(builder.hostBuilder()), b(builder.body()), op(op),
      cut(cut),
      pageSize(kvcache::getLayout(op.getSource().getType()).getPageSize()) {
  Arith onHost(host);
  Value hostRows = sizeOf(host, op.getOut(), op.isRagged() ? 0 : 1);
  rows = builder.take(hostRows);
  if (op.isRagged()) {
    // A list without an entry has no sequences either.
    Value entries = host.createOrFold<arith::MaxUIOp>(
        sizeOf(host, op.getOffsets(), 0), onHost.index(1));
    Value all = onHost.add(onHost.div(hostRows, pageSize), entries);
    hostItems = host.createOrFold<arith::SelectOp>(
        onHost.equal(hostRows, onHost.index(0)), onHost.index(0), all);
    count = builder.take(onHost.sub(entries, onHost.index(1)));
    offsets = builder.takeList(op.getOffsets());
  } else {
    Value pages = onHost.ceilDiv(hostRows, pageSize);
    hostItems = onHost.mul(sizeOf(host, op.getOut(), 0), pages);
    perSequence = builder.take(pages);
  }
  if (cut.pagesPerBlock() > 1) {
    items = builder.take(hostItems);
    emitRemark(op.getLoc())
        << "pages are numbered in 64 bits: a block of threads has "
        << cut.pagesPerBlock()
        << " of them, so that memory may hold more than 2^32";
  }
  if (op.getSequences()) {
    sequences = builder.takeList(op.getSequences());
    if (op.getPolicy() != OutOfRange::assume)
      listed = builder.take(sizeOf(host, op.getSequences(), 0));
  }
}

Value GatherPages::blocks() {
  Arith arith(host);
  return arith.ceilDiv(arith.mul(hostItems, cut.slicesPerPage()),
                       cut.pagesPerBlock());
}

Value GatherPages::entry(Value list, Value index) {
  return Arith(b).toIndex(
      TableReadOp::create(b, b.getI32Type(), list, Arith(b).toI32(index),
                          /*alignment=*/IntegerAttr(), /*invariant=*/true));
}

GatherPages::Place GatherPages::placeOf(Value item) {
  Arith arith(b);
  Place place;
  if (!op.isRagged()) {
    Value perSequence = item.getType().isIndex()
                            ? this->perSequence
                            : arith.toI32(this->perSequence);
    place.sequence = arith.div(item, perSequence);
    place.page = arith.rem(item, perSequence);
    place.rows = rows;
    return place;
  }

  // The last sequence, or what is after them, that starts at or before the
  // item.
  item = arith.toIndex(item);
  auto startOf = [&](Value sequence) {
    return arith.add(arith.div(entry(offsets, sequence), pageSize), sequence);
  };
  SmallVector<Value> bounds = emitWhile(
      b, ValueRange{arith.index(0), arith.add(count, 1)},
      [&](ValueRange at) { return arith.less(arith.add(at[0], 1), at[1]); },
      [&](ValueRange at) -> SmallVector<Value> {
        Value middle = arith.add(at[0], arith.div(arith.sub(at[1], at[0]), 2));
        Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                            startOf(middle), item);
        return {arith::SelectOp::create(b, below, middle, at[0]),
                arith::SelectOp::create(b, below, at[1], middle)};
      });
  place.sequence = bounds[0];
  place.page = arith.sub(item, startOf(place.sequence));
  // Rows end where the tensor does, and nothing is made of offsets that
  // descend.
  place.start = arith.minimum(entry(offsets, place.sequence), rows);
  Value isSequence = arith.less(place.sequence, count);
  Value end = emitChoice(
      b, isSequence,
      [&] {
        Value next = entry(offsets, arith.add(place.sequence, 1));
        return arith.minimum(next, rows);
      },
      rows);
  Value stop = b.createOrFold<arith::MaxUIOp>(end, place.start);
  place.rows = arith.sub(stop, place.start);
  return place;
}

std::pair<Value, Value> GatherPages::lengthOf(Value cache, const Place &place) {
  Arith arith(b);
  Value sequence = arith.toIndex(place.sequence);
  OutOfRange policy = op.getPolicy();
  // What is after the last sequence has no length, nor is it listed.
  Value known = op.isRagged() ? arith.less(sequence, count) : Value();
  auto orZero = [&](Value condition, function_ref<SmallVector<Value>()> then) {
    SmallVector<Type> types(2, b.getIndexType());
    return emitIfElse(b, condition, types, then,
                      [&] { return emitZeros(b, types); });
  };
  // Under `skip` joined to what is known, under `trap` tested.
  auto within = [&](StringRef name, Value number, Value size) -> Value {
    if (policy == OutOfRange::assume)
      return {};
    if (policy == OutOfRange::skip)
      return arith.less(number, size);
    emitTrapUnless(b, /*when=*/Value(), {{name.str(), number, size}});
    return {};
  };
  SmallVector<Value> result = orZero(known, [&] {
    return orZero(
        sequences ? within("entry of 'sequences'", sequence, listed) : Value(),
        [&] {
          Value batch = sequences ? entry(sequences, sequence) : sequence;
          Value size;
          if (policy != OutOfRange::assume)
            size = BatchSizeOp::create(b, cache);
          return orZero(
              within("sequence", batch, size), [&]() -> SmallVector<Value> {
                return {batch, CacheLengthOp::create(b, cache, batch)};
              });
        });
  });
  return {result[0], result[1]};
}

void GatherPages::lookUp(Value cache, bool needScales, Value batch, Value page,
                         GatherPage &result) {
  Arith arith(b);
  LayoutAttr layout = kvcache::getLayout(cache.getType());
  bool ownBlocks = needScales && layout.hasOwnScalesTable();
  Value none = arith.i32(0);
  Value some = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                             result.copied, none);
  SmallVector<Type> types(ownBlocks ? 3 : 2, b.getI32Type());
  auto findAll = [&] {
    OutOfRange policy = op.getPolicy();
    Value copied = result.copied, valid;
    auto find = [&](Pool pool) -> Value {
      Value block =
          BlockIdOp::create(b, operandOf(b, cache, pool), batch, page, policy);
      if (policy == OutOfRange::skip)
        valid =
            arith.both(valid, arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                                    block, arith.i32(-1)));
      return block;
    };
    SmallVector<Value> found = {Value(), find(Pool::values)};
    if (ownBlocks) {
      found.push_back(find(Pool::scales));
    } else if (needScales && layout.hasSeparatePools() &&
               policy != OutOfRange::assume) {
      // The same block of a pool of another size.
      Value blocks = NumBlocksOp::create(b, operandOf(b, cache, Pool::scales));
      Value block = arith.toIndex(found[1]);
      if (policy == OutOfRange::skip)
        valid = arith.both(valid, arith.less(block, blocks));
      else
        emitTrapUnless(b, /*when=*/Value(), {{"scales block", block, blocks}});
    }
    found[0] = valid ? arith::SelectOp::create(b, valid, copied, none) : copied;
    return found;
  };
  SmallVector<Value> found =
      emitIfElse(b, some, types, findAll, [&] { return emitZeros(b, types); });
  result.copied = found[0];
  result.block = found[1];
  result.scalesBlock = found[ownBlocks ? 2 : 1];
}

void GatherPages::forPage(Value cache, bool needScales,
                          function_ref<void(const GatherPage &)> body) {
  Value thread = Arith(b).toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  builder.forBlock(blocks(), [&](Value block) {
    ofBlock(block, thread, cache, needScales, body);
  });
}

void GatherPages::ofBlock(Value item, Value thread, Value cache,
                          bool needScales,
                          function_ref<void(const GatherPage &)> body) {
  Arith arith(b);
  GatherPage page;
  page.lane = thread;
  Value exists;
  if (cut.pagesPerBlock() > 1) {
    Value group = arith.div(page.lane, cut.threadsPerGroup());
    page.lane = arith.rem(page.lane, cut.threadsPerGroup());
    item =
        arith.add(arith.mul(item, cut.pagesPerBlock()), arith.toIndex(group));
    exists = arith.less(item, items);
  } else {
    // A block writes 64 vectors or more, so that memory ends before 2^32.
    item = arith.toI32(item);
    if (cut.slicesPerPage() > 1) {
      page.slice = arith.rem(item, cut.slicesPerPage());
      item = arith.div(item, cut.slicesPerPage());
    }
  }
  emitIf(b, exists, [&] {
    Place place = placeOf(item);
    auto [batch, length] = lengthOf(cache, place);
    Value number = arith.toIndex(place.page);
    Value first = arith.mul(number, pageSize);
    // What of `count` rows or tokens lies in the page.
    auto inPage = [&](Value count) {
      Value end = b.createOrFold<arith::MaxUIOp>(count, first);
      return arith.toI32(
          arith.minimum(arith.sub(end, first), arith.index(pageSize)));
    };
    page.rows = inPage(place.rows);
    page.copied = arith.minimum(inPage(length), page.rows);
    page.lead = {arith.toIndex(place.sequence), first};
    if (op.isRagged())
      page.lead = {arith.add(place.start, first)};
    lookUp(cache, needScales, batch, number, page);
    body(page);
  });
}
