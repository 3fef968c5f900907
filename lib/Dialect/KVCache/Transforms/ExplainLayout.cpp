//===- ExplainLayout.cpp - Print what lies where --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/LayoutMap.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_EXPLAINLAYOUTPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

struct ExplainLayout
    : public kvcache::impl::ExplainLayoutPassBase<ExplainLayout> {
  using ExplainLayoutPassBase::ExplainLayoutPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::SetVector<LayoutAttr> layouts;
    AttrTypeWalker walker;
    walker.addWalk([&](LayoutAttr layout) { layouts.insert(layout); });
    getOperation()->walk([&](Operation *op) {
      walker.walk(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        walker.walk(type);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Type type : block.getArgumentTypes())
            walker.walk(type);
    });

    auto emit = [&] { return emitError(getOperation()->getLoc()); };
    if (tokens.empty() && !(table.empty() && scalesTable.empty())) {
      emit() << "expected a token with tables of "
             << std::max(table.size(), scalesTable.size())
             << " pages, got none; add token=";
      return signalPassFailure();
    }
    // Of layouts with tables of their own and others, each takes what it has.
    bool someOwnTable = llvm::any_of(
        layouts, [](LayoutAttr layout) { return layout.hasOwnScalesTable(); });

    // In one piece, so that threads do not mix.
    std::string text;
    llvm::raw_string_ostream os(text);
    for (LayoutAttr layout : layouts) {
      bool ownPool = layout.isQuantized() && layout.hasSeparatePools();
      FailureOr<LayoutMap> map = LayoutMap::get(
          layout, layers, emit, blocksPitch, ownPool ? scalesPitch : 0);
      if (failed(map))
        return signalPassFailure();
      map->explain(os);
      os << '\n';
      bool takesScales = layout.hasOwnScalesTable() || !someOwnTable;
      for (int64_t token : tokens) {
        if (failed(map->explainToken(os, token, *table,
                                     takesScales
                                         ? ArrayRef<int64_t>(*scalesTable)
                                         : ArrayRef<int64_t>(),
                                     emit)))
          return signalPassFailure();
        os << '\n';
      }
    }
    llvm::errs() << text;
  }
};

} // namespace
