//===- WriteHeader.cpp - A launch record as a C header --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header computes every expression of the record first, each operation in a
// variable: all of them are defined whatever the arguments are. Then it checks
// what each step relies on, and only if all is well are kernels launched.
//
//===----------------------------------------------------------------------===//

#include "HeaderWriter.h"

#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace mlir::kvcache;

using llvm::formatv;

/// What all headers begin with.
static constexpr llvm::StringLiteral commonText =
#include "LaunchCommon.inc"
    ;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string HeaderWriter::getScalarType(const HostArgument &argument) const {
  if (argument.dtype == "pointer")
    return "CUdeviceptr";
  if (argument.dtype == "f32")
    return "float";
  if (argument.dtype == "f64")
    return "double";
  if (argument.isFloat || argument.dtype == "i1")
    return formatv("uint{0}_t", argument.bytes * 8);
  return formatv("int{0}_t", argument.bytes * 8);
}

static std::string describe(const HostArgument &argument) {
  std::string text = argument.dtype;
  if (argument.kind == HostArgument::Kind::Scalar)
    return argument.isFloat && argument.bytes < 4 ? text + ", its bits" : text;
  text += " [";
  for (auto [i, size] : llvm::enumerate(argument.sizes))
    text += (i ? ", " : "") + (size ? std::to_string(*size) : "?");
  text += "]";
  if (argument.kind == HostArgument::Kind::HostArray)
    return text + " in host memory";
  if (argument.packed) {
    text += ", packed";
  } else {
    text += ", strides [";
    for (auto [i, stride] : llvm::enumerate(argument.strides))
      text += (i ? ", " : "") + (stride ? std::to_string(*stride) : "?");
    text += "]";
  }
  text += ", aligned to " + std::to_string(argument.alignment);
  switch (argument.access) {
  case MemoryAccess::Read:
    return text + "; read";
  case MemoryAccess::Write:
    return text + "; written";
  case MemoryAccess::ReadWrite:
    return text + "; read and written";
  default:
    return text;
  }
}

void HeaderWriter::writeTypes() {
  std::set<size_t> ranks;
  for (const HostArgument &argument : record.arguments)
    if (argument.kind == HostArgument::Kind::Tensor)
      ranks.insert(argument.sizes.size());
  for (size_t rank : ranks) {
    os << formatv("#ifndef KVCACHE_TENSOR_{0}\n#define KVCACHE_TENSOR_{0}\n",
                  rank);
    if (rank == 0)
      os << "typedef struct {\n  CUdeviceptr data;\n} kvcache_tensor_0;\n";
    else
      os << formatv("/* `data`: the first element. Sizes and strides in "
                    "elements, outermost first. */\ntypedef struct {{\n"
                    "  CUdeviceptr data;\n  int64_t size[{0}];\n"
                    "  int64_t stride[{0}];\n} kvcache_tensor_{0};\n",
                    rank);
    os << "#endif\n\n";
  }

  os << "typedef struct {\n";
  for (const HostArgument &argument : record.arguments) {
    os << "  /* " << describe(argument) << (argument.used ? "" : "; not used")
       << " */\n  ";
    switch (argument.kind) {
    case HostArgument::Kind::Tensor:
      os << "kvcache_tensor_" << argument.sizes.size() << " ";
      break;
    case HostArgument::Kind::HostArray:
      os << "const " << getScalarType(argument) << " *";
      break;
    case HostArgument::Kind::Scalar:
      os << getScalarType(argument) << " ";
      break;
    }
    os << argument.name << ";\n";
  }
  os << formatv(
      "  /* Device memory aligned to {0}; see workspace_bytes of the plan. */\n"
      "  CUdeviceptr workspace;\n  int64_t workspace_bytes;\n"
      "} {1}_arguments;\n\n",
      workspaceAlignment, id);

  os << "/* The kernels, from the modules that " << id
     << "_module names. */\ntypedef struct {\n";
  for (const std::string &field : fields)
    os << "  CUfunction " << field << ";\n";
  os << "} " << id << "_kernels;\n\n";

  os << "/* What a call would launch. */\ntypedef struct {\n"
     << "  /* Bytes that the workspace must have. */\n"
     << "  int64_t workspace_bytes;\n";
  unsigned launch = 0;
  for (const LaunchStep &step : record.steps) {
    if (step.condition)
      continue;
    os << formatv("  struct {0}_launch_{1} {{\n"
                  "    kvcache_launch_geometry geometry;\n",
                  id, launch);
    for (auto [i, argument] : llvm::enumerate(step.arguments))
      os << formatv("    uint{0}_t p{1};\n", argument.bytes * 8, i);
    os << formatv("  } launch_{0};\n", launch++);
  }
  os << "} " << id << "_plan;\n\n";
}

