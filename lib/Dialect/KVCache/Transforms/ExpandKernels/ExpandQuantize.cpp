//===- ExpandQuantize.cpp - The kernels that quantise rows ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is cut into cells, granules of one head, each shared by a few lanes of
// a warp, which find the largest magnitude by exchanging theirs. Threads are a
// multiple of the lanes of a row or the reverse, so that a cell lies in one
// warp.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "QuantizeKernel.h"
#include "WidthRemarks.h"

#include "../Instrument.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// Rows that a warp looks up together.
static constexpr int64_t bundle = 4;

static int64_t elementBytes(ValueRange tensors) {
  int64_t bytes = 0;
  for (Value tensor : tensors)
    bytes = std::max<int64_t>(
        bytes, cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() / 8);
  return bytes;
}

/// Threads of a row of `width` lanes: a fraction, so that each has up to
/// `chunks` cells, but whole warps.
static int64_t threadsOfRow(int64_t width, int64_t chunks) {
  for (; chunks > 1; --chunks)
    if (width % (chunks * 32) == 0)
      return width / chunks;
  return width;
}

QuantizeKernel::QuantizeKernel(ImplicitLocOpBuilder &host,
                               const QuantizeRequest &request, Tuning tuning,
                               int64_t rowAlignment)
    : host(host), request(request), tuning(tuning), layout(request.layout()),
      pool(PoolLayout::get(layout, Pool::values)), rowAlignment(rowAlignment),
      isFlat(pool.hasContiguousHeads() && !layout.getRope() &&
             !request.rows.ropeNorm.isAny() &&
             llvm::all_of(request.sources, hasPackedRows)),
      cut(layout, elementBytes(request.sources), rowAlignment),
      width(layout.getNumHeads() * cut.width()),
      units(threadsOfRow(width, tuning.chunks), tuning.threads),
      hasWholeWarps(width % 32 == 0 && units.width % 32 == 0) {}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

