// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA driver library without a GPU: memory is the host's, launches are only
// logged. Each call is a line in the file MOCK_CUDA_LOG. The call named by
// MOCK_CUDA_FAIL fails with "out of memory"; MOCK_CUDA_DEVICES says how many
// devices there are (1). Handles are checked, so that a wrong one ends the
// process. Memory above 1 TiB lies, as far as pointers are asked for, on the
// device of that number.
//
// The device has a clock of its own, so that events have times: a launch takes
// MOCK_CUDA_LAUNCH_MS milliseconds (0), the first one of each function ten
// times as many, and a copy or a fill 1 ns a byte.
//
// With MOCK_OLD_DRIVER there is no cuGetProcAddress, and nothing newer than
// CUDA 11.0; plain names are the old ABI, as in the real library.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

namespace {

using Code = int;
constexpr Code success = 0, invalidValue = 1, outOfMemory = 2, invalidPtx = 218,
               invalidHandle = 400, notFound = 500, alreadyRegistered = 712,
               notRegistered = 713, invalidCluster = 912;

std::map<char *, size_t> registered;
/// What cuFuncSetAttribute has allowed.
std::map<void *, std::map<int, int>> allowed;
constexpr int maxDynamicShared = 8;
#ifndef MOCK_OLD_DRIVER
constexpr int nonPortableCluster = 14;
#endif
std::set<void *> liveHandles, liveMemory;
std::map<void *, std::string> modules;
int contextDepth = 0;
double milliseconds = 0;
/// When events were recorded, of those that are timed.
std::map<void *, double> points;
std::set<void *> launched;
// As cuCtxSetCurrent has it.
void *currentContext = nullptr;
std::map<void *, int> devices;
uintptr_t nextHandle = 0x1000;

void log(const char *format, ...) {
  const char *path = std::getenv("MOCK_CUDA_LOG");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  va_list args;
  va_start(args, format);
  std::vfprintf(file, format, args);
  va_end(args);
  std::fclose(file);
}

bool fails(const char *name) {
  const char *failing = std::getenv("MOCK_CUDA_FAIL");
  return failing && std::strcmp(failing, name) == 0;
}

[[noreturn]] void die(const char *why) {
  std::fprintf(stderr, "mock driver: %s\n", why);
  std::abort();
}

void *makeHandle() {
  void *handle = reinterpret_cast<void *>(nextHandle += 16);
  liveHandles.insert(handle);
  return handle;
}

void checkHandle(void *handle) {
  if (!liveHandles.count(handle))
    die("a handle that is not live");
}

/// Null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are streams, too.
void checkStream(void *stream) {
  if (reinterpret_cast<uintptr_t>(stream) > 2)
    checkHandle(stream);
}

void checkContext() {
  if (contextDepth != 1)
    die("no current context");
}

void passLaunch(void *function) {
  const char *each = std::getenv("MOCK_CUDA_LAUNCH_MS");
  bool first = launched.insert(function).second;
  milliseconds += (each ? std::atof(each) : 0) * (first ? 10 : 1);
}

void passBytes(size_t bytes) { milliseconds += 1e-6 * bytes; }

} // namespace