void HeaderWriter::writeNames() {
  auto table = [&](StringRef function, StringRef what, auto get) {
    os << formatv(
        "/* {0} of kernel `kernel`, in the order of {1}_kernels; null "
        "for others. */\n"
        "static inline const char *{1}_{2}(int kernel) {{\n"
        "  static const char *const names[] = {{",
        what, id, function);
    for (const RecordedKernel &kernel : record.kernels)
      os << quoteC(get(kernel)) << ", ";
    os << formatv("0};\n  return kernel >= 0 && kernel < {0} ? names[kernel] : "
                  "0;\n}\n",
                  record.kernels.size());
  };
  table("module", "The module's name, as in its file's,",
        [](const RecordedKernel &kernel) { return kernel.module; });
  table("entry", "The name in the module",
        [](const RecordedKernel &kernel) { return kernel.entry; });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void HeaderWriter::writeArgumentChecks(const HostArgument &argument) {
  if (!argument.used || argument.kind == HostArgument::Kind::Scalar)
    return;
  if (argument.kind == HostArgument::Kind::HostArray) {
    os << formatv("  if (!a->{0})\n    return "
                  "kvcache_launch_fail(KVCACHE_LAUNCH_NULL{1}, {2});\n",
                  argument.name, tail,
                  quoteC(id + ": " + argument.name + " is null"));
    return;
  }
  auto array = [&](StringRef name, ArrayRef<std::optional<int64_t>> numbers) {
    os << formatv("    static const int64_t {0}[] = {{", name);
    for (auto [i, value] : llvm::enumerate(numbers))
      os << (i ? ", " : "") << (value ? numberC(*value) : "-1");
    os << "};\n";
  };
  os << "  {\n";
  if (!argument.sizes.empty()) {
    array("sizes", argument.sizes);
    array("strides", argument.strides);
    os << formatv(
        "    status = kvcache_check_tensor({0}, {1}, {2}, "
        "a->{3}.size, a->{3}.stride,\n        sizes, strides, {4}, "
        "&has_elements{5});\n"
        "    if (status != KVCACHE_LAUNCH_OK)\n      return status;\n",
        quoteC(id), quoteC(argument.name), argument.sizes.size(), argument.name,
        argument.packed ? 1 : 0, tail);
  } else {
    os << "    has_elements = 1;\n";
  }
  if (argument.pointerUsed)
    os << formatv(
        "    if (has_elements)\n      status = "
        "kvcache_check_pointer({0}, {1}, a->{2}.data, {3}{4});\n"
        "    if (status != KVCACHE_LAUNCH_OK)\n      return status;\n",
        quoteC(id), quoteC(argument.name + ".data"), argument.name,
        argument.alignment, tail);
  os << "  }\n";
}

void HeaderWriter::writeStep(const LaunchStep &step, unsigned launch) {
  unsigned indent = 2;
  for (const Expr *guard : step.guards) {
    writeFaults(guard, indent);
    os << std::string(indent, ' ') << "if (" << use(guard) << ") {\n";
    indent += 2;
  }
  std::string pad(indent, ' ');
  writeFaults(getRoots(step), indent);
  if (step.condition) {
    auto [compared, with] = getCompared(step.condition);
    StringRef numbers = compared ? ", got %lld and %lld" : "";
    os << pad << "if (!(" << use(step.condition) << "))\n"
       << pad << "  return kvcache_launch_fail(KVCACHE_LAUNCH_REQUIREMENT"
       << tail << ",\n"
       << pad << "      \"%s: %s; required: %s" << numbers << "\", "
       << quoteC(id) << ", " << quoteC(step.message) << ", "
       << quoteC(formulas.describe(step.condition));
    if (compared)
      os << formatv(", (long long){0}, (long long){1}", use(compared),
                    use(with));
    os << ");\n";
  } else {
    const RecordedKernel &kernel = record.kernels[step.kernel];
    os << pad << "{\n";
    for (StringRef name : {"grid", "block"})
      os << pad << "  int64_t " << name << "[3];\n";
    if (kernel.blockSize)
      os << pad
         << formatv("  static const int64_t made_for[] = {{{0}, {1}, {2}};\n",
                    (*kernel.blockSize)[0], (*kernel.blockSize)[1],
                    (*kernel.blockSize)[2]);
    for (unsigned dim = 0; dim < 3; ++dim)
      os << pad << formatv("  grid[{0}] = {1};\n", dim, use(step.grid[dim]));
    for (unsigned dim = 0; dim < 3; ++dim)
      os << pad << formatv("  block[{0}] = {1};\n", dim, use(step.block[dim]));
    os << pad
       << formatv("  status = kvcache_check_geometry({0}, grid, block, {1}, "
                  "{2}, {3},\n",
                  quoteC(id), use(step.dynamicShared),
                  std::max<int64_t>(
                      build.maxDynamicShared - kernel.staticShared, 0),
                  kernel.blockSize ? "made_for" : "NULL")
       << pad
       << formatv("      &plan->launch_{0}.geometry{1});\n", launch, tail)
       << pad << "  if (status != KVCACHE_LAUNCH_OK)\n"
       << pad << "    return status;\n"
       << pad << "}\n";
    for (auto [i, argument] : llvm::enumerate(step.arguments)) {
      // A pointer that is an argument's has been checked with it.
      bool isChecked = argument.value->kind == ExprKind::Data &&
                       argument.alignment <=
                           record.arguments[argument.value->argument].alignment;
      if (argument.alignment > 1 && !isChecked) {
        os << pad
           << formatv("if (plan->launch_{0}.geometry.run && (uint64_t)({1}) % "
                      "{2} != 0)\n",
                      launch, use(argument.value), argument.alignment)
           << pad
           << formatv("  return kvcache_check_pointer({0}, {1}, "
                      "(uint64_t)({2}), {3}{4});\n",
                      quoteC(id), quoteC(formulas.describe(argument.value)),
                      use(argument.value), argument.alignment, tail);
      }
      os << pad
         << formatv("plan->launch_{0}.p{1} = (uint{2}_t)({3});\n", launch, i,
                    argument.bytes * 8, use(argument.value));
    }
  }
  while (indent > 2) {
    indent -= 2;
    os << std::string(indent, ' ') << "}\n";
  }
}

void HeaderWriter::writePrepare() {
  os << formatv(
      "/* Checks arguments and says what they launch. Launches nothing. */\n"
      "static inline int {0}_prepare(const {0}_arguments *a, {0}_plan *plan,\n"
      "    char *message, size_t message_bytes) {{\n"
      "  int status = KVCACHE_LAUNCH_OK, has_elements = 0;\n"
      "  if (!a || !plan)\n"
      "    return kvcache_launch_fail(KVCACHE_LAUNCH_NULL{1}, {2});\n"
      "  memset(plan, 0, sizeof(*plan));\n",
      id, tail, quoteC(id + ": the arguments or the plan are null"));
  for (const HostArgument &argument : record.arguments)
    writeArgumentChecks(argument);
  os << "  {\n";
  writeValues();
  writeFaults(record.workspaceBytes, 2);
  os << "  plan->workspace_bytes = " << use(record.workspaceBytes) << ";\n";
  unsigned launch = 0;
  for (const LaunchStep &step : record.steps)
    writeStep(step, step.condition ? 0 : launch++);
  os << "  }\n  (void)has_elements;\n  return status;\n}\n\n";
}

void HeaderWriter::writeLaunch() {
  os << formatv(
      "/* Launches in `stream`. Returns a kvcache_launch_status; where it is "
      "not\n * KVCACHE_LAUNCH_OK, `message` (may be null) says what is wrong. "
      "*/\n"
      "static inline int {0}_launch(const {0}_arguments *a,\n"
      "    const {0}_kernels *kernels, CUstream stream, char *message,\n"
      "    size_t message_bytes) {{\n"
      "  {0}_plan plan;\n"
      "  int status = {0}_prepare(a, &plan{1});\n"
      "  if (status != KVCACHE_LAUNCH_OK)\n    return status;\n"
      "  if (!kernels)\n"
      "    return kvcache_launch_fail(KVCACHE_LAUNCH_NULL{1}, {2});\n",
      id, tail, quoteC(id + ": the kernels are null"));
  if (!record.workspaceBytes->isConstant(0))
    os << formatv(
        "  if (a->workspace_bytes < plan.workspace_bytes)\n"
        "    return kvcache_launch_fail(KVCACHE_LAUNCH_WORKSPACE{0},\n"
        "        {1}, (long long)a->workspace_bytes,\n"
        "        (long long)plan.workspace_bytes);\n"
        "  if (plan.workspace_bytes)\n"
        "    status = kvcache_check_pointer({2}, \"workspace\", a->workspace, "
        "{3}{0});\n"
        "  if (status != KVCACHE_LAUNCH_OK)\n    return status;\n",
        tail,
        quoteC(id + ": the workspace has %lld bytes, expected at least %lld"),
        quoteC(id), workspaceAlignment);
  std::vector<const LaunchStep *> launches;
  for (const LaunchStep &step : record.steps)
    if (!step.condition)
      launches.push_back(&step);
  for (auto [launch, step] : llvm::enumerate(launches))
    os << formatv(
        "  if (plan.launch_{0}.geometry.run && !kernels->{1})\n"
        "    return kvcache_launch_fail(KVCACHE_LAUNCH_NULL{2}, "
        "{3});\n",
        launch, fields[step->kernel], tail,
        quoteC(id + ": kernels->" + fields[step->kernel] + " is null"));
  for (auto [launch, step] : llvm::enumerate(launches)) {
    os << formatv("  if (plan.launch_{0}.geometry.run) {{\n", launch);
    if (!step->arguments.empty()) {
      os << formatv("    void *parameters[{0}];\n", step->arguments.size());
      for (unsigned i = 0; i < step->arguments.size(); ++i)
        os << formatv("    parameters[{0}] = &plan.launch_{1}.p{0};\n", i,
                      launch);
    }
    os << formatv("    status = kvcache_launch_kernel({0}, kernels->{1},\n"
                  "        &plan.launch_{2}.geometry, {3}, stream, {4}{5});\n"
                  "    if (status != KVCACHE_LAUNCH_OK)\n"
                  "      return status;\n  }\n",
                  quoteC(id), fields[step->kernel], launch,
                  record.kernels[step->kernel].staticShared,
                  step->arguments.empty() ? "NULL" : "parameters", tail);
  }
  os << "  return status;\n}\n\n";
}

std::string HeaderWriter::write() {
  os << "/* Made by kvcache: launches the kernels of " << id
     << " with the CUDA driver API.\n * C99 and C++11; " << id
     << ".json says the same as data. */\n"
     << formatv(
            "#ifndef KVCACHE_LAUNCH_{0}_H\n#define KVCACHE_LAUNCH_{0}_H\n\n",
            id)
     << commonText << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  writeTypes();
  writeNames();
  writePrepare();
  writeLaunch();
  os << "#ifdef __cplusplus\n}\n#endif\n\n"
     << formatv("#endif /* KVCACHE_LAUNCH_{0}_H */\n", id);
  return std::move(text);
}

std::string kvcache::writeRecordHeader(const LaunchRecord &record,
                                       const RecordedBuild &build) {
  return HeaderWriter(record, build).write();
}
