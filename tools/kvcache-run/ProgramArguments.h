// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a program's arguments, from the command line to what a compiled
// function takes.
#ifndef KVCACHE_TOOLS_KVCACHE_RUN_PROGRAMARGUMENTS_H
#define KVCACHE_TOOLS_KVCACHE_RUN_PROGRAMARGUMENTS_H

#include "SparseArray.h"

#include "kvcache/Support/Npy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace kvcache_run {

/// Arguments and result of one call.
class ProgramArguments {
public:
  /// Reads a value for each argument of `entry` from `texts`: "file.npy" for a
  /// memref, "sparse:BYTES:OFFSETS.npy:SEGMENTS.npy" for one of rank 1 that is
  /// mostly zero, "type:value" for a scalar. An error names the argument and
  /// both sides of what does not fit.
  llvm::Error read(mlir::func::FuncOp entry,
                   const std::vector<std::string> &texts);

  /// Checks an output "N=file.npy", or "N=OFFSETS.npy:SEGMENTS.npy" of a sparse
  /// argument, before anything runs.
  llvm::Error addOutput(llvm::StringRef text);
  /// Writes the outputs from the arrays' present contents.
  llvm::Error writeOutputs() const;

  /// One pointer per argument and one for the result, as
  /// ExecutionEngine::invokePacked takes them for the C interface of `entry`.
  llvm::MutableArrayRef<void *> packed() { return pointers; }
  /// The scalar result as text; empty if there is none.
  std::string resultText() const;

private:
  struct Argument {
    std::string file;
    npy::Array array;
    /// In place of `array` where it is sparse.
    std::unique_ptr<SparseArray> sparse;
    /// A memref descriptor; or a scalar's bytes in the first word.
    std::vector<int64_t> words;
    void *descriptor = nullptr;
    bool isMemRef = false;
  };
  struct Output {
    size_t argument;
    std::string file;
    /// Of a sparse argument, whose offsets are in `file`.
    std::string segmentsFile;
  };

  llvm::Error readMemRef(mlir::MemRefType type, Argument &argument);
  llvm::Error readSparse(mlir::MemRefType type, Argument &argument);
  /// Makes the descriptor of a dense memref.
  static void describe(Argument &argument, char *begin,
                       llvm::ArrayRef<int64_t> shape);
  llvm::Error checkOutputFile(llvm::StringRef text, llvm::StringRef file);
  llvm::Error readScalar(mlir::Type type, llvm::StringRef text,
                         Argument &argument);

  std::vector<Argument> arguments;
  std::vector<Output> outputs;
  mlir::Type resultType;
  uint64_t result = 0;
  std::vector<void *> pointers;
};

} // namespace kvcache_run

#endif // KVCACHE_TOOLS_KVCACHE_RUN_PROGRAMARGUMENTS_H