extern "C" {

Code cuInit(unsigned) { return fails("cuInit") ? outOfMemory : success; }
Code cuDriverGetVersion(int *version) {
  *version = 13000;
  return success;
}
Code cuGetErrorName(Code code, const char **name) {
  *name = code == outOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == invalidPtx     ? "CUDA_ERROR_INVALID_PTX"
          : code == notFound       ? "CUDA_ERROR_NOT_FOUND"
          : code == invalidValue   ? "CUDA_ERROR_INVALID_VALUE"
          : code == invalidHandle  ? "CUDA_ERROR_INVALID_HANDLE"
          : code == invalidCluster ? "CUDA_ERROR_INVALID_CLUSTER_SIZE"
                                   : nullptr;
  return *name ? success : invalidValue;
}
Code cuGetErrorString(Code code, const char **text) {
  *text = code == outOfMemory     ? "out of memory"
          : code == invalidPtx    ? "a PTX JIT compilation failed"
          : code == notFound      ? "named symbol not found"
          : code == invalidHandle ? "invalid resource handle"
          : code == invalidValue  ? "invalid argument"
                                  : nullptr;
  return *text ? success : invalidValue;
}
Code cuDeviceGetCount(int *count) {
  const char *devices = std::getenv("MOCK_CUDA_DEVICES");
  *count = devices ? std::atoi(devices) : 1;
  return success;
}
Code cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return success;
}
Code cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, static_cast<size_t>(bytes), "Mock GPU");
  return success;
}
Code cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return success;
}
Code cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = makeHandle();
  devices[*context] = device;
  return success;
}
Code cuCtxPushCurrent_v2(void *context) {
  checkHandle(context);
  ++contextDepth;
  return success;
}
Code cuCtxPopCurrent_v2(void **) {
  --contextDepth;
  return success;
}
Code cuCtxGetCurrent(void **context) {
  *context = currentContext;
  return success;
}
Code cuCtxSetCurrent(void *context) {
  checkHandle(context);
  currentContext = context;
  contextDepth = 1;
  return success;
}
Code cuCtxGetDevice(int *device) {
  checkContext();
  *device = devices[currentContext];
  return success;
}
Code cuPointerGetAttribute(void *data, int attribute,
                           unsigned long long pointer) {
  if (fails("cuPointerGetAttribute"))
    return outOfMemory;
  const int deviceOrdinal = 9;
  int count = 0, device = static_cast<int>(pointer >> 40);
  cuDeviceGetCount(&count);
  if (attribute != deviceOrdinal || device >= count)
    return invalidValue;
  *static_cast<int *>(data) = device;
  return success;
}
Code cuCtxSynchronize() {
  checkContext();
  log("cuCtxSynchronize\n");
  return success;
}

Code cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                        int *options, void **values) {
  checkContext();
  std::string text = static_cast<const char *>(image);
  uintptr_t level = 99;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 7)
      level = reinterpret_cast<uintptr_t>(values[i]);
  bool isPtx = text.find(".version") != std::string::npos;
  bool isCubin = text.compare(0, 4, "\x7f\x45LF") == 0;
  bool isFatbin = text.compare(0, 4, "\x50\xed\x55\xba") == 0;
  log("cuModuleLoadDataEx %s -O%d\n",
      isPtx      ? "ptx"
      : isCubin  ? "cubin"
      : isFatbin ? "fatbin"
                 : "?",
      static_cast<int>(level));
  if (!isPtx && !isCubin && !isFatbin) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        std::strcpy(static_cast<char *>(values[i]),
                    "ptxas fatal: this is no PTX");
    return invalidPtx;
  }
  *module = makeHandle();
  modules[*module] = text;
  return success;
}
Code cuModuleUnload(void *module) {
  checkContext();
  checkHandle(module);
  liveHandles.erase(module);
  log("cuModuleUnload\n");
  return success;
}
Code cuModuleGetFunction(void **function, void *module, const char *name) {
  checkContext();
  checkHandle(module);
  const std::string &text = modules[module];
  bool isPtx = text.find(".version") != std::string::npos;
  if (isPtx && text.find(std::string(".entry ") + name) == std::string::npos)
    return notFound;
  log("cuModuleGetFunction %s\n", name);
  *function = makeHandle();
  return success;
}
Code cuFuncGetAttribute(int *value, int, void *function) {
  checkContext();
  checkHandle(function);
  *value = 1024;
  return success;
}
Code cuFuncSetAttribute(void *function, int attribute, int value) {
  checkContext();
  checkHandle(function);
  log("cuFuncSetAttribute %d %d\n", attribute, value);
  if (value > 200000)
    return invalidValue;
  allowed[function][attribute] = value;
  return success;
}
// A kernel of this driver has 1024 bytes of static shared memory.
static bool mayLaunch(void *function, unsigned shared) {
  return shared + 1024 <= 48 * 1024 ||
         shared <= static_cast<unsigned>(allowed[function][maxDynamicShared]);
}
Code cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                    void *stream, void **, void **) {
  checkContext();
  checkHandle(function);
  checkStream(stream);
  log("cuLaunchKernel grid %u %u %u block %u %u %u shared %u\n", gx, gy, gz, bx,
      by, bz, shared);
  if (!mayLaunch(function, shared))
    return invalidValue;
  passLaunch(function);
  return fails("cuLaunchKernel") ? outOfMemory : success;
}

