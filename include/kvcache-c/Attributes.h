/*===- kvcache-c/Attributes.h - Attributes of operations in C ---------------===
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * The attributes that operations of the dialect carry beside the layout:
 * policies, forms of rows, tunings, quantisations, rotations, norms. What is
 * said of errors in kvcache-c/Dialect.h holds here, too: builders give null and
 * a diagnostic, queries of another attribute give zeros.
 */
#ifndef KVCACHE_C_ATTRIBUTES_H
#define KVCACHE_C_ATTRIBUTES_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enumerations of operations ----------------------------------------------- */

/// What an access out of range does.
typedef int MlirKVCachePolicy;
enum {
  /// It is undefined.
  MlirKVCachePolicyAssume = 0,
  /// A store does nothing, a load gives 0.
  MlirKVCachePolicySkip = 1,
  /// The kernel stops with a message.
  MlirKVCachePolicyTrap = 2
};

/// How the rows of a tensor are told where to go.
typedef int MlirKVCacheRowForm;
enum {
  /// Rows of all sequences one after another, and offsets.
  MlirKVCacheRowFormRagged = 0,
  /// As many rows for each sequence, and how many of them count.
  MlirKVCacheRowFormPadded = 1,
  /// A sequence and a position for each row.
  MlirKVCacheRowFormPositions = 2,
  /// A slot of the pool for each row.
  MlirKVCacheRowFormSlots = 3
};

/// Whether an attribute may be an operation's `policy`.
MLIR_CAPI_EXPORTED bool mlirAttributeIsAKVCachePolicy(MlirAttribute attribute);
/// Makes the attribute `policy`.
MLIR_CAPI_EXPORTED MlirAttribute
mlirKVCachePolicyAttrGet(MlirContext context, MlirKVCachePolicy policy);
/// The policy that an attribute says.
MLIR_CAPI_EXPORTED MlirKVCachePolicy
mlirKVCachePolicyAttrGetValue(MlirAttribute attribute);

/// Whether an attribute may be an operation's `form`.
MLIR_CAPI_EXPORTED bool mlirAttributeIsAKVCacheRowForm(MlirAttribute attribute);
/// Makes the attribute `form`.
MLIR_CAPI_EXPORTED MlirAttribute
mlirKVCacheRowFormAttrGet(MlirContext context, MlirKVCacheRowForm form);
/// The form that an attribute says.
MLIR_CAPI_EXPORTED MlirKVCacheRowForm
mlirKVCacheRowFormAttrGetValue(MlirAttribute attribute);

/* #kvcache.tuning ---------------------------------------------------------- */

/// How a kernel is cut into threads; a 0 leaves the choice to the compiler.
typedef struct {
  /// Threads of a block at most, a multiple of 32.
  int64_t threads;
  /// Vectors that a thread has in flight.
  int64_t chunks;
  /// Blocks that registers are kept free for.
  int64_t blocksPerSM;
} MlirKVCacheTuning;

/// Whether an attribute is a `#kvcache.tuning`.
MLIR_CAPI_EXPORTED bool mlirAttributeIsAKVCacheTuning(MlirAttribute attribute);
/// Makes a `#kvcache.tuning`; null where a number is none of those allowed.
MLIR_CAPI_EXPORTED MlirAttribute
mlirKVCacheTuningAttrGet(MlirContext context, MlirKVCacheTuning tuning);
/// The parameters of a `#kvcache.tuning`.
MLIR_CAPI_EXPORTED MlirKVCacheTuning
mlirKVCacheTuningAttrGetParameters(MlirAttribute attribute);
/// The id of the attribute `#kvcache.tuning`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheTuningAttrGetTypeID(void);

/* #kvcache.quantization ---------------------------------------------------- */

/// The scales that a quantised cache may have.
typedef int MlirKVCacheScaleContract;
enum {
  /// Any that are positive.
  MlirKVCacheScaleContractArbitrary = 0,
  /// Powers of two.
  MlirKVCacheScaleContractPowerOfTwo = 1
};

