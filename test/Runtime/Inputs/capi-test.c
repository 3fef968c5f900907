/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime's C API from C: a whole launch, and what happens to wrong calls.
 * Prints what is checked by the test beside it.
 */
#define _DEFAULT_SOURCE
#include "kvcache/Runtime/CAPI.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char scalePtx[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .u32 factor,\n"
    "                      .param .u32 count)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<8>;\n"
    "  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  ld.param.u32 %r1, [factor];\n"
    "  ld.param.u32 %r2, [count];\n"
    "  mov.u32 %r3, %ctaid.x;\n"
    "  mov.u32 %r4, %ntid.x;\n"
    "  mov.u32 %r5, %tid.x;\n"
    "  mad.lo.s32 %r6, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %p1, %r6, %r2;\n"
    "  @%p1 bra done;\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n"
    "  mul.wide.u32 %rd3, %r6, 4;\n"
    "  add.s64 %rd4, %rd2, %rd3;\n"
    "  ld.global.u32 %r7, [%rd4];\n"
    "  mul.lo.s32 %r7, %r7, %r1;\n"
    "  st.global.u32 [%rd4], %r7;\n"
    "done:\n"
    "  ret;\n"
    "}\n";

static void must(int failed, const char *what) {
  if (!failed)
    return;
  printf("%s failed: %s\n", what, kvcacheLastError());
  exit(1);
}

static void wrong(int failed, const char *what) {
  printf("%s: %s\n", what, failed ? kvcacheLastError() : "no error");
}

static kvcacheLaunchConfig shape(int64_t blocks, int64_t threads) {
  kvcacheLaunchConfig config;
  memset(&config, 0, sizeof(config));
  config.grid[0] = blocks;
  config.grid[1] = config.grid[2] = 1;
  config.block[0] = threads;
  config.block[1] = config.block[2] = 1;
  return config;
}

/* After a fault the device is lost; memory is given back, and another device
 * works. */
static void fault(const char *streams) {
  const char *settings[] = {"KVCACHE_DEVICE=sim", streams, NULL};
  kvcacheLaunchConfig config = shape(1, 32);
  kvcacheDevice device = NULL;
  kvcacheModule module = NULL;
  kvcacheKernel kernel = NULL;
  kvcacheStream stream = NULL;
  void *data = NULL, *more = NULL;
  int factor = 3, count = 8, value = 5, i;
  void *params[3];

  params[0] = &data;
  params[1] = &factor;
  params[2] = &count;
  for (i = 0; i < 2; ++i) {
    must(kvcacheDeviceCreate(settings, &device), "create");
    must(kvcacheModuleLoad(device, scalePtx, 0, &module), "load");
    must(kvcacheModuleGetKernel(module, "scale", &kernel), "kernel");
    must(kvcacheMemAlloc(device, 32, 0, &data), "allocate");
    must(kvcacheStreamCreate(device, &stream), "stream");
    count = 8;
    must(kvcacheLaunch(kernel, &config, params, 3, stream), "launch");
    must(kvcacheStreamSynchronize(stream), "wait");
    config = shape(0, 32); /* Refused, which is no fault. */
    wrong(kvcacheLaunch(kernel, &config, params, 3, stream), "refused");
    must(kvcacheDeviceSynchronize(device), "wait");
    config = shape(1, 32);
    count = 9;
    wrong(kvcacheLaunch(kernel, &config, params, 3, stream), "fault");
    wrong(kvcacheLaunch(kernel, &config, params, 3, stream), "launch");
    wrong(kvcacheStreamSynchronize(stream), "wait");
    wrong(kvcacheStreamSynchronize(stream), "wait again");
    wrong(kvcacheMemCopy(device, data, &value, 4, NULL), "copy");
    wrong(kvcacheMemSet(device, data, 0, 4, 1, stream), "set");
    wrong(kvcacheMemAlloc(device, 32, 0, &more), "allocate");
    wrong(kvcacheHostRegister(device, &value, 4), "register");
    wrong(kvcacheModuleLoad(device, scalePtx, 0, &module), "load");
    wrong(kvcacheDeviceSynchronize(device), "device");
    wrong(kvcacheMemFree(device, data, stream), "free");
    must(kvcacheDeviceDestroy(device), "destroy");
  }
}

