/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Attributes of operations, maps of pages, options of pipelines; then what a
 * program must not ask for: each is refused with a reason, and nothing ends it.
 */
#include "kvcache-c/Attributes.h"
#include "kvcache-c/Compile.h"
#include "kvcache-c/Dialect.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void print(MlirStringRef text, void *data) {
  (void)data;
  fwrite(text.data, 1, text.length, stdout);
}

static MlirLogicalResult say(MlirDiagnostic diagnostic, void *data) {
  (void)data;
  printf("error: ");
  mlirDiagnosticPrint(diagnostic, print, NULL);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static void show(MlirAttribute attribute) {
  if (mlirAttributeIsNull(attribute))
    printf("null");
  else
    mlirAttributePrint(attribute, print, NULL);
  printf("\n");
}

static void attributes(MlirContext context) {
  MlirKVCacheTuning tuning = {128, 8, 2}, badTuning = {33, 0, 0};
  MlirKVCacheQuantization quantization = {MlirKVCacheScaleContractPowerOfTwo,
                                          0.5, MlirKVCacheFloorOnAmax,
                                          MlirKVCacheApplyScaleDivide};
  MlirKVCacheRotation rotation = {MlirKVCacheRotationStyleHalf, 64};
  MlirKVCacheNorm norm = {0.25, 1.0};
  MlirAttribute attribute, none = {NULL};

  // CHECK: #kvcache.tuning<threads = 128, chunks = 8, blocks_per_sm = 2>
  // CHECK-NEXT: tuning 1 0, 128 8 2
  attribute = mlirKVCacheTuningAttrGet(context, tuning);
  show(attribute);
  tuning = mlirKVCacheTuningAttrGetParameters(attribute);
  printf("tuning %d %d, %" PRId64 " %" PRId64 " %" PRId64 "\n",
         mlirAttributeIsAKVCacheTuning(attribute),
         mlirAttributeIsAKVCacheNorm(attribute), tuning.threads, tuning.chunks,
         tuning.blocksPerSM);

  // CHECK-NEXT: #kvcache.quantization<contract = power_of_two, floor = 5.000000e-01, floor_on = amax, apply = divide>
  // CHECK-NEXT: quantization 1, 1 0.5 1 1
  attribute = mlirKVCacheQuantizationAttrGet(context, quantization);
  show(attribute);
  quantization = mlirKVCacheQuantizationAttrGetParameters(attribute);
  printf("quantization %d, %d %g %d %d\n",
         mlirAttributeIsAKVCacheQuantization(attribute),
         (int)quantization.contract, quantization.floor,
         (int)quantization.floorOn, (int)quantization.apply);

  // CHECK-NEXT: #kvcache.rotation<style = half, start = 64>
  // CHECK-NEXT: rotation 1, 1 64
  attribute = mlirKVCacheRotationAttrGet(context, rotation);
  show(attribute);
  rotation = mlirKVCacheRotationAttrGetParameters(attribute);
  printf("rotation %d, %d %" PRId64 "\n",
         mlirAttributeIsAKVCacheRotation(attribute), (int)rotation.style,
         rotation.start);

  // CHECK-NEXT: #kvcache.norm<eps = 2.500000e-01, weight_offset = 1.000000e+00>
  // CHECK-NEXT: norm 1, 0.25 1
  attribute = mlirKVCacheNormAttrGet(context, norm);
  show(attribute);
  norm = mlirKVCacheNormAttrGetParameters(attribute);
  printf("norm %d, %g %g\n", mlirAttributeIsAKVCacheNorm(attribute), norm.eps,
         norm.weightOffset);

  // CHECK-NEXT: 2 : i32
  // CHECK-NEXT: policy 1 2, form 1 3
  attribute = mlirKVCachePolicyAttrGet(context, MlirKVCachePolicyTrap);
  show(attribute);
  printf("policy %d %d, ", mlirAttributeIsAKVCachePolicy(attribute),
         (int)mlirKVCachePolicyAttrGetValue(attribute));
  attribute = mlirKVCacheRowFormAttrGet(context, MlirKVCacheRowFormSlots);
  printf("form %d %d\n", mlirAttributeIsAKVCacheRowForm(attribute),
         (int)mlirKVCacheRowFormAttrGetValue(attribute));

  // CHECK-NEXT: error: expected threads to be 0 or a multiple of 32 {{.*}}33
  // CHECK-NEXT: null
  show(mlirKVCacheTuningAttrGet(context, badTuning));
  // CHECK-NEXT: error: expected a policy to be one of assume (0), skip (1), trap (2), got 77
  // CHECK-NEXT: null
  show(mlirKVCachePolicyAttrGet(context, (MlirKVCachePolicy)77));
  // CHECK-NEXT: error: expected a form of rows to be one of {{.*}}, got -1
  // CHECK-NEXT: null
  show(mlirKVCacheRowFormAttrGet(context, (MlirKVCacheRowForm)-1));
  // CHECK-NEXT: error: expected a contract of scales to be one of {{.*}}, got 5
  // CHECK-NEXT: null
  quantization.contract = (MlirKVCacheScaleContract)5;
  show(mlirKVCacheQuantizationAttrGet(context, quantization));
  // CHECK-NEXT: error: expected start to be at least 0, got -1
  // CHECK-NEXT: null
  rotation.start = -1;
  show(mlirKVCacheRotationAttrGet(context, rotation));
  // CHECK-NEXT: error: expected an eps of at least 0 that is finite in f32, got nan
  // CHECK-NEXT: null
  norm.eps = NAN;
  show(mlirKVCacheNormAttrGet(context, norm));
  // CHECK-NEXT: of another 0 0 0
  printf("of another %d %d %d\n",
         (int)mlirKVCacheTuningAttrGetParameters(none).threads,
         mlirAttributeIsAKVCachePolicy(none),
         (int)mlirKVCacheNormAttrGetParameters(attribute).eps);
}

static void stretch(const MlirKVCacheStretch *stretch, void *data) {
  (void)data;
  printf("%d %d%d %" PRId64 " %" PRId64 " %" PRId64 ": %" PRId64 " + %" PRId64
         "\n",
         (int)stretch->pool, (int)stretch->side, stretch->isBothSides,
         stretch->layer, stretch->head, stretch->scale, stretch->offset,
         stretch->bytes);
}

static void maps(MlirContext context) {
  MlirKVCacheLayout given =
      mlirKVCacheLayoutDefault(mlirFloat8E4M3FNTypeGet(context), 2, 72, 4);
  MlirAttribute layout;
  given.scaleDtype = mlirF32TypeGet(context);
  given.granularity = 32;
  given.placement = MlirKVCachePlacementInline;
  given.ropeDtype = mlirBF16TypeGet(context);
  given.ropeSize = 8;
  given.pageAlign = 4096;
  layout = mlirKVCacheLayoutAttrGet(context, &given);
  /* A row is 64 bytes of values, 8 of scales, 16 of the tail. */
  // CHECK: layers of 4096
  // CHECK-NEXT: 0 00 0 0 0: 0 + 704
  // CHECK-NEXT: 0 10 0 0 0: 704 + 704
  // CHECK-NEXT: {{^}}1{{$}}
  printf("layers of %" PRId64 "\n",
         mlirKVCacheLayoutGetPageBytes(layout, 1, MlirKVCachePoolValues));
  printf("%d\n", mlirLogicalResultIsSuccess(mlirKVCacheLayoutVisitLayers(
                     layout, 1, MlirKVCachePoolValues, stretch, NULL)));
  // CHECK-NEXT: 0 10 0 0 0: 880 + 64
  // CHECK-NEXT: 2 10 0 0 0: 952 + 16
  // CHECK-NEXT: 1 10 0 0 0: 944 + 4
  // CHECK-NEXT: 1 10 0 0 1: 948 + 4
  // CHECK-NEXT: 0 10 0 1 0: 968 + 64
  // CHECK-NEXT: 2 10 0 1 0: 1040 + 16
  // CHECK-NEXT: 1 10 0 1 0: 1032 + 4
  // CHECK-NEXT: 1 10 0 1 1: 1036 + 4
  // CHECK-NEXT: {{^}}1{{$}}
  printf("%d\n", mlirLogicalResultIsSuccess(mlirKVCacheLayoutVisitToken(
                     layout, 1, MlirKVCacheSideValue, 0, 1, stretch, NULL)));
  // CHECK-NEXT: error: expected a pool of values (0), scales (1) or tails (2), got 3
  // CHECK-NEXT: {{^}}-1{{$}}
  printf("%" PRId64 "\n", mlirKVCacheLayoutGetPageBytes(layout, 1, 3));
  // CHECK-NEXT: error: expected the pool of values (0), or that of scales (1) where a layout has one, got 1
  // CHECK-NEXT: {{^}}0{{$}}
  printf("%d\n", mlirLogicalResultIsSuccess(mlirKVCacheLayoutVisitLayers(
                     layout, 1, MlirKVCachePoolScales, stretch, NULL)));
  // CHECK-NEXT: error: expected a slot of 0 to 3, got 4
  // CHECK-NEXT: 0 0
  printf("%d", mlirLogicalResultIsSuccess(mlirKVCacheLayoutVisitToken(
                   layout, 1, MlirKVCacheSideValue, 0, 4, stretch, NULL)));
  printf(" %d\n", mlirLogicalResultIsSuccess(mlirKVCacheLayoutVisitLayers(
                      layout, 1, MlirKVCachePoolValues, NULL, NULL)));
}

/* Parts of an attribute of two contexts: it would die with the first. */
static void contexts(MlirContext context, MlirContext other) {
  MlirKVCacheLayout given =
      mlirKVCacheLayoutDefault(mlirBF16TypeGet(context), 2, 64, 8);
  // CHECK: error: expected element types of the layout's own context
  // CHECK-NEXT: null
  show(mlirKVCacheLayoutAttrGet(other, &given));
  given.scaleDtype = mlirF32TypeGet(other);
  given.granularity = 64;
  // CHECK-NEXT: error: expected element types of the layout's own context
  // CHECK-NEXT: null
  show(mlirKVCacheLayoutAttrGet(context, &given));
  given.scaleDtype = mlirF32TypeGet(context);
  given.ropeDtype = mlirF32TypeGet(other);
  // CHECK-NEXT: error: expected element types of the layout's own context
  // CHECK-NEXT: null
  show(mlirKVCacheLayoutAttrGet(context, &given));
}

static int addPipelines(MlirContext context, MlirPassManager manager) {
  MlirOpPassManager top = mlirPassManagerGetAsOpPassManager(manager);
  int added = mlirLogicalResultIsSuccess(
                  mlirKVCacheAddToPTXPipeline(context, top, NULL)) +
              2 * mlirLogicalResultIsSuccess(
                      mlirKVCacheAddHostToLLVMPipeline(context, top));
  mlirPassManagerDestroy(manager);
  return added;
}

static void pipelines(MlirContext context) {
  // CHECK: error: expected a pass manager of 'builtin.module' for the pipeline kvcache-to-ptx, got one of 'func.func'
  // CHECK-NEXT: error: {{.*}} for the pipeline kvcache-host-to-llvm, got one of 'func.func'
  // CHECK-NEXT: added 0
  printf("added %d\n",
         addPipelines(context, mlirPassManagerCreateOnOperation(
                                   context, mlirStringRefCreateFromCString(
                                                "func.func"))));
  // CHECK-NEXT: added 3
  printf("added %d\n",
         addPipelines(context, mlirPassManagerCreateOnOperation(
                                   context, mlirStringRefCreateFromCString(
                                                "builtin.module"))));
  // CHECK-NEXT: added 3
  printf("added %d\n", addPipelines(context, mlirPassManagerCreate(context)));
}

static void places(MlirContext context) {
  MlirModule module = mlirKVCacheModuleCreateParse(
      context, mlirStringRefCreateFromCString("func.func private @f()"),
      mlirStringRefCreateFromCString("a.mlir"));
  // CHECK: loc("a.mlir":1:1)
  mlirLocationPrint(mlirOperationGetLocation(
                        mlirBlockGetFirstOperation(mlirModuleGetBody(module))),
                    print, NULL);
  printf("\n");
  mlirModuleDestroy(module);
  // CHECK-NEXT: error:
  // CHECK-NEXT: null 1
  module = mlirKVCacheModuleCreateParse(
      context, mlirStringRefCreateFromCString("func.func"),
      mlirStringRefCreateFromCString("a.mlir"));
  printf("null %d\n", mlirModuleIsNull(module));
  /* What MLIR's parser and reader would die on. */
  char deep[12000];
  memset(deep, '\n', 2);
  memset(deep + 2, '(', sizeof(deep) - 2);
  // CHECK-NEXT: error: brackets are nested 257 deep here, those of aliases included, but at most 256 are read; split the program into functions
  // CHECK-NEXT: null 1
  module = mlirKVCacheModuleCreateParse(
      context, mlirStringRefCreate(deep, sizeof(deep)),
      mlirStringRefCreateFromCString("a.mlir"));
  printf("null %d\n", mlirModuleIsNull(module));
  // CHECK-NEXT: error: expected the text of a module, got bytecode; mlirModuleCreateParse reads it, of files that are trusted
  // CHECK-NEXT: null 1
  module = mlirKVCacheModuleCreateParse(
      context, mlirStringRefCreateFromCString("ML\xefR..."),
      mlirStringRefCreateFromCString("a.mlirbc"));
  printf("null %d\n", mlirModuleIsNull(module));
}

/* An attribute of another kind on an operation is refused, and printing it all
 * the same does no harm. */
static void otherKinds(MlirContext context) {
  MlirModule module = mlirKVCacheModuleCreateParse(
      context,
      mlirStringRefCreateFromCString(
          "func.func @f(%k: !kvcache.mha_operand<key, #kvcache.layout<f32,\n"
          "    params = <num_heads = 1, head_size = 8>, page_size = 4>>,\n"
          "    %i: index) -> f32 {\n"
          "  %x = kvcache.load %k[%i, %i, %i, %i] : !kvcache.mha_operand<key,\n"
          "      #kvcache.layout<f32, params = <num_heads = 1, head_size = "
          "8>,\n"
          "      page_size = 4>> -> f32\n"
          "  return %x : f32\n"
          "}\n"),
      mlirStringRefCreateFromCString("load.mlir"));
  MlirOperation function =
      mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirOperation load = mlirBlockGetFirstOperation(
      mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0)));
  mlirOperationSetAttributeByName(
      load, mlirStringRefCreateFromCString("policy"),
      mlirStringAttrGet(context, mlirStringRefCreateFromCString("trap")));
  // CHECK: "kvcache.load"
  // CHECK-SAME: error: 'kvcache.load' op attribute 'policy' has been set to an attribute of another kind; the default is 0 : i32
  // CHECK: refused
  mlirOperationPrint(load, print, NULL);
  printf("\n%s\n", mlirOperationVerify(load) ? "accepted" : "refused");
  mlirModuleDestroy(module);
}

