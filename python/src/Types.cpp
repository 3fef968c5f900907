//===- Types.cpp - Attributes and types in Python -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "kvcache-c/Dialect.h"

#include "mlir-c/IR.h"

#include <string>
#include <vector>

using namespace nb::literals;
using namespace mlir::python::nanobind_adaptors;

/// Layers that are listed at most: of each a dict is made.
static constexpr int64_t maxLayers = 1 << 16;

static void append(MlirStringRef text, void *result) {
  static_cast<std::string *>(result)->append(text.data, text.length);
}

static MlirContext contextOf(MlirAttribute attribute) {
  return mlirAttributeGetContext(attribute);
}

/// Adds a stretch of bytes to a list.
static void addStretch(const MlirKVCacheStretch *stretch, void *list) {
  nb::dict one;
  one["pool"] = int(stretch->pool);
  one["side"] =
      stretch->isBothSides ? nb::none() : nb::cast(int(stretch->side));
  one["layer"] = stretch->layer;
  one["head"] = stretch->head;
  one["scale"] = stretch->scale;
  one["offset"] = stretch->offset;
  one["bytes"] = stretch->bytes;
  static_cast<nb::list *>(list)->append(one);
}

static void defineLayout(nb::module_ &m) {
  attributeClass(m, "LayoutAttr",
                 "`#kvcache.layout`: what lies where in the pages of a cache, "
                 "of values and of scales.",
                 mlirAttributeIsAKVCacheLayout, mlirKVCacheLayoutAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, MlirType dtype, int64_t numHeads,
             int64_t headSize, int64_t pageSize, bool isMLA,
             std::optional<MlirType> scaleDtype, int64_t granularity,
             bool ownScalesTable, const Member &placement, const Member &order,
             std::optional<MlirType> ropeDtype, int64_t ropeSize, bool kvInner,
             int64_t footer, int64_t pageAlign, const Member &swizzle) {
            MlirKVCacheLayout layout =
                mlirKVCacheLayoutDefault(dtype, numHeads, headSize, pageSize);
            layout.isMLA = isMLA;
            if (scaleDtype)
              layout.scaleDtype = *scaleDtype;
            layout.granularity = granularity;
            layout.ownScalesTable = ownScalesTable;
            layout.placement = static_cast<MlirKVCachePlacement>(
                toNumber(placement, "placement", "Placement"));
            layout.order = static_cast<MlirKVCacheOrder>(
                toNumber(order, "order", "Order"));
            if (ropeDtype)
              layout.ropeDtype = *ropeDtype;
            layout.ropeSize = ropeSize;
            layout.kvInner = kvInner;
            layout.footer = footer;
            layout.pageAlign = pageAlign;
            layout.swizzle = static_cast<MlirKVCacheScaleSwizzle>(
                toNumber(swizzle, "swizzle", "ScaleSwizzle"));
            MlirContext context = mlirTypeGetContext(dtype);
            CollectDiagnosticsToStringScope scope(context);
            MlirAttribute attr = mlirKVCacheLayoutAttrGet(context, &layout);
            if (mlirAttributeIsNull(attr))
              refuse(scope, "not a layout");
            return cls(attr);
          },
          "cls"_a, "dtype"_a, "num_heads"_a, "head_size"_a, "page_size"_a,
          "is_mla"_a = false, "scale_dtype"_a = nb::none(), "granularity"_a = 0,
          "own_scales_table"_a = false, "placement"_a = 0, "order"_a = 0,
          "rope_dtype"_a = nb::none(), "rope_size"_a = 0, "kv_inner"_a = false,
          "footer"_a = 0, "page_align"_a = 0, "swizzle"_a = 0,
          "Makes a `#kvcache.layout`, of a Placement, an Order and a "
          "ScaleSwizzle, by number or as programs spell them; ValueError says "
          "what is wrong with it.")
      .def_property_readonly(
          "parameters",
          [](MlirAttribute self) {
            MlirKVCacheLayout layout = mlirKVCacheLayoutAttrGetParameters(self);
            nb::dict result;
            auto type = [](MlirType type) -> nb::object {
              return mlirTypeIsNull(type) ? nb::none() : nb::cast(type);
            };
            result["dtype"] = type(layout.dtype);
            result["num_heads"] = layout.numHeads;
            result["head_size"] = layout.headSize;
            result["page_size"] = layout.pageSize;
            result["is_mla"] = layout.isMLA;
            result["scale_dtype"] = type(layout.scaleDtype);
            result["granularity"] = layout.granularity;
            result["own_scales_table"] = layout.ownScalesTable;
            result["placement"] = int(layout.placement);
            result["order"] = int(layout.order);
            result["rope_dtype"] = type(layout.ropeDtype);
            result["rope_size"] = layout.ropeSize;
            result["kv_inner"] = layout.kvInner;
            result["footer"] = layout.footer;
            result["page_align"] = layout.pageAlign;
            result["swizzle"] = int(layout.swizzle);
            return result;
          },
          "The arguments of `get`, as a dict.")
      .def(
          "page_bytes",
          [](MlirAttribute self, int64_t layers, int pool) {
            CollectDiagnosticsToStringScope scope(contextOf(self));
            int64_t bytes = mlirKVCacheLayoutGetPageBytes(
                self, layers, static_cast<MlirKVCachePool>(pool));
            if (bytes < 0)
              refuse(scope, "no such page");
            return bytes;
          },
          "layers"_a, "pool"_a = 0,
          "Bytes of a page of the pool of values (0) or of scales (1).")
      .def(
          "token_bytes",
          [](MlirAttribute self, int64_t layers) {
            CollectDiagnosticsToStringScope scope(contextOf(self));
            int64_t bytes = mlirKVCacheLayoutGetTokenBytes(self, layers);
            if (bytes < 0)
              refuse(scope, "no such page");
            return bytes;
          },
          "layers"_a, "Bytes that a token takes, padding of pages apart.")
      .def(
          "pool_shape",
          [](MlirAttribute self, int pool) {
            int64_t shape[6];
            intptr_t rank = mlirKVCacheLayoutGetPoolShape(
                self, static_cast<MlirKVCachePool>(pool), shape);
            nb::list result;
            for (intptr_t i = 0; i < rank; ++i)
              if (shape[i] < 0)
                result.append(nb::none());
              else
                result.append(shape[i]);
            return nb::tuple(result);
          },
          "pool"_a = 0,
          "Sizes of the memref of values (0) or scales (1), None where they "
          "are free; empty where there is no such memref.")
      .def(
          "pool_type",
          [](MlirAttribute self, int pool) -> std::optional<MlirType> {
            MlirType type = mlirKVCacheLayoutGetPoolType(
                self, static_cast<MlirKVCachePool>(pool));
            if (mlirTypeIsNull(type))
              return std::nullopt;
            return type;
          },
          "pool"_a = 0, "Element type of that memref.")
      .def(
          "place",
          [](MlirAttribute self, int64_t layers, bool ofScale, int64_t block,
             const Member &side, int64_t layer, int64_t slot, int64_t head,
             int64_t dim, int64_t pitch) {
            MlirKVCacheElement element = {
                block, static_cast<MlirKVCacheSide>(toSide(side)),
                layer, slot,
                head,  dim};
            MlirKVCachePlace place;
            CollectDiagnosticsToStringScope scope(contextOf(self));
            if (mlirLogicalResultIsFailure(
                    ofScale ? mlirKVCacheLayoutGetScalePlace(
                                  self, layers, pitch, &element, &place)
                            : mlirKVCacheLayoutGetElementPlace(
                                  self, layers, pitch, &element, &place)))
              refuse(scope, "no such element");
            return nb::make_tuple(int(place.pool), place.offset, place.bytes,
                                  place.highHalf);
          },
          "layers"_a, "of_scale"_a, "block"_a, "side"_a, "layer"_a, "slot"_a,
          "head"_a, "dim"_a, "pitch"_a = 0,
          "Where an element or its scale lies: pool, byte offset, bytes, high "
          "half.")
      .def(
          "layer_map",
          [](MlirAttribute self, int64_t layers, int pool) {
            nb::list result;
            CollectDiagnosticsToStringScope scope(contextOf(self));
            if (layers > maxLayers)
              throw nb::value_error(
                  ("expected at most " + std::to_string(maxLayers) +
                   " layers to list, got " + std::to_string(layers))
                      .c_str());
            if (mlirLogicalResultIsFailure(mlirKVCacheLayoutVisitLayers(
                    self, layers, static_cast<MlirKVCachePool>(pool),
                    addStretch, &result)))
              refuse(scope, "no such pool");
            return result;
          },
          "layers"_a, "pool"_a = 0,
          "Each layer of each side of a page of values (0) or scales (1), as "
          "dicts of pool, side (None: both), layer, head, scale, offset and "
          "bytes.")
      .def(
          "token_map",
          [](MlirAttribute self, int64_t layers, const Member &side,
             int64_t layer, int64_t slot) {
            nb::list result;
            CollectDiagnosticsToStringScope scope(contextOf(self));
            if (mlirLogicalResultIsFailure(mlirKVCacheLayoutVisitToken(
                    self, layers, static_cast<MlirKVCacheSide>(toSide(side)),
                    layer, slot, addStretch, &result)))
              refuse(scope, "no such token");
            return result;
          },
          "layers"_a, "side"_a, "layer"_a, "slot"_a,
          "The values, tail and scales of all heads of the token in a slot of "
          "a page, as such dicts.")
      .def(
          "explain",
          [](MlirAttribute self, int64_t layers) {
            std::string text;
            CollectDiagnosticsToStringScope scope(contextOf(self));
            if (mlirLogicalResultIsFailure(
                    mlirKVCacheLayoutExplain(self, layers, append, &text)))
              refuse(scope, "cannot explain the layout");
            return text;
          },
          "layers"_a = 1, "The byte map of a page, for people.")
      .def(
          "explain_token",
          [](MlirAttribute self, int64_t layers, int64_t token,
             const std::vector<int64_t> &table,
             const std::vector<int64_t> &scalesTable) {
            std::string text;
            CollectDiagnosticsToStringScope scope(contextOf(self));
            if (mlirLogicalResultIsFailure(mlirKVCacheLayoutExplainToken(
                    self, layers, token, table.size(), table.data(),
                    scalesTable.size(), scalesTable.data(), append, &text)))
              refuse(scope, "cannot explain the token");
            return text;
          },
          "layers"_a, "token"_a, "table"_a,
          "scales_table"_a = std::vector<int64_t>(),
          "Where a token of a sequence lies, whose blocks are `table`.");
}

