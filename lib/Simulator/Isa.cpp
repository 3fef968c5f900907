// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Picks the handlers of this machine.
#include "Isa/Isa.h"

#include <cstdlib>

using namespace ptxsim;

static const Isa &pick() {
#if defined(__x86_64__) && defined(PTXSIM_HAVE_V3)
  // For tests: the handlers that any machine can run.
  const char *force = getenv("PTXSIM_BASELINE");
  bool baseline = force && *force == '1';
  if (!baseline && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi2"))
    return v3::table;
#endif
  return base::table;
}

const Isa &ptxsim::isa() {
  static const Isa &picked = pick();
  return picked;
}
