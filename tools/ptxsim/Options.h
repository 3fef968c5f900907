// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_TOOLS_PTXSIM_OPTIONS_H
#define KVCACHE_TOOLS_PTXSIM_OPTIONS_H

#include "kvcache/Simulator/Device.h"

#include <string>
#include <vector>

/// What the command line asks for.
struct Options {
  std::string file;
  std::string kernel;
  ptxsim::LaunchConfig config;
  /// As written: "in.npy", "u32:5", "out:y.npy=f32[4,8]", ...
  std::vector<std::string> arguments;
  uint32_t tools = 0;
  bool count = false;
  bool json = false;
  bool list = false;
  bool check = false;
  bool trace = false;
  bool stopAtFirst = false;
  bool version = false;
  bool help = false;
  uint64_t seed = 0;
  unsigned printLimit = 100;
  unsigned threads = 0;
  uint64_t instructionLimit = 0;
  int errorExitCode = 1;
  /// It has been given.
  bool hasErrorExitCode = false;
};

/// False and a message in `error` if the command line makes no sense.
bool parseOptions(int argc, char **argv, Options &options, std::string &error);
extern const char helpText[];

#endif // KVCACHE_TOOLS_PTXSIM_OPTIONS_H
