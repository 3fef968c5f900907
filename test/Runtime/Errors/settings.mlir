// Wrong settings are refused by name.
// RUN: %lower_gpu %s -o %t.mlir
// RUN: %status env KVCACHE_DEVICE=gpu %run_gpu %t.mlir | FileCheck %s --check-prefix=DEVICE
// DEVICE: kvcache: fatal: KVCACHE_DEVICE: expected 'auto', 'cuda' or 'sim', got 'gpu'
// DEVICE-NEXT: status 70
// RUN: %status env KVCACHE_SIM_TOOLS=memcheck %run_gpu %t.mlir | FileCheck %s --check-prefix=NAME
// NAME: kvcache: fatal: unknown setting 'KVCACHE_SIM_TOOLS'; there are KVCACHE_DEVICE, {{.*}}KVCACHE_SIM_TOOL, 
// NAME-NEXT: status 70
// RUN: %status env KVCACHE_SIM_TOOL=memchek %run_gpu %t.mlir | FileCheck %s --check-prefix=TOOL
// TOOL: kvcache: fatal: KVCACHE_SIM_TOOL: expected 'none', 'all' or a list of memcheck, initcheck, racecheck and synccheck, got 'memchek'
// RUN: %status env KVCACHE_SIM_SEED=-1 %run_gpu %t.mlir | FileCheck %s --check-prefix=SEED
// SEED: kvcache: fatal: KVCACHE_SIM_SEED: expected a number from 0 to 18446744073709551615, got '-1'
// RUN: %status env KVCACHE_SIM_STREAMS=lazy %run_gpu %t.mlir | FileCheck %s --check-prefix=STREAMS
// STREAMS: kvcache: fatal: KVCACHE_SIM_STREAMS: expected 'eager' or 'late', got 'lazy'

// Without a driver, auto is the simulator, and says so when asked.
// RUN: env KVCACHE_DEVICE=auto KVCACHE_CUDA_LIBRARY=/nowhere/libcuda.so.1 \
// RUN:   %run_gpu %t.mlir 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// QUIET-NOT: {{.}}
// RUN: env KVCACHE_DEVICE=auto KVCACHE_CUDA_LIBRARY=/nowhere/libcuda.so.1 \
// RUN:   KVCACHE_VERBOSE=1 %run_gpu %t.mlir 2>&1 | FileCheck %s --check-prefix=VERBOSE
// VERBOSE: kvcache: no CUDA device: cannot open the CUDA driver '/nowhere/libcuda.so.1'
// VERBOSE-NEXT: kvcache: device 0 is sim: embedded PTX simulator

// RUN: env KVCACHE_SIM_COUNT=1 %run_gpu %t.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: kvcache-run %s --count 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: kernel 'main_kernel', 1 launch:
func.func @main() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.barrier
    gpu.terminator
  }
  return
}
