//===- ExplainLayout.cpp - What a page looks like, for people -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/LayoutMap.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Places of a token that are printed at most: of each layer, head and scale.
static constexpr int64_t maxPlaces = 1 << 20;

static StringRef getSideName(int64_t side) {
  return side == 0 ? "key" : "value";
}

/// One line of the map: what lies from `begin` on in a page.
static void printPiece(raw_ostream &os, int64_t begin, int64_t bytes,
                       const Twine &what) {
  os << llvm::formatv("  {0,10} .. {1,-10} {2,10}  ", begin, begin + bytes,
                      bytes)
     << what << '\n';
}

/// "8 x 128 f8E4M3FN" of a (token, head) or the like.
static std::string describeElements(const PoolLayout &shape, LayoutAttr layout,
                                    Pool pool) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (pool == Pool::values)
    os << layout.getQuantizedSize() << " x " << layout.getDtype();
  else
    os << shape.inner << " x " << shape.storageType;
  return text;
}

void LayoutMap::explainPool(raw_ostream &os, Pool pool) const {
  PoolLayout shape = PoolLayout::get(layout, pool);
  StringRef name = pool == Pool::scales ? "scales" : "blocks";
  int64_t page = getPageBytes(pool);
  os << "page of " << name << ": " << page << " bytes, from block to block "
     << getPitch(pool) << '\n';

  int64_t end = 0;
  for (int64_t side = 0; side < shape.sides; ++side)
    for (int64_t layer = 0; layer < layers; ++layer) {
      // The first layers and the last one say it all.
      if (layers > 4 && layer == 2) {
        os << "         ... " << layers - 3 << " more of " << shape.layerBytes
           << " bytes\n";
        end += (layers - 3) * shape.layerBytes;
        layer = layers - 1;
      }
      std::string what =
          shape.sideBytes ? "keys and values" : (getSideName(side) + "s").str();
      printPiece(os, end, shape.layerBytes,
                 what + " of layer " + Twine(layer) + ": " +
                     Twine(shape.pageSize) + " tokens, " + Twine(shape.heads) +
                     (shape.heads == 1 ? " head" : " heads"));
      end += shape.layerBytes;
    }
  if (end < page)
    printPiece(os, end, page - end, "padding");
  if (getPitch(pool) > page)
    printPiece(os, page, getPitch(pool) - page, "between pages");
}

/// What belongs to slot 0 and head 0 of a layer, and how far it is to the next.
static void explainRow(raw_ostream &os, LayoutAttr layout, Pool pool) {
  PoolLayout shape = PoolLayout::get(layout, pool);
  os << llvm::formatv("  {0,-7} at {1,6}, {2,6} bytes: ", stringifyPool(pool),
                      shape.firstByte, shape.inner * shape.storageBytes)
     << describeElements(shape, layout, pool) << "; next token +"
     << shape.slotBytes << ", next head +" << shape.headBytes;
  if (shape.sideBytes)
    os << ", value +" << shape.sideBytes;
  os << '\n';
}

void LayoutMap::explain(raw_ostream &os) const {
  os << layout << '\n';
  os << layers << (layers == 1 ? " layer, " : " layers, ")
     << layout.getNumSides()
     << (layout.isMLA() ? " side (keys)" : " sides (keys, values)") << ", "
     << getTokenBytes() << " bytes a token\n\n";
  explainPool(os, Pool::values);
  if (layout.isQuantized() && layout.hasSeparatePools())
    explainPool(os, Pool::scales);

  os << "\nin a layer of a side, (token, head) (0, 0):\n";
  explainRow(os, layout, Pool::values);
  if (layout.isQuantized())
    explainRow(os, layout, Pool::scales);
  if (layout.getRope())
    explainRow(os, layout, Pool::tail);
  if (isa<Float4E2M1FNType>(layout.getDtype()))
    os << "  two elements a byte, the even one in the low half\n";
  if (layout.isQuantized())
    os << "  scale " << "dim / " << layout.getGranularity() << " of "
       << layout.getScaleSlots() << " belongs to element dim\n";
  if (layout.getFooter()) {
    PoolLayout scales = PoolLayout::get(layout, Pool::scales);
    os << "  " << layout.getFooter() - scales.inner * scales.storageBytes
       << " bytes after the scales of a (token, head) are unused\n";
  }
  for (int64_t side = 0; side < layout.getNumSides(); ++side)
    if (layout.isSwizzled(static_cast<Side>(side)))
      os << "  scales of " << getSideName(side)
         << "s are interleaved: of tokens 4 i to 4 i + 3, scale j of token t "
            "lies where scale f % "
         << layout.getScaleSlots() << " of token 4 i + f / "
         << layout.getScaleSlots() << " would, f = 4 j + t % 4\n";
}

