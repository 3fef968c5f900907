// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the results of a block of threads, as ptxsim prints an array.
#define HOST
#include "recursion.h"

int main() {
  static int out[64 * results];
  for (thread = 0; thread < 64; ++thread)
    recursion(out);
  std::printf("s32[%d]:", 64 * results);
  for (int v : out)
    std::printf(" %d", v);
  std::printf("\n");
}
