// Asynchronous copies and what waits for them. Copies land late, so that what
// is not waited for is missing.
//
// REQUIRES: clang
// RUN: %clang_cuda -O1 -o %t.ptx %s
// RUN: ptxsim %t.ptx --kernel copy_small --grid 2 --block 64 --tool all \
// RUN:   --arg zero:-=s32[1] 2>&1 | FileCheck %s
// RUN: ptxsim %t.ptx --kernel copy_bulk --grid 2 --block 64 --tool all \
// RUN:   --arg zero:-=s32[1] 2>&1 | FileCheck %s
// CHECK-NOT: {{memcheck|initcheck|racecheck|synccheck}}:
// CHECK: s32[1]: 0
//
// RUN: not ptxsim %t.ptx --kernel copy_small_no_wait --grid 1 --block 64 \
// RUN:   --tool racecheck --arg zero:-=s32[1] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=NOWAIT
// NOWAIT: racecheck: read of shared memory that an asynchronous copy has yet to write
// NOWAIT: of shared {{.*}}tile
//
// RUN: not ptxsim %t.ptx --kernel copy_bulk_no_wait --grid 1 --block 64 \
// RUN:   --tool initcheck --arg zero:-=s32[1] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=BULK
// BULK: initcheck: read of 4 bytes of shared memory that nothing has written
#include "Inputs/cuda.h"

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ inline u32 shared_address(void *p) {
  return (u32)(u64)(__attribute__((address_space(3))) void *)p;
}
__device__ __attribute__((aligned(16))) int source[256] = {
#define TEN(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9
    TEN(1),   TEN(11),  TEN(21),  TEN(31),  TEN(41),  TEN(51),  TEN(61),
    TEN(71),  TEN(81),  TEN(91),  TEN(101), TEN(111), TEN(121), TEN(131),
    TEN(141), TEN(151), TEN(161), TEN(171), TEN(181), TEN(191), TEN(201),
    TEN(211), TEN(221), TEN(231), TEN(241), 251,      252,      253,
    254,      255,      256};

__device__ inline void small(int *errors, bool wait) {
  __shared__ __attribute__((aligned(16))) int tile[256];
  int t = threadIdx_x();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
               :
               : "r"(shared_address(&tile[4 * t])), "l"(&source[4 * t])
               : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (wait)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    if (tile[(4 * t + i + 64) % 256] != (4 * t + i + 64) % 256 + 1)
      __nvvm_atom_add_gen_i(errors, 1);
}
__global__ void copy_small(int *errors) { small(errors, true); }
__global__ void copy_small_no_wait(int *errors) { small(errors, false); }

__device__ inline void bulk(int *errors, bool wait) {
  __shared__ __attribute__((aligned(16))) int tile[256];
  __shared__ u64 barrier;
  int t = threadIdx_x();
  u32 b = shared_address(&barrier);
  if (t == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                 "fence.mbarrier_init.release.cluster;"
                 :
                 : "r"(b)
                 : "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("{ .reg .b64 s;\n"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], 1024;\n}"
                 :
                 : "r"(b)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], 1024, [%2];"
                 :
                 : "r"(shared_address(tile)), "l"(source), "r"(b)
                 : "memory");
  }
  if (wait)
    asm volatile("{ .reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra again;\n}"
                 :
                 : "r"(b)
                 : "memory");
  for (int i = 0; i < 4; ++i)
    if (tile[4 * t + i] != 4 * t + i + 1)
      __nvvm_atom_add_gen_i(errors, 1);
}
__global__ void copy_bulk(int *errors) { bulk(errors, true); }
__global__ void copy_bulk_no_wait(int *errors) { bulk(errors, false); }
