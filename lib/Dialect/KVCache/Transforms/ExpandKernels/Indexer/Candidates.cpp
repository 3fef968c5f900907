//===- Candidates.cpp - The best of a row of scores ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "../ControlFlow.h"
#include "../Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Bins of a selection's step, and digits of a number: 11, 11 and 10 bits.
static constexpr int64_t numBins = 2048, digits = 3;
static constexpr int64_t vectorBins = 4;
static constexpr int64_t maxThreads = 512;
/// Candidates of a thread that are read before any is written.
static constexpr int64_t movedAtOnce = 4;
/// Bytes of `state`.
static constexpr int64_t stateBytes = 4 * (4 + maxThreads / warpSize);

/// Candidates that `bytes` of shared memory have room for: of ranks and indices
/// as many as fill multiples of 16 bytes, at which memory is laid out.
static int64_t roomIn(int64_t bytes) {
  return (bytes - 4 * numBins - stateBytes) / 32 * 4;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static Value constant(ImplicitLocOpBuilder &b, uint32_t bits) {
  return Arith(b).i32(static_cast<int32_t>(bits));
}

Value mlir::kvcache::emitRank(ImplicitLocOpBuilder &b, Value score) {
  Type i32 = b.getI32Type();
  // -0 becomes 0.
  Value zero =
      arith::ConstantOp::create(b, b.getFloatAttr(b.getF32Type(), 0.0));
  score = arith::AddFOp::create(b, score, zero);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, score, score);
  Value bits = arith::BitcastOp::create(b, i32, score);
  // Bits of negative numbers rise as these fall; those of others are turned.
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, constant(b, 0));
  Value turned = arith::XOrIOp::create(b, bits, constant(b, 0x7fffffff));
  Value rank = arith::SelectOp::create(b, isNegative, bits, turned);
  return arith::SelectOp::create(b, isNaN, constant(b, ~0u), rank);
}

Value mlir::kvcache::emitScoreOf(ImplicitLocOpBuilder &b, Value rank) {
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rank, constant(b, 0));
  Value turned = arith::XOrIOp::create(b, rank, constant(b, 0x7fffffff));
  Value bits = arith::SelectOp::create(b, isNegative, rank, turned);
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Candidates::Candidates(KernelBuilder &builder, int64_t k, int64_t threads,
                       int64_t step, int64_t otherBytes)
    : b(builder.body()), k(k), threads(threads), step(step) {
  assert(llvm::isPowerOf2_64(threads) && threads >= 64 &&
         threads <= maxThreads);
  sorted = llvm::PowerOf2Ceil(std::max<int64_t>(k, 2));
  perThread = llvm::divideCeil(sorted, threads);
  // Room for as many again as are kept. A third of it will do for static
  // memory, of which more blocks fit a multiprocessor; with less, selections
  // run at so many steps that they take longer than the scores.
  int64_t spare = std::max(k, 2 * step);
  int64_t least = std::max(k + step + spare / 3, perThread * threads);
  int64_t inStatic = roomIn(staticSharedBytes - otherBytes);
  capacity = std::max(k + step + spare, perThread * threads);
  if (least <= inStatic)
    capacity = std::min(capacity, inStatic);
  assert(capacity <= roomIn(dynamicSharedBytes - otherBytes));
  Type i32 = b.getI32Type();
  ranks = builder.shareMemory(i32, capacity, 16);
  indices = builder.shareMemory(i32, capacity, 16);
  bins = builder.shareMemory(i32, numBins, 16);
  state = builder.shareMemory(i32, stateBytes / 4, 16);
  Arith arith(b);
  thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  lane = arith.rem(thread, warpSize);
  warp = arith.div(thread, warpSize);
}

Value Candidates::load(Value memory, Value at) {
  return memref::LoadOp::create(b, memory, ValueRange{Arith(b).toIndex(at)});
}

void Candidates::store(Value value, Value memory, Value at) {
  memref::StoreOp::create(b, value, memory, ValueRange{Arith(b).toIndex(at)});
}

Value Candidates::loadState(int64_t at) {
  return load(state, Arith(b).i32(at));
}

