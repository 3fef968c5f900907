// One fault a kernel, each reported by its tool at its line.
//
// REQUIRES: clang
// RUN: %clang_cuda -O1 -gline-tables-only -o %t.ptx %s
//
// RUN: not ptxsim %t.ptx --kernel race --grid 1 --block 64 --tool all \
// RUN:   --arg out:-=s32[64] 2>&1 | FileCheck %s --check-prefix=RACE
// RACE: racecheck: {{.*}} of shared memory races with a {{.*}} by thread
// RACE: source {{.*}}checks.cu:[[#@LINE+89]]
//
// RUN: ptxsim %t.ptx --kernel no_race --grid 1 --block 64 --tool all \
// RUN:   --arg out:-=s32[64] 2>&1 | FileCheck %s --check-prefix=CLEAN
// CLEAN: 0 findings
//
// RUN: not ptxsim %t.ptx --kernel warp_race --grid 1 --block 32 \
// RUN:   --tool racecheck --arg out:-=s32[32] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=WARP
// WARP: racecheck: read of shared memory races with a write by thread
//
// RUN: not ptxsim %t.ptx --kernel divergent --grid 1 --block 32 \
// RUN:   --tool synccheck --arg out:-=s32[32] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=DIVERGENT
// DIVERGENT: synccheck: barrier reached by 16 of the 32 threads of the warp
//
// RUN: not ptxsim %t.ptx --kernel deadlock --grid 1 --block 64 \
// RUN:   --arg out:-=s32[64] 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// DEADLOCK: kernel 'deadlock' failed: deadlock: a thread waits at barrier 1
//
// RUN: not ptxsim %t.ptx --kernel forever --grid 1 --block 64 \
// RUN:   --arg zero:-=s32[1] 2>&1 | FileCheck %s --check-prefix=FOREVER
// FOREVER: kernel 'forever' failed: deadlock: a thread spins on a condition
//
// A loop that looks at the time as well.
// RUN: not ptxsim %t.ptx --kernel forever_timed --grid 1 --block 64 \
// RUN:   --arg zero:-=s32[1] 2>&1 | FileCheck %s --check-prefix=TIMED
// TIMED: kernel 'forever_timed' failed: deadlock: a thread spins on a condition
//
// Waiting for a time ends, be it an hour, and however often; so does a wait that
// gives up in time.
// RUN: ptxsim %t.ptx --kernel hour --grid 2 --block 64 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg s32:1 2>&1 | FileCheck %s --check-prefix=HOUR
// RUN: ptxsim %t.ptx --kernel hour --grid 1 --block 32 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg s32:100 2>&1 | \
// RUN:   FileCheck %s --check-prefix=HOUR
// HOUR: 0 findings
// RUN: ptxsim %t.ptx --kernel gives_up --grid 1 --block 32 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg zero:-=s32[1] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=GIVES-UP
// GIVES-UP: s32[1]: 7
//
// So does work until a time, be it that it writes memory or only counts, and a
// poll that counts its turns and gives up in time.
// RUN: ptxsim %t.ptx --kernel work --grid 1 --block 64 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg u64:1000000 2>&1 | \
// RUN:   FileCheck %s --check-prefix=HOUR
// RUN: ptxsim %t.ptx --kernel work_timed --grid 1 --block 32 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg u64:10000000 2>&1 | \
// RUN:   FileCheck %s --check-prefix=HOUR
// RUN: ptxsim %t.ptx --kernel count --grid 1 --block 32 --tool synccheck \
// RUN:   --arg zero:-=s32[1] --arg u64:10000000 2>&1 | \
// RUN:   FileCheck %s --check-prefix=HOUR
// RUN: ptxsim %t.ptx --kernel counted_polls --grid 1 --block 32 \
// RUN:   --tool synccheck --arg zero:-=s32[1] --arg zero:-=s32[1] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=HOUR
//
// Long computing takes time.
// RUN: ptxsim %t.ptx --kernel measure --grid 1 --block 32 --tool synccheck \
// RUN:   --arg zero:-=s32[2] --arg s32:100000 2>&1 | \
// RUN:   FileCheck %s --check-prefix=MEASURE
// MEASURE: s32[2]: 1 {{.*}}
//
// RUN: not ptxsim %t.ptx --kernel unwritten --grid 1 --block 32 \
// RUN:   --tool initcheck --arg out:-=s32[32] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=UNWRITTEN
// UNWRITTEN: initcheck: read of 4 bytes of shared memory that nothing has written
//
// RUN: not ptxsim %t.ptx --kernel blocks --grid 4 --block 32 \
// RUN:   --tool racecheck --arg out:-=s32[1] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=BLOCKS
// BLOCKS: racecheck: write of global memory races with a {{read|write}} by thread ({{[0-9]+}},0,0) of block
//
// RUN: not ptxsim %t.ptx --kernel misaligned --grid 1 --block 1 \
// RUN:   --tool memcheck --arg out:-=s32[4] 2>&1 | \
// RUN:   FileCheck %s --check-prefix=MISALIGNED
// MISALIGNED: memcheck: write of 4 bytes of global memory is not aligned to 4
// MISALIGNED: at byte 1 of 'misaligned_param_0' (16 bytes
//
// RUN: not ptxsim %t.ptx --kernel neighbour --grid 1 --block 1 \
// RUN:   --tool memcheck --arg out:-=s32[1] --arg s32:16 2>&1 | \
// RUN:   FileCheck %s --check-prefix=NEIGHBOUR
// NEIGHBOUR: memcheck: write of 4 bytes of shared memory out of bounds
// NEIGHBOUR: 0 bytes past the end of shared
#include "Inputs/cuda.h"

