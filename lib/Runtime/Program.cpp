//===- Program.cpp - The device of a compiled program ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "HostFaults.h"

#include "kvcache/Runtime/CAPI.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

using namespace kvrt;

namespace {

/// Exit status of a program that cannot run on (EX_SOFTWARE).
constexpr int fatalExitCode = 70;

thread_local int threadOrdinal = 0;

void print(const std::string &text) {
  // What the program has printed so far comes first.
  std::cout.flush();
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

/// Without static destructors: the program's libraries may be half gone.
[[noreturn]] void endProcess(int status) {
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
}

} // namespace

void kvrt::setProgramDevice(ProgramDevice program) {
  Program::get().embed(std::move(program));
}

Program &Program::get() {
  static auto *program = new Program;
  return *program;
}

void Program::embed(ProgramDevice program) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  if (embedded.device)
    embedded.device->setReportHandler(nullptr);
  tensorMaps.clear();
  refusals.clear();
  embedded = std::move(program);
  if (!embedded.device)
    return;
  // Not through `embedded`, whose lock a launch on another thread must not
  // need.
  auto handler = embedded.handler;
  embedded.device->setReportHandler([handler](const ptxsim::Report &report) {
    handler(KVCACHE_PROBLEM_REPORT, report.text());
  });
}

Result<std::shared_ptr<Device>> Program::open(int ordinal) {
  auto it = devices.find(ordinal);
  if (it != devices.end())
    return it->second;
  Result<Settings> read = readSettings({});
  if (!read.ok())
    return read.status();
  settings = *read;
  Settings asked = settings;
  asked.ordinal += ordinal;
  Result<std::shared_ptr<Device>> opened = openDevice(asked);
  if (!opened.ok())
    return opened;
  if (settings.verbose)
    print("kvcache: device " + std::to_string(ordinal) + " is " +
          (*opened)->description() + "\n");
  (*opened)->setReportHandler(
      [this](const ptxsim::Report &found) { report(found); });
  if (settings.hostUnreadable)
    nameHostFaults(*opened, fatalExitCode);
  if (!exitHookSet)
    exitHookSet = std::atexit(atExit) == 0;
  devices.emplace(ordinal, *opened);
  return opened;
}

std::shared_ptr<Device> Program::device() {
  std::unique_lock<std::recursive_mutex> guard(lock);
  if (embedded.device)
    return embedded.device;
  Result<std::shared_ptr<Device>> opened = open(threadOrdinal);
  if (opened.ok())
    return *opened;
  guard.unlock();
  fatal(opened.message());
  return nullptr;
}

Status Program::selectDevice(int ordinal) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  if (ordinal < 0 || (embedded.device && ordinal != 0))
    return Status::error("there is no device " + std::to_string(ordinal));
  if (!embedded.device)
    if (Result<std::shared_ptr<Device>> opened = open(ordinal); !opened.ok())
      return opened.status();
  threadOrdinal = ordinal;
  return {};
}

Result<void *> Program::tensorMap(const std::shared_ptr<Device> &device,
                                  const TensorMapRequest &request) {
  Result<ptxsim::TensorMap> map =
      device->encodeTensorMap(request.spec, request.l2Promotion);
  if (!map.ok())
    return map.status();
  std::string bytes(reinterpret_cast<const char *>(&*map), sizeof(*map));
  std::lock_guard<std::recursive_mutex> guard(lock);
  auto it = tensorMaps.find({device.get(), bytes});
  if (it != tensorMaps.end())
    return it->second;
  Result<void *> memory = device->allocate(sizeof(*map), false);
  if (!memory.ok())
    return memory;
  if (Status status = device->copy(*memory, &*map, sizeof(*map), nullptr);
      !status.ok())
    return status;
  tensorMaps.emplace(std::pair(device.get(), std::move(bytes)), *memory);
  return memory;
}

void Program::report(const ptxsim::Report &report) { problem(report.text()); }

bool Program::isOldRefusal(const std::string &text) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  auto refuses = [&](const std::shared_ptr<Device> &device) {
    Status refusal = device ? device->lost() : Status();
    return !refusal.ok() && refusal.message() == text;
  };
  bool isRefusal = refuses(embedded.device);
  for (const auto &[ordinal, device] : devices)
    isRefusal = isRefusal || refuses(device);
  return isRefusal && !refusals.insert(text).second;
}

void Program::error(const std::string &text) {
  std::unique_lock<std::recursive_mutex> guard(lock);
  if (!embedded.device)
    return problem("kvcache: error: " + text + "\n");
  auto handler = embedded.handler;
  guard.unlock();
  handler(KVCACHE_PROBLEM_ERROR, text);
}

void Program::fatal(const std::string &text) {
  std::unique_lock<std::recursive_mutex> guard(lock);
  if (!embedded.device) {
    print("kvcache: fatal: " + text + "\n");
    endProcess(fatalExitCode);
  }
  auto handler = embedded.handler;
  guard.unlock();
  handler(KVCACHE_PROBLEM_FATAL, text);
}

void Program::problem(const std::string &text) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  ++numProblems;
  print(text);
  if (settings.stopAtFirst)
    endProcess(settings.errorExitCode ? settings.errorExitCode : fatalExitCode);
}

void Program::atExit() {
  Program &program = get();
  if (program.settings.count)
    for (auto &[ordinal, device] : program.devices)
      print(countersText(device->counters()));
  if (program.numProblems && program.settings.errorExitCode)
    endProcess(program.settings.errorExitCode);
}
