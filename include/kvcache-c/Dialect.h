/*===- kvcache-c/Dialect.h - The kvcache dialect in C -----------------------===
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * Attributes and types of the dialect, and where the elements of a cache lie.
 *
 * Nothing here ends the process. What cannot be built or computed gives a null
 * attribute, a null type or a failure, and a diagnostic of the context that
 * says why (mlirContextAttachDiagnosticHandler). Functions with `Get` on an
 * attribute or type expect one of the kind that their name says, as the
 * functions with `IsA` tell; given another one they give null, 0 or false.
 */
#ifndef KVCACHE_C_DIALECT_H
#define KVCACHE_C_DIALECT_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// mlirGetDialectHandle__kvcache__()
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(KVCache, kvcache);

/* Attributes --------------------------------------------------------------- */

// Enumerations are of type int: any number may come from other languages, and
// one that means nothing is an error.

/// Keys or values.
typedef int MlirKVCacheSide;
enum {
  /// Keys.
  MlirKVCacheSideKey = 0,
  /// Values.
  MlirKVCacheSideValue = 1
};

/// What of a cache an access addresses; tails lie beside the values.
typedef int MlirKVCachePool;
enum {
  /// What is stored of keys and values.
  MlirKVCachePoolValues = 0,
  /// Scales of quantised values.
  MlirKVCachePoolScales = 1,
  /// The elements at the end of a head that are not quantised.
  MlirKVCachePoolTail = 2
};

/// Where scales lie: in a pool of their own, in each row, or behind a page's
/// values.
typedef int MlirKVCachePlacement;
enum {
  /// In a pool of their own.
  MlirKVCachePlacementPool = 0,
  /// Behind the values of their (token, head).
  MlirKVCachePlacementInline = 1,
  /// Behind all values of a layer of a side of the page.
  MlirKVCachePlacementPageSplit = 2
};

/// Which is outside in a page: tokens (NHD) or heads (HND).
typedef int MlirKVCacheOrder;
enum {
  /// Tokens.
  MlirKVCacheOrderNHD = 0,
  /// Heads.
  MlirKVCacheOrderHND = 1
};

/// The sides whose scales are interleaved: none, those of values, both.
typedef int MlirKVCacheScaleSwizzle;
enum {
  /// None.
  MlirKVCacheScaleSwizzleNone = 0,
  /// Values.
  MlirKVCacheScaleSwizzleV = 1,
  /// Keys and values.
  MlirKVCacheScaleSwizzleKV = 2
};

/// What docs/layouts.md says a layout consists of.
typedef struct {
  /// f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN.
  MlirType dtype;
  /// Key-value heads.
  int64_t numHeads;
  /// Elements of a head.
  int64_t headSize;
  /// Whether there are keys only.
  bool isMLA;
  /// Tokens a page.
  int64_t pageSize;
  /// Null: no scales. Else f32, f16, bf16, f8E8M0FNU or f8E4M3FN.
  MlirType scaleDtype;
  /// Elements that share a scale.
  int64_t granularity;
  /// Whether scales are found through a table of their own.
  bool ownScalesTable;
  /// Where scales lie.
  MlirKVCachePlacement placement;
  /// Which of tokens and heads is outside.
  MlirKVCacheOrder order;
  /// Null: no unquantised tail. Else f32, f16 or bf16, and its elements.
  MlirType ropeDtype;
  int64_t ropeSize;
  /// Whether keys and values of a layer lie side by side.
  bool kvInner;
  /// Bytes of the scales of a (token, head), and what pages are padded to.
  int64_t footer, pageAlign;
  /// The sides whose scales are interleaved.
  MlirKVCacheScaleSwizzle swizzle;
} MlirKVCacheLayout;

/// All zero but for what is given: `placement = pool, order = nhd`.
MLIR_CAPI_EXPORTED MlirKVCacheLayout mlirKVCacheLayoutDefault(MlirType dtype,
                                                              int64_t numHeads,
                                                              int64_t headSize,
                                                              int64_t pageSize);

