/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program without MLIR appends rows to a cache by a header that was written
 * beside the kernel, compares the whole pool with what plain C makes of it, and
 * then gets everything wrong that the launcher can see.
 *
 * usage: append FOLDER CHIP
 */
#ifndef KERNEL
#define KERNEL append_kv
#endif
#include "append.h"
#include "driver.h"

enum { B = 3, M = 4, NB = 7, L = 3, P = 16, H = 4, D = 64, T = 37 };
enum { ROW = H * D, LAYER = P * ROW, PITCH = 2 * L * LAYER + 3 * ROW };
/* Rows of keys are part of something wider. */
enum { K_STRIDE = 2 * ROW + 8 };

static uint16_t k[T * K_STRIDE], v[T * ROW];
static uint16_t pool[NB * PITCH], expected[NB * PITCH];
static int32_t table[B * (M + 1)], sequences[T], positions[T];

static void fill(uint16_t *data, size_t count, unsigned seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (uint16_t)(seed >> 16);
  }
}

static append_arguments good;
static append_kernels kernels;

static void wrong(const append_arguments *arguments, const char *what) {
  char message[256] = "";
  int launches = numLaunches;
  int status =
      append_launch(arguments, &kernels, NULL, message, sizeof(message));
  printf("%s: %d: %s%s\n", what, status, message,
         numLaunches == launches ? "" : " (launched)");
}

