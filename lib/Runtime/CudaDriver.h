// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver API that the runtime calls, found at run time, so
// that neither the driver nor the CUDA toolkit is needed to build or to start.
#ifndef KVCACHE_RUNTIME_CUDADRIVER_H
#define KVCACHE_RUNTIME_CUDADRIVER_H

#include "kvcache/Simulator/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace kvrt::cuda {

// Types of the driver's ABI under our own names. Handles are opaque pointers;
// enumerations are ints.
using Code = int;
using DeviceOrdinal = int;
using Pointer = unsigned long long;
using Context = void *;
using ModuleHandle = void *;
using Function = void *;
using StreamHandle = void *;
using EventHandle = void *;

/// CUlaunchAttribute with its cluster dimension.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    char size[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};

/// CUlaunchConfig.
struct KernelLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned dynamicSharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

// Values of the driver's enumerations.
enum : int {
  success = 0,
  attributeComputeMajor = 75,
  attributeComputeMinor = 76,
  attributeMaxSharedOptIn = 97,
  functionSharedBytes = 1,
  functionMaxDynamicShared = 8,
  functionNonPortableCluster = 14,
  jitErrorLog = 5,
  jitErrorLogBytes = 6,
  jitOptimizationLevel = 7,
  launchClusterDimension = 4,
  memAttachGlobal = 1,
  streamDefault = 0,
  eventDefault = 0,
  eventDisableTiming = 2
};

/// The driver's functions; those marked optional may be null.
struct Driver {
  Code (*init)(unsigned);
  Code (*driverGetVersion)(int *);
  Code (*getErrorName)(Code, const char **);
  Code (*getErrorString)(Code, const char **);
  Code (*deviceGetCount)(int *);
  Code (*deviceGet)(DeviceOrdinal *, int);
  Code (*deviceGetName)(char *, int, DeviceOrdinal);
  Code (*deviceGetAttribute)(int *, int, DeviceOrdinal);
  Code (*primaryCtxRetain)(Context *, DeviceOrdinal);
  Code (*ctxPushCurrent)(Context);
  Code (*ctxPopCurrent)(Context *);
  Code (*ctxSynchronize)();
  Code (*moduleLoadDataEx)(ModuleHandle *, const void *, unsigned, int *,
                           void **);
  Code (*moduleUnload)(ModuleHandle);
  Code (*moduleGetFunction)(Function *, ModuleHandle, const char *);
  Code (*funcGetAttribute)(int *, int, Function);
  Code (*funcSetAttribute)(Function, int, int);
  /// Optional (driver 12.4).
  Code (*funcGetParamInfo)(Function, size_t, size_t *, size_t *);
  Code (*launchKernel)(Function, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, unsigned, StreamHandle, void **,
                       void **);
  /// Optional (driver 11.8).
  Code (*launchKernelEx)(const KernelLaunch *, Function, void **, void **);
  Code (*streamCreate)(StreamHandle *, unsigned);
  Code (*streamDestroy)(StreamHandle);
  Code (*streamSynchronize)(StreamHandle);
  Code (*streamWaitEvent)(StreamHandle, EventHandle, unsigned);
  Code (*eventCreate)(EventHandle *, unsigned);
  Code (*eventDestroy)(EventHandle);
  Code (*eventRecord)(EventHandle, StreamHandle);
  Code (*eventSynchronize)(EventHandle);
  Code (*eventElapsedTime)(float *, EventHandle, EventHandle);
  Code (*memAlloc)(Pointer *, size_t);
  Code (*memAllocManaged)(Pointer *, size_t, unsigned);
  Code (*memFree)(Pointer);
  Code (*memcpyAsync)(Pointer, Pointer, size_t, StreamHandle);
  Code (*memsetD8Async)(Pointer, unsigned char, size_t, StreamHandle);
  Code (*memsetD16Async)(Pointer, unsigned short, size_t, StreamHandle);
  Code (*memsetD32Async)(Pointer, unsigned, size_t, StreamHandle);
  Code (*memHostRegister)(void *, size_t, unsigned);
  Code (*memHostUnregister)(void *);
  /// Optional (driver 12.0).
  Code (*tensorMapEncodeTiled)(void *, int, uint32_t, void *, const uint64_t *,
                               const uint64_t *, const uint32_t *,
                               const uint32_t *, int, int, int, int);

  /// "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)", or success.
  ptxsim::Status check(Code code, const char *call) const;
};

/// Opens the library and finds the functions. The library stays open for good:
/// the driver does not survive being closed.
ptxsim::Result<std::shared_ptr<const Driver>>
loadDriver(const std::string &library);

} // namespace kvrt::cuda

#endif // KVCACHE_RUNTIME_CUDADRIVER_H
