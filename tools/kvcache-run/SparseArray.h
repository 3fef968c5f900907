// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays too large to store, of which few bytes are not zero: they cost only
// the pages that are touched.
#ifndef KVCACHE_TOOLS_KVCACHE_RUN_SPARSEARRAY_H
#define KVCACHE_TOOLS_KVCACHE_RUN_SPARSEARRAY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace kvcache_run {

/// Memory of a given size that is zero but for segments given in files.
class SparseArray {
public:
  /// What begins the text of such an argument.
  static constexpr llvm::StringLiteral prefix = "sparse:";
  /// Bytes of an output segment, and what their offsets are multiples of.
  static constexpr uint64_t pageBytes = 4096;

  /// Reads "sparse:BYTES:OFFSETS.npy:SEGMENTS.npy": row i of SEGMENTS (u1, rank
  /// 2) lies at byte OFFSETS[i] (i8, rank 1).
  static llvm::Expected<std::unique_ptr<SparseArray>>
  read(llvm::StringRef text);
  ~SparseArray();
  SparseArray(const SparseArray &) = delete;
  SparseArray &operator=(const SparseArray &) = delete;

  char *data() const { return memory; }
  uint64_t numBytes() const { return bytes; }

  /// Writes the pages that are not all zero as two files like those it was read
  /// from; the last segment is filled with zeros past the array's end.
  llvm::Error write(const std::string &offsetsFile,
                    const std::string &segmentsFile) const;

private:
  SparseArray() = default;
  llvm::Error map(uint64_t size);

  char *memory = nullptr;
  uint64_t bytes = 0;
  int file = -1;
};

} // namespace kvcache_run

#endif // KVCACHE_TOOLS_KVCACHE_RUN_SPARSEARRAY_H
