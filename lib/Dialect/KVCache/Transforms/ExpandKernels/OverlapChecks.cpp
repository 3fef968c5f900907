//===- OverlapChecks.cpp - Memory that kernels write ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapChecks.h"

#include "../RuntimeChecks.h"
#include "KernelBuilder.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

/// The memory of a memref: from its first byte to its last. Dimensions, in any
/// order, have their stride, and the bytes from the first of them to the last.
/// Numbers are `index` and count bytes.
struct Footprint {
  std::string name;
  Value begin, end, isEmpty;
  int64_t elementBytes;
  SmallVector<Value> strides, reaches;
};

/// Memory that an operation is given.
struct Buffer {
  Value memref;
  std::string name;
  bool isWritten;
  /// The collection whose pool or table it is; null of others.
  Operation *collection;
};

class OverlapChecks {
public:
  explicit OverlapChecks(Operation *op)
      : host(op->getLoc(), op), arith(host), op(op) {}
  void emit();

private:
  void addBuffers(Value operand, unsigned number, bool isWritten);
  Footprint footprint(const Buffer &buffer);
  Value compare(Predicate predicate, Value a, Value b) {
    return host.createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  Value either(Value a, Value b) {
    return host.createOrFold<arith::OrIOp>(a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return host.createOrFold<arith::SelectOp>(condition, a, b);
  }
  Value rest(Value number, Value stride) {
    return host.createOrFold<arith::RemUIOp>(
        number, host.createOrFold<arith::MaxUIOp>(stride, arith.index(1)));
  }
  Value innerBytes(const Footprint &print, Value stride);
  Value alternate(const Footprint &a, const Footprint &b, Value stride);
  void requireApart(const Footprint &written, const Footprint &other);

  ImplicitLocOpBuilder host;
  Arith arith;
  Operation *op;
  SmallVector<Buffer> buffers;
};

void OverlapChecks::addBuffers(Value operand, unsigned number, bool isWritten) {
  std::string name = "operand " + std::to_string(number);
  if (isa<MemRefType>(operand.getType())) {
    buffers.push_back({operand, name, isWritten, nullptr});
    return;
  }
  if (!isa<CacheType, CollectionType>(operand.getType()))
    return;
  Operation *collection = getPoolsOp(operand);
  if (!collection || llvm::any_of(buffers, [&](const Buffer &buffer) {
        return buffer.collection == collection;
      }))
    return;
  WrittenPools written = WrittenPools::of(op);
  auto addPools = [&](auto pools) {
    buffers.push_back({pools.getBlocks(), "'blocks' of " + name,
                       isWritten && (written.values || !pools.getScales()),
                       collection});
    if (pools.getScales())
      buffers.push_back({pools.getScales(), "'scales' of " + name,
                         isWritten && written.scales, collection});
  };
  if (auto pools = dyn_cast<GetPagePoolsOp>(collection))
    return addPools(pools);
  auto paged = cast<GetPagedCacheOp>(collection);
  addPools(paged);
  for (auto [memref, what] :
       {std::pair<Value, StringRef>(paged.getLookupTable(), "lookup_table"),
        {paged.getScalesLookupTable(), "scales_lookup_table"},
        {paged.getCacheLengths(), "cache_lengths"}})
    if (memref)
      buffers.push_back({memref, ("'" + what + "' of " + name).str(),
                         /*isWritten=*/false, collection});
}

Footprint OverlapChecks::footprint(const Buffer &buffer) {
  auto metadata = memref::ExtractStridedMetadataOp::create(host, buffer.memref);
  int64_t bytes =
      cast<MemRefType>(buffer.memref.getType()).getElementTypeBitWidth() / 8;
  auto value = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(host, host.getLoc(), number);
  };
  Footprint found;
  found.name = buffer.name;
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(host, buffer.memref);
  found.begin = arith.add(
      address, arith.mul(value(metadata.getConstifiedMixedOffset()), bytes));
  Value extent = arith.index(bytes), zero = arith.index(0);
  found.elementBytes = bytes;
  found.isEmpty = arith.equal(extent, zero);
  for (auto [size, elements] :
       llvm::zip_equal(metadata.getConstifiedMixedSizes(),
                       metadata.getConstifiedMixedStrides())) {
    Value count = value(size);
    found.isEmpty = either(found.isEmpty, arith.equal(count, zero));
    // What has a negative stride is not known to overlap.
    Value stride = arith.mul(
        host.createOrFold<arith::MaxSIOp>(value(elements), zero), bytes);
    Value last =
        arith.sub(host.createOrFold<arith::MaxUIOp>(count, arith.index(1)),
                  arith.index(1));
    found.strides.push_back(stride);
    found.reaches.push_back(arith.mul(last, stride));
    extent = arith.add(extent, found.reaches.back());
  }
  found.end = arith.add(found.begin, extent);
  return found;
}

/// Bytes that a footprint takes of each `stride`, from where it begins on:
/// dimensions whose strides are multiples of it repeat these.
Value OverlapChecks::innerBytes(const Footprint &print, Value stride) {
  Value bytes = arith.index(print.elementBytes), zero = arith.index(0);
  for (auto [own, reach] : llvm::zip_equal(print.strides, print.reaches))
    bytes = arith.add(
        bytes, choose(arith.equal(rest(own, stride), zero), zero, reach));
  return bytes;
}

/// Whether two footprints, of which `a` begins first, take different bytes of
/// each `stride`, as slices of one tensor do.
Value OverlapChecks::alternate(const Footprint &a, const Footprint &b,
                               Value stride) {
  Value at = rest(arith.sub(b.begin, a.begin), stride);
  return arith.both(
      compare(Predicate::uge, at, innerBytes(a, stride)),
      compare(Predicate::ule, arith.add(at, innerBytes(b, stride)), stride));
}

void OverlapChecks::requireApart(const Footprint &written,
                                 const Footprint &other) {
  Value holds = either(compare(Predicate::ule, written.end, other.begin),
                       compare(Predicate::ule, other.end, written.begin));
  holds = either(holds, either(written.isEmpty, other.isEmpty));
  // Or they alternate along some dimension of either.
  Value isFirst = compare(Predicate::ule, written.begin, other.begin);
  llvm::SetVector<Value> strides;
  for (const Footprint *print : {&written, &other})
    strides.insert(print->strides.begin(), print->strides.end());
  for (Value stride : strides)
    holds = either(holds, choose(isFirst, alternate(written, other, stride),
                                 alternate(other, written, stride)));
  std::string text = reportedName(op) + " expected " + written.name +
                     ", which is written, to lie apart from " + other.name;
  emitAssert(host, holds, locationText(op->getLoc()) + ": " + text,
             escapeFormat(text) + ", got bytes %llu to %llu and %llu to %llu",
             [&]() -> SmallVector<Value> {
               return {written.begin, written.end, other.begin, other.end};
             });
}

void OverlapChecks::emit() {
  auto effects = cast<MemoryEffectOpInterface>(op);
  for (auto [number, operand] : llvm::enumerate(op->getOpOperands())) {
    SmallVector<MemoryEffects::EffectInstance> own;
    effects.getEffectsOnValue(operand.get(), own);
    bool isWritten = llvm::any_of(own, [](const auto &effect) {
      return isa<MemoryEffects::Write>(effect.getEffect());
    });
    addBuffers(operand.get(), number, isWritten);
  }
  SmallVector<Footprint> footprints;
  for (const Buffer &buffer : buffers)
    footprints.push_back(footprint(buffer));
  for (unsigned i = 0; i < buffers.size(); ++i)
    for (unsigned j = 0; j < buffers.size(); ++j) {
      const Buffer &written = buffers[i], &other = buffers[j];
      if (i == j || !written.isWritten || (other.isWritten && j < i))
        continue;
      // Pools of two collections may share pages, as those of one tensor do.
      if (written.collection && other.isWritten && other.collection &&
          written.collection != other.collection)
        continue;
      requireApart(footprints[i], footprints[j]);
    }
}

} // namespace

void mlir::kvcache::emitOverlapChecks(Operation *op) {
  OverlapChecks(op).emit();
}
