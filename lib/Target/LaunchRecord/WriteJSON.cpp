//===- WriteJSON.cpp - A launch record as JSON ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace json = llvm::json;

/// Of docs/launch-record.md.
static constexpr int64_t formatVersion = 1;

static json::Array toNumbers(ArrayRef<std::optional<int64_t>> numbers) {
  json::Array array;
  for (std::optional<int64_t> number : numbers)
    array.push_back(number ? json::Value(*number) : json::Value(nullptr));
  return array;
}

static StringRef toText(MemoryAccess access) {
  switch (access) {
  case MemoryAccess::None:
    return "none";
  case MemoryAccess::Read:
    return "read";
  case MemoryAccess::Write:
    return "write";
  case MemoryAccess::ReadWrite:
    return "read-write";
  case MemoryAccess::Unknown:
    return "unknown";
  }
  llvm_unreachable("no such access");
}

static json::Object toJSON(const HostArgument &argument) {
  json::Object object{{"name", argument.name},
                      {"dtype", argument.dtype},
                      {"bytes", argument.bytes},
                      {"used", argument.used}};
  if (argument.kind == HostArgument::Kind::Scalar) {
    object["kind"] = "scalar";
    return object;
  }
  object["rank"] = static_cast<int64_t>(argument.sizes.size());
  object["sizes"] = toNumbers(argument.sizes);
  if (argument.packed)
    object["strides"] = "packed";
  else
    object["strides"] = toNumbers(argument.strides);
  if (argument.kind == HostArgument::Kind::HostArray) {
    object["kind"] = "host-array";
    return object;
  }
  object["kind"] = "tensor";
  object["alignment"] = argument.alignment;
  object["access"] = toText(argument.access);
  return object;
}

static json::Array toFormulas(const FormulaWriter &formulas,
                              ArrayRef<const Expr *> exprs) {
  json::Array array;
  for (const Expr *expr : exprs)
    array.push_back(formulas.write(expr));
  return array;
}

/// What must hold for a step, beside its own condition.
static json::Array writeLimits(const FormulaWriter &formulas,
                               const LaunchStep &step) {
  std::vector<const Expr *> roots = getRoots(step);
  llvm::append_range(roots, step.guards);
  json::Array limits;
  for (const Expr *expr : getPostOrder(roots))
    if (expr->getFault() == ExprFault::OutOfRange)
      limits.push_back(
          json::Object{{"expression", formulas.write(expr->operands[0])},
                       {"least", expr->low},
                       {"most", expr->high}});
  return limits;
}

std::string kvcache::writeRecordJSON(const LaunchRecord &record,
                                     const RecordedBuild &build) {
  FormulaWriter formulas(record);

  json::Array arguments;
  for (const HostArgument &argument : record.arguments)
    arguments.push_back(toJSON(argument));
  json::Array values;
  for (const auto &[name, expr] : formulas.getNamed())
    values.push_back(json::Object{
        {"name", name}, {"expression", formulas.writeDefinition(expr)}});

  json::Array kernels;
  for (const RecordedKernel &kernel : record.kernels) {
    json::Object files;
    for (const RecordedObject &object : build.objects)
      if (object.module == kernel.module)
        files[object.chip] = object.file;
    json::Object entry{{"entry", kernel.entry},
                       {"module", kernel.module},
                       {"files", std::move(files)},
                       {"static_shared_bytes", kernel.staticShared}};
    if (kernel.blockSize)
      entry["compiled_for_block"] = json::Array(*kernel.blockSize);
    kernels.push_back(std::move(entry));
  }

  json::Array steps;
  for (const LaunchStep &step : record.steps) {
    json::Object object{{"guards", toFormulas(formulas, step.guards)},
                        {"limits", writeLimits(formulas, step)}};
    if (step.condition) {
      object["kind"] = "requirement";
      object["condition"] = formulas.write(step.condition);
      object["message"] = json::fixUTF8(step.message);
      if (auto [compared, with] = getCompared(step.condition); compared)
        object["compared"] = toFormulas(formulas, {compared, with});
      steps.push_back(std::move(object));
      continue;
    }
    object["kind"] = "launch";
    object["kernel"] = step.kernel;
    object["grid"] = toFormulas(formulas, step.grid);
    object["block"] = toFormulas(formulas, step.block);
    object["dynamic_shared_bytes"] = formulas.write(step.dynamicShared);
    json::Array parameters;
    for (const KernelArgument &argument : step.arguments)
      parameters.push_back(
          json::Object{{"type", argument.type},
                       {"bytes", argument.bytes},
                       {"used", argument.used},
                       {"alignment", argument.alignment},
                       {"expression", formulas.write(argument.value)}});
    object["arguments"] = std::move(parameters);
    steps.push_back(std::move(object));
  }

  json::Object root{
      {"version", formatVersion},
      {"function", json::fixUTF8(record.function)},
      {"identifier", record.identifier},
      {"header", record.identifier + ".h"},
      {"format", build.format},
      {"chips", json::Array(build.chips)},
      {"arguments", std::move(arguments)},
      {"workspace",
       json::Object{{"bytes", formulas.write(record.workspaceBytes)},
                    {"alignment", workspaceAlignment}}},
      {"values", std::move(values)},
      {"kernels", std::move(kernels)},
      {"steps", std::move(steps)}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", json::Value(std::move(root))) << "\n";
  return text;
}
