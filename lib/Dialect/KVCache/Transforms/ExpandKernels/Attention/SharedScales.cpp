//===- SharedScales.cpp - Scales of all heads of a block ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a tile the lanes of a loading warp have half of the heads of a token each:
// `4 * granules` numbers that lie side by side. In shared memory the tokens of
// a head and granule do, twenty places from head to head, so that writers, who
// have all tokens and two heads at a time, meet all banks; readers have some
// tokens of one head.
//
//===----------------------------------------------------------------------===//

#include "SharedScales.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

static constexpr int64_t tokens = CacheTiles::tokens;
/// Heads that a lane loads, and scales of a vector.
static constexpr int64_t perLane = SharedScales::heads / 2, perVector = 4;
/// Places from head to head, and of all heads.
static constexpr int64_t headStride = tokens + 4,
                         granuleStride = SharedScales::heads * headStride;
/// What memory gives at least.
static constexpr int64_t sectorBytes = 32;

static PoolLayout scalesOf(LayoutAttr layout) {
  return PoolLayout::get(layout, Pool::scales);
}

bool SharedScales::suits(LayoutAttr layout) {
  if (!layout.isQuantized() || !layout.hasSeparatePools() ||
      layout.isSwizzled(Side::key) || layout.isSwizzled(Side::value))
    return false;
  PoolLayout pool = scalesOf(layout);
  return pool.order == Order::nhd && pool.heads % heads == 0 &&
         pool.hasContiguousHeads() && pool.headBytes < sectorBytes &&
         pool.slotAlignment() % (perVector * pool.storageBytes) == 0;
}

SharedScales::SharedScales(KernelBuilder &builder, Value keys, Value values,
                           OutOfRange policy)
    : b(builder.body()), keys(keys), values(values), policy(policy),
      layout(kvcache::getLayout(keys.getType())), pool(scalesOf(layout)),
      granules(pool.inner) {
  memory =
      builder.shareMemory(b.getF32Type(), 2 * granules * granuleStride, 16);
}

void SharedScales::setRange(Warp &warp, Value batch, Value head, Value begin,
                            Value end) {
  this->warp = &warp;
  this->batch = batch;
  this->head = head;
  first = begin;
  this->end = end;
}

SmallVector<Type> SharedScales::types() const {
  Type scales = VectorType::get({perVector}, layout.getScaleDtype());
  SmallVector<Type> types(granules, scales);
  types.push_back(b.getI32Type());
  return types;
}

//===----------------------------------------------------------------------===//
// From memory
//===----------------------------------------------------------------------===//

/// The token of `tile` that is the lane's.
Value SharedScales::tokenOf(Value tile, bool isInside) {
  Arith arith(b);
  Value token = arith.add(arith.mul(tile, tokens), arith.div(warp->lane, 2));
  if (isInside)
    return token;
  Value last = arith.sub(end, arith.i32(1));
  return b.createOrFold<arith::MaxUIOp>(arith.minimum(token, last), first);
}

Value SharedScales::lookUp(Side side, Value tile, bool isInside) {
  Arith arith(b);
  Value page = arith.div(tokenOf(tile, isInside), layout.getPageSize());
  return BlockIdOp::create(b, operandOf(b, cacheOf(side), Pool::scales), batch,
                           arith.toIndex(page), policy);
}

SmallVector<Value> SharedScales::load(Side side, Value block, Value tile,
                                      bool isInside) {
  Arith arith(b);
  Value slot =
      arith.toIndex(arith.rem(tokenOf(tile, isInside), layout.getPageSize()));
  Value mine = arith.add(
      head, arith.toIndex(arith.mul(arith.rem(warp->lane, 2), perLane)));
  auto type = VectorType::get({perVector}, layout.getScaleDtype());
  Value source = operandOf(b, cacheOf(side), Pool::scales);
  SmallVector<Value> scales;
  for (int64_t i = 0; i < granules; ++i) {
    int64_t at = i * perVector;
    scales.push_back(LoadInPageOp::create(
        b, type, source, block, slot, arith.add(mine, at / granules),
        arith.index(at % granules * layout.getGranularity()),
        /*tail=*/UnitAttr(),
        b.getI64IntegerAttr(perVector * pool.storageBytes)));
  }
  return scales;
}