void Candidates::storeState(Value value, int64_t at) {
  store(value, state, Arith(b).i32(at));
}

Value Candidates::atomicAdd(Value value, Value memory, Value at) {
  return memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::addi, value,
                                     memory, ValueRange{Arith(b).toIndex(at)});
}

//===----------------------------------------------------------------------===//
// Adding
//===----------------------------------------------------------------------===//

Value Candidates::begin() {
  Arith arith(b);
  emitIf(b, arith.equal(thread, arith.i32(0)),
         [&] { storeState(arith.i32(0), count); });
  gpu::BarrierOp::create(b);
  return arith.i32(-1);
}

Candidates::Item Candidates::itemIf(Value condition,
                                    function_ref<Item()> make) {
  SmallVector<Type> types = {b.getI32Type(), b.getI32Type(), b.getI1Type()};
  SmallVector<Value> parts = emitIfElse(
      b, condition, types,
      [&] {
        Item item = make();
        return SmallVector<Value>{item.rank, item.index, item.wanted};
      },
      [&] {
        Value none = Arith(b).i32(-1);
        Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
        return SmallVector<Value>{none, none, no};
      });
  return {parts[0], parts[1], parts[2]};
}

void Candidates::append(ArrayRef<Item> items, Value limit) {
  SmallVector<Item> within(items);
  for (Item &item : within) {
    Value best =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ule, item.rank, limit);
    item.wanted = Arith(b).both(item.wanted, best);
  }
  appendWanted(within);
}

void Candidates::appendWanted(ArrayRef<Item> items) {
  Arith arith(b);
  Value all = arith.i32(-1), zero = arith.i32(0);
  auto ballot = [&](Value condition) -> Value {
    return NVVM::VoteSyncOp::create(b, b.getI32Type(), all, condition,
                                    NVVM::VoteSyncKind::ballot);
  };
  auto popCount = [&](Value bits) -> Value {
    return LLVM::CtPopOp::create(b, bits);
  };
  Value some = items[0].wanted;
  for (const Item &item : items.drop_front())
    some = b.createOrFold<arith::OrIOp>(some, item.wanted);
  Value wanting = ballot(some);
  Value isWanted =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, wanting, zero);
  emitIf(b, isWanted, [&] {
    // A warp takes room once.
    Value below = arith::SubIOp::create(
        b, arith::ShLIOp::create(b, arith.i32(1), lane), arith.i32(1));
    SmallVector<Value> places;
    Value total = zero;
    for (const Item &item : items) {
      Value mask = items.size() == 1 ? wanting : ballot(item.wanted);
      places.push_back(
          arith.add(total, popCount(arith::AndIOp::create(b, mask, below))));
      total = arith.add(total, popCount(mask));
    }
    Value first = emitChoice(
        b, arith.equal(lane, zero),
        [&] { return atomicAdd(total, state, arith.i32(count)); }, zero);
    first = gpu::ShuffleOp::create(b, first, zero, arith.i32(warpSize),
                                   gpu::ShuffleMode::IDX)
                .getShuffleResult();
    for (size_t i = 0; i < items.size(); ++i)
      emitIf(b, items[i].wanted, [&] {
        Value at = arith.add(first, places[i]);
        store(items[i].rank, ranks, at);
        store(items[i].index, indices, at);
      });
  });
}

Value Candidates::makeRoom(Value limit) {
  Arith arith(b);
  gpu::BarrierOp::create(b);
  Value have = loadState(count);
  Value full = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, have,
                                     arith.i32(capacity - step));
  limit = emitChoice(b, full, [&] { return keepBest(have); }, limit);
  gpu::BarrierOp::create(b);
  return limit;
}

//===----------------------------------------------------------------------===//
// Selecting
//===----------------------------------------------------------------------===//

Value Candidates::binPlace(Value number) {
  Arith arith(b);
  int64_t ofThread = numBins / threads;
  if (ofThread == vectorBins)
    return number;
  Value vector =
      arith.rem(arith.div(number, vectorBins), ofThread / vectorBins);
  Value owner = arith.div(number, ofThread);
  return arith.add(arith.add(arith.mul(vector, vectorBins * threads),
                             arith.mul(owner, vectorBins)),
                   arith.rem(number, vectorBins));
}

