// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of the checking tools.
#ifndef KVCACHE_SIMULATOR_REPORT_H
#define KVCACHE_SIMULATOR_REPORT_H

#include "kvcache/Simulator/Module.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// The tools, named and divided as compute-sanitizer's are. Values combine to a
/// bit mask.
enum Tool : uint32_t {
  /// Out-of-bounds, misaligned and wrong-space accesses.
  MemCheck = 1,
  /// Reads of memory or registers that nothing has written.
  InitCheck = 2,
  /// Conflicting accesses that nothing orders.
  RaceCheck = 4,
  /// Divergent or mismatched barriers, bad member masks, missing waits.
  SyncCheck = 8,
  AllTools = MemCheck | InitCheck | RaceCheck | SyncCheck
};

/// "memcheck", "initcheck", "racecheck" or "synccheck".
std::string_view toolName(Tool tool);
/// Parses a comma-separated list of tool names, or "all", to a mask.
Result<uint32_t> parseTools(std::string_view list);

/// A place in the source a kernel was compiled from, out of `.file` / `.loc`.
struct SourceLocation {
  /// The file, as `.file` names it; line and column are 1-based.
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  /// Whether there is such a place.
  bool known() const { return line != 0; }
};

/// An access that another one is about; there is none if `ptxLine` is 0. The
/// fields are those of a Report.
struct OtherAccess {
  /// Indices of the block and of the thread in it.
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  /// The instruction: its line, 1-based, and its text.
  uint32_t ptxLine = 0;
  std::string ptxText;
  /// Where it comes from, and what that was inlined into.
  SourceLocation source, caller;
};

/// One finding: the first occurrence at its place, and how many there were.
struct Report {
  /// The tool whose finding it is; errors every launch detects (an access that
  /// would end the kernel, a trap, a deadlock) name the tool nearest to it.
  Tool tool = MemCheck;
  /// Stable, short and machine readable: "out-of-bounds", "misaligned",
  /// "uninitialised-read", "race", "divergent-barrier", ...
  std::string kind;
  /// One line, e.g. "write of 4 bytes out of bounds".
  std::string message;
  std::string kernel;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  /// PTX line (1-based) and instruction text.
  uint32_t ptxLine = 0;
  std::string ptxText;
  SourceLocation source;
  /// Where the function that `source` lies in was called, if it was inlined.
  SourceLocation caller;
  /// Address of the access where there is one.
  bool hasAddress = false;
  uint64_t address = 0;
  /// The address against the nearest allocation, e.g. "4 bytes past the end of
  /// 'pool' (4096 bytes at 0x7f...)"; empty where there is no address.
  std::string nearest;
  /// The access that one of a race races with.
  OtherAccess other;
  uint64_t count = 1;

  /// A few lines of text in compute-sanitizer's manner, final newline included.
  std::string text() const;
  /// A JSON object without line breaks.
  std::string json() const;
};

/// The JSON array of `reports`.
std::string reportsToJson(const std::vector<Report> &reports);

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_REPORT_H
