//===- CollectionChecks.cpp - What collections promise -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectionChecks.h"

#include "../Instrument.h"
#include "../RuntimeChecks.h"
#include "Destinations.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::kvcache;
using Predicate = arith::CmpIPredicate;

namespace {

/// Builds assertions before an operation, about what it is given.
class GivenCollections {
public:
  explicit GivenCollections(Operation *op)
      : host(op->getLoc(), op), arith(host), op(op) {}

  void checkLayer(Value collection, Value layer);
  /// Of a collection or a cache that comes from elsewhere.
  void checkPools(Value paged);

private:
  Value compare(Value a, Predicate predicate, Value b) {
    return host.createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  void require(Value holds, const Twine &what, ValueRange numbers) {
    std::string text = (reportedName(op) + " expected " + what).str();
    emitAssert(host, holds, locationText(op->getLoc()) + ": " + text, text,
               numbers);
  }
  void checkPitch(Value operand, Pool pool, Value layers, Value blocks);

  ImplicitLocOpBuilder host;
  Arith arith;
  Operation *op;
};

void GivenCollections::checkLayer(Value collection, Value layer) {
  Value layers = host.createOrFold<NumLayersOp>(collection);
  require(compare(layer, Predicate::ult, layers),
          "a layer less than the number of layers (L)", {layer, layers});
}

void GivenCollections::checkPitch(Value operand, Pool pool, Value layers,
                                  Value blocks) {
  PoolLayout shape = PoolLayout::get(getLayout(operand.getType()), pool);
  Value pitch = PagePitchOp::create(host, operand);
  Value page = arith.mul(layers, shape.sides * shape.layerBytes);
  // Nothing steps from a block to the next one where there is none.
  Value oneBlock = compare(blocks, Predicate::ule, arith.index(1));
  auto requirePitch = [&](Value holds, const Twine &text, ValueRange numbers) {
    require(host.createOrFold<arith::OrIOp>(oneBlock, holds), text, numbers);
  };
  StringRef name = pool == Pool::scales ? "scales" : "values";
  // A multiple of what pages are padded to that is at least a packed page is at
  // least a padded one.
  requirePitch(compare(pitch, Predicate::sge, page),
               "a page pitch of '" + name + "' of at least a page, in bytes",
               {pitch, page});
  requirePitch(
      arith.equal(arith.rem(pitch, shape.pitchMultiple), arith.index(0)),
      "a page pitch of '" + name + "' that is a multiple of " +
          Twine(shape.pitchMultiple) + " bytes",
      {pitch});
}

void GivenCollections::checkPools(Value paged) {
  LayoutAttr layout = getLayout(paged.getType());
  // A cache does not know how many layers there are beside its own.
  Value layers = arith.index(1), cache = paged;
  if (isa<CollectionType>(paged.getType())) {
    layers = host.createOrFold<NumLayersOp>(paged);
    cache = GetKeyCacheOp::create(host, paged, arith.index(0));
  }
  auto blocksOf = [&](Value operand) -> Value {
    return host.createOrFold<NumBlocksOp>(operand);
  };
  Value values = operandOf(host, cache, Pool::values);
  Value blocks = blocksOf(values);
  checkPitch(values, Pool::values, layers, blocks);
  if (!layout.isQuantized() || !layout.hasSeparatePools())
    return;
  Value scales = operandOf(host, cache, Pool::scales);
  Value scalesBlocks = blocksOf(scales);
  checkPitch(scales, Pool::scales, layers, scalesBlocks);
  if (!layout.hasOwnScalesTable())
    require(compare(scalesBlocks, Predicate::eq, blocks),
            "as many scales blocks (NBs) as value blocks (NB) where both share "
            "a table",
            {scalesBlocks, blocks});
}

} // namespace

void mlir::kvcache::emitGivenCollectionChecks(Operation *launch,
                                              ValueRange values) {
  GivenCollections given(launch);
  llvm::DenseSet<Value> others;
  for (Value paged : values) {
    while (Operation *maker = paged.getDefiningOp()) {
      if (!isa<GetKeyCacheOp, GetValueCacheOp, MHAOperandOp, ScalesMHAOperandOp,
               CastOp>(maker))
        break;
      paged = maker->getOperand(0);
    }
    // What makes a collection is checked itself.
    if (isa<CollectionType, CacheType>(paged.getType()) &&
        !isa_and_nonnull<GetPagedCacheOp, GetPagePoolsOp>(
            paged.getDefiningOp()) &&
        others.insert(paged).second)
      given.checkPools(paged);
  }
}

void CollectionChecks::emit(Operation *op) {
  GivenCollections given(op);
  llvm::DenseSet<std::pair<Value, Value>> layers;
  llvm::DenseSet<Value> others;
  for (Value paged : op->getOperands()) {
    if (!isa<CollectionType, CacheType>(paged.getType()))
      continue;
    Operation *maker = paged.getDefiningOp();
    for (; isa_and_nonnull<GetKeyCacheOp, GetValueCacheOp, CastOp>(maker);
         maker = paged.getDefiningOp()) {
      Value source = maker->getOperand(0);
      if (!isa<CastOp>(maker) &&
          layers.insert({source, maker->getOperand(1)}).second)
        given.checkLayer(source, maker->getOperand(1));
      paged = source;
    }
    if (!isa_and_nonnull<GetPagedCacheOp, GetPagePoolsOp>(maker)) {
      if (others.insert(paged).second)
        given.checkPools(paged);
      // Instrumentation has checked it before.
    } else if (!op->hasAttr(KVCacheDialect::getInstrumentAttrName()) &&
               checked.insert(maker).second) {
      emitRuntimeChecks(maker);
    }
  }
}