Code cuStreamCreate(void **stream, unsigned) {
  checkContext();
  *stream = makeHandle();
  log("cuStreamCreate\n");
  return success;
}
Code cuStreamDestroy_v2(void *stream) {
  checkContext();
  checkHandle(stream);
  liveHandles.erase(stream);
  log("cuStreamDestroy\n");
  return success;
}
Code cuStreamSynchronize(void *stream) {
  checkContext();
  checkHandle(stream);
  log("cuStreamSynchronize\n");
  return fails("cuStreamSynchronize") ? outOfMemory : success;
}
Code cuStreamWaitEvent(void *stream, void *event, unsigned) {
  checkContext();
  checkStream(stream);
  checkHandle(event);
  log("cuStreamWaitEvent\n");
  return success;
}
Code cuEventCreate(void **event, unsigned flags) {
  checkContext();
  *event = makeHandle();
  constexpr unsigned disableTiming = 2;
  if (!(flags & disableTiming))
    points[*event] = -1;
  log("cuEventCreate\n");
  return success;
}
Code cuEventDestroy_v2(void *event) {
  checkContext();
  checkHandle(event);
  liveHandles.erase(event);
  points.erase(event);
  log("cuEventDestroy\n");
  return success;
}
Code cuEventRecord(void *event, void *stream) {
  checkContext();
  checkHandle(event);
  checkStream(stream);
  if (points.count(event))
    points[event] = milliseconds;
  log("cuEventRecord\n");
  return success;
}
Code cuEventSynchronize(void *event) {
  checkContext();
  checkHandle(event);
  log("cuEventSynchronize\n");
  return success;
}
Code cuEventElapsedTime(float *elapsed, void *begin, void *end) {
  checkContext();
  checkHandle(begin);
  checkHandle(end);
  for (void *event : {begin, end})
    if (!points.count(event) || points[event] < 0)
      return invalidHandle;
  *elapsed = static_cast<float>(points[end] - points[begin]);
  return success;
}

Code cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  checkContext();
  log("cuMemAlloc %zu\n", bytes);
  if (fails("cuMemAlloc"))
    return outOfMemory;
  void *memory = std::malloc(bytes);
  liveMemory.insert(memory);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  return success;
}
Code cuMemAllocManaged(unsigned long long *pointer, size_t bytes, unsigned) {
  log("cuMemAllocManaged %zu\n", bytes);
  return cuMemAlloc_v2(pointer, bytes);
}
Code cuMemFree_v2(unsigned long long pointer) {
  checkContext();
  void *memory = reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
  log("cuMemFree\n");
  if (!liveMemory.erase(memory))
    return invalidValue;
  std::free(memory);
  return success;
}
Code cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes,
                   void *) {
  checkContext();
  log("cuMemcpyAsync %zu\n", bytes);
  passBytes(bytes);
  std::memcpy(reinterpret_cast<void *>(static_cast<uintptr_t>(to)),
              reinterpret_cast<void *>(static_cast<uintptr_t>(from)), bytes);
  return success;
}
Code cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count,
                     void *) {
  checkContext();
  log("cuMemsetD8Async %u %zu\n", value, count);
  passBytes(count);
  std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(to)), value,
              count);
  return success;
}
Code cuMemsetD16Async(unsigned long long to, unsigned short value, size_t count,
                      void *) {
  checkContext();
  log("cuMemsetD16Async %u %zu\n", value, count);
  passBytes(2 * count);
  auto *data = reinterpret_cast<unsigned short *>(static_cast<uintptr_t>(to));
  for (size_t i = 0; i < count; ++i)
    data[i] = value;
  return success;
}
Code cuMemsetD32Async(unsigned long long to, unsigned value, size_t count,
                      void *) {
  checkContext();
  log("cuMemsetD32Async %u %zu\n", value, count);
  passBytes(4 * count);
  auto *data = reinterpret_cast<unsigned *>(static_cast<uintptr_t>(to));
  for (size_t i = 0; i < count; ++i)
    data[i] = value;
  return success;
}
// Like the driver, which knows ranges only by their beginning and refuses what
// overlaps one.
Code cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
  checkContext();
  log("cuMemHostRegister %zu\n", bytes);
  if (flags)
    die("flags of a registration");
  char *begin = static_cast<char *>(pointer);
  for (auto &range : registered)
    if (begin < range.first + range.second && range.first < begin + bytes)
      return alreadyRegistered;
  registered[begin] = bytes;
  return success;
}
Code cuMemHostUnregister(void *pointer) {
  checkContext();
  log("cuMemHostUnregister\n");
  return registered.erase(static_cast<char *>(pointer)) ? success
                                                        : notRegistered;
}