/// What a floor bounds.
typedef int MlirKVCacheFloorOn;
enum {
  /// The scale itself.
  MlirKVCacheFloorOnScale = 0,
  /// The greatest magnitude, before it becomes a scale.
  MlirKVCacheFloorOnAmax = 1
};

/// How a scale is taken out of a number.
typedef int MlirKVCacheApplyScale;
enum {
  /// By multiplication with 1 / scale.
  MlirKVCacheApplyScaleInverse = 0,
  /// By division.
  MlirKVCacheApplyScaleDivide = 1
};

/// How scales and codes are made of numbers.
typedef struct {
  /// What scales there may be.
  MlirKVCacheScaleContract contract;
  /// The least that `floorOn` may be; at least 0, finite in f32.
  double floor;
  /// What `floor` bounds.
  MlirKVCacheFloorOn floorOn;
  /// How numbers become codes.
  MlirKVCacheApplyScale apply;
} MlirKVCacheQuantization;

/// Whether an attribute is a `#kvcache.quantization`.
MLIR_CAPI_EXPORTED bool
mlirAttributeIsAKVCacheQuantization(MlirAttribute attribute);
/// Makes a `#kvcache.quantization`.
MLIR_CAPI_EXPORTED MlirAttribute mlirKVCacheQuantizationAttrGet(
    MlirContext context, MlirKVCacheQuantization quantization);
/// The parameters of a `#kvcache.quantization`.
MLIR_CAPI_EXPORTED MlirKVCacheQuantization
mlirKVCacheQuantizationAttrGetParameters(MlirAttribute attribute);
/// The id of the attribute `#kvcache.quantization`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheQuantizationAttrGetTypeID(void);

/* #kvcache.rotation -------------------------------------------------------- */

/// Which elements turn together.
typedef int MlirKVCacheRotationStyle;
enum {
  /// Neighbours.
  MlirKVCacheRotationStyleInterleaved = 0,
  /// An element of the first half with its counterpart of the second.
  MlirKVCacheRotationStyleHalf = 1
};

/// Which elements of a head a rotary embedding turns.
typedef struct {
  /// How they are paired.
  MlirKVCacheRotationStyle style;
  /// The first of them.
  int64_t start;
} MlirKVCacheRotation;

/// Whether an attribute is a `#kvcache.rotation`.
MLIR_CAPI_EXPORTED bool
mlirAttributeIsAKVCacheRotation(MlirAttribute attribute);
/// Makes a `#kvcache.rotation`.
MLIR_CAPI_EXPORTED MlirAttribute
mlirKVCacheRotationAttrGet(MlirContext context, MlirKVCacheRotation rotation);
/// The parameters of a `#kvcache.rotation`.
MLIR_CAPI_EXPORTED MlirKVCacheRotation
mlirKVCacheRotationAttrGetParameters(MlirAttribute attribute);
/// The id of the attribute `#kvcache.rotation`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheRotationAttrGetTypeID(void);

/* #kvcache.norm ------------------------------------------------------------ */

/// How numbers are normalised.
typedef struct {
  /// What is added to the mean of squares; at least 0, finite in f32.
  double eps;
  /// What is added to weights; finite in f32.
  double weightOffset;
} MlirKVCacheNorm;

/// Whether an attribute is a `#kvcache.norm`.
MLIR_CAPI_EXPORTED bool mlirAttributeIsAKVCacheNorm(MlirAttribute attribute);
/// Makes a `#kvcache.norm`.
MLIR_CAPI_EXPORTED MlirAttribute mlirKVCacheNormAttrGet(MlirContext context,
                                                        MlirKVCacheNorm norm);
/// The parameters of a `#kvcache.norm`.
MLIR_CAPI_EXPORTED MlirKVCacheNorm
mlirKVCacheNormAttrGetParameters(MlirAttribute attribute);
/// The id of the attribute `#kvcache.norm`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheNormAttrGetTypeID(void);

#ifdef __cplusplus
}
#endif

#endif /* KVCACHE_C_ATTRIBUTES_H */
