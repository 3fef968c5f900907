// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime for programs that launch by themselves: a GPU through the CUDA
// driver, or the embedded PTX simulator. Plain C, library libkvcache_runtime.
// Functions that return int return 0 on success; otherwise kvcacheLastError()
// says what is wrong. Nothing here prints, throws or ends the process, and
// every function may be called from any thread. Handles of another kind,
// destroyed ones and invented ones are errors.
// A null stream means: after all work given so far, and done on return.
// A kernel that meets a fault (an illegal access, a trap, a check that fails)
// takes the device with it, as CUDA has it: everything after that is refused,
// on the simulator with a text that names the fault; memory can still be given
// back. A device that is created anew works.
#ifndef KVCACHE_RUNTIME_CAPI_H
#define KVCACHE_RUNTIME_CAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Handles. A device owns its streams, events, modules and kernels.
typedef struct kvcacheDeviceImpl *kvcacheDevice;
typedef struct kvcacheStreamImpl *kvcacheStream;
typedef struct kvcacheEventImpl *kvcacheEvent;
typedef struct kvcacheModuleImpl *kvcacheModule;
typedef struct kvcacheKernelImpl *kvcacheKernel;

/// Text of the calling thread's last error; valid until its next call.
const char *kvcacheLastError(void);
/// Frees a text that a function gave through `char **`.
void kvcacheStringFree(char *text);

/* Devices ------------------------------------------------------------------ */

/// Opens a device. `settings`: null, or "NAME=VALUE" texts ended by a null
/// pointer, with the names of the runtime's environment variables, over which
/// they have precedence: "KVCACHE_DEVICE=sim", "KVCACHE_SIM_TOOL=memcheck".
int kvcacheDeviceCreate(const char *const *settings, kvcacheDevice *device);
/// Also destroys all that belongs to the device, but not its memory.
int kvcacheDeviceDestroy(kvcacheDevice device);
/// One line, e.g. "sim: embedded PTX simulator".
int kvcacheDeviceDescription(kvcacheDevice device, char **text);
/// The target to compile PTX for, e.g. "sm_90a"; empty: any (simulator).
int kvcacheDeviceChip(kvcacheDevice device, char **text);
/// Waits for all work of all streams.
int kvcacheDeviceSynchronize(kvcacheDevice device);

/* Memory ------------------------------------------------------------------- */

/// Aligned to 256 bytes; null for 0 bytes. `hostShared` other than 0: the host
/// may read and write it too.
int kvcacheMemAlloc(kvcacheDevice device, uint64_t bytes, int hostShared,
                    void **pointer);
/// Frees memory of kvcacheMemAlloc once the work in the stream is done.
int kvcacheMemFree(kvcacheDevice device, void *pointer, kvcacheStream stream);
/// Between any two of device and host memory.
int kvcacheMemCopy(kvcacheDevice device, void *dst, const void *src,
                   uint64_t bytes, kvcacheStream stream);
/// Fills `count` elements of 1, 2 or 4 bytes with the low bits of `value`.
int kvcacheMemSet(kvcacheDevice device, void *dst, uint32_t value,
                  unsigned elementBytes, uint64_t count, kvcacheStream stream);
/// Lets kernels use host memory at its own address. Memory that is not mapped
/// is refused by the simulator, and counts as freed if it is given up later;
/// what can only be read kernels may only read.
int kvcacheHostRegister(kvcacheDevice device, void *pointer, uint64_t bytes);
/// Takes that back; `pointer` is the one that was registered.
int kvcacheHostUnregister(kvcacheDevice device, void *pointer);

/// Bits of kvcacheHostAccess.
enum {
  /// All bytes of a range of host memory can be read.
  KVCACHE_HOST_READABLE = 1,
  /// All can be written.
  KVCACHE_HOST_WRITABLE = 2
};
/// What can be done with these bytes of host memory: a sum of the above, 0
/// where some are not mapped. Both where the system does not tell.
int kvcacheHostAccess(const void *pointer, uint64_t bytes);

/* Modules and launches ----------------------------------------------------- */

/// Loads PTX text, a fatbin, or (GPU only) a cubin. `bytes` 0: NUL-terminated
/// text.
int kvcacheModuleLoad(kvcacheDevice device, const void *image, size_t bytes,
                      kvcacheModule *module);
