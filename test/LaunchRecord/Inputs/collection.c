/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Asks launchers about collections that fit, and about some that do not.
 * Nothing is launched: addresses are numbers.
 */
#include "given.h"
#include "made.h"

static char message[400];

static given_arguments fittingGiven(void) {
  given_arguments a;
  memset(&a, 0, sizeof a);
  a.c_values.data = 0x10000;
  a.c_values_pitch = 1024;
  a.c_values_blocks = 4;
  a.c_scales.data = 0x20000;
  a.c_scales_pitch = 256;
  a.c_scales_blocks = 4;
  a.c_table.data = a.c_lengths.data = 0x30000;
  a.c_table_stride = a.c_columns = a.c_batch = 2;
  a.c_max_prompt.data = a.c_max_cache.data = 0x30000;
  a.c_layers = 2;
  a.x.data = 0x40000;
  a.x.size[0] = 3;
  a.x.size[1] = 2;
  a.x.size[2] = 32;
  a.x.stride[0] = 64;
  a.x.stride[1] = 32;
  a.x.stride[2] = 1;
  a.offsets.data = 0x50000;
  a.offsets.size[0] = 3;
  a.offsets.stride[0] = 1;
  a.layer = 1;
  return a;
}

static made_arguments fittingMade(void) {
  static const int64_t page[6] = {4, 2, 2, 4, 2, 32};
  static const int64_t strides[6] = {1024, 512, 256, 64, 32, 1};
  static const int64_t ofScales[6] = {64, 32, 16, 4, 2, 1};
  made_arguments a;
  memset(&a, 0, sizeof a);
  a.blocks.data = 0x10000;
  a.scales.data = 0x20000;
  memcpy(a.blocks.size, page, sizeof page);
  memcpy(a.blocks.stride, strides, sizeof strides);
  memcpy(a.scales.size, page, sizeof page);
  a.scales.size[5] = 2;
  memcpy(a.scales.stride, ofScales, sizeof ofScales);
  a.lengths.data = a.table.data = a.max.data = 0x30000;
  a.lengths.size[0] = a.table.size[0] = a.table.size[1] = 2;
  a.table.stride[0] = 2;
  a.lengths.stride[0] = a.table.stride[1] = a.max.stride[0] = 1;
  a.max.size[0] = 1;
  a.out.data = 0x40000;
  a.out.size[0] = 6;
  a.out.size[1] = 2;
  a.out.size[2] = 32;
  a.out.stride[0] = 64;
  a.out.stride[1] = 32;
  a.out.stride[2] = 1;
  a.offsets.data = 0x50000;
  a.offsets.size[0] = 3;
  a.offsets.stride[0] = 1;
  a.layer = 1;
  return a;
}

#define TRY(function, fitting, name, change)                                   \
  do {                                                                         \
    function##_arguments a = fitting();                                        \
    function##_plan plan;                                                      \
    change;                                                                    \
    message[0] = 0;                                                            \
    int status = function##_prepare(&a, &plan, message, sizeof message);       \
    printf("%s %s: %d %s\n", #function, name, status, message);                \
  } while (0)
#define GIVEN(name, change) TRY(given, fittingGiven, name, change)
#define MADE(name, change) TRY(made, fittingMade, name, change)

int main(void) {
  GIVEN("fits", (void)0);
  GIVEN("layer", a.layer = 2);
  GIVEN("negative layer", a.layer = -1);
  GIVEN("short pitch", a.c_values_pitch = 960);
  GIVEN("odd pitch", a.c_values_pitch = 1025);
  GIVEN("one block",
        (a.c_values_blocks = a.c_scales_blocks = 1, a.c_values_pitch = 0));
  GIVEN("short pitch of scales", a.c_scales_pitch = 240);
  GIVEN("odd pitch of scales", a.c_scales_pitch = 264);
  GIVEN("blocks", a.c_scales_blocks = 3);
  MADE("fits", (void)0);
  MADE("layer", a.layer = 2);
  MADE("short pitch", a.blocks.stride[0] = 960);
  MADE("odd pitch", a.blocks.stride[0] = 1025);
  MADE("lengths", a.lengths.size[0] = 1);
  MADE("offsets", a.offsets.size[0] = 2);
  return 0;
}
