//===- Chip.h - What each NVIDIA chip has -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of chips that passes and pipelines ask before they emit anything
// that only some chips have. LLVM's NVPTX backend aborts the process on such
// an instruction, so the question is asked here first.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TARGET_CHIP_H
#define KVCACHE_TARGET_CHIP_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::kvcache {

/// One target of LLVM's NVPTX backend that ptxas of CUDA 13.0 accepts too.
/// Suffix `a` is the chip's own instruction set, runnable on that chip alone;
/// `f` is its family's.
struct Chip {
  /// Name as in `.target`, for example "sm_90a".
  llvm::StringRef name;
  /// Compute capability times ten: 80, 90, 100, …
  unsigned computeCapability;
  /// The PTX version to emit, times ten. It is the oldest one in which all
  /// that this table says the chip has can be written and which LLVM accepts
  /// for the chip; a driver or ptxas of that version or later reads it.
  unsigned ptxVersion;
  /// Largest dynamic shared memory of a block, in bytes, after opting in.
  unsigned maxDynamicSharedMemory;
  /// `cvt` between pairs of e4m3 or e5m2 and f16 or f32.
  bool hasF8Conversion;
  /// `cvt` of pairs of e2m1, e2m3, e3m2 and ue8m0 (`a` and `f` targets only).
  bool hasF4F6E8M0Conversion;
  /// `mma.sync` on e4m3 and e5m2.
  bool hasF8Mma;
  /// `wgmma.mma_async`.
  bool hasWgmma;
  /// Tensor maps and `cp.async.bulk`.
  bool hasTMA;
  /// Thread-block clusters and distributed shared memory.
  bool hasClusters;
  /// Global loads and stores of 32 bytes by one thread.
  bool has32ByteAccess;

  /// The feature string of `#nvvm.target`, for example "+ptx84".
  std::string getPTXFeature() const;
};

/// All chips of the table, oldest first.
llvm::ArrayRef<Chip> getKnownChips();

/// Returns the chip called `name`, or null.
const Chip *findChip(llvm::StringRef name);

/// Returns the chip called `name`; reports an unknown one through `emitError`
/// with the list of known ones.
FailureOr<Chip> lookupChip(llvm::StringRef name,
                           llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::kvcache

#endif // KVCACHE_TARGET_CHIP_H
