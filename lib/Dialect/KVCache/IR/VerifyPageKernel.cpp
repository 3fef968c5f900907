//===- VerifyPageKernel.cpp - Verifiers of kernels on whole pages --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Checks that `layers`, where given, are layers of the collection.
static LogicalResult verifyLayers(Operation *op, Value collection,
                                  std::optional<ArrayRef<int64_t>> layers) {
  if (!layers)
    return success();
  std::optional<int64_t> known = getKnownTables(collection).layers;
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t layer : *layers) {
    if (layer < 0)
      return op->emitOpError("expected layers of at least 0, got ") << layer;
    if (known && layer >= *known)
      return op->emitOpError("expected layers less than ")
             << *known << " layers, got " << layer;
    if (!seen.insert(layer).second)
      return op->emitOpError("expected each layer once, got layer ")
             << layer << " twice";
  }
  return success();
}

/// Checks that there is a list for each pool whose blocks have ids of their
/// own.
static LogicalResult verifyListCount(Operation *op, StringRef name,
                                     LayoutAttr layout, size_t count) {
  size_t expected = layout.hasOwnScalesTable() ? 2 : 1;
  if (count == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << expected << " list" << (expected == 1 ? "" : "s")
                            << " of '" << name << "', got " << count;
  if (expected == 2)
    return diag << "; blocks of scales have ids of their own where the layout "
                   "says 'table = own'";
  return diag << "; scales lie in the blocks of their values unless the layout "
                 "says 'table = own'";
}

/// Checks that the order of pairs is either promised not to matter or has room.
/// `counts` are the sizes of the lists.
static LogicalResult verifyOrder(Operation *op, bool disjoint, Value workspace,
                                 ArrayRef<int64_t> counts) {
  if (disjoint && workspace)
    return op->emitOpError(
        "expected no 'workspace' with 'disjoint'; pairs that "
        "are disjoint need none");
  if (disjoint)
    return success();
  if (!workspace)
    return op->emitOpError("expected a 'workspace' of ")
           << workspacePerPair
           << " i32 a pair, or 'disjoint' as a promise that no destination is "
              "another's or a source";
  if (failed(verifyList(op, "workspace", workspace, "entries")))
    return failure();
  int64_t size = cast<MemRefType>(workspace.getType()).getDimSize(0);
  for (int64_t count : counts)
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(count) &&
        size / workspacePerPair < count)
      return op->emitOpError("expected a 'workspace' of at least ")
             << workspacePerPair * count << " entries for " << count
             << " pairs, got " << size;
  return success();
}

LogicalResult ClearPagesOp::verify() {
  if (failed(verifyListCount(*this, "pages", getLayout(), getPages().size())))
    return failure();
  for (Value list : getPages())
    if (failed(verifyList(*this, "pages", list, "N", /*orI64=*/true)))
      return failure();
  return verifyLayers(*this, getCollection(), getLayers());
}

LogicalResult CopyPagesOp::verify() {
  if (failed(verifyListCount(*this, "pairs", getLayout(), getPairs().size())))
    return failure();
  SmallVector<Type> types = {IntegerType::get(getContext(), 32),
                             IntegerType::get(getContext(), 64)};
  SmallVector<int64_t> counts;
  for (Value list : getPairs()) {
    if (failed(verifyTensor(*this, "pairs", list, types,
                            {ShapedType::kDynamic, 2}, {"N", "2"})))
      return failure();
    counts.push_back(cast<MemRefType>(list.getType()).getDimSize(0));
  }
  if (failed(verifyOrder(*this, getDisjoint(), getWorkspace(), counts)))
    return failure();
  return verifyLayers(*this, getCollection(), getLayers());
}

LogicalResult MoveTokensOp::verify() {
  if (failed(verifyListCount(*this, "sources", getLayout(),
                             getSources().size())) ||
      failed(verifyListCount(*this, "destinations", getLayout(),
                             getDestinations().size())))
    return failure();
  SmallVector<int64_t> counts;
  for (auto [source, destination] :
       llvm::zip_equal(getSources(), getDestinations())) {
    if (failed(verifyList(*this, "sources", source, "N", /*orI64=*/true)) ||
        failed(verifyList(*this, "destinations", destination, "N",
                          /*orI64=*/true)))
      return failure();
    auto from = cast<MemRefType>(source.getType());
    auto to = cast<MemRefType>(destination.getType());
    if (from.getElementType() != to.getElementType())
      return emitOpError("expected 'sources' and 'destinations' of one element "
                         "type, got ")
             << from.getElementType() << " and " << to.getElementType();
    if (from.hasStaticShape() && to.hasStaticShape() &&
        from.getDimSize(0) != to.getDimSize(0))
      return emitOpError("expected as many 'destinations' as 'sources', got ")
             << to.getDimSize(0) << " and " << from.getDimSize(0);
    counts.push_back(from.hasStaticShape() ? from.getDimSize(0)
                                           : to.getDimSize(0));
  }
  if (failed(verifyOrder(*this, getDisjoint(), getWorkspace(), counts)))
    return failure();
  return verifyLayers(*this, getCollection(), getLayers());
}

LogicalResult CompactOp::verify() {
  if (failed(verifyListCount(*this, "tables", getLayout(), getTables().size())))
    return failure();
  for (Value table : getTables())
    if (failed(verifyTensor(
            *this, "tables", table, {IntegerType::get(getContext(), 32)},
            {ShapedType::kDynamic, ShapedType::kDynamic}, {"B", "M"})))
      return failure();
  return verifyList(*this, "workspace", getWorkspace(), "entries");
}

LogicalResult ConvertLayoutOp::verify() {
  LayoutAttr from = kvcache::getLayout(getSource().getType());
  LayoutAttr to = kvcache::getLayout(getTarget().getType());
  auto differ = [&](StringRef what, auto a, auto b) -> LogicalResult {
    return emitOpError("expected layouts of one ")
           << what << ", got " << a << " and " << b;
  };
  if (from.getDtype() != to.getDtype())
    return differ("dtype", from.getDtype(), to.getDtype());
  if (from.getParams() != to.getParams())
    return emitOpError("expected layouts of the same heads, head size and "
                       "sides, got ")
           << from.getParams() << " and " << to.getParams();
  if (from.getPageSize() != to.getPageSize())
    return differ("page size", from.getPageSize(), to.getPageSize());
  if (from.isQuantized() != to.isQuantized())
    return emitOpError("expected both layouts with scales or neither, got ")
           << from << " and " << to;
  if (from.getScaleDtype() != to.getScaleDtype())
    return differ("scale dtype", from.getScaleDtype(), to.getScaleDtype());
  if (from.getGranularity() != to.getGranularity())
    return differ("granularity", from.getGranularity(), to.getGranularity());
  if (from.getRope() != to.getRope())
    return emitOpError("expected layouts of the same rope tail, got ")
           << from << " and " << to;
  if (from.hasOwnScalesTable() && !to.hasOwnScalesTable())
    return emitOpError("expected a target with 'table = own', since scales of "
                       "the source have block ids of their own");
  return verifyLayers(*this, getSource(), getLayers());
}
