// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"

#include <cstdlib>

const char helpText[] =
    R"(ptxsim runs a kernel of a PTX file on the CPU, checks and counts.

usage: ptxsim FILE.ptx --kernel NAME --grid X[,Y[,Z]] --block X[,Y[,Z]]
              [--arg ARGUMENT]... [options]

arguments, one --arg for each parameter of the kernel, in order:
  in.npy                  a buffer with the contents of the file
  in.npy=>out.npy         the same, written to out.npy after the launch
  out:y.npy=f32[4,8]      an uninitialised buffer, written to y.npy
  zero:y.npy=f32[4,8]     a buffer of zeros, written to y.npy
  buf:u8[1024]            an uninitialised buffer that is not written
                          (y.npy may be -: the elements are printed)
  null                    a null pointer
  value:s.npy             the bytes of the file as the parameter itself, such as
                          a structure
  u32:5 s64:-1 f32:1.5    scalars: u8 to u64, s8 to s64, f32, f64; b8 to b64
                          take the bits (b16:0x3c00)
  types of buffers: u8 to u64, s8 to s64, f16, f32, f64

options:
  --cluster X[,Y[,Z]]     blocks of a cluster
  --shared BYTES          dynamic shared memory
  --tool LIST             memcheck, initcheck, racecheck, synccheck or all
  --error-exitcode N      exit status when a tool finds something (default 1);
                          where the kernel also fails that is 70, unless this
                          option is given
  --print-limit N         findings printed at most (default 100); 0: no limit
  --stop-at-first         end the launch at the first finding
  --count                 count instructions, traffic, conflicts
  --json                  findings and counts as JSON on the standard output;
                          what the kernel prints goes to the standard error
  --seed N                order of warps; 0 (default) runs them in order
  --threads N             worker threads; 0 (default) is one per core
  --limit N               give up after N warp instructions
  --trace                 every instruction executed, on the standard error
  --list                  list the kernels of the file and their parameters
  --check                 decode every kernel, or --kernel, without a launch
)";

static bool parseNumber(const std::string &text, uint64_t &value) {
  if (text.empty() || text[0] < '0' || text[0] > '9')
    return false;
  char *end = nullptr;
  value = strtoull(text.c_str(), &end, 0);
  return *end == '\0';
}

static bool parseDim(const std::string &text, ptxsim::Dim3 &dim) {
  uint64_t v[3] = {1, 1, 1};
  size_t begin = 0;
  for (int i = 0; i < 3; ++i) {
    size_t comma = text.find(',', begin);
    if (!parseNumber(text.substr(begin, comma - begin), v[i]) ||
        v[i] > 0xffffffff)
      return false;
    if (comma == std::string::npos) {
      dim = {uint32_t(v[0]), uint32_t(v[1]), uint32_t(v[2])};
      return true;
    }
    begin = comma + 1;
    if (i == 2)
      return false;
  }
  dim = {uint32_t(v[0]), uint32_t(v[1]), uint32_t(v[2])};
  return true;
}

bool parseOptions(int argc, char **argv, Options &options, std::string &error) {
  auto fail = [&](std::string message) {
    error = std::move(message);
    return false;
  };
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name.size() < 2 || name[0] != '-') {
      if (!options.file.empty())
        return fail("more than one file: '" + options.file + "' and '" + name +
                    "'");
      options.file = name;
      continue;
    }
    if (name == "--help" || name == "-h") {
      options.help = true;
      continue;
    }
    if (name == "--version") {
      options.version = true;
      continue;
    }
    bool *flag = name == "--count"           ? &options.count
                 : name == "--json"          ? &options.json
                 : name == "--list"          ? &options.list
                 : name == "--check"         ? &options.check
                 : name == "--trace"         ? &options.trace
                 : name == "--stop-at-first" ? &options.stopAtFirst
                                             : nullptr;
    if (flag) {
      *flag = true;
      continue;
    }
    size_t equals = name.find('=');
    if (name.compare(0, 2, "--") == 0 && equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return fail("option " + name +
                  " is unknown or lacks its value; see "
                  "--help");
    }
    uint64_t number = 0;
    bool isNumber = parseNumber(value, number);
    auto need = [&](uint64_t max) {
      return (isNumber && number <= max) ||
             fail(name + " needs a number up to " + std::to_string(max) +
                  ", not '" + value + "'");
    };
    if (name == "--kernel") {
      options.kernel = value;
    } else if (name == "--arg") {
      options.arguments.push_back(value);
    } else if (name == "--grid" || name == "--block" || name == "--cluster") {
      ptxsim::Dim3 &dim = name == "--grid"    ? options.config.grid
                          : name == "--block" ? options.config.block
                                              : options.config.cluster;
      if (!parseDim(value, dim))
        return fail(name + " needs one to three numbers as in 4,2,1, not '" +
                    value + "'");
    } else if (name == "--tool") {
      ptxsim::Result<uint32_t> tools = ptxsim::parseTools(value);
      if (!tools.ok())
        return fail(tools.message());
      options.tools |= *tools;
    } else if (name == "--shared") {
      if (!need(0xffffffff))
        return false;
      options.config.dynamicSharedBytes = uint32_t(number);
    } else if (name == "--error-exitcode") {
      if (!need(255))
        return false;
      options.errorExitCode = int(number);
      options.hasErrorExitCode = true;
    } else if (name == "--print-limit") {
      if (!need(1u << 30))
        return false;
      options.printLimit = unsigned(number);
    } else if (name == "--seed") {
      if (!need(~uint64_t(0)))
        return false;
      options.seed = number;
    } else if (name == "--threads") {
      if (!need(1024))
        return false;
      options.threads = unsigned(number);
    } else if (name == "--limit") {
      if (!need(~uint64_t(0)))
        return false;
      options.instructionLimit = number;
    } else {
      return fail("unknown option " + name + "; see --help");
    }
  }
  if (options.help || options.version)
    return true;
  if (options.file.empty())
    return fail("no PTX file given; see --help");
  if (options.kernel.empty() && !options.list && !options.check)
    return fail("no --kernel given; --list shows what there is");
  return true;
}
