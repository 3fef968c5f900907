//===- AssemblePTX.cpp - PTX to cubin and fatbin --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/PTX/PTX.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;
using llvm::StringRef;

namespace {

/// A folder for the tools' files; goes with everything in it.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  bool made = false;

  ~TemporaryFolder() {
    if (made)
      (void)llvm::sys::fs::remove_directories(path);
  }
  std::string file(StringRef name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
};

} // namespace

static FailureOr<std::string>
readFile(StringRef path, function_ref<InFlightDiagnostic()> emitError) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError() << "cannot read '" << path
                << "': " << buffer.getError().message();
    return failure();
  }
  return (*buffer)->getBuffer().str();
}

/// Runs `tool` and reports what it said if it fails.
static LogicalResult runTool(StringRef tool, ArrayRef<StringRef> arguments,
                             const TemporaryFolder &folder, const Chip &chip,
                             function_ref<InFlightDiagnostic()> emitError) {
  std::string log = folder.file("log");
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  SmallVector<StringRef> commandLine{tool};
  llvm::append_range(commandLine, arguments);
  std::string message;
  int status = llvm::sys::ExecuteAndWait(tool, commandLine, std::nullopt,
                                         redirects, /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &message);
  if (status == 0)
    return success();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << llvm::sys::path::filename(tool) << " refused the code for "
             << chip.name << " (status " << status << ")";
  if (!message.empty())
    diagnostic << ": " << message;
  if (auto said = llvm::MemoryBuffer::getFile(log);
      said && !(*said)->getBuffer().trim().empty())
    diagnostic << ":\n" << (*said)->getBuffer().trim();
  return diagnostic;
}

FailureOr<std::string>
kvcache::assemblePTX(StringRef ptx, const Chip &chip, ObjectFormat format,
                     const PTXOptions &options,
                     function_ref<InFlightDiagnostic()> emitError) {
  if (format == ObjectFormat::ISA)
    return ptx.str();

  auto findTool = [&](StringRef name) -> FailureOr<std::string> {
    std::string path = findInToolkit(("bin/" + name).str(), options.toolkit);
    if (!path.empty())
      return path;
    InFlightDiagnostic diagnostic = emitError();
    diagnostic << "format=" << stringifyObjectFormat(format) << " needs '"
               << name << "' of the CUDA toolkit, which is not in ";
    if (options.toolkit.empty())
      diagnostic << "CUDA_ROOT, CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda";
    else
      diagnostic << "'" << options.toolkit << "/bin'";
    diagnostic << "; install it or use format=isa, which needs no toolkit";
    return failure();
  };
  FailureOr<std::string> ptxas = findTool("ptxas");
  if (failed(ptxas))
    return failure();
  FailureOr<std::string> fatbinary = std::string();
  if (format == ObjectFormat::Fatbin) {
    fatbinary = findTool("fatbinary");
    if (failed(fatbinary))
      return failure();
  }

  TemporaryFolder folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("kvcache", folder.path)) {
    emitError() << "cannot create a temporary folder: " << error.message();
    return failure();
  }
  folder.made = true;
  std::string source = folder.file("kernel.ptx");
  std::string cubin = folder.file("kernel.cubin");
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(source, error);
    if (!error) {
      stream << ptx;
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
    if (error) {
      emitError() << "cannot write '" << source << "': " << error.message();
      return failure();
    }
  }

  std::string level = "-O" + std::to_string(options.optLevel);
  if (failed(runTool(*ptxas, {"-arch", chip.name, level, source, "-o", cubin},
                     folder, chip, emitError)))
    return failure();
  if (format == ObjectFormat::Binary)
    return readFile(cubin, emitError);

  std::string fatbin = folder.file("kernel.fatbin");
  std::string number = chip.name.drop_front(StringRef("sm_").size()).str();
  std::string create = "--create=" + fatbin;
  std::string elf = "--image3=kind=elf,sm=" + number + ",file=" + cubin;
  std::string text = "--image3=kind=ptx,sm=" + number + ",file=" + source;
  if (failed(runTool(*fatbinary, {"-64", create, elf, text}, folder, chip,
                     emitError)))
    return failure();
  return readFile(fatbin, emitError);
}
