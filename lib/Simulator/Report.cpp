// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/Report.h"
#include "Json.h"
#include "State.h"

using namespace ptxsim;

std::string_view ptxsim::toolName(Tool tool) {
  switch (tool) {
  case MemCheck:
    return "memcheck";
  case InitCheck:
    return "initcheck";
  case RaceCheck:
    return "racecheck";
  case SyncCheck:
    return "synccheck";
  default:
    return "all";
  }
}

Result<uint32_t> ptxsim::parseTools(std::string_view list) {
  uint32_t mask = 0;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    if (comma != std::string_view::npos)
      list = list.substr(comma + 1);
    uint32_t bit = 0;
    if (name == "all")
      bit = AllTools;
    for (Tool tool : {MemCheck, InitCheck, RaceCheck, SyncCheck})
      if (name == toolName(tool))
        bit = tool;
    if (!bit)
      return Status::error("unknown tool '" + std::string(name) +
                           "'; there are memcheck, initcheck, racecheck, "
                           "synccheck and all");
    mask |= bit;
  }
  return mask;
}

static std::string place(const SourceLocation &source) {
  return source.file + ":" + std::to_string(source.line) + ":" +
         std::to_string(source.column);
}

std::string Report::text() const {
  std::string out = std::string(toolName(tool)) + ": " + message + "\n";
  out += "    at " + kernel + ", block " + triple(block) + ", thread " +
         triple(thread) + "\n";
  if (source.known())
    out += "    source " + place(source) + "\n";
  if (caller.known())
    out += "    inlined at " + place(caller) + "\n";
  out += "    ptx line " + std::to_string(ptxLine) + ": " + ptxText + "\n";
  if (hasAddress) {
    out += "    address " + hex(address);
    if (!nearest.empty())
      out += " is " + nearest;
    out += "\n";
  }
  if (other.ptxLine) {
    out += "    the other access is at ptx line " +
           std::to_string(other.ptxLine) + ": " + other.ptxText + "\n";
    if (other.source.known())
      out += "        source " + place(other.source) + "\n";
    if (other.caller.known())
      out += "        inlined at " + place(other.caller) + "\n";
  }
  if (count > 1)
    out += "    " + std::to_string(count) + " times in all\n";
  return out;
}

static void addPlaces(JsonObject &object, const SourceLocation &source,
                      const SourceLocation &caller) {
  if (source.known())
    object.field("file", source.file)
        .field("line", source.line)
        .field("column", source.column);
  if (caller.known())
    object.field("caller_file", caller.file)
        .field("caller_line", caller.line)
        .field("caller_column", caller.column);
}

static std::string tripleJson(const Dim3 &d) {
  return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " +
         std::to_string(d.z) + "]";
}

std::string Report::json() const {
  JsonObject object;
  object.field("tool", toolName(tool))
      .field("kind", kind)
      .field("message", message)
      .field("kernel", kernel)
      .raw("block", tripleJson(block))
      .raw("thread", tripleJson(thread))
      .field("ptx_line", ptxLine)
      .field("ptx", ptxText);
  addPlaces(object, source, caller);
  if (hasAddress)
    object.field("address", hex(address)).field("nearest", nearest);
  if (other.ptxLine) {
    JsonObject access;
    access.raw("block", tripleJson(other.block))
        .raw("thread", tripleJson(other.thread))
        .field("ptx_line", other.ptxLine)
        .field("ptx", other.ptxText);
    addPlaces(access, other.source, other.caller);
    object.raw("other", access.str());
  }
  return object.field("count", count).str();
}

std::string ptxsim::reportsToJson(const std::vector<Report> &reports) {
  std::string out = "[";
  for (const Report &report : reports)
    out += (out.size() > 1 ? ",\n " : "\n ") + report.json();
  return out + (reports.empty() ? "]" : "\n]");
}
