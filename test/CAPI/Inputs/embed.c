/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Uses the C API as a program would, prints what it gets, and then asks for
 * things that there are not: each is refused, with a reason. */
#include "kvcache-c/Compile.h"
#include "kvcache-c/Dialect.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print(MlirStringRef text, void *data) {
  (void)data;
  fwrite(text.data, 1, text.length, stdout);
}

static MlirLogicalResult say(MlirDiagnostic diagnostic, void *data) {
  (void)data;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
    printf("  error: ");
    mlirDiagnosticPrint(diagnostic, print, NULL);
    printf("\n");
  }
  return mlirLogicalResultSuccess();
}

static const char *const program =
    "#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = "
    "64>,\n"
    "    page_size = 16, scales = <f32, granularity = 32>>\n"
    "func.func @gather(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>,\n"
    "    %scales: memref<?x2x?x16x2x2xf32>, %lengths: memref<?xi32>,\n"
    "    %table: memref<?x?xi32>, %max: memref<1xi32>, %layer: index,\n"
    "    %out: memref<?x?x2x64xf32>) {\n"
    "  %c = kvcache.get_paged_cache\n"
    "      blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>)\n"
    "      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)\n"
    "      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)\n"
    "      scales(%scales : memref<?x2x?x16x2x2xf32>) : "
    "!kvcache.collection<#kv>\n"
    "  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>\n"
    "  kvcache.gather from(%k : !kvcache.cache<key, #kv>)\n"
    "      into(%out : memref<?x?x2x64xf32>)\n"
    "  return\n"
    "}\n";

static void layouts(MlirContext context) {
  MlirKVCacheLayout given =
      mlirKVCacheLayoutDefault(mlirFloat8E4M3FNTypeGet(context), 2, 64, 16);
  MlirAttribute layout;
  MlirKVCacheLayout back;
  MlirType cache;
  int64_t shape[6], table[2] = {9, 4};
  intptr_t rank, i;
  MlirKVCacheElement element = {3, MlirKVCacheSideValue, 1, 5, 1, 33};
  MlirKVCachePlace place;

  given.scaleDtype = mlirF32TypeGet(context);
  given.granularity = 32;
  layout = mlirKVCacheLayoutAttrGet(context, &given);
  // CHECK: #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
  mlirAttributePrint(layout, print, NULL);
  printf("\n");
  back = mlirKVCacheLayoutAttrGetParameters(layout);
  // CHECK: is a layout 1, heads 2, size 64, page 16, granularity 32, same 1
  printf("is a layout %d, heads %" PRId64 ", size %" PRId64 ", page %" PRId64
         ", granularity %" PRId64 ", same %d\n",
         mlirAttributeIsAKVCacheLayout(layout), back.numHeads, back.headSize,
         back.pageSize, back.granularity,
         mlirAttributeEqual(mlirKVCacheLayoutAttrGet(context, &back), layout));

  cache = mlirKVCacheCacheTypeGet(MlirKVCacheSideValue, layout);
  // CHECK: !kvcache.cache<value, <f8E4M3FN
  mlirTypePrint(cache, print, NULL);
  // CHECK: kinds 1 0 0 0, side 1, same layout 1
  printf("\nkinds %d %d %d %d, side %d, same layout %d\n",
         mlirTypeIsAKVCacheCache(cache), mlirTypeIsAKVCacheMHAOperand(cache),
         mlirTypeIsAKVCacheScalesMHAOperand(cache),
         mlirTypeIsAKVCacheCollection(cache),
         (int)mlirKVCacheTypeGetSide(cache),
         mlirAttributeEqual(mlirKVCacheTypeGetLayout(cache), layout));

  /* 2 sides * 3 layers * 16 tokens * 2 heads * 64 bytes, and 2 * 4 bytes of
   * scales. */
  // CHECK: page 12288, scales 1536, token 864
  printf("page %" PRId64 ", scales %" PRId64 ", token %" PRId64 "\n",
         mlirKVCacheLayoutGetPageBytes(layout, 3, MlirKVCachePoolValues),
         mlirKVCacheLayoutGetPageBytes(layout, 3, MlirKVCachePoolScales),
         mlirKVCacheLayoutGetTokenBytes(layout, 3));
  rank = mlirKVCacheLayoutGetPoolShape(layout, MlirKVCachePoolScales, shape);
  // CHECK: shape ? 2 ? 16 2 2 f32
  printf("shape");
  for (i = 0; i < rank; ++i)
    if (shape[i] < 0)
      printf(" ?");
    else
      printf(" %" PRId64, shape[i]);
  printf(" ");
  mlirTypePrint(mlirKVCacheLayoutGetPoolType(layout, MlirKVCachePoolScales),
                print, NULL);
  printf("\n");

  /* 3 * 12288 + (3 + 1) * 2048 + 5 * 128 + 64 + 33 */
  if (mlirLogicalResultIsSuccess(
          mlirKVCacheLayoutGetElementPlace(layout, 3, 0, &element, &place)))
    // CHECK: element at 45793, 1 bytes
    printf("element at %" PRId64 ", %" PRId64 " bytes\n", place.offset,
           place.bytes);
  /* 3 * 1600 + (3 + 1) * 256 + 5 * 16 + 8 + 4 */
  if (mlirLogicalResultIsSuccess(
          mlirKVCacheLayoutGetScalePlace(layout, 3, 1600, &element, &place)))
    // CHECK: scale at 5916, 4 bytes
    printf("scale at %" PRId64 ", %" PRId64 " bytes\n", place.offset,
           place.bytes);
  // CHECK: page of blocks: 12288 bytes
  mlirKVCacheLayoutExplain(layout, 3, print, NULL);
  // CHECK: token 17: page 1, slot 1, block 4
  mlirKVCacheLayoutExplainToken(layout, 3, 17, 2, table, 0, NULL, print, NULL);
  /* Of a token that lies nowhere not one line is printed. */
  // CHECK-NOT: token 17
  table[1] = -4;
  if (mlirLogicalResultIsFailure(mlirKVCacheLayoutExplainToken(
          layout, 3, 17, 2, table, 0, NULL, print, NULL)))
    // CHECK: no such block
    printf("no such block\n");
}

