//===- CudaDriver.cpp - Finding the CUDA driver API -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <dlfcn.h>

using namespace kvrt::cuda;
using ptxsim::Result;
using ptxsim::Status;

namespace {

/// A function of the driver: its name, the symbol of the ABI declared in the
/// header (the plain name is an older ABI where they differ), and the driver
/// version that brought this ABI.
struct Symbol {
  void **slot;
  const char *name;
  const char *abiName;
  int version;
  bool optional = false;
};

template <typename F> void **slot(F *&function) {
  return reinterpret_cast<void **>(&function);
}

using GetProcAddress = Code (*)(const char *, void **, int, uint64_t, int *);

void *findFunction(void *library, GetProcAddress getProcAddress,
                   const Symbol &symbol) {
  if (getProcAddress) {
    void *function = nullptr;
    int found = 0;
    if (getProcAddress(symbol.name, &function, symbol.version, 0, &found) ==
            success &&
        function)
      return function;
  }
  return dlsym(library, symbol.abiName);
}

} // namespace

Status Driver::check(Code code, const char *call) const {
  if (code == success)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(code, &name) != success || !name)
    name = "unknown error";
  if (getErrorString(code, &text) != success || !text)
    text = "no description";
  return Status::error(std::string(call) + ": " + text + " (" + name + ", " +
                       std::to_string(code) + ")");
}

Result<std::shared_ptr<const Driver>>
kvrt::cuda::loadDriver(const std::string &name) {
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return Status::error("cannot open the CUDA driver '" + name +
                         "': " + (why ? why : "unknown reason"));
  }
  auto driver = std::make_shared<Driver>();
  Driver &d = *driver;
  const Symbol symbols[] = {
      {slot(d.init), "cuInit", "cuInit", 2000},
      {slot(d.driverGetVersion), "cuDriverGetVersion", "cuDriverGetVersion",
       2020},
      {slot(d.getErrorName), "cuGetErrorName", "cuGetErrorName", 6000},
      {slot(d.getErrorString), "cuGetErrorString", "cuGetErrorString", 6000},
      {slot(d.deviceGetCount), "cuDeviceGetCount", "cuDeviceGetCount", 2000},
      {slot(d.deviceGet), "cuDeviceGet", "cuDeviceGet", 2000},
      {slot(d.deviceGetName), "cuDeviceGetName", "cuDeviceGetName", 2000},
      {slot(d.deviceGetAttribute), "cuDeviceGetAttribute",
       "cuDeviceGetAttribute", 2000},
      {slot(d.primaryCtxRetain), "cuDevicePrimaryCtxRetain",
       "cuDevicePrimaryCtxRetain", 7000},
      {slot(d.ctxPushCurrent), "cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000},
      {slot(d.ctxPopCurrent), "cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000},
      {slot(d.ctxSynchronize), "cuCtxSynchronize", "cuCtxSynchronize", 2000},
      {slot(d.moduleLoadDataEx), "cuModuleLoadDataEx", "cuModuleLoadDataEx",
       2010},
      {slot(d.moduleUnload), "cuModuleUnload", "cuModuleUnload", 2000},
      {slot(d.moduleGetFunction), "cuModuleGetFunction", "cuModuleGetFunction",
       2000},
      {slot(d.funcGetAttribute), "cuFuncGetAttribute", "cuFuncGetAttribute",
       2020},
      {slot(d.funcSetAttribute), "cuFuncSetAttribute", "cuFuncSetAttribute",
       9000},
      {slot(d.funcGetParamInfo), "cuFuncGetParamInfo", "cuFuncGetParamInfo",
       12040, true},
      {slot(d.launchKernel), "cuLaunchKernel", "cuLaunchKernel", 4000},
      {slot(d.launchKernelEx), "cuLaunchKernelEx", "cuLaunchKernelEx", 11060,
       true},
      {slot(d.streamCreate), "cuStreamCreate", "cuStreamCreate", 2000},
      {slot(d.streamDestroy), "cuStreamDestroy", "cuStreamDestroy_v2", 4000},
      {slot(d.streamSynchronize), "cuStreamSynchronize", "cuStreamSynchronize",
       2000},
      {slot(d.streamWaitEvent), "cuStreamWaitEvent", "cuStreamWaitEvent", 3020},
      {slot(d.eventCreate), "cuEventCreate", "cuEventCreate", 2000},
      {slot(d.eventDestroy), "cuEventDestroy", "cuEventDestroy_v2", 4000},
      {slot(d.eventRecord), "cuEventRecord", "cuEventRecord", 2000},
      {slot(d.eventSynchronize), "cuEventSynchronize", "cuEventSynchronize",
       2000},
      {slot(d.eventElapsedTime), "cuEventElapsedTime", "cuEventElapsedTime",
       2000},
      {slot(d.memAlloc), "cuMemAlloc", "cuMemAlloc_v2", 3020},
      {slot(d.memAllocManaged), "cuMemAllocManaged", "cuMemAllocManaged", 6000},
      {slot(d.memFree), "cuMemFree", "cuMemFree_v2", 3020},
      {slot(d.memcpyAsync), "cuMemcpyAsync", "cuMemcpyAsync", 4000},
      {slot(d.memsetD8Async), "cuMemsetD8Async", "cuMemsetD8Async", 3020},
      {slot(d.memsetD16Async), "cuMemsetD16Async", "cuMemsetD16Async", 3020},
      {slot(d.memsetD32Async), "cuMemsetD32Async", "cuMemsetD32Async", 3020},
      {slot(d.memHostRegister), "cuMemHostRegister", "cuMemHostRegister_v2",
       6050},
      {slot(d.memHostUnregister), "cuMemHostUnregister", "cuMemHostUnregister",
       4000},
      {slot(d.tensorMapEncodeTiled), "cuTensorMapEncodeTiled",
       "cuTensorMapEncodeTiled", 12000, true},
  };
  auto getProcAddress =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  for (const Symbol &symbol : symbols) {
    *symbol.slot = findFunction(library, getProcAddress, symbol);
    if (!*symbol.slot && !symbol.optional)
      return Status::error("the CUDA driver '" + name + "' has no " +
                           symbol.abiName +
                           "; install a driver of CUDA 11 or "
                           "newer");
  }
  return std::shared_ptr<const Driver>(std::move(driver));
}