/* What a program built by itself, without a look at it. */
static void unverified(MlirContext context, MlirContext other) {
  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(context));
  MlirPassManager manager = mlirPassManagerCreate(other);
  MlirOperationState state =
      mlirOperationStateGet(mlirStringRefCreateFromCString("kvcache.rope"),
                            mlirLocationUnknownGet(context));
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module),
                                mlirOperationCreate(&state));
  // CHECK: error: 'kvcache.rope' op
  // CHECK-NEXT: compiled 0
  printf("compiled %d\n",
         !mlirKVCacheCompiledIsNull(mlirKVCacheCompile(module, NULL)));
  mlirModuleDestroy(module);
  // CHECK-NEXT: empty 1
  module = mlirKVCacheModuleCreateParse(context, mlirStringRefCreate(NULL, 0),
                                        mlirStringRefCreate(NULL, 0));
  printf("empty %d\n", !mlirModuleIsNull(module));
  mlirModuleDestroy(module);
  /* A pass manager of another context. */
  module = mlirKVCacheModuleCreateParse(
      context,
      mlirStringRefCreateFromCString(
          "gpu.module @m { gpu.func @k() kernel { gpu.return } }"),
      mlirStringRefCreateFromCString("k.mlir"));
  // CHECK-NEXT: error: expected a module of the pass manager's own context, got one of another; parse it in that context
  // CHECK-NEXT: ran 0
  mlirKVCacheAddToPTXPipeline(other, mlirPassManagerGetAsOpPassManager(manager),
                              NULL);
  printf("ran %d\n", mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(
                         manager, mlirModuleGetOperation(module))));
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  MlirContext context, other;
  mlirKVCacheRegisterAllDialects(registry);
  context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  other = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirContextAttachDiagnosticHandler(context, say, NULL, NULL);
  mlirContextAttachDiagnosticHandler(other, say, NULL, NULL);
  attributes(context);
  maps(context);
  contexts(context, other);
  pipelines(context);
  places(context);
  otherKinds(context);
  unverified(context, other);
  mlirContextDestroy(other);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return 0;
}