Value Candidates::isWithin(const Bound &bound, Value rank, Value index) {
  Value high = arith::AndIOp::create(b, rank, bound.rankMask);
  Value low = arith::AndIOp::create(b, index, bound.indexMask);
  Value before =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, high, bound.rank);
  Value same = Arith(b).equal(high, bound.rank);
  Value notAfter =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, low, bound.index);
  return arith::OrIOp::create(b, before,
                              arith::AndIOp::create(b, same, notAfter));
}

Candidates::Bound Candidates::select(Value have) {
  Arith arith(b);
  Value zero = arith.i32(0), one = arith.i32(1);
  auto choose = [&](Value condition, Value then, Value otherwise) -> Value {
    return arith::SelectOp::create(b, condition, then, otherwise);
  };
  auto isEqual = [&](Value value, int64_t number) {
    return arith.equal(value, arith.i32(number));
  };
  int64_t ofThread = numBins / threads;
  enum { pass, rank, rankMask, index, indexMask, left };
  Value lastPass = arith.i32(2 * digits);
  SmallVector<Value> result = emitWhile(
      b, {zero, zero, zero, zero, zero, arith.i32(k)},
      [&](ValueRange at) { return arith.less(at[pass], lastPass); },
      [&](ValueRange at) -> SmallVector<Value> {
        // The digit that this pass is about: of ranks, or of indices.
        Value ofRank = arith.less(at[pass], arith.i32(digits));
        Value digit =
            choose(ofRank, at[pass],
                   arith::SubIOp::create(b, at[pass], arith.i32(digits)));
        Value shift = choose(isEqual(digit, 0), arith.i32(21),
                             choose(isEqual(digit, 1), arith.i32(10), zero));
        Value width =
            choose(isEqual(digit, 2), arith.i32(1023), arith.i32(numBins - 1));
        for (int64_t i = 0; i < ofThread; ++i)
          store(zero, bins, arith.add(thread, i * threads));
        gpu::BarrierOp::create(b);

        // How many of those with the digits so far have which digit here.
        auto loop = scf::ForOp::create(b, thread, have, arith.i32(threads));
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(loop.getBody());
          Value itsRank = load(ranks, loop.getInductionVar());
          Value itsIndex = load(indices, loop.getInductionVar());
          Value fits = arith.both(
              arith.equal(arith::AndIOp::create(b, itsRank, at[rankMask]),
                          at[rank]),
              arith.equal(arith::AndIOp::create(b, itsIndex, at[indexMask]),
                          at[index]));
          Value number = arith::AndIOp::create(
              b,
              arith::ShRUIOp::create(b, choose(ofRank, itsRank, itsIndex),
                                     shift),
              width);
          emitIf(b, fits, [&] { atomicAdd(one, bins, binPlace(number)); });
        }
        gpu::BarrierOp::create(b);

        // The sum before each bin: of the thread's, the warp's, the block's.
        SmallVector<Value> counts;
        auto vectorType = VectorType::get({vectorBins}, b.getI32Type());
        for (int64_t i = 0; i < ofThread / vectorBins; ++i) {
          Value place = arith.add(arith.mul(thread, vectorBins),
                                  i * vectorBins * threads);
          Value vector = vector::LoadOp::create(
              b, vectorType, bins, ValueRange{arith.toIndex(place)},
              /*nontemporal=*/false, llvm::MaybeAlign(16));
          for (int64_t j = 0; j < vectorBins; ++j)
            counts.push_back(vector::ExtractOp::create(b, vector, j));
        }
        Value mine = zero;
        for (Value count : counts)
          mine = arith.add(mine, count);
        Value upTo = mine;
        for (int64_t distance = 1; distance < warpSize; distance *= 2) {
          Value other =
              gpu::ShuffleOp::create(b, upTo, arith.i32(distance),
                                     arith.i32(warpSize), gpu::ShuffleMode::UP)
                  .getShuffleResult();
          Value isIn = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, lane,
                                             arith.i32(distance));
          upTo = arith.add(upTo, choose(isIn, other, zero));
        }
        emitIf(b, isEqual(lane, warpSize - 1),
               [&] { store(upTo, state, arith.add(warp, warpTotals)); });
        gpu::BarrierOp::create(b);
        Value before = arith.sub(upTo, mine);
        for (int64_t i = 0; i < threads / warpSize; ++i) {
          Value isBefore = arith.less(arith.i32(i), warp);
          before = arith.add(before,
                             choose(isBefore, loadState(warpTotals + i), zero));
        }
        for (auto [i, count] : llvm::enumerate(counts)) {
          Value after = arith.add(before, count);
          Value isHere =
              arith.both(arith.less(before, at[left]),
                         arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                               at[left], after));
          emitIf(b, isHere, [&, before = before, count = count, i = i] {
            storeState(arith.add(arith.mul(thread, ofThread), i), bin);
            storeState(arith.sub(at[left], before), need);
            storeState(count, binCount);
          });
          before = after;
        }
        gpu::BarrierOp::create(b);

        Value found = arith::ShLIOp::create(b, loadState(bin), shift);
        Value mask = arith::ShLIOp::create(b, width, shift);
        Value next = loadState(need);
        auto joinIf = [&](Value condition, Value bits, Value more) -> Value {
          return arith::OrIOp::create(b, bits, choose(condition, more, zero));
        };
        Value ofIndex = arith::XOrIOp::create(
            b, ofRank, arith::ConstantOp::create(b, b.getBoolAttr(true)));
        // Where all of the bin are among the best, no digit decides any more.
        Value isExact = arith.equal(loadState(binCount), next);
        return {choose(isExact, lastPass, arith.add(at[pass], one)),
                joinIf(ofRank, at[rank], found),
                joinIf(ofRank, at[rankMask], mask),
                joinIf(ofIndex, at[index], found),
                joinIf(ofIndex, at[indexMask], mask),
                next};
      });
  return {result[rank], result[rankMask], result[index], result[indexMask]};
}

