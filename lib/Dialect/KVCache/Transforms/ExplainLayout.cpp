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
      emit() << "expected a token with a table, got none; add token=";
      return signalPassFailure();
    }
    FailureOr<SmallVector<int64_t>> blocks = getRow("table", table);
    FailureOr<SmallVector<int64_t>> scalesBlocks =
        getRow("scales-table", scalesTable);
    if (failed(blocks) || failed(scalesBlocks))
      return signalPassFailure();
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
        if (failed(map->explainToken(os, token, *blocks,
                                     takesScales ? ArrayRef(*scalesBlocks)
                                                 : ArrayRef<int64_t>(),
                                     emit)))
          return signalPassFailure();
        os << '\n';
      }
    }
    llvm::errs() << text;
  }

  /// The blocks of the sequence `batch` in a table; none where there is no
  /// table.
  FailureOr<SmallVector<int64_t>> getRow(StringRef name, StringRef text) {
    if (text.empty())
      return SmallVector<int64_t>();
    SmallVector<StringRef> rows, entries;
    text.split(rows, ';');
    if (batch < 0 || batch >= static_cast<int64_t>(rows.size()))
      return emitError(getOperation()->getLoc())
             << "expected a batch of 0 to " << rows.size() - 1
             << ", the rows of '" << name << "', got " << int64_t(batch);
    SmallVector<int64_t> blocks;
    rows[batch].split(entries, ',');
    for (StringRef entry : entries)
      if (entry.trim().getAsInteger(10, blocks.emplace_back()))
        return emitError(getOperation()->getLoc())
               << "expected '" << name
               << "' to be block ids parted by commas, and rows by "
                  "semicolons, got '"
               << entry << "' in '" << text << "'";
    return blocks;
  }
};

} // namespace
