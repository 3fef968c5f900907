// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/Counters.h"
#include "AsyncHandlers.h"
#include "Collect.h"
#include "Json.h"

#include <algorithm>
#include <map>

using namespace ptxsim;

const char *ptxsim::instClassName(InstClass c) {
  static constexpr const char *names[] = {
      "integer", "float",   "convert", "move",   "predicate",
      "control", "load",    "store",   "atomic", "async_copy",
      "shuffle", "barrier", "matrix",  "special"};
  static_assert(sizeof(names) / sizeof(names[0]) == numInstClasses,
                "one name per class");
  return names[unsigned(c)];
}

uint64_t Counters::totalWarpInstructions() const {
  uint64_t sum = 0;
  for (uint64_t n : warpInstructions)
    sum += n;
  return sum;
}

uint64_t Counters::totalThreadInstructions() const {
  uint64_t sum = 0;
  for (uint64_t n : threadInstructions)
    sum += n;
  return sum;
}

static auto lineKey(const LineCounters &line) {
  return std::tie(line.source.file, line.source.line, line.source.column,
                  line.ptxLine);
}

void Counters::add(const Counters &other) {
  for (unsigned c = 0; c < numInstClasses; ++c) {
    warpInstructions[c] += other.warpInstructions[c];
    threadInstructions[c] += other.threadInstructions[c];
  }
  globalLoad.add(other.globalLoad);
  globalStore.add(other.globalStore);
  globalAtomic.add(other.globalAtomic);
  localLoad.add(other.localLoad);
  localStore.add(other.localStore);
  sharedLoadBytes += other.sharedLoadBytes;
  sharedStoreBytes += other.sharedStoreBytes;
  sharedWavefronts += other.sharedWavefronts;
  sharedConflicts += other.sharedConflicts;
  barriers += other.barriers;
  divergentBranches += other.divergentBranches;
  branches += other.branches;
  blocks += other.blocks;
  warps += other.warps;
  threads += other.threads;
  for (const LineCounters &line : other.lines) {
    auto it =
        std::lower_bound(lines.begin(), lines.end(), line,
                         [](const LineCounters &a, const LineCounters &b) {
                           return lineKey(a) < lineKey(b);
                         });
    if (it == lines.end() || lineKey(*it) != lineKey(line)) {
      lines.insert(it, line);
      continue;
    }
    it->warpInstructions += line.warpInstructions;
    it->threadInstructions += line.threadInstructions;
    it->globalLoad.add(line.globalLoad);
    it->globalStore.add(line.globalStore);
    it->sharedConflicts += line.sharedConflicts;
  }
}

void ptxsim::collectCounters(const Program &program,
                             const std::vector<InstCounts> &counts,
                             Counters &out) {
  Counters own;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, LineCounters>
      lines;
  const std::vector<std::string> &files = program.module->files;
  for (size_t pc = 0; pc < counts.size(); ++pc) {
    const InstCounts &c = counts[pc];
    if (!c.warps)
      continue;
    const Inst &inst = program.code[pc];
    const InstInfo &info = program.info[pc];
    own.warpInstructions[inst.instClass] += c.warps;
    own.threadInstructions[inst.instClass] += c.threads;
    if (inst.flow == Flow::Branch) {
      own.branches += c.warps;
      own.divergentBranches += c.divergent;
    }
    // With .loc the source line counts, else the line of the PTX.
    const ast::Location &at = info.location;
    LineCounters &line = lines[{at.line ? at.file : 0, at.line, at.column,
                                at.line ? 0 : info.line}];
    line.ptxLine = at.line ? 0 : info.line;
    line.source.line = at.line;
    line.source.column = at.column;
    if (at.line && at.file < files.size())
      line.source.file = files[at.file];
    line.warpInstructions += c.warps;
    line.threadInstructions += c.threads;
    line.sharedConflicts += c.conflicts;
    own.sharedWavefronts += c.wavefronts;
    own.sharedConflicts += c.conflicts;
    bool isBulk = inst.fn == bulkHandler || inst.fn == tensorHandler;
    bool isAtomic = InstClass(inst.instClass) == InstClass::Atomic ||
                    (isBulk && inst.flags & BulkReduce);
    bool isStore = InstClass(inst.instClass) == InstClass::Store ||
                   (isBulk && inst.flags & BulkToGlobal);
    switch (c.space) {
    case Space::Global:
    case Space::Const:
      if (isAtomic) {
        own.globalAtomic.add(c.traffic);
      } else {
        (isStore ? own.globalStore : own.globalLoad).add(c.traffic);
        (isStore ? line.globalStore : line.globalLoad).add(c.traffic);
      }
      break;
    case Space::Local:
      (isStore ? own.localStore : own.localLoad).add(c.traffic);
      break;
    case Space::Shared:
      (isStore ? own.sharedStoreBytes : own.sharedLoadBytes) += c.traffic.bytes;
      break;
    default:
      break;
    }
  }
  for (auto &entry : lines)
    own.lines.push_back(std::move(entry.second));
  std::sort(own.lines.begin(), own.lines.end(),
            [](const LineCounters &a, const LineCounters &b) {
              return lineKey(a) < lineKey(b);
            });
  out.add(own);
}