__global__ void race(int *out) {
  __shared__ int s[64];
  int t = threadIdx_x();
  s[t] = t;
  out[t] = s[63 - t]; // the race
}

__global__ void no_race(int *out) {
  __shared__ int s[64];
  int t = threadIdx_x();
  s[t] = t;
  __syncthreads();
  out[t] = s[63 - t];
}

__global__ void warp_race(int *out) {
  __shared__ int s[32];
  int t = threadIdx_x();
  s[t] = t;
  out[t] = s[31 - t];
}

__global__ void divergent(int *out) {
  int t = threadIdx_x();
  if (t < 16)
    __syncthreads();
  else
    __syncthreads();
  out[t] = t;
}

__global__ void deadlock(int *out) {
  int t = threadIdx_x();
  if (t < 32)
    asm volatile("bar.sync 1;" ::: "memory");
  else
    asm volatile("bar.sync 2;" ::: "memory");
  out[t] = t;
}

__global__ void forever(volatile int *flag) {
  while (*flag == 0)
    ;
}

__global__ void forever_timed(volatile int *flag) {
  unsigned long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  while (*flag == 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    asm volatile("nanosleep.u32 %0;" ::"r"(unsigned(now - begin) / 4));
  }
}

__global__ void hour(int *out, int times) {
  unsigned long begin, now;
  for (int k = 0; k < times; ++k) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
      asm volatile("nanosleep.u32 1000;\n mov.u64 %0, %%globaltimer;"
                   : "=l"(now));
    while (now - begin < 3600000000000);
  }
  *out = times;
}

__global__ void gives_up(volatile int *flag, int *out) {
  unsigned begin, now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(begin));
  while (*flag == 0) {
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    if (now - begin > 2000000000) {
      *out = 7;
      return;
    }
  }
  *out = 1;
}

__device__ unsigned long clock64() {
  unsigned long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}

__device__ unsigned long timer() {
  unsigned long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void work(volatile int *out, unsigned long cycles) {
  unsigned long begin = clock64();
  int turns = 0;
  do
    *out = ++turns;
  while (clock64() - begin < cycles);
}

__global__ void work_timed(volatile int *out, unsigned long nanoseconds) {
  unsigned long begin = timer();
  int turns = 0;
  do
    *out = ++turns;
  while (timer() - begin < nanoseconds);
}

__global__ void count(int *out, unsigned long cycles) {
  unsigned long begin = clock64();
  int turns = 0;
  do
    ++turns;
  while (clock64() - begin < cycles);
  *out = turns;
}

__global__ void counted_polls(volatile int *flag, int *out) {
  unsigned long begin = clock64();
  int polls = 0;
  while (*flag == 0 && clock64() - begin < 100000000)
    ++polls;
  *out = polls;
}

__global__ void measure(int *out, int turns) {
  unsigned long begin = timer();
  unsigned x = 1;
  for (int k = 0; k < turns; ++k)
    asm volatile("mad.lo.u32 %0, %0, 1664525, 1013904223;" : "+r"(x));
  out[0] = begin != 0 && timer() - begin >= unsigned(turns);
  out[1] = int(x);
}

__global__ void unwritten(int *out) {
  __shared__ int s[32];
  int t = threadIdx_x();
  if (t < 31)
    s[t] = t;
  __syncthreads();
  out[t] = s[t];
}

__global__ void blocks(int *out) {
  if (threadIdx_x() == 0)
    *out = blockIdx_x();
}

__global__ void misaligned(char *out) { *(int *)(out + 1) = 7; }

__global__ void neighbour(int *out, int n) {
  __shared__ int first[16], second[16];
  first[n] = 1;
  second[0] = n;
  *out = first[n & 15] + second[n & 15];
}
