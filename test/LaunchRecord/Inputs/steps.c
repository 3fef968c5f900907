/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches what steps.mlir launches, in all of its ways.
 *
 * usage: steps FOLDER CHIP
 */
/* First: it names the driver's types where there is no cuda.h. */
#include "sum_up.h"

#include "driver.h"

enum { N = 64 * 50, LARGE = 64 * 12800 };

static float numbers[LARGE];
static kvcacheDevice device;
static sum_up_kernels kernels;

static void show(const sum_up_arguments *arguments, const char *what) {
  char message[256] = "";
  double out[6];
  sum_up_plan plan;
  int status, launches = numLaunches;
  optedInBytes = 0;
  status = sum_up_launch(arguments, &kernels, NULL, message, sizeof(message));
  printf("%s: %d: %s", what, status, message);
  if (status == KVCACHE_LAUNCH_OK) {
    expectNoFindings(device);
    sum_up_prepare(arguments, &plan, NULL, 0);
    fromDevice(device, out, arguments->out.data, sizeof(out));
    printf("aligned %d (%u), unaligned %d (%u), total %d (%u bytes), opted in "
           "%d, workspace %d: %g, %g, %g, %g, %g, %g",
           plan.launch_0.geometry.run, plan.launch_0.geometry.grid[0],
           plan.launch_1.geometry.run, plan.launch_1.geometry.grid[0],
           plan.launch_2.geometry.run, plan.launch_2.geometry.shared_bytes,
           optedInBytes, (int)plan.workspace_bytes, out[0], out[1], out[2],
           out[3], out[4], out[5]);
  }
  printf(", %d launches\n", numLaunches - launches);
}

int main(int argc, char **argv) {
  sum_up_arguments good, bad;
  int32_t settings[4] = {1, 2, -3, 4};
  int i;
  if (argc != 3)
    return 2;
  device = openDevice();
  kernels.aligned =
      loadKernel(device, argv[1], sum_up_module(0), argv[2], sum_up_entry(0));
  kernels.unaligned =
      loadKernel(device, argv[1], sum_up_module(1), argv[2], sum_up_entry(1));
  kernels.total =
      loadKernel(device, argv[1], sum_up_module(2), argv[2], sum_up_entry(2));
  printf("names: %s %s, %s, none %d %d\n", sum_up_module(2), sum_up_entry(2),
         sum_up_entry(0), sum_up_entry(3) == NULL, sum_up_module(-1) == NULL);

  for (i = 0; i < LARGE; ++i)
    numbers[i] = (float)(i % 10);
  memset(&good, 0, sizeof(good));
  good.x.data = toDevice(device, numbers, sizeof(numbers));
  good.x.size[0] = N;
  good.x.stride[0] = 1;
  good.out.data = toDevice(device, NULL, 6 * 8);
  good.out.size[0] = 6;
  good.out.stride[0] = 1;
  good.factor = 0.5f;
  good.flag = 7;
  good.byte = -128;
  good.half = -32768;
  good.wide = 1e300;
  good.settings = settings;
  good.threads = 1;
  good.workspace_bytes = 1024;
  good.workspace = toDevice(device, NULL, 1024);

  show(&good, "aligned");
  bad = good;
  bad.x.data += 4;
  show(&bad, "unaligned");
  bad = good;
  bad.x.size[0] = N - 1;
  show(&bad, "tail");
  bad = good;
  bad.x.size[0] = 0;
  bad.x.data = 0;
  bad.workspace_bytes = 256;
  show(&bad, "nothing");

  bad = good;
  bad.workspace_bytes = 511;
  show(&bad, "small workspace");
  bad.workspace_bytes = 1024;
  bad.workspace += 128;
  show(&bad, "misaligned workspace");
  bad.workspace = 0;
  show(&bad, "no workspace");
  bad = good;
  bad.settings = NULL;
  show(&bad, "no settings");
  bad = good;
  bad.x.data += 4;
  bad.threads = 2;
  show(&bad, "wrong block");
  bad.threads = 0;
  show(&bad, "no threads");
  bad.x.data -= 2;
  bad.threads = 1;
  show(&bad, "misaligned");
  bad = good;
  bad.x.size[0] = LARGE;
  bad.workspace_bytes = 1 << 17;
  bad.workspace = toDevice(device, NULL, 1 << 17);
  show(&bad, "above 48 KiB");
  bad.x.size[0] = 64 * 60000;
  bad.workspace_bytes = 1 << 20;
  show(&bad, "shared memory");
  bad.x.size[0] = INT64_C(64) * 1073741824;
  bad.workspace_bytes = INT64_MAX;
  show(&bad, "32 bits of shared memory");
  must(kvcacheDeviceDestroy(device), "destroy");
  return 0;
}