// The ABI of CUDA 3: a program that binds to these is wrong.
Code cuMemAlloc(unsigned *, unsigned) { die("cuMemAlloc of the old ABI"); }
Code cuMemFree(unsigned) { die("cuMemFree of the old ABI"); }
Code cuCtxPushCurrent(void *) { die("cuCtxPushCurrent of the old ABI"); }
Code cuCtxPopCurrent(void **) { die("cuCtxPopCurrent of the old ABI"); }
Code cuStreamDestroy(void *) { die("cuStreamDestroy of the old ABI"); }
Code cuEventDestroy(void *) { die("cuEventDestroy of the old ABI"); }
Code cuMemHostRegister(void *, size_t, unsigned) {
  die("cuMemHostRegister of the old ABI");
}

#ifndef MOCK_OLD_DRIVER

static Code mockLaunchKernelEx(const unsigned *config, void *function, void **,
                               void **) {
  checkContext();
  checkHandle(function);
  // CUlaunchConfig: grid, block, shared, padding, stream, attributes, count.
  const char *bytes = reinterpret_cast<const char *>(config);
  const char *attribute;
  std::memcpy(&attribute, bytes + 40, sizeof(attribute));
  int id;
  unsigned cluster[3], count;
  std::memcpy(&count, bytes + 48, sizeof(count));
  std::memcpy(&id, attribute, sizeof(id));
  std::memcpy(cluster, attribute + 8, sizeof(cluster));
  log("cuLaunchKernelEx grid %u %u %u block %u %u %u shared %u attributes %u "
      "id %d cluster %u %u %u\n",
      config[0], config[1], config[2], config[3], config[4], config[5],
      config[6], count, id, cluster[0], cluster[1], cluster[2]);
  void *stream;
  std::memcpy(&stream, bytes + 32, sizeof(stream));
  if (stream)
    checkHandle(stream);
  if (!mayLaunch(function, config[6]))
    return invalidValue;
  passLaunch(function);
  return cluster[0] * cluster[1] * cluster[2] > 8 &&
                 !allowed[function][nonPortableCluster]
             ? invalidCluster
             : success;
}

static Code mockFuncGetParamInfo(void *function, size_t index, size_t *offset,
                                 size_t *size) {
  checkHandle(function);
  // Kernels of this driver have five parameters of 8 bytes.
  if (index >= 5)
    return invalidValue;
  *offset = 8 * index;
  *size = 8;
  return success;
}

static Code mockTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *,
                                     const uint64_t *dims,
                                     const uint64_t *strides,
                                     const uint32_t *box, const uint32_t *steps,
                                     int interleave, int swizzle, int promotion,
                                     int fill) {
  log("cuTensorMapEncodeTiled type %d rank %u dims %llu %llu stride %llu box "
      "%u %u steps %u %u modes %d %d %d %d\n",
      type, rank, static_cast<unsigned long long>(dims[0]),
      static_cast<unsigned long long>(dims[1]),
      static_cast<unsigned long long>(strides[0]), box[0], box[1], steps[0],
      steps[1], interleave, swizzle, promotion, fill);
  std::memset(map, 0x5a, 128);
  return success;
}

Code cuGetProcAddress_v2(const char *name, void **function, int version,
                         uint64_t, int *found) {
  struct Entry {
    const char *name;
    void *function;
    int since;
  };
  // Only what has other ABIs, or is not exported under its name here.
  const Entry entries[] = {
      {"cuMemAlloc", reinterpret_cast<void *>(cuMemAlloc_v2), 3020},
      {"cuMemFree", reinterpret_cast<void *>(cuMemFree_v2), 3020},
      {"cuCtxPushCurrent", reinterpret_cast<void *>(cuCtxPushCurrent_v2), 4000},
      {"cuCtxPopCurrent", reinterpret_cast<void *>(cuCtxPopCurrent_v2), 4000},
      {"cuLaunchKernelEx", reinterpret_cast<void *>(mockLaunchKernelEx), 11060},
      {"cuFuncGetParamInfo", reinterpret_cast<void *>(mockFuncGetParamInfo),
       12040},
      {"cuTensorMapEncodeTiled",
       reinterpret_cast<void *>(mockTensorMapEncodeTiled), 12000},
  };
  for (const Entry &entry : entries)
    if (std::strcmp(entry.name, name) == 0 && version >= entry.since) {
      *function = entry.function;
      *found = 0;
      return success;
    }
  *function = nullptr;
  *found = 1;
  return success;
}

#endif // MOCK_OLD_DRIVER

} // extern "C"
