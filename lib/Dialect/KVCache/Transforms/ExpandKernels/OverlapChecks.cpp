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

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

/// The memory of a memref: from its first byte to its last. A dimension has its
/// stride in bytes, and the bytes from the first to the last of what lies
/// inside of it. Numbers are `index`.
struct Footprint {
  std::string name;
  Value begin, end, isEmpty;
  SmallVector<Value> strides, inner;
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
  auto sizes = metadata.getConstifiedMixedSizes();
  auto strides = metadata.getConstifiedMixedStrides();
  Value extent = arith.index(bytes), zero = arith.index(0);
  found.isEmpty = arith.equal(extent, zero);
  for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
    Value count = value(sizes[dim]);
    found.isEmpty = either(found.isEmpty, arith.equal(count, zero));
    // What has a negative stride is not known to overlap.
    Value stride = arith.mul(
        host.createOrFold<arith::MaxSIOp>(value(strides[dim]), zero), bytes);
    found.strides.insert(found.strides.begin(), stride);
    found.inner.insert(found.inner.begin(), extent);
    Value last =
        arith.sub(host.createOrFold<arith::MaxUIOp>(count, arith.index(1)),
                  arith.index(1));
    extent = arith.add(extent, arith.mul(last, stride));
  }
  found.end = arith.add(found.begin, extent);
  return found;
}

void OverlapChecks::requireApart(const Footprint &written,
                                 const Footprint &other) {
  Value holds = either(compare(Predicate::ule, written.end, other.begin),
                       compare(Predicate::ule, other.end, written.begin));
  holds = either(holds, either(written.isEmpty, other.isEmpty));
  // Or they alternate, as slices of one tensor do: in some dimension both have
  // one stride, of which the outer ones are multiples, and what lies inside of
  // it lies side by side.
  Value isAfter = compare(Predicate::ule, written.begin, other.begin);
  auto choose = [&](Value a, Value b) {
    return host.createOrFold<arith::SelectOp>(isAfter, a, b);
  };
  Value distance = arith.sub(choose(other.begin, written.begin),
                             choose(written.begin, other.begin));
  for (size_t dim = 0,
              dims = std::min(written.strides.size(), other.strides.size());
       dim < dims; ++dim) {
    Value stride = written.strides[dim];
    auto rest = [&](Value number) {
      return host.createOrFold<arith::RemUIOp>(
          number, host.createOrFold<arith::MaxUIOp>(stride, arith.index(1)));
    };
    Value at = rest(distance);
    Value alternate = arith.both(
        compare(Predicate::eq, stride, other.strides[dim]),
        arith.both(
            compare(Predicate::uge, at,
                    choose(written.inner[dim], other.inner[dim])),
            compare(Predicate::ule,
                    arith.add(at, choose(other.inner[dim], written.inner[dim])),
                    stride)));
    for (size_t outer = 0; outer < dim; ++outer)
      for (const Footprint *print : {&written, &other})
        alternate =
            arith.both(alternate, arith.equal(rest(print->strides[outer]),
                                              arith.index(0)));
    holds = either(holds, alternate);
  }
  std::string text = reportedName(op) + " expected " + written.name +
                     ", which is written, to lie apart from " + other.name;
  emitAssert(host, holds, text,
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
      // Pools may share pages, as those of two collections of one tensor do.
      if (written.collection && other.isWritten && other.collection)
        continue;
      requireApart(footprints[i], footprints[j]);
    }
}

} // namespace

void mlir::kvcache::emitOverlapChecks(Operation *op) {
  OverlapChecks(op).emit();
}