static void trafficText(std::string &out, const char *name,
                        const Traffic &traffic) {
  if (!traffic.instructions)
    return;
  char line[200];
  snprintf(
      line, sizeof line,
      "  %-14s %12llu instructions %14llu bytes %12llu sectors  %5.1f %%\n",
      name, static_cast<unsigned long long>(traffic.instructions),
      static_cast<unsigned long long>(traffic.bytes),
      static_cast<unsigned long long>(traffic.sectors),
      100.0 * traffic.efficiency());
  out += line;
}

std::string Counters::text() const {
  std::string out;
  char line[200];
  auto add = [&](const char *format, auto... values) {
    snprintf(line, sizeof line, format,
             static_cast<unsigned long long>(values)...);
    out += line;
  };
  add("%llu blocks, %llu warps, %llu threads\n", blocks, warps, threads);
  add("%llu warp instructions, %llu thread instructions\n",
      totalWarpInstructions(), totalThreadInstructions());
  for (unsigned c = 0; c < numInstClasses; ++c)
    if (warpInstructions[c]) {
      snprintf(line, sizeof line, "  %-14s %12llu %14llu\n",
               instClassName(InstClass(c)),
               static_cast<unsigned long long>(warpInstructions[c]),
               static_cast<unsigned long long>(threadInstructions[c]));
      out += line;
    }
  out += "memory\n";
  trafficText(out, "global load", globalLoad);
  trafficText(out, "global store", globalStore);
  trafficText(out, "global atomic", globalAtomic);
  trafficText(out, "local load", localLoad);
  trafficText(out, "local store", localStore);
  if (sharedWavefronts)
    add("  shared         %llu bytes loaded, %llu stored, %llu wavefronts, "
        "%llu of them bank conflicts\n",
        sharedLoadBytes, sharedStoreBytes, sharedWavefronts, sharedConflicts);
  add("%llu barriers, %llu of %llu branches divergent\n", barriers,
      divergentBranches, branches);
  for (const LineCounters &l : lines) {
    if (!l.globalLoad.instructions && !l.globalStore.instructions &&
        !l.sharedConflicts)
      continue;
    std::string where =
        l.source.known() ? l.source.file + ":" + std::to_string(l.source.line) +
                               ":" + std::to_string(l.source.column)
                         : "ptx line " + std::to_string(l.ptxLine);
    out += where + "\n";
    trafficText(out, "global load", l.globalLoad);
    trafficText(out, "global store", l.globalStore);
    if (l.sharedConflicts)
      add("  %llu bank conflicts\n", l.sharedConflicts);
  }
  return out;
}

static std::string trafficJson(const Traffic &traffic) {
  return JsonObject()
      .field("instructions", traffic.instructions)
      .field("bytes", traffic.bytes)
      .field("sectors", traffic.sectors)
      .str();
}

std::string Counters::json() const {
  JsonObject warpClasses, threadClasses;
  for (unsigned c = 0; c < numInstClasses; ++c) {
    warpClasses.field(instClassName(InstClass(c)), warpInstructions[c]);
    threadClasses.field(instClassName(InstClass(c)), threadInstructions[c]);
  }
  std::string lineList = "[";
  for (const LineCounters &l : lines) {
    JsonObject object;
    if (l.source.known())
      object.field("file", l.source.file)
          .field("line", l.source.line)
          .field("column", l.source.column);
    else
      object.field("ptx_line", l.ptxLine);
    object.field("warp_instructions", l.warpInstructions)
        .field("thread_instructions", l.threadInstructions)
        .raw("global_load", trafficJson(l.globalLoad))
        .raw("global_store", trafficJson(l.globalStore))
        .field("bank_conflicts", l.sharedConflicts);
    lineList += (lineList.size() > 1 ? ", " : "") + object.str();
  }
  lineList += "]";
  return JsonObject()
      .field("blocks", blocks)
      .field("warps", warps)
      .field("threads", threads)
      .field("warp_instructions", totalWarpInstructions())
      .field("thread_instructions", totalThreadInstructions())
      .raw("warp_instructions_by_class", warpClasses.str())
      .raw("thread_instructions_by_class", threadClasses.str())
      .raw("global_load", trafficJson(globalLoad))
      .raw("global_store", trafficJson(globalStore))
      .raw("global_atomic", trafficJson(globalAtomic))
      .raw("local_load", trafficJson(localLoad))
      .raw("local_store", trafficJson(localStore))
      .field("shared_load_bytes", sharedLoadBytes)
      .field("shared_store_bytes", sharedStoreBytes)
      .field("shared_wavefronts", sharedWavefronts)
      .field("bank_conflicts", sharedConflicts)
      .field("barriers", barriers)
      .field("branches", branches)
      .field("divergent_branches", divergentBranches)
      .raw("lines", lineList)
      .str();
}