/// Whether an attribute is a `#kvcache.layout`.
MLIR_CAPI_EXPORTED bool mlirAttributeIsAKVCacheLayout(MlirAttribute attribute);

/// Makes a `#kvcache.layout`, loading the dialect where it is not. Null where
/// the layout is not a valid one.
MLIR_CAPI_EXPORTED MlirAttribute
mlirKVCacheLayoutAttrGet(MlirContext context, const MlirKVCacheLayout *layout);
/// The id of the attribute `#kvcache.layout`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheLayoutAttrGetTypeID(void);
/// The parameters of a layout attribute; all zero for another attribute.
MLIR_CAPI_EXPORTED MlirKVCacheLayout
mlirKVCacheLayoutAttrGetParameters(MlirAttribute layout);

/* Types -------------------------------------------------------------------- */

/// Whether a type is a `!kvcache.collection`.
MLIR_CAPI_EXPORTED bool mlirTypeIsAKVCacheCollection(MlirType type);
/// Whether a type is a `!kvcache.cache`.
MLIR_CAPI_EXPORTED bool mlirTypeIsAKVCacheCache(MlirType type);
/// Whether a type is a `!kvcache.mha_operand`.
MLIR_CAPI_EXPORTED bool mlirTypeIsAKVCacheMHAOperand(MlirType type);
/// Whether a type is a `!kvcache.scales_mha_operand`.
MLIR_CAPI_EXPORTED bool mlirTypeIsAKVCacheScalesMHAOperand(MlirType type);

/// The type `!kvcache.collection` of a layout; null where `layout` is none.
MLIR_CAPI_EXPORTED MlirType mlirKVCacheCollectionTypeGet(MlirAttribute layout);
/// The type `!kvcache.cache` of a side of a layout; null where `layout` is
/// none.
MLIR_CAPI_EXPORTED MlirType mlirKVCacheCacheTypeGet(MlirKVCacheSide side,
                                                    MlirAttribute layout);
/// The type `!kvcache.mha_operand` of a side of a layout; null where `layout`
/// is none.
MLIR_CAPI_EXPORTED MlirType mlirKVCacheMHAOperandTypeGet(MlirKVCacheSide side,
                                                         MlirAttribute layout);
/// The type `!kvcache.scales_mha_operand` of a side of a layout; null where
/// `layout` is none.
MLIR_CAPI_EXPORTED MlirType
mlirKVCacheScalesMHAOperandTypeGet(MlirKVCacheSide side, MlirAttribute layout);

/// The id of the type `!kvcache.collection`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheCollectionTypeGetTypeID(void);
/// The id of the type `!kvcache.cache`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheCacheTypeGetTypeID(void);
/// The id of the type `!kvcache.mha_operand`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheMHAOperandTypeGetTypeID(void);
/// The id of the type `!kvcache.scales_mha_operand`.
MLIR_CAPI_EXPORTED MlirTypeID mlirKVCacheScalesMHAOperandTypeGetTypeID(void);

/// Of any of these types.
MLIR_CAPI_EXPORTED MlirAttribute mlirKVCacheTypeGetLayout(MlirType type);
/// Of a cache or an operand.
MLIR_CAPI_EXPORTED MlirKVCacheSide mlirKVCacheTypeGetSide(MlirType type);

/* Where things lie --------------------------------------------------------- */

/// A token's element; all count from 0.
typedef struct {
  /// The page, by its block of the pool.
  int64_t block;
  /// Of the key or of the value.
  MlirKVCacheSide side;
  /// Layer of the model.
  int64_t layer;
  /// Token of the page.
  int64_t slot;
  /// Key-value head.
  int64_t head;
  /// Element of the head.
  int64_t dim;
} MlirKVCacheElement;

/// Where an element or a scale lies.
typedef struct {
  /// Values and tails lie in the pool of blocks; scales in their own or, with
  /// another placement than `pool`, in that of blocks.
  MlirKVCachePool pool;
  /// Bytes from the start of the pool's memory.
  int64_t offset;
  /// Bytes that hold it.
  int64_t bytes;
  /// f4E2M1FN: it is the high half of the byte.
  bool highHalf;
} MlirKVCachePlace;

