// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of the PTX simulator.
#include "Arguments.h"
#include "Options.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace ptxsim;

// Exit status: 0, findings (--error-exitcode), the kernel failed or nothing
// could be run at all.
static constexpr int exitFailed = 70, exitUsage = 64;

static int fail(const std::string &message, int status = exitUsage) {
  fprintf(stderr, "ptxsim: error: %s\n", message.c_str());
  return status;
}

/// False, and errno is set, if the file cannot be read to its end.
static bool readFile(const std::string &path, std::string &text) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    return false;
  char part[65536];
  while (size_t count = fread(part, 1, sizeof part, file))
    text.append(part, count);
  int problem = ferror(file) ? errno : 0;
  fclose(file);
  errno = problem;
  return !problem;
}

static void listKernels(const Module &module) {
  for (const KernelInfo &kernel : module.kernels()) {
    printf("%s\n", kernel.name.c_str());
    for (const ParamInfo &param : kernel.params)
      printf("  %s: .%s, %u bytes at %u\n", param.name.c_str(),
             param.type.c_str(), param.size, param.offset);
    if (kernel.staticSharedBytes)
      printf("  shared memory: %u bytes\n", kernel.staticSharedBytes);
  }
}

static int checkKernels(const Module &module, const Options &options) {
  int status = 0;
  for (const KernelInfo &kernel : module.kernels()) {
    if (!options.kernel.empty() && kernel.name != options.kernel)
      continue;
    Status result = module.check(kernel.name);
    if (result.ok()) {
      printf("%s: ok\n", kernel.name.c_str());
    } else {
      fprintf(stderr, "%s\n", result.message().c_str());
      status = exitUsage;
    }
  }
  return status;
}

namespace {
/// One line of a terminal, written over and over; gone at the end.
class ProgressLine {
public:
  void show(uint64_t done, uint64_t total) {
    shown = true;
    fprintf(stderr, "\r%llu of %llu blocks (%u %%)",
            static_cast<unsigned long long>(done),
            static_cast<unsigned long long>(total),
            unsigned(100.0 * double(done) / double(total)));
  }
  void clear() {
    if (shown)
      fprintf(stderr, "\r\033[K");
  }

private:
  bool shown = false;
};
} // namespace

/// The standard output as it was; what is written there from now on, by the
/// kernel too, goes to the standard error.
static FILE *detachOutput() {
  fflush(stdout);
  FILE *output = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return output;
}

/// `json` is where JSON goes, null for text.
static void printResult(const LaunchResult &result, const Options &options,
                        FILE *json) {
  if (json) {
    std::string status = result.outcome == LaunchOutcome::Completed
                             ? "completed"
                         : result.outcome == LaunchOutcome::Failed ? "failed"
                                                                   : "refused";
    fprintf(json, "{\"outcome\": \"%s\", \"findings\": %llu, \"reports\": %s",
            status.c_str(), static_cast<unsigned long long>(result.numFindings),
            reportsToJson(result.reports).c_str());
    if (options.count)
      fprintf(json, ", \"counters\": %s", result.counters.json().c_str());
    fprintf(json, "}\n");
    return;
  }
  for (const Report &report : result.reports)
    fputs(report.text().c_str(), stderr);
  if (options.tools)
    fprintf(stderr, "%llu finding%s\n",
            static_cast<unsigned long long>(result.numFindings),
            result.numFindings == 1 ? "" : "s");
  if (options.count)
    fputs(result.counters.text().c_str(), stdout);
}

static int runKernel(const std::shared_ptr<const Module> &module,
                     const Options &options) {
  const KernelInfo *kernel = module->findKernel(options.kernel);
  if (!kernel) {
    std::string message =
        "no kernel '" + options.kernel + "' in " + options.file + "; there is";
    for (const KernelInfo &known : module->kernels())
      message += " " + known.name;
    return fail(message);
  }
  if (options.arguments.size() != kernel->params.size())
    return fail("kernel '" + kernel->name + "' takes " +
                std::to_string(kernel->params.size()) + " arguments, " +
                std::to_string(options.arguments.size()) + " are given");

  DeviceOptions deviceOptions;
  deviceOptions.trackInitialisation = options.tools & InitCheck;
  Device device(deviceOptions);
  Result<LoadedModule *> loaded = device.load(module);
  if (!loaded.ok())
    return fail(loaded.message());
  std::vector<Argument> arguments(options.arguments.size());
  std::vector<void *> pointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string error;
    if (!makeArgument(options.arguments[i], kernel->params[i], device,
                      arguments[i], error))
      return fail(error);
    pointers.push_back(arguments[i].bytes.data());
  }

  LaunchOptions launch;
  launch.tools = options.tools;
  launch.counters = options.count;
  launch.seed = options.seed;
  launch.reportLimit = options.printLimit;
  launch.stopAtFirst = options.stopAtFirst;
  launch.threads = options.threads;
  launch.instructionLimit = options.instructionLimit;
  if (options.trace)
    launch.trace = [](std::string_view line) {
      fprintf(stderr, "%.*s\n", int(line.size()), line.data());
    };
  ProgressLine progress;
  if (isatty(STDERR_FILENO))
    launch.progress = [&](uint64_t done, uint64_t total) {
      progress.show(done, total);
    };
  FILE *json = options.json ? detachOutput() : nullptr;
  LaunchResult result = device.launch(*loaded, options.kernel, options.config,
                                      pointers.data(), pointers.size(), launch);
  progress.clear();
  printResult(result, options, json);
  if (json)
    fclose(json);
  if (result.outcome != LaunchOutcome::Completed) {
    bool found =
        result.numFindings && options.tools && options.hasErrorExitCode;
    int status = result.outcome == LaunchOutcome::Refused ? exitUsage
                 : found ? options.errorExitCode
                         : exitFailed;
    return fail(result.status.message(), status);
  }
  for (Argument &argument : arguments) {
    std::string error;
    if (!storeResult(argument, device, error))
      return fail(error);
  }
  return result.numFindings ? options.errorExitCode : 0;
}

int main(int argc, char **argv) {
  Options options;
  std::string error;
  if (!parseOptions(argc, argv, options, error))
    return fail(error);
  if (options.help) {
    fputs(helpText, stdout);
    return 0;
  }
  if (options.version) {
    puts("ptxsim 0.1.0");
    return 0;
  }
  std::string text;
  if (!readFile(options.file, text))
    return fail(options.file + ": " + strerror(errno));
  Result<std::shared_ptr<const Module>> module =
      Module::parse(text, options.file);
  if (!module.ok()) {
    fprintf(stderr, "%s\n", module.message().c_str());
    return exitUsage;
  }
  if (options.list) {
    listKernels(**module);
    return 0;
  }
  if (options.check)
    return checkKernels(**module, options);
  return runKernel(*module, options);
}