LogicalResult
LayoutMap::explainToken(raw_ostream &stream, int64_t token,
                        ArrayRef<int64_t> table, ArrayRef<int64_t> scalesTable,
                        function_ref<InFlightDiagnostic()> emitError) const {
  bool ownTable = layout.hasOwnScalesTable();
  if (token < 0)
    return emitError() << "expected a token of at least 0, got " << token;
  int64_t places;
  if (llvm::MulOverflow(layers, layout.getNumSides() * layout.getNumHeads(),
                        places) ||
      llvm::MulOverflow(places, 1 + layout.getScaleSlots(), places) ||
      places > maxPlaces)
    return emitError() << "expected a token of at most " << maxPlaces
                       << " places, got " << layers << " layers of "
                       << layout.getNumSides() << " sides, "
                       << layout.getNumHeads() << " heads and "
                       << layout.getScaleSlots()
                       << " scales a head; name fewer layers";
  if (!ownTable && !scalesTable.empty())
    return emitError() << "expected no table of scales, got one of "
                       << scalesTable.size()
                       << " pages; the layout does not say 'table = own'";
  ElementIndex index;
  int64_t page = token / layout.getPageSize();
  index.slot = token % layout.getPageSize();
  auto lookUp = [&](StringRef name,
                    ArrayRef<int64_t> blocks) -> FailureOr<int64_t> {
    if (page < static_cast<int64_t>(blocks.size()))
      return blocks[page];
    return emitError() << "expected a " << name << " of more than " << page
                       << " pages for token " << token << ", got "
                       << blocks.size();
  };
  FailureOr<int64_t> block = lookUp("table", table);
  FailureOr<int64_t> scalesBlock =
      ownTable ? lookUp("table of scales", scalesTable) : block;
  if (failed(block) || failed(scalesBlock))
    return failure();

  // Nothing is said where a block does not fit.
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "token " << token << ": page " << page << ", slot " << index.slot
     << ", block " << *block;
  if (ownTable)
    os << ", block of scales " << *scalesBlock;
  os << '\n';
  for (int64_t side = 0; side < layout.getNumSides(); ++side)
    for (index.layer = 0; index.layer < layers; ++index.layer)
      for (index.head = 0; index.head < layout.getNumHeads(); ++index.head) {
        index.side = static_cast<Side>(side);
        index.block = *block;
        index.dim = 0;
        FailureOr<ElementPlace> place = getElement(index, emitError);
        if (failed(place))
          return failure();
        os << "  " << getSideName(side) << ", layer " << index.layer
           << ", head " << index.head << ": values at " << place->offset;
        if (layout.getRope()) {
          index.dim = layout.getQuantizedSize();
          place = getElement(index, emitError);
          if (failed(place))
            return failure();
          os << ", tail at " << place->offset;
        }
        index.block = *scalesBlock;
        for (int64_t slot = 0; slot < layout.getScaleSlots(); ++slot) {
          index.dim = slot * layout.getGranularity();
          place = getScale(index, emitError);
          if (failed(place))
            return failure();
          os << (slot == 0 ? ", scales at " : " ") << place->offset;
        }
        os << '\n';
      }
  stream << text;
  return success();
}
