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

/// The memory of a memref, as it is told: rows, one each `pitch` bytes, of
/// `row` bytes from their first one to their last; numbers are `index`.
struct Footprint {
  std::string name;
  Value begin, end, pitch, row;
};

/// Memory that an operation is given.
struct Buffer {
  Value memref;
  std::string name;
  bool isWritten;
  /// The collection whose pool it is; null of others.
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
  Operation *collection = isa<CacheType>(operand.getType())
                              ? getCollectionOp(operand).getOperation()
                              : operand.getDefiningOp();
  if (!collection ||
      llvm::is_contained(
          llvm::map_range(
              buffers, [](const Buffer &buffer) { return buffer.collection; }),
          collection))
    return;
  auto addPools = [&](auto op) {
    buffers.push_back(
        {op.getBlocks(), "'blocks' of " + name, isWritten, collection});
    if (op.getScales())
      buffers.push_back(
          {op.getScales(), "'scales' of " + name, isWritten, collection});
  };
  if (auto pools = dyn_cast<GetPagePoolsOp>(collection))
    return addPools(pools);
  auto paged = dyn_cast<GetPagedCacheOp>(collection);
  if (!paged)
    return;
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
  // The bytes from the first element to the last, of a row and of all.
  found.pitch = found.row = arith.index(bytes);
  Value size = found.row, isEmpty = arith.equal(size, arith.index(0));
  auto sizes = metadata.getConstifiedMixedSizes();
  auto strides = metadata.getConstifiedMixedStrides();
  for (auto [dim, count, stride] : llvm::enumerate(sizes, strides)) {
    Value last = arith.sub(value(count), arith.index(1));
    Value step = arith.mul(value(stride), bytes);
    Value reach = arith.mul(last, step);
    size = arith.add(size, reach);
    if (dim == 0)
      found.pitch = step;
    else
      found.row = arith.add(found.row, reach);
    isEmpty = host.createOrFold<arith::OrIOp>(
        isEmpty, compare(Predicate::eq, value(count), arith.index(0)));
  }
  found.end = host.createOrFold<arith::SelectOp>(isEmpty, found.begin,
                                                 arith.add(found.begin, size));
  return found;
}

void OverlapChecks::requireApart(const Footprint &written,
                                 const Footprint &other) {
  Value apart = host.createOrFold<arith::OrIOp>(
      compare(Predicate::ule, written.end, other.begin),
      compare(Predicate::ule, other.end, written.begin));
  // Or their rows alternate, as those of slices of one tensor do.
  Value isAfter = compare(Predicate::ule, written.begin, other.begin);
  auto choose = [&](Value a, Value b) {
    return host.createOrFold<arith::SelectOp>(isAfter, a, b);
  };
  Value distance = arith.sub(choose(other.begin, written.begin),
                             choose(written.begin, other.begin));
  Value pitch = written.pitch;
  Value inRow = host.createOrFold<arith::RemUIOp>(
      distance, host.createOrFold<arith::MaxUIOp>(pitch, arith.index(1)));
  Value alternate = arith.both(
      compare(Predicate::eq, pitch, other.pitch),
      arith.both(compare(Predicate::uge, inRow, choose(written.row, other.row)),
                 compare(Predicate::ule,
                         arith.add(inRow, choose(other.row, written.row)),
                         pitch)));
  Value holds = host.createOrFold<arith::OrIOp>(apart, alternate);
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