static void compile(MlirContext context) {
  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
  MlirKVCacheToPTXOptions options = mlirKVCacheToPTXOptionsDefault();
  MlirKVCacheCompiled compiled;
  MlirPassManager manager;
  intptr_t i;

  options.chips = mlirStringRefCreateFromCString("sm_80,sm_90a");
  compiled = mlirKVCacheCompile(module, &options);
  // CHECK: file gather_gather.sm_80.ptx
  // CHECK: file gather_gather.sm_90a.ptx
  // CHECK: file gather.json
  // CHECK: file gather.h
  for (i = 0; i < mlirKVCacheCompiledGetNumFiles(compiled); ++i) {
    MlirStringRef name = mlirKVCacheCompiledGetName(compiled, i);
    printf("file %.*s\n", (int)name.length, name.data);
  }
  // CHECK: .target sm_90a
  print(mlirKVCacheCompiledLookup(compiled, mlirStringRefCreateFromCString(
                                                "gather_gather.sm_90a.ptx")),
        NULL);
  // CHECK: "function": "gather"
  print(mlirKVCacheCompiledLookup(
            compiled, mlirStringRefCreateFromCString("gather.json")),
        NULL);
  mlirKVCacheCompiledDestroy(compiled);

  options.chips = mlirStringRefCreateFromCString("sm_80");
  options.threads = 64;
  compiled = mlirKVCacheCompile(module, &options);
  // CHECK: .maxntid 64
  print(mlirKVCacheCompiledLookup(compiled, mlirStringRefCreateFromCString(
                                                "gather_gather.sm_80.ptx")),
        NULL);
  mlirKVCacheCompiledDestroy(compiled);

  manager = mlirPassManagerCreate(context);
  // CHECK: pipeline 1 1
  printf("\npipeline %d",
         mlirLogicalResultIsSuccess(mlirKVCacheAddToPTXPipeline(
             context, mlirPassManagerGetAsOpPassManager(manager), NULL)));
  printf(" %d\n", mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(
                      manager, mlirModuleGetOperation(module))));
  // CHECK: gpu.binary @gather_gather
  mlirOperationPrint(mlirModuleGetOperation(module), print, NULL);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
}

