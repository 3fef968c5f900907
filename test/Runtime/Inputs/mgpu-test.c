/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MLIR's ABI called by hand, wrongly and at the edges, from a program that
 * embeds the runtime: problems come to its handler, and the process lives on.
 */
#include "kvcache/Runtime/CAPI.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *mgpuModuleLoad(const void *image, size_t bytes);
void *mgpuModuleLoadJIT(void *text, int32_t optLevel);
void mgpuModuleUnload(void *module);
void *mgpuModuleGetFunction(void *module, const char *name);
void mgpuLaunchKernel(void *kernel, intptr_t gx, intptr_t gy, intptr_t gz,
                      intptr_t bx, intptr_t by, intptr_t bz, int32_t shared,
                      void *stream, void **params, void **extra, size_t count);
void mgpuLaunchClusterKernel(void *kernel, intptr_t cx, intptr_t cy,
                             intptr_t cz, intptr_t gx, intptr_t gy, intptr_t gz,
                             intptr_t bx, intptr_t by, intptr_t bz,
                             int32_t shared, void *stream, void **params,
                             void **extra);
void *mgpuStreamCreate(void);
void mgpuStreamDestroy(void *stream);
void mgpuStreamSynchronize(void *stream);
void mgpuStreamWaitEvent(void *stream, void *event);
void *mgpuEventCreate(void);
void mgpuEventDestroy(void *event);
void mgpuEventSynchronize(void *event);
void mgpuEventRecord(void *event, void *stream);
void *mgpuMemAlloc(uint64_t bytes, void *stream, bool hostShared);
void mgpuMemFree(void *pointer, void *stream);
void mgpuMemcpy(void *dst, void *src, size_t bytes, void *stream);
void mgpuMemset32(void *dst, uint32_t value, size_t count, void *stream);
void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
void mgpuSetDefaultDevice(int32_t device);
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                     int64_t dtype, int64_t interleave,
                                     int64_t swizzle, int64_t l2promotion,
                                     int64_t fill, int64_t *boxDims);

static void onProblem(kvcacheProblemKind kind, const char *text, void *data) {
  static const char *const kinds[] = {"report", "error", "fatal"};
  (void)data;
  printf("  %s: %s\n", kinds[kind], text);
}

static void title(const char *text) { printf("%s\n", text); }

static int64_t word(const void *pointer) { return (int64_t)(intptr_t)pointer; }

static void streams(void) {
  void *stream = mgpuStreamCreate(), *other = mgpuStreamCreate();
  void *event = mgpuEventCreate();
  int garbage = 0;
  title("a stream where an event is expected");
  mgpuStreamWaitEvent(stream, other);
  mgpuEventSynchronize(other);
  mgpuEventDestroy(other);
  title("destroyed streams");
  mgpuStreamSynchronize(other);
  mgpuEventSynchronize(other);
  mgpuStreamDestroy(other);
  title("an event where a stream is expected");
  mgpuStreamSynchronize(event);
  title("never recorded");
  mgpuEventSynchronize(event);
  mgpuStreamWaitEvent(stream, event);
  title("no handles");
  mgpuStreamDestroy(&garbage);
  mgpuEventRecord(event, NULL);
  mgpuEventDestroy(NULL);
  mgpuStreamSynchronize((void *)(intptr_t)-1);
  title("the null stream");
  mgpuStreamSynchronize(NULL);
  mgpuStreamWaitEvent(NULL, event);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
}

static void memory(void) {
  int host[4] = {1, 2, 3, 4};
  void *device = mgpuMemAlloc(16, NULL, false);
  void *shared = mgpuMemAlloc(16, NULL, true);
  title("nothing");
  printf("  %d\n", mgpuMemAlloc(0, NULL, false) == NULL);
  mgpuMemFree(NULL, NULL);
  mgpuMemcpy(NULL, NULL, 0, NULL);
  mgpuMemset32(NULL, 1, 0, NULL);
  title("host-shared memory");
  mgpuMemset32(shared, 7, 4, NULL);
  printf("  %d\n", ((int *)shared)[3]);
  title("copies out of bounds");
  mgpuMemcpy(device, host, 16, NULL);
  mgpuMemcpy(device, host, 20, NULL);
  mgpuMemset32(device, 1, 5, NULL);
  title("wrong frees");
  mgpuMemFree(host, NULL);
  mgpuMemFree(device, NULL);
  mgpuMemFree(device, NULL);
  mgpuMemFree(shared, NULL);
  mgpuMemFree(shared, NULL);
}

static void registrations(void) {
  static int data[4][8];
  /* base, data, offset, sizes, strides */
  int64_t part[] = {word(data), word(data), 9, 2, 3, 8, 1};
  int64_t empty[] = {word(data), word(data), 0, 0, 3, 8, 1};
  int64_t scalar[] = {word(data), word(data), 5};
  int64_t reversed[] = {word(data), word(data), 31, 32, -1};
  int64_t negative[] = {word(data), word(data), 0, -2, 1};
  int64_t huge[] = {word(data), word(data), 0, INT64_MAX, INT64_MAX};
  title("strided, empty, rank 0, reversed, twice");
  mgpuMemHostRegisterMemRef(2, part, 4);
  mgpuMemHostRegisterMemRef(2, part, 4);
  mgpuMemHostUnregisterMemRef(2, part, 4);
  mgpuMemHostUnregisterMemRef(2, part, 4);
  mgpuMemHostRegisterMemRef(2, empty, 4);
  mgpuMemHostUnregisterMemRef(2, empty, 4);
  mgpuMemHostRegisterMemRef(0, scalar, 4);
  mgpuMemHostUnregisterMemRef(0, scalar, 4);
  mgpuMemHostRegisterMemRef(1, reversed, 4);
  mgpuMemHostUnregisterMemRef(1, reversed, 4);
  title("wrong descriptors");
  mgpuMemHostRegisterMemRef(1, negative, 4);
  mgpuMemHostRegisterMemRef(1, huge, 4);
  mgpuMemHostRegisterMemRef(-1, part, 4);
  mgpuMemHostRegisterMemRef(2, NULL, 4);
  mgpuMemHostRegisterMemRef(2, part, 0);
}

