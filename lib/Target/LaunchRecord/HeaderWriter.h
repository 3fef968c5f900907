//===- HeaderWriter.h - Parts of the C header's writer ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_TARGET_LAUNCHRECORD_HEADERWRITER_H
#define KVCACHE_LIB_TARGET_LAUNCHRECORD_HEADERWRITER_H

#include "Formula.h"
#include "kvcache/Support/Identifiers.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::kvcache {

/// A C string literal of any bytes.
std::string quoteC(StringRef text);
/// An int64_t literal of C.
std::string numberC(int64_t value);

/// The end of every call that may fail.
constexpr const char *tail = ", message, message_bytes";

/// Writes the header of one record.
class HeaderWriter {
public:
  HeaderWriter(const LaunchRecord &record, const RecordedBuild &build)
      : record(record), build(build), formulas(record), id(record.identifier),
        os(text) {
    std::vector<std::string> taken;
    for (const RecordedKernel &kernel : record.kernels)
      fields.push_back(makeIdentifier(kernel.entry, taken));
  }

  std::string write();

private:
  void writeTypes();
  void writeNames();
  void writePrepare();
  void writeArgumentChecks(const HostArgument &argument);
  void writeValues();
  void writeFaults(ArrayRef<const Expr *> roots, unsigned indent);
  void writeStep(const LaunchStep &step, unsigned launch);
  void writeLaunch();

  std::string getScalarType(const HostArgument &argument) const;
  /// The expression as C: a variable, a leaf, or an operation on those.
  std::string use(const Expr *expr) const;
  std::string compute(const Expr *expr) const;
  std::string useLeaf(const Expr *expr) const;
  std::string useScalar(const HostArgument &argument, StringRef field) const;

  unsigned getNumLaunches() const {
    return llvm::count_if(record.steps,
                          [](const LaunchStep &s) { return !s.condition; });
  }

  const LaunchRecord &record;
  const RecordedBuild &build;
  FormulaWriter formulas;
  const std::string &id;
  std::vector<std::string> fields;
  llvm::DenseMap<const Expr *, std::string> variables;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_TARGET_LAUNCHRECORD_HEADERWRITER_H