Value Candidates::keepBest(Value have) {
  Arith arith(b);
  Bound bound = select(have);
  emitIf(b, arith.equal(thread, arith.i32(0)),
         [&] { storeState(arith.i32(0), count); });
  // What is kept moves down: never beyond what has been read.
  auto loop = scf::ForOp::create(b, arith.i32(0), have,
                                 arith.i32(movedAtOnce * threads));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Item> items;
    for (int64_t i = 0; i < movedAtOnce; ++i) {
      Value at =
          arith.add(arith.add(loop.getInductionVar(), thread), i * threads);
      items.push_back(itemIf(arith.less(at, have), [&]() -> Item {
        Value rank = load(ranks, at), index = load(indices, at);
        return {rank, index, isWithin(bound, rank, index)};
      }));
    }
    gpu::BarrierOp::create(b);
    appendWanted(items);
  }
  // Those that come have greater indices: of the last one's rank they are too
  // late. Where digits of ranks are open, who has those so far may come.
  Value isWhole = arith.equal(bound.rankMask, arith.i32(-1));
  Value open = arith::XOrIOp::create(b, bound.rankMask, arith.i32(-1));
  Value last = arith::OrIOp::create(b, bound.rank, open);
  Value before = arith::SubIOp::create(b, bound.rank, arith.i32(1));
  return arith::SelectOp::create(b, isWhole, before, last);
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