/// Bytes of a page, all sides and `layers`, with padding, of the pool that
/// holds `pool`; 0 for the scales of a layout without. -1 where an argument is
/// wrong.
MLIR_CAPI_EXPORTED int64_t mlirKVCacheLayoutGetPageBytes(MlirAttribute layout,
                                                         int64_t layers,
                                                         MlirKVCachePool pool);
/// Bytes of all pools that a token takes, padding of pages apart; -1 where an
/// argument is wrong.
MLIR_CAPI_EXPORTED int64_t mlirKVCacheLayoutGetTokenBytes(MlirAttribute layout,
                                                          int64_t layers);
/// Dimensions of the memref of a pool (of values or of scales), outermost
/// first, at most 6; dynamic ones (blocks, layers) are INT64_MIN. Returns their
/// number, or 0 where there is no such pool.
MLIR_CAPI_EXPORTED intptr_t mlirKVCacheLayoutGetPoolShape(MlirAttribute layout,
                                                          MlirKVCachePool pool,
                                                          int64_t shape[6]);
/// Element type of that memref; null where there is no such pool.
MLIR_CAPI_EXPORTED MlirType mlirKVCacheLayoutGetPoolType(MlirAttribute layout,
                                                         MlirKVCachePool pool);
/// Where an element lies. `pitch` is the number of bytes from block to block, 0
/// for packed pages.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheLayoutGetElementPlace(
    MlirAttribute layout, int64_t layers, int64_t pitch,
    const MlirKVCacheElement *element, MlirKVCachePlace *place);
/// Where the scale of an element lies; `pitch` is that of the scales' pool
/// where they have one.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheLayoutGetScalePlace(
    MlirAttribute layout, int64_t layers, int64_t pitch,
    const MlirKVCacheElement *element, MlirKVCachePlace *place);
/// Bytes of a page that belong together.
typedef struct {
  /// What they hold; those of a whole layer of a side, where not in a pool of
  /// scales: values, and all else that lies there.
  MlirKVCachePool pool;
  /// Whose they are; keys where keys and values lie side by side.
  MlirKVCacheSide side;
  /// Whether they are a layer in which keys and values lie side by side.
  bool isBothSides;
  /// The layer.
  int64_t layer;
  /// Of a token: the head, and the number of a scale in it.
  int64_t head, scale;
  /// Bytes from the start of the page, and their number.
  int64_t offset, bytes;
} MlirKVCacheStretch;
/// Is told of a stretch; the pointer is valid during the call.
typedef void (*MlirKVCacheStretchCallback)(const MlirKVCacheStretch *stretch,
                                           void *userData);
/// Gives each layer of each side of a page of the pool of values or of scales,
/// in the order of addresses. What lies behind the last one, up to
/// mlirKVCacheLayoutGetPageBytes, is padding.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheLayoutVisitLayers(
    MlirAttribute layout, int64_t layers, MlirKVCachePool pool,
    MlirKVCacheStretchCallback callback, void *userData);
/// Gives the values, the tail and each scale of all heads of the token in
/// `slot`, in a layer of a side.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheLayoutVisitToken(
    MlirAttribute layout, int64_t layers, MlirKVCacheSide side, int64_t layer,
    int64_t slot, MlirKVCacheStretchCallback callback, void *userData);
/// Gives a text for people: what lies where in a page, strides, padding.
MLIR_CAPI_EXPORTED MlirLogicalResult
mlirKVCacheLayoutExplain(MlirAttribute layout, int64_t layers,
                         MlirStringCallback callback, void *userData);
/// Gives a text with the places of the values, scales and tail of token `token`
/// of a sequence, of which `table` has the blocks, one a page; `scalesTable`
/// those of the scales where they have a table of their own, else it is empty.
MLIR_CAPI_EXPORTED MlirLogicalResult mlirKVCacheLayoutExplainToken(
    MlirAttribute layout, int64_t layers, int64_t token, intptr_t numPages,
    const int64_t *table, intptr_t numScalesPages, const int64_t *scalesTable,
    MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* KVCACHE_C_DIALECT_H */
