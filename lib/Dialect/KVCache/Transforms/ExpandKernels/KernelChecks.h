//===- KernelChecks.h - Checks of what kernels are given --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELCHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELCHECKS_H

#include "ExpandKernels.h"
#include "PageWork.h"

namespace mlir::kvcache {

/// In a kernel: prints `format` with `numbers`, as `emitReport` does, and stops
/// the program with `summary`, where `wrong` holds (null for always).
void emitStopIf(ImplicitLocOpBuilder &b, Value wrong, const Twine &format,
                ValueRange numbers, const Twine &summary);

/// Memory in which items claim places of a pool, each by its number: `i32`, an
/// entry a place.
class Claims {
public:
  /// Allocates and clears it, for `places` (`index`) places, before `op`.
  Claims(ImplicitLocOpBuilder &host, Operation *op, Value places,
         Tuning tuning);
  /// Frees it, after all that was launched.
  void free(ImplicitLocOpBuilder &host);

  /// It, in a kernel.
  Tensor take(KernelBuilder &builder) const;
  /// Who claims `place` (`index`): `i32`, -1 for nobody. With `mine` (`i32`),
  /// which claims it too.
  static Value claim(ImplicitLocOpBuilder &b, const Tensor &claims, Value place,
                     Value mine);
  static Value claimant(ImplicitLocOpBuilder &b, const Tensor &claims,
                        Value place);
  /// Whether there is one.
  static Value isClaimed(ImplicitLocOpBuilder &b, Value claimant);

private:
  Value memory;
};

/// Emits checks before `op`, which `kvcache-instrument` has marked: of memory
/// that overlaps, on the host, and kernels that look at lists on the device,
/// offsets and lengths against the rows there are, and the sequences against
/// the table's columns.
void emitInputChecks(Operation *op, Tuning tuning);

/// Emits kernels, before `op`, where it appends, that check that each row has a
/// place (a sequence, a page of it, a block of the pool) and, unless it has a
/// workspace for that, that no two rows have the same. This takes 4 bytes a
/// slot of each pool that is written, from `gpu.alloc`.
void emitRowChecks(Operation *op, Tuning tuning);

/// Emits a kernel that checks that the ids in `lists`, as `IdList` takes them,
/// are ids of the pool.
void emitCheckIds(ImplicitLocOpBuilder &host, Operation *op,
                  const PageScope &scope, ArrayRef<Value> lists, Tuning tuning);

/// Emits kernels that check that the pairs in `lists`, as `IdList` takes them,
/// have no item in common but sources.
void emitCheckDisjoint(ImplicitLocOpBuilder &host, Operation *op,
                       const PageScope &scope, ArrayRef<Value> lists,
                       Tuning tuning);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELCHECKS_H