static void refusals(MlirContext context) {
  MlirKVCacheLayout given =
      mlirKVCacheLayoutDefault(mlirF32TypeGet(context), 2, 64, 16);
  MlirAttribute layout = mlirKVCacheLayoutAttrGet(context, &given),
                none = {NULL};
  MlirKVCacheElement element = {0, MlirKVCacheSideKey, 0, 16, 0, 0};
  MlirKVCachePlace place;
  MlirKVCacheToPTXOptions options = mlirKVCacheToPTXOptionsDefault();
  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(context));
  MlirKVCacheCompiled nothing = {NULL};
  MlirModule noModule = {NULL};
  MlirType noType = {NULL};

  // CHECK: refusals
  // CHECK-NEXT: error: expected page_size to be at least 1, got -3
  // CHECK-NEXT: error: expected a dtype of f32, {{.*}}, got 'i17'
  // CHECK-NEXT: error: expected a dtype in a layout, got none
  // CHECK-NEXT: error: expected a placement, order and swizzle that there are, got 7, 0 and 0
  // CHECK-NEXT: null 1 1 1 1
  printf("\nrefusals\n");
  given.pageSize = -3;
  int first = mlirAttributeIsNull(mlirKVCacheLayoutAttrGet(context, &given));
  given.pageSize = 16;
  given.dtype = mlirIntegerTypeGet(context, 17);
  int second = mlirAttributeIsNull(mlirKVCacheLayoutAttrGet(context, &given));
  given.dtype = noType;
  int third = mlirAttributeIsNull(mlirKVCacheLayoutAttrGet(context, &given));
  given.dtype = mlirF32TypeGet(context);
  given.placement = (MlirKVCachePlacement)7;
  int fourth = mlirAttributeIsNull(mlirKVCacheLayoutAttrGet(context, &given));
  printf("null %d %d %d %d\n", first, second, third, fourth);

  // CHECK-NEXT: error: expected a slot of 0 to 15, got 16
  // CHECK-NEXT: error: expected a layout with scales, got one without
  // CHECK-NEXT: error: expected at least 1 layer, got 0
  // CHECK-NEXT: error: expected the side of keys (0) or of values (1), got 9
  // CHECK-NEXT: places 0 0 -1 -1 1 1 1
  first = mlirLogicalResultIsSuccess(
      mlirKVCacheLayoutGetElementPlace(layout, 1, 0, &element, &place));
  second = mlirLogicalResultIsSuccess(
      mlirKVCacheLayoutGetScalePlace(layout, 1, 0, &element, &place));
  third = (int)mlirKVCacheLayoutGetTokenBytes(layout, 0);
  fourth = (int)mlirKVCacheLayoutGetTokenBytes(none, 1);
  int fifth =
      mlirTypeIsNull(mlirKVCacheCacheTypeGet((MlirKVCacheSide)9, layout));
  printf("places %d %d %d %d %d %d %d\n", first, second, third, fourth, fifth,
         mlirTypeIsNull(mlirKVCacheCollectionTypeGet(none)),
         mlirAttributeIsNull(mlirKVCacheTypeGetLayout(noType)));

  // CHECK-NEXT: error: unknown chip 'sm_1'
  // CHECK-NEXT: error: expected format isa, bin or fatbin, got 'elf'
  // CHECK-NEXT: compiled 1 1 1 0
  options.chips = mlirStringRefCreateFromCString("sm_1");
  first = mlirKVCacheCompiledIsNull(mlirKVCacheCompile(module, &options));
  options.format = mlirStringRefCreateFromCString("elf");
  second = mlirKVCacheCompiledIsNull(mlirKVCacheCompile(module, &options));
  third = mlirKVCacheCompiledIsNull(mlirKVCacheCompile(noModule, NULL));
  printf("compiled %d %d %d %d\n", first, second, third,
         (int)mlirKVCacheCompiledGetName(nothing, 5).length);
  mlirModuleDestroy(module);
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  MlirContext context;
  mlirKVCacheRegisterAllDialects(registry);
  mlirKVCacheRegisterAllPasses();
  mlirKVCacheRegisterAllPasses();
  context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/true);
  mlirContextAttachDiagnosticHandler(context, say, NULL, NULL);
  layouts(context);
  compile(context);
  refusals(context);
  /* A context that knows nothing of the dialect gets it. */
  MlirContext bare = mlirContextCreate();
  MlirKVCacheLayout layout =
      mlirKVCacheLayoutDefault(mlirF32TypeGet(bare), 1, 8, 4);
  // CHECK: bare #kvcache.layout<f32
  printf("bare ");
  mlirAttributePrint(mlirKVCacheLayoutAttrGet(bare, &layout), print, NULL);
  printf("\n");
  mlirContextDestroy(bare);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return 0;
}
