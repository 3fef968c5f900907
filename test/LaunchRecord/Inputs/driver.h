/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two functions of the CUDA driver API that launchers call, for programs
 * that run on kvcache's runtime instead. The program defines them, not the
 * runtime's library: there they would hide the real driver's from a process
 * that has both.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "kvcache/Runtime/CAPI.h"

#include <stdlib.h>

/* Calls so far, and what cuLaunchKernel is to return instead of launching. */
static int numLaunches, failLaunch, optedInBytes;

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  kvcacheKernel kernel = (kvcacheKernel)function;
  kvcacheLaunchConfig config;
  size_t numParameters = 0;
  (void)extra;
  ++numLaunches;
  if (failLaunch)
    return (CUresult)failLaunch;
  memset(&config, 0, sizeof(config));
  config.grid[0] = gridX;
  config.grid[1] = gridY;
  config.grid[2] = gridZ;
  config.block[0] = blockX;
  config.block[1] = blockY;
  config.block[2] = blockZ;
  config.dynamicSharedBytes = sharedBytes;
  if (kvcacheKernelGetNumParams(kernel, &numParameters) ||
      kvcacheLaunch(kernel, &config, parameters, numParameters,
                    (kvcacheStream)stream)) {
    fprintf(stderr, "%s\n", kvcacheLastError());
    return (CUresult)1;
  }
  return (CUresult)0;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  (void)function;
  if (attribute != 8)
    return (CUresult)1;
  optedInBytes = value;
  return (CUresult)0;
}

static void must(int failed, const char *what) {
  if (!failed)
    return;
  printf("%s failed: %s\n", what, kvcacheLastError());
  exit(1);
}

/* The simulator with all checks. */
static kvcacheDevice openDevice(void) {
  const char *settings[] = {"KVCACHE_DEVICE=sim", "KVCACHE_SIM_TOOL=memcheck",
                            NULL};
  kvcacheDevice device = NULL;
  must(kvcacheDeviceCreate(settings, &device), "open the device");
  return device;
}

/* Kernel `entry` of `folder`/`module`.`chip`.ptx. */
static CUfunction loadKernel(kvcacheDevice device, const char *folder,
                             const char *module, const char *chip,
                             const char *entry) {
  char path[1024];
  static char text[1 << 20];
  FILE *file;
  size_t bytes;
  kvcacheModule loaded = NULL;
  kvcacheKernel kernel = NULL;
  snprintf(path, sizeof(path), "%s/%s.%s.ptx", folder, module, chip);
  file = fopen(path, "rb");
  if (!file) {
    printf("cannot read %s\n", path);
    exit(1);
  }
  bytes = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[bytes] = 0;
  must(kvcacheModuleLoad(device, text, 0, &loaded), "load");
  must(kvcacheModuleGetKernel(loaded, entry, &kernel), "find the kernel");
  return (CUfunction)kernel;
}

/* Device memory with a copy of `data`, or of zeros. */
static CUdeviceptr toDevice(kvcacheDevice device, const void *data,
                            size_t bytes) {
  void *pointer = NULL;
  must(kvcacheMemAlloc(device, bytes, 0, &pointer), "allocate");
  if (data)
    must(kvcacheMemCopy(device, pointer, data, bytes, NULL), "copy");
  else
    must(kvcacheMemSet(device, pointer, 0, 1, bytes, NULL), "clear");
  return (CUdeviceptr)(uintptr_t)pointer;
}

static void fromDevice(kvcacheDevice device, void *data, CUdeviceptr pointer,
                       size_t bytes) {
  must(kvcacheMemCopy(device, data, (void *)(uintptr_t)pointer, bytes, NULL),
       "copy back");
}

static void expectNoFindings(kvcacheDevice device) {
  uint64_t findings = 0;
  char *text = NULL;
  must(kvcacheDeviceSynchronize(device), "synchronise");
  must(kvcacheDeviceGetNumFindings(device, &findings), "findings");
  if (!findings)
    return;
  must(kvcacheDeviceGetReports(device, KVCACHE_TEXT, &text), "reports");
  printf("%s", text);
  exit(1);
}

#endif /* DRIVER_H */
