//===- OutputFiles.h - Write files whole or not at all ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_OUTPUTFILES_H
#define KVCACHE_LIB_PIPELINES_OUTPUTFILES_H

#include "kvcache/Pipelines/Pipelines.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include <string>

namespace mlir::kvcache {

/// Files of one folder, or in memory, or both, that appear together: each is
/// written in full under a temporary name, and commit() gives all their names.
/// Without commit() nothing stays.
class OutputFiles {
public:
  /// Without a folder nothing is written to disk, without `memory` nothing is
  /// kept.
  OutputFiles(StringRef folder, std::vector<CompiledFile> *memory)
      : folder(folder), memory(memory) {}
  ~OutputFiles();

  /// Makes the folder where it is missing. Errors are reported at `location`.
  LogicalResult open(Location location);

  /// Writes `content` for the file `name`. Errors, a name that is already
  /// taken among them, are reported at `location`.
  LogicalResult add(StringRef name, StringRef content, Location location);

  /// Puts the files in place, over those that are there, and in memory in
  /// place of all.
  LogicalResult commit();

private:
  struct File {
    std::string path;
    Location location;
    llvm::sys::fs::TempFile temporary;
  };

  LogicalResult write(StringRef name, StringRef content, Location location);

  std::string folder;
  std::vector<CompiledFile> *memory;
  std::vector<CompiledFile> kept;
  SmallVector<File> files;
  /// Who writes a file name.
  llvm::StringMap<Location> writers;
};

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_OUTPUTFILES_H