using SidedGet = MlirType (*)(MlirKVCacheSide, MlirAttribute);

static void defineSided(nb::module_ &m, const char *name, const char *about,
                        bool (*isA)(MlirType), MlirTypeID (*id)(),
                        SidedGet get) {
  typeClass(m, name, about, isA, id)
      .def_classmethod(
          "get",
          [get](const nb::object &cls, const Member &side,
                MlirAttribute layout) {
            CollectDiagnosticsToStringScope scope(contextOf(layout));
            MlirType type =
                get(static_cast<MlirKVCacheSide>(toSide(side)), layout);
            if (mlirTypeIsNull(type))
              refuse(scope, "expected a kvcache layout");
            return cls(type);
          },
          "cls"_a, "side"_a, "layout"_a,
          "The type of keys (side 0, \"key\") or values (1, \"value\") of a "
          "layout.")
      .def_property_readonly(
          "side",
          [](MlirType self) { return int(mlirKVCacheTypeGetSide(self)); },
          "Keys (0) or values (1).")
      .def_property_readonly(
          "layout",
          [](MlirType self) { return mlirKVCacheTypeGetLayout(self); },
          "The layout attribute.");
}

NB_MODULE(_kvcache, m) {
  m.doc() = "Attributes and types of the kvcache dialect";

  defineLayout(m);
  defineAttributes(m);
  typeClass(m, "CollectionType",
            "`!kvcache.collection`: the pages of keys and values of all "
            "layers, with their tables.",
            mlirTypeIsAKVCacheCollection, mlirKVCacheCollectionTypeGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, MlirAttribute layout) {
            MlirType type = mlirKVCacheCollectionTypeGet(layout);
            if (mlirTypeIsNull(type))
              throw nb::value_error("expected a kvcache layout");
            return cls(type);
          },
          "cls"_a, "layout"_a, "The type of collections of a layout.")
      .def_property_readonly(
          "layout",
          [](MlirType self) { return mlirKVCacheTypeGetLayout(self); },
          "The layout attribute.");
  defineSided(
      m, "CacheType",
      "`!kvcache.cache`: the keys or the values of a layer of a collection.",
      mlirTypeIsAKVCacheCache, mlirKVCacheCacheTypeGetTypeID,
      mlirKVCacheCacheTypeGet);
  defineSided(m, "MHAOperandType",
              "`!kvcache.mha_operand`: keys or values as attention reads them, "
              "by sequence and token.",
              mlirTypeIsAKVCacheMHAOperand, mlirKVCacheMHAOperandTypeGetTypeID,
              mlirKVCacheMHAOperandTypeGet);
  defineSided(m, "ScalesMHAOperandType",
              "`!kvcache.scales_mha_operand`: their scales, found through the "
              "scales' own table where there is one.",
              mlirTypeIsAKVCacheScalesMHAOperand,
              mlirKVCacheScalesMHAOperandTypeGetTypeID,
              mlirKVCacheScalesMHAOperandTypeGet);
}