int main(int argc, char **argv) {
  char message[256] = "";
  kvcacheDevice device = openDevice();
  append_arguments bad;
  append_plan plan;
  append_kernels none;
  int layer = 1, t, i, same;
  if (argc != 3)
    return 2;
  kernels.KERNEL =
      loadKernel(device, argv[1], append_module(0), argv[2], append_entry(0));

  fill(k, sizeof(k) / 2, 1);
  fill(v, sizeof(v) / 2, 2);
  fill(pool, sizeof(pool) / 2, 3);
  memset(table, 0x7f, sizeof(table));
  /* Some pages are past the pool and are skipped. */
  for (i = 0; i < B * M; ++i)
    table[i / M * (M + 1) + i % M] = i * 5 % 9;
  /* All places differ. */
  for (t = 0; t < T; ++t) {
    sequences[t] = t % B;
    positions[t] = t / B * 5 + t % B;
  }
  memcpy(expected, pool, sizeof(pool));
  for (t = 0; t < T; ++t) {
    int block = table[sequences[t] * (M + 1) + positions[t] / P];
    uint16_t *page;
    if (block >= NB)
      continue;
    page = expected + (size_t)block * PITCH + layer * LAYER +
           positions[t] % P * ROW;
    memcpy(page, k + t * K_STRIDE, ROW * 2);
    memcpy(page + L * LAYER, v + t * ROW, ROW * 2);
  }

  memset(&good, 0, sizeof(good));
  good.k.data = toDevice(device, k, sizeof(k));
  good.k.size[0] = T;
  good.k.size[1] = H;
  good.k.size[2] = D;
  good.k.stride[0] = K_STRIDE;
  good.k.stride[1] = D;
  good.k.stride[2] = 1;
  good.v = good.k;
  good.v.data = toDevice(device, v, sizeof(v));
  good.v.stride[0] = ROW;
  good.sequences.data = toDevice(device, sequences, sizeof(sequences));
  good.sequences.size[0] = T;
  good.sequences.stride[0] = 1;
  good.positions = good.sequences;
  good.positions.data = toDevice(device, positions, sizeof(positions));
  good.blocks.data = toDevice(device, pool, sizeof(pool));
  good.blocks.size[0] = NB;
  good.blocks.size[1] = 2;
  good.blocks.size[2] = L;
  good.blocks.size[3] = P;
  good.blocks.size[4] = H;
  good.blocks.size[5] = D;
  good.blocks.stride[0] = PITCH;
  good.blocks.stride[1] = L * LAYER;
  good.blocks.stride[2] = LAYER;
  good.blocks.stride[3] = ROW;
  good.blocks.stride[4] = D;
  good.blocks.stride[5] = 1;
  good.table.data = toDevice(device, table, sizeof(table));
  good.table.size[0] = B;
  good.table.size[1] = M;
  good.table.stride[0] = M + 1;
  good.table.stride[1] = 1;
  /* Of lengths, which it does not read, the launcher knows how many. */
  good.lengths.size[0] = B;
  good.lengths.stride[0] = 1;
  good.layer = layer;

  i = append_prepare(&good, &plan, message, sizeof(message));
  printf("plan: %d: grid %u %u %u, block %u %u %u, %u bytes, workspace %d\n", i,
         plan.launch_0.geometry.grid[0], plan.launch_0.geometry.grid[1],
         plan.launch_0.geometry.grid[2], plan.launch_0.geometry.block[0],
         plan.launch_0.geometry.block[1], plan.launch_0.geometry.block[2],
         plan.launch_0.geometry.shared_bytes, (int)plan.workspace_bytes);
  i = append_launch(&good, &kernels, NULL, message, sizeof(message));
  printf("launch: %d %s\n", i, message);
  expectNoFindings(device);
  fromDevice(device, pool, good.blocks.data, sizeof(pool));
  same = memcmp(pool, expected, sizeof(pool)) == 0;
  printf("the whole pool is %s\n", same ? "as expected" : "wrong");

  /* No rows: nothing is launched, and pointers do not matter. */
  bad = good;
  bad.k.size[0] = bad.v.size[0] = 0;
  bad.k.data = bad.v.data = 0;
  wrong(&bad, "no rows");

#ifdef ONLY_RUN
  must(kvcacheDeviceDestroy(device), "destroy");
  return same ? 0 : 1;
#endif
  /* Everything else is an error, and nothing is launched. */
  wrong(NULL, "no arguments");
  i = append_launch(&good, NULL, NULL, message, sizeof(message));
  printf("no kernels: %d: %s\n", i, message);
  memset(&none, 0, sizeof(none));
  i = append_launch(&good, &none, NULL, message, sizeof(message));
  printf("no kernel: %d: %s\n", i, message);
  /* A message is optional, and cut where it does not fit. */
  i = append_launch(&good, &none, NULL, NULL, 0);
  printf("no message: %d\n", i);
  i = append_launch(&good, &none, NULL, message, 10);
  printf("short message: %d: %s\n", i, message);

#define WRONG(what, place, value)                                              \
  bad = good;                                                                  \
  bad.place = (value);                                                         \
  wrong(&bad, what)
  WRONG("null", k.data, 0);
  WRONG("misaligned", k.data, good.k.data + 2);
  WRONG("misaligned pool", blocks.data, good.blocks.data + 8);
  WRONG("misaligned list", positions.data, good.positions.data + 2);
  WRONG("negative size", k.size[0], -1);
  WRONG("static size", k.size[1], 8);
  WRONG("static stride", k.stride[1], 80);
  WRONG("packed stride", positions.stride[0], 2);
  WRONG("negative stride", blocks.stride[0], -PITCH);
  WRONG("rows", v.size[0], T - 1);
  WRONG("layer", layer, L);
  WRONG("negative layer", layer, -1);
  WRONG("row stride", k.stride[0], 2 * ROW + 4);
  WRONG("32 bits", table.stride[0], 4294967296);
  WRONG("64 bits", blocks.stride[0], INT64_MAX / 2 + 1);
  bad = good;
  bad.k.size[0] = bad.v.size[0] = 2147483648;
  wrong(&bad, "grid");
  bad.k.size[0] = bad.v.size[0] = INT64_MAX / 128;
  wrong(&bad, "too many elements");

  /* A stride of a dimension of size 1 does not matter. */
  bad = good;
  bad.k.size[0] = bad.v.size[0] = 1;
  bad.v.stride[0] = 12345;
  wrong(&bad, "one row");

  failLaunch = 719;
  i = append_launch(&good, &kernels, NULL, message, sizeof(message));
  printf("driver: %d: %s\n", i, message);
  must(kvcacheDeviceDestroy(device), "destroy");
  return same ? 0 : 1;
}
