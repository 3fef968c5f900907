// malloc and free in kernels: every thread builds a list and takes it apart; what
// is wrong with a block is found as with any other memory.
//
// REQUIRES: clang
// RUN: %clang_cuda -O1 -o %t.ptx %s
// RUN: ptxsim %t.ptx --kernel lists --grid 3 --block 64 --tool all --seed 4 \
// RUN:   --arg out:-=u32[192] --arg u32:7 2>&1 | FileCheck %s --check-prefix=LISTS
// LISTS: 0 findings
// LISTS-NEXT: u32[192]: 21 28 35 42 49
//
// A heap of 8 MiB: 8 blocks of a MiB do not fit with what lies between them, and
// freed ones are used again.
// RUN: ptxsim %t.ptx --kernel fill --grid 1 --block 1 --tool all \
// RUN:   --arg out:-=u32[3] 2>&1 | FileCheck %s --check-prefix=FILL
// FILL: 0 findings
// FILL-NEXT: u32[3]: 7 7 0
//
// RUN: not ptxsim %t.ptx --kernel wrong --grid 1 --block 1 --tool all \
// RUN:   --arg out:-=u32[1] --arg u32:0 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: memcheck: write of 4 bytes of global memory out of bounds
// BEYOND: is 0 bytes past the end of 'heap block #1' (12 bytes at
// RUN: not ptxsim %t.ptx --kernel wrong --grid 1 --block 1 --tool all \
// RUN:   --arg out:-=u32[1] --arg u32:1 2>&1 | FileCheck %s --check-prefix=UNSET
// UNSET: initcheck: read of 4 bytes of global memory that nothing has written
// UNSET: is at byte 8 of 'heap block #1' (12 bytes at
// RUN: not ptxsim %t.ptx --kernel wrong --grid 1 --block 1 --tool all \
// RUN:   --arg out:-=u32[1] --arg u32:2 2>&1 | FileCheck %s --check-prefix=AFTER
// AFTER: memcheck: read of 4 bytes of global memory out of bounds
// AFTER: is at byte 0 of freed 'heap block #1' (12 bytes at
// RUN: not ptxsim %t.ptx --kernel wrong --grid 1 --block 1 \
// RUN:   --arg out:-=u32[1] --arg u32:3 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: memcheck: free of an address that malloc did not return, or that has been freed
// TWICE: is at byte 0 of freed 'heap block #1' (12 bytes at
// TWICE: error: kernel 'wrong' failed: free of an address
#include "Inputs/cuda.h"

extern "C" __device__ void *malloc(unsigned long bytes);
extern "C" __device__ void free(void *pointer);

struct Node {
  Node *next;
  unsigned value;
};

__global__ void lists(unsigned *out, unsigned count) {
  unsigned id = blockIdx_x() * 64 + threadIdx_x();
  Node *head = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    node->next = head;
    node->value = id + i;
    head = node;
  }
  unsigned sum = 0;
  while (head) {
    Node *node = head;
    sum += node->value;
    head = node->next;
    free(node);
  }
  out[id] = sum;
}

__device__ unsigned take(char **blocks) {
  unsigned n = 0;
  while (n < 16 && (blocks[n] = static_cast<char *>(malloc(1 << 20))))
    ++n;
  return n;
}

__global__ void fill(unsigned *out) {
  char *blocks[17];
  out[0] = take(blocks);
  for (unsigned k = 0; k < out[0]; ++k)
    free(blocks[k]);
  out[1] = take(blocks);
  void *volatile large = malloc(9 << 20);
  out[2] = large != nullptr;
}

__global__ void wrong(unsigned *out, unsigned what) {
  volatile unsigned *block = static_cast<volatile unsigned *>(malloc(12));
  block[0] = 1;
  if (what == 0)
    block[3] = 1;
  if (what == 1)
    out[0] = block[2];
  free(const_cast<unsigned *>(block));
  if (what == 2)
    out[0] = block[0];
  if (what == 3)
    free(const_cast<unsigned *>(block));
  if (what != 1 && what != 2)
    out[0] = 0;
}
