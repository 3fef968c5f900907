// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel arguments of the command line.
#ifndef KVCACHE_TOOLS_PTXSIM_ARGUMENTS_H
#define KVCACHE_TOOLS_PTXSIM_ARGUMENTS_H

#include "kvcache/Simulator/Device.h"
#include "kvcache/Support/Npy.h"

#include <string>
#include <vector>

/// One argument: its bytes as the kernel gets them, and the buffer behind.
struct Argument {
  std::vector<char> bytes;
  void *buffer = nullptr;
  /// Type and shape; written to `output` after the launch if that is not empty.
  npy::Array array;
  std::string output;
};

/// Understands `text` and allocates what it asks for.
bool makeArgument(const std::string &text, const ptxsim::ParamInfo &param,
                  ptxsim::Device &device, Argument &argument,
                  std::string &error);
/// Reads the buffer back and writes it.
bool storeResult(Argument &argument, ptxsim::Device &device,
                 std::string &error);

#endif // KVCACHE_TOOLS_PTXSIM_ARGUMENTS_H
