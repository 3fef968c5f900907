//===- OutputFiles.cpp - Write files whole or not at all ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;

OutputFiles::~OutputFiles() {
  for (File &file : files)
    llvm::consumeError(file.temporary.discard());
}

LogicalResult OutputFiles::open(Location location) {
  if (folder.empty())
    return success();
  if (std::error_code error = llvm::sys::fs::create_directories(
          folder, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return emitError(location) << "cannot make the output folder '" << folder
                               << "': " << error.message();
  return success();
}

LogicalResult OutputFiles::add(StringRef name, StringRef content,
                               Location location) {
  if (name.contains('/') || name.contains('\0'))
    return emitError(location)
           << "cannot name a file '" << name << "'; rename the gpu.module";
  auto [writer, isNew] = writers.try_emplace(name, location);
  if (!isNew) {
    InFlightDiagnostic diagnostic = emitError(location);
    diagnostic << "the output file '" << name
               << "' is written twice; rename one gpu.module";
    diagnostic.attachNote(writer->second) << "the other one is here";
    return diagnostic;
  }
  if (memory)
    kept.push_back({name.str(), content.str()});
  return folder.empty() ? success() : write(name, content, location);
}

LogicalResult OutputFiles::write(StringRef name, StringRef content,
                                 Location location) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  auto refuse = [&](const Twine &why) {
    return emitError(location)
           << "cannot write the output file '" << path << "': " << why;
  };
  // Seen here, not when half of the files are in place.
  if (llvm::sys::fs::is_directory(path))
    return refuse("it is a folder");
  auto temporary = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp");
  if (!temporary)
    return refuse(llvm::toString(temporary.takeError()));
  files.push_back({std::string(path), location, std::move(*temporary)});

  llvm::raw_fd_ostream stream(files.back().temporary.FD,
                              /*shouldClose=*/false);
  stream << content;
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  if (error)
    return refuse(error.message());
  return success();
}

LogicalResult OutputFiles::commit() {
  for (File &file : files)
    if (llvm::Error error = file.temporary.keep(file.path))
      return emitError(file.location)
             << "cannot write the output file '" << file.path
             << "': " << llvm::toString(std::move(error));
  files.clear();
  if (memory)
    *memory = std::move(kept);
  return success();
}
