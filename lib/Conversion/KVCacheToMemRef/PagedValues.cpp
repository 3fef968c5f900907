//===- PagedValues.cpp - What a kvcache value lowers to ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedValues.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {
/// Which of the values a type has.
struct Shape {
  LayoutAttr layout;
  bool values, scales, scalesTable, layers;

  explicit Shape(Type paged) : layout(getLayout(paged)) {
    scales = layout.isQuantized() && layout.hasSeparatePools();
    bool scalesOperand = scales && isa<ScalesMHAOperandType>(paged);
    values = !scalesOperand;
    scalesTable = scalesOperand || layout.hasOwnScalesTable();
    layers = isa<CollectionType>(paged);
  }
};
} // namespace

/// Calls `visit` with the description and the place of every value of `paged`,
/// in order. `Values` is `PagedValues` or const.
template <typename Values, typename Visit>
static void forEachValue(Type paged, Values &values, Visit visit) {
  Shape shape(paged);
  MLIRContext *context = paged.getContext();
  Type index = IndexType::get(context), i32 = IntegerType::get(context, 32);
  Type entries = MemRefType::get({}, i32);
  auto scalar = [&](Type type, StringRef name, auto &place) {
    visit(PagedPart{type, PagedRole::scalar, name}, place);
  };
  auto visitPool = [&](auto &pool, Pool which, bool table,
                       ArrayRef<StringRef> names) {
    Type element = PoolLayout::get(shape.layout, which).poolType();
    visit(PagedPart{MemRefType::get({}, element), PagedRole::pool, names[0]},
          pool.base);
    scalar(index, names[1], pool.pitch);
    scalar(index, names[2], pool.blocks);
    if (!table)
      return;
    visit(PagedPart{entries, PagedRole::table, names[3]}, pool.table);
    scalar(i32, names[4], pool.tableStride);
  };
  if (shape.values)
    visitPool(
        *values.values, Pool::values, /*table=*/true,
        {"values", "values_pitch", "values_blocks", "table", "table_stride"});
  if (shape.scales)
    visitPool(*values.scales, Pool::scales, shape.scalesTable,
              {"scales", "scales_pitch", "scales_blocks", "scales_table",
               "scales_table_stride"});
  visit(PagedPart{entries, PagedRole::table, "lengths"}, values.lengths);
  scalar(index, "batch", values.batch);
  scalar(index, "columns", values.columns);
  visit(PagedPart{entries, PagedRole::table, "max_prompt"}, values.maxPrompt);
  visit(PagedPart{entries, PagedRole::table, "max_cache"}, values.maxCache);
  if (shape.layers)
    scalar(index, "layers", values.layers);
}

bool mlir::kvcache::isPagedType(Type type) {
  return isa<CollectionType, MHAOperandTypeInterface>(type);
}

SmallVector<PagedPart> mlir::kvcache::getPagedParts(Type paged) {
  SmallVector<PagedPart> parts;
  PagedValues values;
  values.values.emplace();
  values.scales.emplace();
  forEachValue(paged, values,
               [&](PagedPart part, Value) { parts.push_back(part); });
  return parts;
}

PagedValues mlir::kvcache::unpackPaged(Type paged, ValueRange flat) {
  PagedValues values;
  values.values.emplace();
  values.scales.emplace();
  size_t next = 0;
  forEachValue(paged, values,
               [&](PagedPart, Value &value) { value = flat[next++]; });
  Shape shape(paged);
  if (shape.scales && !shape.scalesTable) {
    values.scales->table = values.values->table;
    values.scales->tableStride = values.values->tableStride;
  }
  if (!shape.values)
    values.values.reset();
  if (!shape.scales)
    values.scales.reset();
  return values;
}

SmallVector<Value> mlir::kvcache::packPaged(Type paged,
                                            const PagedValues &values) {
  SmallVector<Value> flat;
  forEachValue(paged, values,
               [&](PagedPart, Value value) { flat.push_back(value); });
  return flat;
}
