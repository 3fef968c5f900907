// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of a running launch: once per place and kind, with a count.
#include "Stack.h"
#include "State.h"
#include "Trace.h"

#include <cstdio>

using namespace ptxsim;

Dim3 ptxsim::threadIndex(const Launch &launch, uint32_t thread) {
  const Dim3 &block = launch.config.block;
  return {thread % block.x, thread / block.x % block.y,
          thread / block.x / block.y};
}

std::string ptxsim::triple(const Dim3 &index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::string ptxsim::instructionText(const Program &program, const Inst &inst) {
  std::string out;
  bool space = false;
  for (char c : program.info[size_t(&inst - program.code.data())].text) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank && space && !out.empty())
      out += ' ';
    space = blank;
    if (!blank)
      out += c;
  }
  return out;
}

static std::string describeVariable(uint64_t offset, const char *where,
                                    std::string_view name, uint64_t begin,
                                    uint64_t size) {
  std::string place;
  if (offset < begin)
    place = std::to_string(begin - offset) + " bytes before ";
  else if (offset >= begin + size)
    place = std::to_string(offset - begin - size) + " bytes past the end of ";
  else
    place = "at byte " + std::to_string(offset - begin) + " of ";
  return place + where + "'" + std::string(name) + "' (" +
         std::to_string(size) + " bytes)";
}

template <typename Variables>
static std::string nearestVariable(uint64_t offset, const char *where,
                                   const Variables &variables) {
  uint64_t best = ~uint64_t(0);
  std::string text;
  for (const auto &v : variables) {
    uint64_t end = uint64_t(v.offset) + v.size;
    uint64_t distance = offset < v.offset ? v.offset - offset
                        : offset >= end   ? offset - end + 1
                                          : 0;
    if (distance < best) {
      best = distance;
      text = describeVariable(offset, where, v.name, v.offset, v.size);
    }
  }
  return text;
}

std::string ptxsim::nearestLocal(uint64_t offset,
                                 const std::vector<LocalVariable> &variables) {
  return nearestVariable(offset, "local ", variables);
}

std::string ptxsim::describeAddress(Warp &warp, unsigned lane, uint64_t address,
                                    Space space) {
  const Launch &launch = *warp.block->launch;
  const Program &program = *launch.program;
  switch (space) {
  case Space::Shared: {
    uint64_t offset = address & sharedOffsetMask;
    std::vector<SharedVariable> variables = program.sharedVariables;
    if (launch.config.dynamicSharedBytes)
      variables.push_back({"dynamic shared memory", program.staticSharedBytes,
                           launch.config.dynamicSharedBytes});
    if (program.usesReservedShared)
      variables.push_back({"memory that the system keeps",
                           launch.reservedShared, reservedSharedBytes});
    if (variables.empty())
      return "the block has no shared memory";
    return nearestVariable(offset, "shared ", variables);
  }
  case Space::Local: {
    uint64_t offset = address & 0xffffffff;
    // Nothing else lies near.
    if (offset >= stackBase / 2)
      return describeStack(warp, lane, offset);
    if (program.localVariables.empty())
      return "the kernel has no local memory";
    return nearestLocal(offset, program.localVariables);
  }
  case Space::Param:
    return "byte " + std::to_string(address & 0xffffffff) + " of " +
           std::to_string(program.kernel->info.paramBytes) +
           " bytes of parameters";
  default:
    return launch.memory->describe(address);
  }
}

/// Of a Report or its other access.
template <typename Access>
static void setPlace(Access &access, const Program &program, uint32_t pc) {
  const InstInfo &info = program.info[pc];
  access.ptxLine = info.line;
  access.ptxText = instructionText(program, program.code[pc]);
  auto place = [&](uint32_t file, uint32_t line, uint32_t column) {
    SourceLocation source;
    const std::vector<std::string> &files = program.module->files;
    if (line && file < files.size())
      source.file = files[file];
    source.line = line;
    source.column = column;
    return source;
  };
  const ast::Location &at = info.location;
  access.source = place(at.file, at.line, at.column);
  access.caller = place(at.callFile, at.callLine, at.callColumn);
}

Report *ptxsim::addFinding(Warp &warp, const Inst &inst, unsigned lane,
                           Tool tool, std::string_view kind) {
  Worker &worker = *warp.worker;
  Launch &launch = *warp.block->launch;
  const Program &program = *launch.program;
  uint32_t pc = uint32_t(&inst - program.code.data());
  ++worker.numFindings;
  if (launch.options->stopAtFirst)
    worker.fail(warp, "stopped at the first finding");
  auto [it, isNew] = worker.findings.try_emplace(FindingKey{pc, tool, kind});
  Finding &finding = it->second;
  if (!isNew) {
    ++finding.report.count;
    return nullptr;
  }
  finding.block = warp.block->linear;
  Report &report = finding.report;
  report.tool = tool;
  report.kind = kind;
  report.kernel = launch.kernelName;
  report.block = warp.block->index;
  report.thread = threadIndex(launch, warp.index * 32 + lane);
  setPlace(report, program, pc);
  return &report;
}

void ptxsim::setOther(Report &report, const Launch &launch, const Dim3 &block,
                      uint32_t thread, uint32_t pc) {
  report.other.block = block;
  report.other.thread = threadIndex(launch, thread);
  setPlace(report.other, *launch.program, pc);
}

void ptxsim::report(Warp &warp, const Inst &inst, unsigned lane, Tool tool,
                    std::string_view kind, const std::string &message,
                    const uint64_t *address, Space space) {
  Report *report = addFinding(warp, inst, lane, tool, kind);
  if (!report)
    return;
  report->message = message;
  if (address) {
    report->hasAddress = true;
    report->address = *address;
    report->nearest = describeAddress(warp, lane, *address, space);
  }
}

void ptxsim::fault(Warp &warp, const Inst &inst, unsigned lane, Tool tool,
                   std::string_view kind, const std::string &message,
                   const uint64_t *address, Space space) {
  report(warp, inst, lane, tool, kind, message, address, space);
  warp.worker->fail(warp, message);
}

void Worker::fail(Warp &warp, std::string message) {
  if (!failed) {
    failed = true;
    failedBlock = warp.block->linear;
    failure = std::move(message);
  }
  warp.yield = true;
  launch->stop.store(true, std::memory_order_relaxed);
}

void ptxsim::traceInstruction(Warp &warp, const Inst &inst, uint32_t active) {
  const Program &program = *warp.block->launch->program;
  const InstInfo &info = program.info[size_t(&inst - program.code.data())];
  char head[128];
  const Dim3 &b = warp.block->index;
  snprintf(head, sizeof head,
           "block (%u,%u,%u) warp %u lanes %08x line %u: ", b.x, b.y, b.z,
           warp.index, active, info.line);
  warp.block->launch->options->trace(head + instructionText(program, inst));
}
