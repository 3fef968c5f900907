//===- Attributes.cpp - Attributes of operations in C ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache-c/Attributes.h"

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace mlir::kvcache;

// The C enumerations are the C++ ones.
static_assert(MlirKVCachePolicyTrap == static_cast<int>(OutOfRange::trap));
static_assert(MlirKVCacheRowFormSlots == static_cast<int>(RowForm::slots));
static_assert(MlirKVCacheScaleContractPowerOfTwo ==
              static_cast<int>(ScaleContract::power_of_two));
static_assert(MlirKVCacheFloorOnAmax == static_cast<int>(FloorOn::amax));
static_assert(MlirKVCacheApplyScaleDivide ==
              static_cast<int>(ApplyScale::divide));
static_assert(MlirKVCacheRotationStyleHalf ==
              static_cast<int>(RotationStyle::half));

/// The context with the dialect, or null.
static MLIRContext *getContext(MlirContext context) {
  if (!context.ptr)
    return nullptr;
  unwrap(context)->getOrLoadDialect<KVCacheDialect>();
  return unwrap(context);
}

static auto errorsOf(MLIRContext *context) {
  return [context] { return emitError(UnknownLoc::get(context)); };
}

/// The value of an enumeration that comes from C, where it may be any number.
template <typename Enum>
static std::optional<Enum> toEnum(MLIRContext *context,
                                  std::optional<Enum> (*symbolize)(uint32_t),
                                  StringRef name, int value) {
  if (std::optional<Enum> known = symbolize(value))
    return known;
  std::string text;
  llvm::raw_string_ostream os(text);
  for (unsigned i = 0; std::optional<Enum> one = symbolize(i); ++i)
    os << (i ? ", " : "") << stringifyEnum(*one) << " (" << i << ")";
  emitError(UnknownLoc::get(context))
      << "expected " << name << " to be one of " << text << ", got " << value;
  return std::nullopt;
}

template <typename EnumAttr, typename Enum>
static MlirAttribute getEnum(MlirContext given,
                             std::optional<Enum> (*symbolize)(uint32_t),
                             StringRef name, int value) {
  MLIRContext *context = getContext(given);
  if (!context)
    return {};
  std::optional<Enum> known = toEnum(context, symbolize, name, value);
  return known ? wrap(Attribute(EnumAttr::get(context, *known)))
               : MlirAttribute{};
}