/* A file that is mapped and then cut short has no pages to read. */
static void cutFile(kvcacheDevice device) {
  FILE *file = tmpfile();
  void *mapped = MAP_FAILED;
  if (file && !ftruncate(fileno(file), 8192))
    mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(file), 0);
  if (mapped == MAP_FAILED) {
    printf("no file\n");
    exit(1);
  }
  printf("mapped: %d", kvcacheHostAccess(mapped, 8192));
  if (ftruncate(fileno(file), 4096))
    exit(1);
  printf(", cut: %d %d\n", kvcacheHostAccess(mapped, 8192),
         kvcacheHostAccess(mapped, 4096));
  wrong(kvcacheHostRegister(device, mapped, 8192), "cut file");
  munmap(mapped, 8192);
  fclose(file);
}

int main(void) {
  const char *settings[] = {"KVCACHE_DEVICE=sim", "KVCACHE_SIM_TOOL=memcheck",
                            "KVCACHE_SIM_COUNT=1", "KVCACHE_SIM_STREAMS=late",
                            NULL};
  const char *badName[] = {"KVCACHE_SIM_TOOLS=memcheck", NULL};
  const char *badValue[] = {"KVCACHE_DEVICE=gpu", NULL};
  const char *noDriver[] = {"KVCACHE_DEVICE=cuda",
                            "KVCACHE_CUDA_LIBRARY=/nowhere/libcuda.so.1", NULL};
  int values[100];
  kvcacheDevice device = NULL, other = NULL;
  kvcacheStream stream = NULL;
  kvcacheEvent event = NULL;
  kvcacheModule module = NULL;
  kvcacheKernel kernel = NULL, again = NULL;
  kvcacheLaunchConfig config = shape(4, 32);
  void *data = NULL;
  int factor = 3, count = 100;
  void *params[3];
  size_t numParams = 0, bytes = 0;
  uint64_t findings = 0;
  char *text = NULL;
  float elapsed = 0;
  int i, bad = 0;

  wrong(kvcacheDeviceCreate(badName, &device), "unknown setting");
  wrong(kvcacheDeviceCreate(badValue, &device), "wrong value");
  wrong(kvcacheDeviceCreate(noDriver, &device), "no driver");

  must(kvcacheDeviceCreate(settings, &device), "create");
  must(kvcacheDeviceDescription(device, &text), "description");
  printf("device: %s\n", text);
  kvcacheStringFree(text);

  must(kvcacheModuleLoad(device, scalePtx, 0, &module), "load");
  must(kvcacheModuleGetKernel(module, "scale", &kernel), "kernel");
  must(kvcacheModuleGetKernel(module, "scale", &again), "kernel");
  printf("same handle: %d\n", kernel == again);
  must(kvcacheKernelGetNumParams(kernel, &numParams), "parameters");
  must(kvcacheKernelGetParamSize(kernel, 0, &bytes), "parameter size");
  printf("parameters: %d, the first has %d bytes\n", (int)numParams,
         (int)bytes);

  for (i = 0; i < 100; ++i)
    values[i] = i;
  must(kvcacheMemAlloc(device, sizeof(values), 0, &data), "allocate");
  must(kvcacheStreamCreate(device, &stream), "stream");
  must(kvcacheEventCreate(device, &event), "event");
  params[0] = &data;
  params[1] = &factor;
  params[2] = &count;
  must(kvcacheMemCopy(device, data, values, sizeof(values), stream), "copy");
  must(kvcacheLaunch(kernel, &config, params, 3, stream), "launch");
  /* The launch has taken its arguments. */
  factor = 1000;
  must(kvcacheEventRecord(event, stream), "record");
  /* Late streams: nothing has happened yet. */
  memset(values, 0xff, sizeof(values));
  must(kvcacheEventSynchronize(event), "wait");
  must(kvcacheMemCopy(device, values, data, sizeof(values), NULL), "copy");
  factor = 3;
  for (i = 0; i < 100; ++i)
    bad += values[i] != -3; /* copied late: 0xffffffff * 3 */
  printf("wrong values, copied late: %d\n", bad);

  for (i = 0; i < 100; ++i)
    values[i] = i;
  bad = 0;
  must(kvcacheMemCopy(device, data, values, sizeof(values), NULL), "copy");
  must(kvcacheLaunch(kernel, &config, params, 3, NULL), "launch");
  must(kvcacheMemCopy(device, values, data, sizeof(values), NULL), "copy");
  for (i = 0; i < 100; ++i)
    bad += values[i] != 3 * i;
  printf("wrong values: %d\n", bad);
  must(kvcacheDeviceGetCounters(device, KVCACHE_JSON, &text), "counters");
  printf("counters: %.36s\n", text);
  kvcacheStringFree(text);

  /* Wrong calls. */
  wrong(kvcacheDeviceGetCounters(device, 7, &text), "format of counters");
  wrong(kvcacheDeviceGetReports(device, -1, &text), "format of reports");
  wrong(kvcacheLaunch(kernel, &config, params, 2, NULL), "too few");
  wrong(kvcacheLaunch(kernel, &config, NULL, 3, NULL), "no params");
  config = shape(0, 32);
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "no blocks");
  config = shape(1, 2048);
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "many threads");
  config = shape(-1, 32);
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "negative");
  config = shape(4, 32);
  config.dynamicSharedBytes = 1000000;
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "much shared");
  wrong(kvcacheModuleGetKernel(module, "scales", &again), "no kernel");
  wrong(kvcacheModuleLoad(device, "garbage", 0, &module), "garbage");
  wrong(kvcacheModuleLoad(device, "\177ELF\2\1\1", 7, &module), "cubin");
  wrong(kvcacheModuleLoad(device, NULL, 0, &module), "null image");
  wrong(kvcacheHostRegister(device, (void *)0x10000, 4096), "unmapped");
  wrong(kvcacheHostRegister(device, values, UINT64_MAX), "endless");
  printf("access: %d %d %d %d\n", kvcacheHostAccess(values, sizeof values),
         kvcacheHostAccess("constant", 8),
         kvcacheHostAccess((void *)0x10000, 1), kvcacheHostAccess(NULL, 0));
  cutFile(device);
  wrong(kvcacheEventElapsedTime(event, event, NULL), "nowhere to put a time");
  wrong(kvcacheEventElapsedTime(event, event, &elapsed), "simulated time");
  wrong(kvcacheEventElapsedTime((kvcacheEvent)stream, event, &elapsed),
        "stream as event");
  wrong(kvcacheStreamSynchronize((kvcacheStream)event), "event as stream");
  wrong(kvcacheStreamSynchronize((kvcacheStream)&bad), "no handle");
  wrong(kvcacheStreamSynchronize(NULL), "null stream");
  must(kvcacheStreamDestroy(stream), "destroy");
  wrong(kvcacheStreamDestroy(stream), "destroyed stream");
  wrong(kvcacheMemFree(device, &bad, NULL), "foreign memory");

  /* A finding: the array is one element too short. */
  count = 101;
  config = shape(4, 32);
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "out of bounds");
  must(kvcacheDeviceGetNumFindings(device, &findings), "findings");
  printf("findings: %d\n", findings > 0);
  must(kvcacheDeviceGetReports(device, KVCACHE_TEXT, &text), "reports");
  printf("%s", text);
  kvcacheStringFree(text);

  must(kvcacheMemFree(device, data, NULL), "free");
  must(kvcacheModuleUnload(module), "unload");
  wrong(kvcacheLaunch(kernel, &config, params, 3, NULL), "unloaded");
  must(kvcacheDeviceDestroy(device), "destroy");
  wrong(kvcacheDeviceSynchronize(device), "destroyed device");
  fault("KVCACHE_SIM_STREAMS=eager");
  fault("KVCACHE_SIM_STREAMS=late");
  (void)other;
  return 0;
}
