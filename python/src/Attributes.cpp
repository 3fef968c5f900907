//===- Attributes.cpp - Attributes of operations in Python ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache-c/Attributes.h"
#include "Module.h"

using namespace nb::literals;
using namespace mlir::python::nanobind_adaptors;

/// The attribute that `make` gives, or ValueError.
template <typename Make>
static nb::object build(const nb::object &cls, MlirContext context,
                        Make &&make) {
  CollectDiagnosticsToStringScope scope(context);
  MlirAttribute attribute = make();
  if (mlirAttributeIsNull(attribute))
    refuse(scope, "not an attribute of the dialect");
  return cls(attribute);
}

static void defineTuning(nb::module_ &m) {
  auto get = mlirKVCacheTuningAttrGetParameters;
  attributeClass(m, "TuningAttr",
                 "`#kvcache.tuning`: how a kernel is cut into threads.",
                 mlirAttributeIsAKVCacheTuning, mlirKVCacheTuningAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, int64_t threads, int64_t chunks,
             int64_t blocksPerSM, MlirContext context) {
            return build(cls, context, [&] {
              return mlirKVCacheTuningAttrGet(context,
                                              {threads, chunks, blocksPerSM});
            });
          },
          "cls"_a, "threads"_a = 0, "chunks"_a = 0, "blocks_per_sm"_a = 0,
          "context"_a = nb::none(),
          "Makes a `#kvcache.tuning`; ValueError says what is wrong with it.")
      .def_property_readonly(
          "threads", [get](MlirAttribute self) { return get(self).threads; },
          "Threads of a block at most.")
      .def_property_readonly(
          "chunks", [get](MlirAttribute self) { return get(self).chunks; },
          "Vectors that a thread has in flight.")
      .def_property_readonly(
          "blocks_per_sm",
          [get](MlirAttribute self) { return get(self).blocksPerSM; },
          "Blocks that registers are kept free for.");
}

static void defineQuantization(nb::module_ &m) {
  auto get = mlirKVCacheQuantizationAttrGetParameters;
  attributeClass(
      m, "QuantizationAttr",
      "`#kvcache.quantization`: how scales and codes are made of numbers.",
      mlirAttributeIsAKVCacheQuantization, mlirKVCacheQuantizationAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Member &contract, double floor,
             const Member &floorOn, const Member &apply, MlirContext context) {
            return build(cls, context, [&] {
              return mlirKVCacheQuantizationAttrGet(
                  context, {static_cast<MlirKVCacheScaleContract>(toNumber(
                                contract, "contract", "ScaleContract")),
                            floor,
                            static_cast<MlirKVCacheFloorOn>(
                                toNumber(floorOn, "floor_on", "FloorOn")),
                            static_cast<MlirKVCacheApplyScale>(
                                toNumber(apply, "apply", "ApplyScale"))});
            });
          },
          "cls"_a, "contract"_a = 0, "floor"_a = 0.0, "floor_on"_a = 0,
          "apply"_a = 0, "context"_a = nb::none(),
          "Makes a `#kvcache.quantization`, of ScaleContract, FloorOn and "
          "ApplyScale, by number or name; ValueError says what is wrong with "
          "it.")
      .def_property_readonly(
          "contract",
          [get](MlirAttribute self) { return int(get(self).contract); },
          "What scales there may be, of ScaleContract.")
      .def_property_readonly(
          "floor", [get](MlirAttribute self) { return get(self).floor; },
          "The least that the scale or the greatest magnitude may be.")
      .def_property_readonly(
          "floor_on",
          [get](MlirAttribute self) { return int(get(self).floorOn); },
          "What the floor bounds, of FloorOn.")
      .def_property_readonly(
          "apply", [get](MlirAttribute self) { return int(get(self).apply); },
          "How a scale is taken out of a number, of ApplyScale.");
}

static void defineRotation(nb::module_ &m) {
  auto get = mlirKVCacheRotationAttrGetParameters;
  attributeClass(
      m, "RotationAttr",
      "`#kvcache.rotation`: which elements a rotary embedding turns together.",
      mlirAttributeIsAKVCacheRotation, mlirKVCacheRotationAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Member &style, int64_t start,
             MlirContext context) {
            return build(cls, context, [&] {
              return mlirKVCacheRotationAttrGet(
                  context, {static_cast<MlirKVCacheRotationStyle>(
                                toNumber(style, "style", "RotationStyle")),
                            start});
            });
          },
          "cls"_a, "style"_a = 0, "start"_a = 0, "context"_a = nb::none(),
          "Makes a `#kvcache.rotation`, of a RotationStyle, by number or "
          "name; ValueError says what is wrong with it.")
      .def_property_readonly(
          "style", [get](MlirAttribute self) { return int(get(self).style); },
          "Which elements turn together, of RotationStyle.")
      .def_property_readonly(
          "start", [get](MlirAttribute self) { return get(self).start; },
          "The first element that turns.");
}

static void defineNorm(nb::module_ &m) {
  auto get = mlirKVCacheNormAttrGetParameters;
  attributeClass(m, "NormAttr", "`#kvcache.norm`: an RMS norm of rows.",
                 mlirAttributeIsAKVCacheNorm, mlirKVCacheNormAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, double eps, double weightOffset,
             MlirContext context) {
            return build(cls, context, [&] {
              return mlirKVCacheNormAttrGet(context, {eps, weightOffset});
            });
          },
          "cls"_a, "eps"_a = 1e-6, "weight_offset"_a = 0.0,
          "context"_a = nb::none(),
          "Makes a `#kvcache.norm`; ValueError says what is wrong with it.")
      .def_property_readonly(
          "eps", [get](MlirAttribute self) { return get(self).eps; },
          "What is added to the mean of squares.")
      .def_property_readonly(
          "weight_offset",
          [get](MlirAttribute self) { return get(self).weightOffset; },
          "What is added to weights.");
}

void defineAttributes(nb::module_ &m) {
  defineTuning(m);
  defineQuantization(m);
  defineRotation(m);
  defineNorm(m);
}