SmallVector<Value>
SharedScales::ofLoaders(Value condition, TypeRange types,
                        function_ref<SmallVector<Value>(Side)> make,
                        ValueRange otherwise) {
  Arith arith(b);
  auto none = [&] { return llvm::to_vector_of<Value>(otherwise); };
  Value loads = arith.both(condition, arith.less(warp->number, arith.i32(2)));
  return emitIfElse(
      b, loads, types,
      [&] {
        return emitIfElse(
            b, arith.equal(warp->number, arith.i32(0)), types,
            [&] { return make(Side::key); }, [&] { return make(Side::value); });
      },
      none);
}

SmallVector<Value> SharedScales::begin(Value tile, Value stop) {
  SmallVector<Value> none = emitZeros(b, types());
  // The block of the tile, then what follows from it and the next one.
  Arith arith(b);
  none.back() =
      ofLoaders(
          arith.less(tile, stop), b.getI32Type(),
          [&](Side side) {
            return SmallVector<Value>{lookUp(side, tile, /*isInside=*/true)};
          },
          none.back())
          .front();
  return advance(none, tile, stop);
}

SmallVector<Value> SharedScales::advance(ValueRange carried, Value tile,
                                         Value stop) {
  Arith arith(b);
  SmallVector<Type> types = this->types();
  SmallVector<Value> next = ofLoaders(
      arith.less(tile, stop), ArrayRef(types).drop_back(),
      [&](Side side) {
        return load(side, carried.back(), tile, /*isInside=*/true);
      },
      carried.drop_back());
  Value after = arith.add(tile, 1);
  llvm::append_range(next, ofLoaders(
                               arith.less(after, stop), b.getI32Type(),
                               [&](Side side) {
                                 return SmallVector<Value>{
                                     lookUp(side, after, /*isInside=*/true)};
                               },
                               carried.back()));
  return next;
}

//===----------------------------------------------------------------------===//
// Through shared memory
//===----------------------------------------------------------------------===//

void SharedScales::put(ValueRange scales) {
  Arith arith(b);
  // Those of the tile before are read.
  gpu::BarrierOp::create(b);
  emitIf(b, arith.less(warp->number, arith.i32(2)), [&] {
    Value start = arith.add(arith.mul(warp->number, granules * granuleStride),
                            arith.div(warp->lane, 2));
    start = arith.add(
        start, arith.mul(arith.rem(warp->lane, 2), perLane * headStride));
    for (auto [number, vector] : llvm::enumerate(scales)) {
      Value numbers = convertFloat(b, vector, b.getF32Type());
      for (int64_t i = 0; i < perVector; ++i) {
        int64_t at = number * perVector + i;
        int64_t place =
            at % granules * granuleStride + at / granules * headStride;
        memref::StoreOp::create(
            b, vector::ExtractOp::create(b, numbers, i), memory,
            ValueRange{arith.toIndex(arith.add(start, arith.i32(place)))});
      }
    }
  });
  gpu::BarrierOp::create(b);
}

void SharedScales::publish(ValueRange carried) { put(carried.drop_back()); }

void SharedScales::loadEdge(Value tile) {
  SmallVector<Type> types = this->types();
  types.pop_back();
  SmallVector<Value> scales = ofLoaders(
      Value(), types,
      [&](Side side) {
        return load(side, lookUp(side, tile, /*isInside=*/false), tile,
                    /*isInside=*/false);
      },
      emitZeros(b, types));
  put(scales);
}

SmallVector<Value> SharedScales::read(Side side) {
  Arith arith(b);
  int64_t buffer = side == Side::key ? 0 : granules * granuleStride;
  Value start = arith.add(arith.mul(warp->number, headStride), warp->row);
  SmallVector<Value> scales;
  for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token)
    for (int64_t granule = 0; granule < granules; ++granule)
      scales.push_back(memref::LoadOp::create(
          b, memory,
          ValueRange{arith.toIndex(arith.add(
              start,
              arith.i32(buffer + granule * granuleStride + 8 * token)))}));
  return scales;
}