/// The attribute's value; that of 0 for another attribute.
template <typename EnumAttr, typename Result>
static Result getValue(MlirAttribute attribute) {
  auto attr = dyn_cast_if_present<EnumAttr>(unwrap(attribute));
  return static_cast<Result>(attr ? static_cast<int>(attr.getValue()) : 0);
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

bool mlirAttributeIsAKVCachePolicy(MlirAttribute attribute) {
  return isa_and_present<OutOfRangeAttr>(unwrap(attribute));
}

MlirAttribute mlirKVCachePolicyAttrGet(MlirContext context,
                                       MlirKVCachePolicy policy) {
  return getEnum<OutOfRangeAttr>(context, symbolizeOutOfRange, "a policy",
                                 policy);
}

MlirKVCachePolicy mlirKVCachePolicyAttrGetValue(MlirAttribute attribute) {
  return getValue<OutOfRangeAttr, MlirKVCachePolicy>(attribute);
}

bool mlirAttributeIsAKVCacheRowForm(MlirAttribute attribute) {
  return isa_and_present<RowFormAttr>(unwrap(attribute));
}

MlirAttribute mlirKVCacheRowFormAttrGet(MlirContext context,
                                        MlirKVCacheRowForm form) {
  return getEnum<RowFormAttr>(context, symbolizeRowForm, "a form of rows",
                              form);
}

MlirKVCacheRowForm mlirKVCacheRowFormAttrGetValue(MlirAttribute attribute) {
  return getValue<RowFormAttr, MlirKVCacheRowForm>(attribute);
}

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

bool mlirAttributeIsAKVCacheTuning(MlirAttribute attribute) {
  return isa_and_present<TuningAttr>(unwrap(attribute));
}

MlirAttribute mlirKVCacheTuningAttrGet(MlirContext given,
                                       MlirKVCacheTuning tuning) {
  MLIRContext *context = getContext(given);
  if (!context)
    return {};
  return wrap(Attribute(TuningAttr::getChecked(errorsOf(context), context,
                                               tuning.threads, tuning.chunks,
                                               tuning.blocksPerSM)));
}

MlirKVCacheTuning mlirKVCacheTuningAttrGetParameters(MlirAttribute attribute) {
  auto tuning = dyn_cast_if_present<TuningAttr>(unwrap(attribute));
  if (!tuning)
    return {};
  return {tuning.getThreads(), tuning.getChunks(), tuning.getBlocksPerSm()};
}

MlirTypeID mlirKVCacheTuningAttrGetTypeID(void) {
  return wrap(TuningAttr::getTypeID());
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

bool mlirAttributeIsAKVCacheQuantization(MlirAttribute attribute) {
  return isa_and_present<QuantizationAttr>(unwrap(attribute));
}

MlirAttribute
mlirKVCacheQuantizationAttrGet(MlirContext given,
                               MlirKVCacheQuantization quantization) {
  MLIRContext *context = getContext(given);
  if (!context)
    return {};
  auto contract = toEnum(context, symbolizeScaleContract,
                         "a contract of scales", quantization.contract);
  auto floorOn = toEnum(context, symbolizeFloorOn, "what a floor bounds",
                        quantization.floorOn);
  auto apply = toEnum(context, symbolizeApplyScale, "how a scale is applied",
                      quantization.apply);
  if (!contract || !floorOn || !apply)
    return {};
  return wrap(Attribute(QuantizationAttr::getChecked(
      errorsOf(context), context, *contract, APFloat(quantization.floor),
      *floorOn, *apply)));
}

MlirKVCacheQuantization
mlirKVCacheQuantizationAttrGetParameters(MlirAttribute attribute) {
  auto attr = dyn_cast_if_present<QuantizationAttr>(unwrap(attribute));
  MlirKVCacheQuantization result = {};
  if (!attr)
    return result;
  result.contract = static_cast<MlirKVCacheScaleContract>(attr.getContract());
  result.floor = attr.getFloor().convertToDouble();
  result.floorOn = static_cast<MlirKVCacheFloorOn>(attr.getFloorOn());
  result.apply = static_cast<MlirKVCacheApplyScale>(attr.getApply());
  return result;
}

MlirTypeID mlirKVCacheQuantizationAttrGetTypeID(void) {
  return wrap(QuantizationAttr::getTypeID());
}

//===----------------------------------------------------------------------===//
// Rotation and norm
//===----------------------------------------------------------------------===//

bool mlirAttributeIsAKVCacheRotation(MlirAttribute attribute) {
  return isa_and_present<RotationAttr>(unwrap(attribute));
}

MlirAttribute mlirKVCacheRotationAttrGet(MlirContext given,
                                         MlirKVCacheRotation rotation) {
  MLIRContext *context = getContext(given);
  if (!context)
    return {};
  auto style = toEnum(context, symbolizeRotationStyle, "a style of rotation",
                      rotation.style);
  if (!style)
    return {};
  return wrap(Attribute(RotationAttr::getChecked(errorsOf(context), context,
                                                 *style, rotation.start)));
}

MlirKVCacheRotation
mlirKVCacheRotationAttrGetParameters(MlirAttribute attribute) {
  auto attr = dyn_cast_if_present<RotationAttr>(unwrap(attribute));
  if (!attr)
    return {};
  return {static_cast<MlirKVCacheRotationStyle>(attr.getStyle()),
          attr.getStart()};
}

MlirTypeID mlirKVCacheRotationAttrGetTypeID(void) {
  return wrap(RotationAttr::getTypeID());
}

bool mlirAttributeIsAKVCacheNorm(MlirAttribute attribute) {
  return isa_and_present<NormAttr>(unwrap(attribute));
}

MlirAttribute mlirKVCacheNormAttrGet(MlirContext given, MlirKVCacheNorm norm) {
  MLIRContext *context = getContext(given);
  if (!context)
    return {};
  return wrap(Attribute(NormAttr::getChecked(errorsOf(context), context,
                                             APFloat(norm.eps),
                                             APFloat(norm.weightOffset))));
}

MlirKVCacheNorm mlirKVCacheNormAttrGetParameters(MlirAttribute attribute) {
  auto attr = dyn_cast_if_present<NormAttr>(unwrap(attribute));
  if (!attr)
    return {};
  return {attr.getEps().convertToDouble(),
          attr.getWeightOffset().convertToDouble()};
}

MlirTypeID mlirKVCacheNormAttrGetTypeID(void) {
  return wrap(NormAttr::getTypeID());
}