void QuantizeKernel::writeTail(unsigned target, Destination to,
                               const RowElements::Head &row, Value thread) {
  ImplicitLocOpBuilder &b = *this->b;
  PoolLayout tail = PoolLayout::get(layout, Pool::tail);
  int64_t begin = layout.getQuantizedSize();
  int64_t bytes = elementBytes(request.sources);
  int64_t sourceAlignment = std::gcd(rowAlignment, begin * bytes);
  auto fits = [&](int64_t lanes) {
    return tail.inner % lanes == 0 && sourceAlignment % (lanes * bytes) == 0 &&
           tail.headAlignment() % (lanes * tail.storageBytes) == 0;
  };
  int64_t lanes = maxAccessBytes / std::max(bytes, tail.storageBytes);
  while (lanes > 1 && !fits(lanes))
    lanes /= 2;
  int64_t perHead = tail.inner / lanes;
  units.forEach(b, thread, perHead * tail.heads, [&](Value unit) {
    Arith arith(b);
    RowElements::Head head = row;
    head.head = tail.heads == 1 ? arith.i32(0) : arith.div(unit, perHead);
    Value dim =
        arith.mul(tail.heads == 1 ? unit : arith.rem(unit, perHead), lanes);
    ElementRange within = {begin, layout.getHeadSize()};
    sources[target].normalise(head, within, {1, true, arith.i32(0)});
    Value numbers = sources[target].load(head, arith.add(dim, begin), lanes,
                                         within, /*condition=*/Value());
    emitIf(b, to.valid, [&] {
      store(target, Pool::tail, to, head.head, dim,
            convertFloat(b, numbers, tail.storageType),
            fits(lanes) ? lanes * tail.storageBytes : 0);
    });
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Bytes of a word.
static constexpr int64_t word = 4;

bool QuantizeKernel::canKeepImage() const {
  if (!looksUpTogether() || layout.getPlacement() != Placement::inlined ||
      !request.quantization || layout.getSwizzle() != ScaleSwizzle::none ||
      pool.order != Order::nhd || pool.sideBytes != 0 || !pool.isAligned())
    return false;
  // Everything of a row is written, in words.
  PoolLayout scales = PoolLayout::get(layout, Pool::scales);
  int64_t bytes =
      pool.inner * pool.storageBytes + scales.inner * scales.storageBytes;
  bool areWords =
      scales.storageBytes == word && pool.headBytes % word == 0 &&
      scales.firstByte % word == 0 &&
      cut.vector / pool.elementsPerStorage * pool.storageBytes % word == 0 &&
      cut.granules == 1 && cut.isExact() && !cut.isLooped();
  if (layout.getRope()) {
    PoolLayout tail = PoolLayout::get(layout, Pool::tail);
    int64_t tailBytes = tail.inner * tail.storageBytes;
    bytes += tailBytes;
    // Vectors of the tail are as long as it allows; see `writeTail`.
    areWords = areWords && tailBytes % maxAccessBytes == 0 &&
               tail.firstByte % maxAccessBytes == 0 &&
               tail.headBytes % maxAccessBytes == 0 &&
               rowAlignment == maxAccessBytes;
  }
  return areWords && bytes == pool.headBytes &&
         pool.slotBytes == pool.headBytes * pool.heads &&
         pool.slotBytes % maxAccessBytes == 0 &&
         pool.baseAlignment() % maxAccessBytes == 0 &&
         units.threads / warpSize * pool.slotBytes <= staticSharedBytes &&
         // Checks look at what is stored in pages.
         !request.rows.op->hasAttr(KVCacheDialect::getInstrumentAttrName());
}

void QuantizeKernel::store(unsigned target, Pool pool, const Destination &to,
                           Value head, Value element, Value value,
                           int64_t alignment) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  if (!image) {
    StoreInPageOp::create(b, value,
                          operandOf(b, caches[target],
                                    pool == Pool::scales ? pool : Pool::values),
                          to.block, arith.toIndex(to.slot), arith.toIndex(head),
                          arith.toIndex(element),
                          pool == Pool::tail ? b.getUnitAttr() : UnitAttr(),
                          alignment ? b.getI64IntegerAttr(alignment)
                                    : IntegerAttr());
    return;
  }
  PoolLayout shape = PoolLayout::get(layout, pool);
  Value byte =
      arith.add(arith.add(arith.mul(head, shape.headBytes), shape.firstByte),
                arith.mul(arith.div(element, shape.elementsPerStorage),
                          shape.storageBytes));
  Value at = arith.toIndex(arith.add(image->first, arith.div(byte, word)));
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    memref::StoreOp::create(b,
                            arith::BitcastOp::create(b, b.getI32Type(), value),
                            image->memory, ValueRange{at});
    return;
  }
  int64_t bytes = vector.getNumElements() * shape.storageBytes;
  auto words = VectorType::get({bytes / word}, b.getI32Type());
  vector::StoreOp::create(b, vector::BitCastOp::create(b, words, value),
                          image->memory, ValueRange{at}, /*nontemporal=*/false,
                          llvm::MaybeAlign(alignment));
}

void QuantizeKernel::writeImage(unsigned target, const Destination &to,
                                Value thread) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  Value all = arith.i32(-1);
  NVVM::SyncWarpOp::create(b, all);
  int64_t pieces = pool.slotBytes / maxAccessBytes;
  // A row that starts within a sector begins one piece later in the warp, so
  // that later instructions start with sectors, too.
  bool isShifted = pieces % 2 != 0;
  Value shift = isShifted ? arith.rem(to.slot, 2) : arith.i32(0);
  emitIf(b, to.valid, [&] {
    Value page =
        PagePtrOp::create(b, MemRefType::get({}, b.getI8Type()),
                          operandOf(b, caches[target], Pool::values), to.block);
    Value row = arith.mul(to.slot, pool.slotBytes);
    auto type = VectorType::get({maxAccessBytes / word}, b.getI32Type());
    int64_t steps = llvm::divideCeil(pieces + isShifted, warpSize);
    for (int64_t step = 0; step < steps; ++step) {
      // May be -1, which is larger than any.
      Value piece =
          arith::SubIOp::create(b, arith.add(thread, step * warpSize), shift);
      emitIf(b, arith.less(piece, arith.i32(pieces)), [&] {
        Value byte = arith.mul(piece, maxAccessBytes);
        Value at =
            arith.toIndex(arith.add(image->first, arith.div(byte, word)));
        Value value = vector::LoadOp::create(
            b, type, image->memory, ValueRange{at}, /*nontemporal=*/false,
            llvm::MaybeAlign(maxAccessBytes));
        Value to = ByteViewOp::create(
            b, MemRefType::get(type.getShape(), type.getElementType()), page,
            arith.toIndex(arith.add(row, byte)));
        vector::StoreOp::create(b, value, to, ValueRange{arith.index(0)},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(maxAccessBytes));
      });
    }
  });
  // The next row's image comes after this one is read.
  NVVM::SyncWarpOp::create(b, all);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

bool QuantizeKernel::looksUpTogether() const {
  return RowMap::canFind(request.rows.form, request.rows.targets) &&
         units.perRow == 32 && !request.rows.ropeNorm.isAny();
}

void QuantizeKernel::emit(const LastRows &last) {
  SmallVector<Value> lead = request.rows.lead(host);
  Value rows = AppendedRows::count(host, lead);

  KernelBuilder builder(host, request.rows.op, units.threads,
                        tuning.blocksPerSM, tuning.maxBlocks);
  b = &builder.body();
  RopeNorm ropeNorm(host, builder, request.rows.ropeNorm, request.rows.policy);
  for (Value target : request.rows.targets)
    caches.push_back(builder.take(target));
  for (Value source : request.sources)
    sources.emplace_back(*b, builder.takeTensor(source, /*readOnly=*/true),
                         layout.getNumHeads(), layout.getHeadSize(), isFlat,
                         rowAlignment, ropeNorm.rotation, ropeNorm.norm);
  if (request.quantization) {
    rule.emplace(*b, layout, request.quantization,
                 builder.takeNumber(request.globalScale));
  }
  RowMap map(builder, request.rows.form, request.rows.lists, lead,
             request.rows.policy);
  last.restrict(builder, map);

  if (canKeepImage()) {
    int64_t words = pool.slotBytes / word;
    Value thread =
        Arith(*b).toI32(gpu::ThreadIdOp::create(*b, gpu::Dimension::x));
    image = RowImage();
    image->memory = builder.shareMemory(
        b->getI32Type(), units.threads / warpSize * words, maxAccessBytes);
    image->first = Arith(*b).mul(Arith(*b).div(thread, warpSize), words);
  }
  if (looksUpTogether()) {
    units.forEachBundle(
        builder, rows, bundle,
        [&](Value row) {
          return map.find(row, caches.front(), rule.has_value());
        },
        [&](Value row, Value thread, Destinations to) {
          RowElements::Head head{map.indices(row), Value(), Value(), Value()};
          for (unsigned target = 0; target < caches.size(); ++target) {
            writeRow(target, to, head, thread);
            if (layout.getRope())
              writeTail(target, to.values, head, thread);
            if (image)
              writeImage(target, to.values, thread);
          }
        });
    return builder.launch(units.blocks(host, rows, bundle));
  }
  units.forEachRow(builder, rows, [&](Value row, Value thread) {
    SmallVector<Value> at = map.indices(row);
    map.atAll(row, caches, request.rows.targets, rule.has_value(),
              [&](unsigned target, Destinations to) {
                ropeNorm.at(at, to, [&](Value position) {
                  RowElements::Head head{at, Value(), position, Value()};
                  writeRow(target, to, head, thread);
                  if (layout.getRope())
                    writeTail(target, to.values, head, thread);
                });
              });
  });
  builder.launch(units.blocks(host, rows));
}

static LogicalResult expand(const QuantizeRequest &request, Tuning defaults) {
  Tuning tuning = Tuning::get(request.tuning, defaults);
  ImplicitLocOpBuilder host(request.rows.op->getLoc(), request.rows.op);
  SmallVector<Value> sources(request.sources);
  remarkIndexWidth(request.rows.op->getLoc(), request.rows.form,
                   request.rows.lists, request.rows.policy);
  GranuleCut cut(request.layout(), elementBytes(request.sources),
                 maxAccessBytes);
  PoolLayout pool = PoolLayout::get(request.layout(), Pool::values);
  int64_t bytes = elementBytes(request.sources);
  int64_t wide =
      maxAccessBytes / bytes / pool.elementsPerStorage * pool.storageBytes;
  remarkWidth(request.rows.op->getLoc(), "reads rows", cut.vector * bytes,
              {{"a head has", cut.size * bytes},
               {"a granule has", cut.granule * bytes},
               {"vectors of 16 bytes become parts of rows of the pool, which "
                "start at multiples of",
                pool.headAlignment() % wide == 0 ? maxAccessBytes
                                                 : pool.headAlignment()}});
  LastRows last(host, request.rows);
  last.emitFind(tuning);
  emitForAlignment(host, sources, [&](int64_t alignment) {
    QuantizeKernel(host, request, tuning, alignment).emit(last);
  });
  return success();
}

LogicalResult mlir::kvcache::expandQuantizeAppend(QuantizeAppendOp op,
                                                  Tuning defaults) {
  return expand({AppendedRows::of(op), op.getSources(), op.getQuantization(),
                 op.getGlobalScale(), op.getTuningAttr()},
                defaults);
}

LogicalResult mlir::kvcache::expandRopeQuantizeAppend(RopeQuantizeAppendOp op,
                                                      Tuning defaults) {
  return expand({AppendedRows::of(op), op.getSources(),
                 op.getQuantizationAttr(), op.getGlobalScale(),
                 op.getTuningAttr()},
                defaults);
}
