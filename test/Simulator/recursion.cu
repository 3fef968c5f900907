// Functions that call themselves, directly, through each other and by address,
// and alloca: right, and silent under all checks. What runs away is reported.
//
// REQUIRES: clang
// RUN: %host_cxx -o %t.host %S/Inputs/recursion_host.cpp && %t.host > %t.want
// RUN: for level in 0 1 2; do \
// RUN:   %clang_cuda -O$level -std=c++17 -I %S/Inputs -o %t.$level.ptx %s && \
// RUN:   for tools in "" "--tool all" "--seed 3"; do \
// RUN:     ptxsim %t.$level.ptx --kernel recursion --grid 1 --block 64 $tools \
// RUN:       --arg out:-=s32[640] > %t.got && \
// RUN:     grep -v findings %t.got | diff %t.want - || exit 1; done; done
// RUN: %if nvcc %{ for arch in 80 90a 120; do \
// RUN:   %nvcc -ptx -arch=sm_$arch -O2 -std=c++17 -I %S/Inputs -o %t.$arch.ptx %s && \
// RUN:   ptxsim %t.$arch.ptx --kernel recursion --grid 1 --block 64 --tool all \
// RUN:     --arg out:-=s32[640] > %t.got && \
// RUN:   grep -v findings %t.got | diff %t.want - || exit 1; done %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -G -std=c++17 -I %S/Inputs -o %t.debug.ptx %s %}
// RUN: %if nvcc %{ ptxsim %t.debug.ptx --kernel recursion --grid 1 --block 64 --tool all \
// RUN:   --arg out:-=s32[640] | grep -v findings | diff %t.want - %}
//
// RUN: %clang_cuda -O1 -gline-tables-only -std=c++17 -I %S/Inputs -o %t.ptx %s
// RUN: not ptxsim %t.ptx --kernel run_away --grid 1 --block 64 --arg out:-=s32[64] \
// RUN:   2>&1 | FileCheck %s --check-prefix=OVERFLOW
// OVERFLOW: error: kernel 'run_away' failed: stack overflow: a call of '{{.*}}endless{{.*}}', {{[0-9]+}} calls deep, needs more than the 524288 bytes that a thread has for frames and saved registers
// RUN: not ptxsim %t.ptx --kernel run_away --grid 1 --block 64 --tool memcheck \
// RUN:   --arg out:-=s32[64] 2>&1 | FileCheck %s --check-prefix=REPORT
// REPORT: memcheck: stack overflow: a call of
// REPORT-NEXT: at run_away, block (0,0,0), thread (0,0,0)
// REPORT-NEXT: source {{.*}}recursion.cu:[[#@LINE+27]]
//
// RUN: not ptxsim %t.ptx --kernel beyond --grid 1 --block 1 --tool memcheck \
// RUN:   --arg out:-=s32[1] --arg s32:4 2>&1 | FileCheck %s --check-prefix=FRAME
// FRAME: memcheck: write of 4 bytes of local memory out of bounds
// FRAME-NEXT: at beyond, block (0,0,0), thread (0,0,0)
// FRAME-NEXT: source {{.*}}recursion.cu:[[#@LINE+27]]
// FRAME: is 0 bytes past the end of local '__local_depot{{.*}}' (16 bytes), in the frame of '{{.*}}deeper{{.*}}' at depth 3
// RUN: ptxsim %t.ptx --kernel beyond --grid 1 --block 1 --tool all \
// RUN:   --arg out:-=s32[1] --arg s32:3 2>&1 | FileCheck %s --check-prefix=WITHIN
// WITHIN: 0 findings
//
// RUN: not ptxsim %t.ptx --kernel room --grid 1 --block 1 --tool memcheck \
// RUN:   --arg out:-=s32[1] --arg s32:6 --arg s32:6 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: memcheck: write of 4 bytes of local memory out of bounds
// ROOM: is 0 bytes past the end of local 'alloca' (24 bytes)
// RUN: not ptxsim %t.ptx --kernel room --grid 1 --block 1 --tool initcheck \
// RUN:   --arg out:-=s32[1] --arg s32:5 --arg s32:4 2>&1 | FileCheck %s --check-prefix=UNSET
// UNSET: initcheck: read of 4 bytes of local memory that nothing has written
// RUN: not ptxsim %t.ptx --kernel room --grid 1 --block 1 \
// RUN:   --arg out:-=s32[1] --arg s32:1000000 --arg s32:0 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: failed: stack overflow: alloca of 4000000 bytes, 0 calls deep
#include "recursion.h"

#ifndef __NVCC__
DEVICE NOINLINE int endless(int n) {
  volatile int own = n;
  return endless(n + 1) * 3 + own;
}

DEVICE NOINLINE int deeper(int depth, int index) {
  volatile int own[4] = {1, 2, 3, 4};
  if (depth == 0)
    own[index] = 7; // one past the end
  return depth == 0 ? own[1] : deeper(depth - 1, index) + own[2];
}

KERNEL run_away(int *out) { out[threadIdx_x()] = endless(threadIdx_x()); }
KERNEL beyond(int *out, int index) { *out = deeper(2, index); }
KERNEL room(int *out, int count, int index) {
  volatile int *p = alloca_ints(count);
  p[index] = 1;
  *out = p[0];
}
#endif
