//===- Toolkit.cpp - Find files of a CUDA toolkit -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/PTX/PTX.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::kvcache;
using llvm::StringRef;

std::optional<ObjectFormat> kvcache::parseObjectFormat(StringRef name) {
  return llvm::StringSwitch<std::optional<ObjectFormat>>(name)
      .Case("isa", ObjectFormat::ISA)
      .Case("bin", ObjectFormat::Binary)
      .Case("fatbin", ObjectFormat::Fatbin)
      .Default(std::nullopt);
}

StringRef kvcache::stringifyObjectFormat(ObjectFormat format) {
  switch (format) {
  case ObjectFormat::ISA:
    return "isa";
  case ObjectFormat::Binary:
    return "bin";
  case ObjectFormat::Fatbin:
    return "fatbin";
  }
  llvm_unreachable("unknown format");
}

StringRef kvcache::getFileExtension(ObjectFormat format) {
  switch (format) {
  case ObjectFormat::ISA:
    return "ptx";
  case ObjectFormat::Binary:
    return "cubin";
  case ObjectFormat::Fatbin:
    return "fatbin";
  }
  llvm_unreachable("unknown format");
}

/// Returns `folder`/`file` if it is there, or an empty string.
static std::string findIn(StringRef folder, StringRef file) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  return llvm::sys::fs::is_regular_file(path) ? std::string(path) : "";
}

std::string kvcache::findInToolkit(StringRef file, StringRef toolkit) {
  if (!toolkit.empty())
    return findIn(toolkit, file);
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> folder =
            llvm::sys::Process::GetEnv(variable))
      if (std::string path = findIn(*folder, file); !path.empty())
        return path;
  // A toolkit in PATH: <toolkit>/bin/ptxas.
  if (llvm::ErrorOr<std::string> ptxas =
          llvm::sys::findProgramByName("ptxas")) {
    StringRef folder =
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(*ptxas));
    if (std::string path = findIn(folder, file); !path.empty())
      return path;
  }
  return findIn("/usr/local/cuda", file);
}
