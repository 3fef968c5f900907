//===- Settings.cpp - The runtime's settings ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Runtime/Settings.h"

#include "kvcache/Simulator/Report.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <unistd.h>

using namespace kvrt;
using ptxsim::Result;
using ptxsim::Status;

namespace {

/// Sets a field from text; on a wrong value returns what is expected.
using Setter = std::function<std::string(Settings &, const std::string &)>;

struct Setting {
  const char *name;
  Setter set;
};

bool parseNumber(const std::string &text, uint64_t limit, uint64_t &out) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  errno = 0;
  out = std::strtoull(text.c_str(), nullptr, 10);
  return errno == 0 && out <= limit;
}

template <typename T> Setter number(T Settings::*field, uint64_t limit) {
  return [=](Settings &s, const std::string &text) -> std::string {
    uint64_t value;
    if (!parseNumber(text, limit, value))
      return "a number from 0 to " + std::to_string(limit);
    s.*field = static_cast<T>(value);
    return "";
  };
}

Setter choice(bool Settings::*field, const char *no, const char *yes) {
  return [=](Settings &s, const std::string &text) -> std::string {
    if (text != no && text != yes)
      return std::string("'") + no + "' or '" + yes + "'";
    s.*field = text == yes;
    return "";
  };
}

std::string setDevice(Settings &s, const std::string &text) {
  if (text == "auto")
    s.device = DeviceKind::Auto;
  else if (text == "cuda")
    s.device = DeviceKind::Cuda;
  else if (text == "sim")
    s.device = DeviceKind::Sim;
  else
    return "'auto', 'cuda' or 'sim'";
  return "";
}

std::string setTools(Settings &s, const std::string &text) {
  if (text == "none") {
    s.tools = 0;
    return "";
  }
  Result<uint32_t> mask = ptxsim::parseTools(text);
  if (!mask.ok())
    return "'none', 'all' or a list of memcheck, initcheck, racecheck and "
           "synccheck";
  s.tools = *mask;
  return "";
}

std::string setLibrary(Settings &s, const std::string &text) {
  if (text.empty())
    return "the name or path of a library";
  s.cudaLibrary = text;
  return "";
}

const std::vector<Setting> &allSettings() {
  static const auto *settings = new std::vector<Setting>{
      {"KVCACHE_DEVICE", setDevice},
      {"KVCACHE_DEVICE_ORDINAL", number(&Settings::ordinal, 1023)},
      {"KVCACHE_VERBOSE", choice(&Settings::verbose, "0", "1")},
      {"KVCACHE_CUDA_LIBRARY", setLibrary},
      {"KVCACHE_ERROR_EXITCODE", number(&Settings::errorExitCode, 255)},
      {"KVCACHE_STOP_AT_FIRST", choice(&Settings::stopAtFirst, "0", "1")},
      {"KVCACHE_SIM_TOOL", setTools},
      {"KVCACHE_SIM_COUNT", choice(&Settings::count, "0", "1")},
      {"KVCACHE_SIM_SEED",
       number(&Settings::seed, std::numeric_limits<uint64_t>::max())},
      {"KVCACHE_SIM_THREADS", number(&Settings::threads, 1024)},
      {"KVCACHE_SIM_STREAMS", choice(&Settings::lateStreams, "eager", "late")},
      {"KVCACHE_SIM_HOST_ACCESS",
       choice(&Settings::hostUnreadable, "allow", "deny")},
      {"KVCACHE_SIM_PRINT_LIMIT", number(&Settings::printLimit, 1000000)},
      {"KVCACHE_SIM_INSTRUCTION_LIMIT",
       number(&Settings::instructionLimit,
              std::numeric_limits<uint64_t>::max())},
  };
  return *settings;
}

const Setting *findSetting(std::string_view name) {
  for (const Setting &setting : allSettings())
    if (name == setting.name)
      return &setting;
  return nullptr;
}

Status unknownSetting(std::string_view name) {
  std::string text = "unknown setting '" + std::string(name) + "'; there are";
  for (const Setting &setting : allSettings())
    text += std::string(&setting == &allSettings().front() ? " " : ", ") +
            setting.name;
  return Status::error(std::move(text));
}

Status apply(Settings &settings, const Setting &setting,
             const std::string &value) {
  std::string expected = setting.set(settings, value);
  if (expected.empty())
    return {};
  return Status::error(std::string(setting.name) + ": expected " + expected +
                       ", got '" + value + "'");
}

} // namespace

Result<Settings> kvrt::readSettings(const std::vector<std::string> &overrides) {
  Settings settings;
  const std::string_view ownPrefix = "KVCACHE_SIM_";
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    if (name.substr(0, ownPrefix.size()) == ownPrefix && !findSetting(name))
      return unknownSetting(name);
  }
  auto isOverridden = [&](const Setting &setting) {
    const std::string prefix = setting.name + std::string("=");
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const std::string &text) {
                         return text.compare(0, prefix.size(), prefix) == 0;
                       });
  };
  for (const Setting &setting : allSettings())
    if (const char *value = std::getenv(setting.name);
        value && *value && !isOverridden(setting))
      if (Status status = apply(settings, setting, value); !status.ok())
        return status;
  for (const std::string &text : overrides) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return Status::error("expected NAME=VALUE, got '" + text + "'");
    const Setting *setting = findSetting(text.substr(0, equals));
    if (!setting)
      return unknownSetting(text.substr(0, equals));
    if (Status status = apply(settings, *setting, text.substr(equals + 1));
        !status.ok())
      return status;
  }
  return settings;
}