SmallVector<Value> Candidates::sort(ValueRange elements) {
  Arith arith(b);
  Value one = arith.i32(1);
  int64_t steps = llvm::Log2_64(sorted);
  SmallVector<Value> places;
  for (int64_t i = 0; i < perThread; ++i)
    places.push_back(arith.add(thread, i * threads));

  // The element that `distance` is between, of each of the thread's.
  auto exchange = [&](ValueRange mine, Value distance) -> SmallVector<Value> {
    auto nearby = [&]() -> SmallVector<Value> {
      return llvm::map_to_vector(mine, [&](Value value) -> Value {
        return gpu::ShuffleOp::create(b, value, distance, arith.i32(warpSize),
                                      gpu::ShuffleMode::XOR)
            .getShuffleResult();
      });
    };
    if (sorted <= warpSize)
      return nearby();
    Value isFar = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, distance,
                                        arith.i32(warpSize));
    auto farAway = [&] {
      for (int64_t i = 0; i < perThread; ++i) {
        store(mine[i], ranks, places[i]);
        store(mine[perThread + i], indices, places[i]);
      }
      gpu::BarrierOp::create(b);
      SmallVector<Value> others(2 * perThread);
      for (int64_t i = 0; i < perThread; ++i) {
        Value at = arith::XOrIOp::create(b, places[i], distance);
        others[i] = load(ranks, at);
        others[perThread + i] = load(indices, at);
      }
      gpu::BarrierOp::create(b);
      return others;
    };
    return emitIfElse(b, isFar, mine.getTypes(), farAway, nearby);
  };

  // Bitonic: runs of 2, 4, 8, … elements, alternately rising and falling, are
  // merged from their greatest distance down.
  auto outer = scf::ForOp::create(b, one, arith.i32(steps + 1), one, elements);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(outer.getBody());
  Value log = outer.getInductionVar();
  Value run = arith::ShLIOp::create(b, one, log);
  auto inner =
      scf::ForOp::create(b, arith.i32(0), log, one, outer.getRegionIterArgs());
  {
    OpBuilder::InsertionGuard innerGuard(b);
    b.setInsertionPointToStart(inner.getBody());
    Value left = arith.sub(log, arith.add(inner.getInductionVar(), one));
    Value distance = arith::ShLIOp::create(b, one, left);
    ValueRange mine = inner.getRegionIterArgs();
    SmallVector<Value> others = exchange(mine, distance);
    SmallVector<Value> result(2 * perThread);
    for (int64_t i = 0; i < perThread; ++i) {
      Value rank = mine[i], index = mine[perThread + i];
      Value itsRank = others[i], itsIndex = others[perThread + i];
      Value isBefore = arith::OrIOp::create(
          b, arith.less(itsRank, rank),
          arith.both(arith.equal(itsRank, rank), arith.less(itsIndex, index)));
      // The first of the two takes the better in a rising run, and the second
      // does in a falling one.
      auto isClear = [&](Value bit) {
        return arith.equal(arith::AndIOp::create(b, places[i], bit),
                           arith.i32(0));
      };
      Value takesBetter = arith.equal(isClear(distance), isClear(run));
      Value takesOther = arith.equal(isBefore, takesBetter);
      result[i] = arith::SelectOp::create(b, takesOther, itsRank, rank);
      result[perThread + i] =
          arith::SelectOp::create(b, takesOther, itsIndex, index);
    }
    scf::YieldOp::create(b, result);
  }
  scf::YieldOp::create(b, inner.getResults());
  return llvm::to_vector_of<Value>(outer.getResults());
}

void Candidates::finish(
    function_ref<void(Value place, Value rank, Value index)> body) {
  Arith arith(b);
  gpu::BarrierOp::create(b);
  Value have = loadState(count);
  Value isOver =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, have, arith.i32(k));
  emitIf(b, isOver, [&] { keepBest(have); });
  gpu::BarrierOp::create(b);
  // Now at most `k`. Whoever knew that could read what is not there.
  have = loadState(count);

  SmallVector<Value> elements(2 * perThread);
  for (int64_t i = 0; i < perThread; ++i) {
    Value at = arith.add(thread, i * threads), isThere = arith.less(at, have);
    Item item = itemIf(isThere, [&]() -> Item {
      return {load(ranks, at), load(indices, at), isThere};
    });
    elements[i] = item.rank;
    elements[perThread + i] = item.index;
  }
  gpu::BarrierOp::create(b);
  elements = sort(elements);
  for (int64_t i = 0; i < perThread; ++i) {
    Value place = arith.add(thread, i * threads);
    Value inside;
    if ((i + 1) * threads > k)
      inside = arith.less(place, arith.i32(k));
    emitIf(b, inside,
           [&] { body(place, elements[i], elements[perThread + i]); });
  }
}
