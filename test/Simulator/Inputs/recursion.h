// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that call themselves, for the device and for the host: clang's and
// nvcc's code of them must give what the host's gives.
#ifdef HOST
#include <alloca.h>
#include <cstdio>
#define KERNEL static void
#define DEVICE
#define NOINLINE __attribute__((noinline))
#define alloca_ints(n) static_cast<int *>(alloca(4 * (n)))
static int thread;
static inline int threadIdx_x() { return thread; }
#else
#ifdef __NVCC__
#define NOINLINE __noinline__
__device__ inline int threadIdx_x() { return threadIdx.x; }
#define KERNEL extern "C" __global__ void
#else
#include "cuda.h"
#define NOINLINE __attribute__((noinline))
#define KERNEL __global__ void
#endif
#define DEVICE __device__
#define alloca_ints(n) static_cast<int *>(__builtin_alloca(4 * (n)))
#endif

DEVICE NOINLINE int factorial(int n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

DEVICE NOINLINE int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

DEVICE NOINLINE int ackermann(int m, int n) {
  return m == 0   ? n + 1
         : n == 0 ? ackermann(m - 1, 1)
                  : ackermann(m - 1, ackermann(m, n - 1));
}

// Mutual: the length of n's Collatz sequence.
DEVICE int odd_step(int n, int steps);
DEVICE NOINLINE int even_step(int n, int steps) {
  n /= 2;
  return n & 1 ? odd_step(n, steps + 1) : even_step(n, steps + 1);
}
DEVICE NOINLINE int odd_step(int n, int steps) {
  return n == 1 ? steps : even_step(3 * n + 1, steps + 1);
}

// Of an array of the caller's.
DEVICE NOINLINE void quick_sort(int *a, int first, int last) {
  if (first >= last)
    return;
  int pivot = a[(first + last) / 2], i = first, j = last;
  while (i <= j) {
    while (a[i] < pivot)
      ++i;
    while (a[j] > pivot)
      --j;
    if (i <= j) {
      int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  quick_sort(a, first, j);
  quick_sort(a, i, last);
}

// An array in every frame, which the callees' frames point to.
DEVICE NOINLINE int chain(int n, const int *outer) {
  int own[6];
  for (int i = 0; i < 6; ++i)
    own[i] = n * i + outer[(i + n + 6) % 6];
  if (n <= 0)
    return own[5];
  int inner = chain(n - 1 - (own[n % 6] & 1), own);
  return inner + own[inner & 3];
}

// Calls by address that lead back.
using Step = int (*)(int, int);
DEVICE NOINLINE int twice(int n, int x);
DEVICE NOINLINE int less(int n, int x);
DEVICE Step const steps[2] = {twice, less};
DEVICE NOINLINE int twice(int n, int x) {
  return n == 0 ? x : steps[x & 1](n - 1, x * 2 + 1);
}
DEVICE NOINLINE int less(int n, int x) {
  return n == 0 ? x : steps[x >> 1 & 1](n - 1, x - 3);
}

struct Node {
  DEVICE virtual int value(int depth) const = 0;
};
struct Leaf : Node {
  int number;
  DEVICE int value(int) const override { return number; }
};
struct Sum : Node {
  const Node *a, *b;
  DEVICE int value(int depth) const override {
    return depth + a->value(depth + 1) + b->value(depth + 1);
  }
};

DEVICE NOINLINE int sum_of(const int *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += p[i] * (i + 1);
  return sum;
}
// The room goes with the call.
DEVICE NOINLINE int with_room(int n, int x) {
  int *p = alloca_ints(n);
  for (int i = 0; i < n; ++i)
    p[i] = x + i;
  return sum_of(p, n);
}

constexpr int results = 10;
KERNEL recursion(int *out) {
  int t = threadIdx_x(), *o = out + t * results;
  o[0] = factorial(t % 13);
  o[1] = fibonacci(t % 14);
  o[2] = ackermann(2, t % 5);
  o[3] = odd_step(2 * t + 1, 0);
  int a[16];
  unsigned random = unsigned(t) + 1;
  for (int &x : a)
    x = int((random = random * 1664525 + 1013904223) >> 16) % 100;
  quick_sort(a, 0, 15);
  o[4] = 0;
  for (int i = 0; i < 16; ++i)
    o[4] = (o[4] + a[i] * i) * (i && a[i] < a[i - 1] ? 0 : 1);
  int six[6] = {t, 1, 2, t + 3, 4, 5};
  o[5] = chain(t, six);
  o[6] = steps[t & 1](t % 20, t);
  Leaf leaf;
  leaf.number = t;
  Sum small, large;
  small.a = small.b = &leaf;
  large.a = &small;
  large.b = t & 1 ? static_cast<const Node *>(&leaf) : &small;
  o[7] = large.value(1);
  int sum = 0;
  for (int i = 0; i < 50; ++i)
    sum += with_room(1 + (t + i) % 7, i);
  o[8] = sum;
  int *p = alloca_ints(t + 1);
  for (int i = 0; i <= t; ++i)
    p[i] = i * t;
  o[9] = sum_of(p, t + 1);
}
