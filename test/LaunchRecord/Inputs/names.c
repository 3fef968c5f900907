/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "a_b.h"
#include "a_b_2.h"
#include "int_.h"
#include "x1___st.h"

typedef int (*launcher)(const int__arguments *, const int__kernels *, CUstream,
                        char *, size_t);
launcher find(void);
launcher find(void) { return int__launch; }
const char *name(void);
const char *name(void) {
  return a_b_entry(0) ? a_b_2_module(0) : x1___st_module(0);
}