static void tensorMaps(void) {
  char *data = mgpuMemAlloc(64 * 32 * 2, NULL, false);
  int64_t memref[] = {word(data), word(data), 0, 64, 32, 32, 1};
  int64_t misaligned[] = {word(data), word(data), 1, 64, 32, 32, 1};
  int64_t odd[] = {word(data), word(data), 0, 64, 31, 31, 1};
  int64_t columns[] = {word(data), word(data), 0, 64, 16, 32, 2};
  int64_t empty[] = {word(data), word(data), 0, 0, 32, 32, 1};
  int64_t box[] = {16, 32}, big[] = {512, 32}, zero[] = {0, 32},
          thin[] = {16, 4};
  int64_t wide[] = {16, 32};
  const int64_t f16 = 6;
  void *map, *again;
  title("tensor maps");
  map = mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 2, 0, 0, box);
  again = mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 2, 0, 0, box);
  printf("  made: %d, aligned: %d, shared: %d\n", map != NULL,
         word(map) % 64 == 0, map == again);
  title("wrong tensor maps");
  mgpuTensorMapEncodeTiledMemref(2, misaligned, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, odd, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, columns, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, empty, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 0, 0, 0, big);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 0, 0, 0, zero);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 0, 0, 0, thin);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 1, 0, 0, wide);
  mgpuTensorMapEncodeTiledMemref(2, memref, 99, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 9, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(0, memref, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(6, memref, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, NULL, f16, 0, 0, 0, 0, box);
  mgpuTensorMapEncodeTiledMemref(2, memref, f16, 0, 0, 0, 0, NULL);
  mgpuMemFree(data, NULL);
}

static void modules(void) {
  static char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry empty() { ret; }\n";
  static char two[] = ".version 7.0\n.target sm_90\n.address_size 64\n"
                      ".visible .entry two(.param .u64 a, .param .u32 b) "
                      "{ ret; }\n";
  void *module = mgpuModuleLoadJIT(ptx, 2), *kernel, *params[1];
  uint64_t value = 0;
  void *short_of[] = {&value, (void *)8};
  title("launches");
  kernel = mgpuModuleGetFunction(module, "empty");
  mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, 0);
  title("wrong launches");
  mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL, 1);
  mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, params, 0);
  mgpuLaunchKernel(kernel, 1, 1, -1, 1, 1, 1, 0, NULL, NULL, NULL, 0);
  mgpuLaunchKernel(kernel, 1, 70000, 1, 1, 1, 1, 0, NULL, NULL, NULL, 0);
  mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL, 0);
  mgpuLaunchKernel(kernel, 1, 1, 1, 32, 33, 1, 0, NULL, NULL, NULL, 0);
  mgpuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, -5, NULL, NULL, NULL, 0);
  mgpuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, 0);
  title("launches of clusters, which tell no number of arguments");
  kernel = mgpuModuleGetFunction(mgpuModuleLoadJIT(two, 2), "two");
  mgpuLaunchClusterKernel(kernel, 2, 1, 1, 2, 1, 1, 1, 1, 1, 0, NULL, short_of,
                          NULL);
  mgpuLaunchClusterKernel(kernel, 2, 1, 1, 2, 1, 1, 1, 1, 1, 0, NULL, NULL,
                          NULL);
  short_of[1] = &value;
  mgpuLaunchClusterKernel(kernel, 2, 1, 1, 2, 1, 1, 1, 1, 1, 0, NULL, short_of,
                          NULL);
  title("wrong modules");
  mgpuModuleGetFunction(module, "full");
  mgpuModuleGetFunction(module, NULL);
  mgpuModuleUnload(module);
  mgpuModuleGetFunction(module, "empty");
  mgpuModuleUnload(NULL);
  mgpuModuleLoad("\177ELF\2\1\1", 7);
  mgpuModuleLoad("BC\xC0\xDE", 4);
  mgpuModuleLoad("\x50\xed\x55\xba\1\0\20\0\xff\0\0\0\0\0\0\0", 16);
  mgpuModuleLoad("\x50\xed\x55\xba", 4);
  mgpuModuleLoad(NULL, 4);
  mgpuSetDefaultDevice(0);
  mgpuSetDefaultDevice(3);
}

int main(void) {
  const char *settings[] = {"KVCACHE_DEVICE=sim", NULL};
  kvcacheDevice device = NULL;
  if (kvcacheDeviceCreate(settings, &device) ||
      kvcacheSetProgramDevice(device, onProblem, NULL)) {
    printf("%s\n", kvcacheLastError());
    return 1;
  }
  streams();
  memory();
  registrations();
  tensorMaps();
  modules();
  title("end");
  kvcacheSetProgramDevice(NULL, NULL, NULL);
  kvcacheDeviceDestroy(device);
  return 0;
}
