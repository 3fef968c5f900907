// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Dialect/KVCache/IR/Numbers.h"