/// Its kernels are gone with it.
int kvcacheModuleUnload(kvcacheModule module);
/// The same handle each time; it lives as long as the module.
int kvcacheModuleGetKernel(kvcacheModule module, const char *name,
                           kvcacheKernel *kernel);
/// Parameters of the kernel.
int kvcacheKernelGetNumParams(kvcacheKernel kernel, size_t *numParams);
/// Bytes of one parameter.
int kvcacheKernelGetParamSize(kvcacheKernel kernel, size_t index,
                              size_t *bytes);

/// The sizes of a launch.
typedef struct {
  /// Blocks; threads of a block.
  int64_t grid[3];
  int64_t block[3];
  /// Blocks of a cluster; all 0: what the kernel requires, else none.
  int64_t cluster[3];
  /// Bytes of dynamic shared memory of a block.
  int64_t dynamicSharedBytes;
} kvcacheLaunchConfig;

/// `params`: one pointer to each of the kernel's parameters, read before the
/// call returns. Not 0 where the launch is refused or fails; what the checks
/// find is in the reports.
int kvcacheLaunch(kvcacheKernel kernel, const kvcacheLaunchConfig *config,
                  void *const *params, size_t numParams, kvcacheStream stream);

/* Streams and events ------------------------------------------------------- */

/// Makes a stream: work in order.
int kvcacheStreamCreate(kvcacheDevice device, kvcacheStream *stream);
/// Work in it still runs.
int kvcacheStreamDestroy(kvcacheStream stream);
/// Waits for the stream's work given so far.
int kvcacheStreamSynchronize(kvcacheStream stream);
/// Lets later work of the stream wait until the event is reached.
int kvcacheStreamWaitEvent(kvcacheStream stream, kvcacheEvent event);
/// Makes an event: a point in a stream.
int kvcacheEventCreate(kvcacheDevice device, kvcacheEvent *event);
/// What waits for it still does.
int kvcacheEventDestroy(kvcacheEvent event);
/// Puts the event behind the stream's work given so far.
int kvcacheEventRecord(kvcacheEvent event, kvcacheStream stream);
/// Waits for the event; one that was never recorded counts as reached.
int kvcacheEventSynchronize(kvcacheEvent event);
/// Time of the GPU between two points that are reached, as its driver measures
/// it (about half a microsecond). An error on the simulator, which has none.
int kvcacheEventElapsedTime(kvcacheEvent begin, kvcacheEvent end,
                            float *milliseconds);

/* Checks and counters (simulator) ------------------------------------------ */

/// How reports and counters are written. Functions take an `int`: any number
/// may come, and another one is an error.
typedef enum {
  /// For people.
  KVCACHE_TEXT = 0,
  /// For programs.
  KVCACHE_JSON = 1
} kvcacheFormat;

/// How often something was found.
int kvcacheDeviceGetNumFindings(kvcacheDevice device, uint64_t *numFindings);
/// The reports: once per place, with a count; `format` is a kvcacheFormat.
int kvcacheDeviceGetReports(kvcacheDevice device, int format, char **text);
/// Counters per kernel over all its launches; needs KVCACHE_SIM_COUNT=1. JSON:
/// an array of objects with "kernel", "launches", "counters".
int kvcacheDeviceGetCounters(kvcacheDevice device, int format, char **text);

/* Compiled programs -------------------------------------------------------- */

/// What a handler of problems is told of.
typedef enum {
  /// A check found something.
  KVCACHE_PROBLEM_REPORT = 0,
  /// A call failed; the program runs on.
  KVCACHE_PROBLEM_ERROR = 1,
  /// The program cannot sensibly run on: no module, kernel or memory.
  KVCACHE_PROBLEM_FATAL = 2
} kvcacheProblemKind;

/// Called on the thread that met the problem; must not call the runtime.
typedef void (*kvcacheProblemHandler)(kvcacheProblemKind kind, const char *text,
                                      void *userData);

/// Makes `device` the one that compiled MLIR programs of this process (the
/// mgpu* functions) use. Their problems go to `handler` instead of stderr, and
/// the process is not ended for them. A null device undoes it.
int kvcacheSetProgramDevice(kvcacheDevice device, kvcacheProblemHandler handler,
                            void *userData);

#ifdef __cplusplus
}
#endif

#endif /* KVCACHE_RUNTIME_CAPI_H */
