//===- Chip.cpp - What each NVIDIA chip has -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/Chip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

constexpr unsigned kKiB = 1024;

/// Everything but the narrow formats beside f8 follows from the compute
/// capability: those need the chip's own (`a`) or its family's (`f`) target.
constexpr Chip makeChip(llvm::StringLiteral name, unsigned cc,
                        unsigned ptxVersion, unsigned sharedKiB) {
  char last = name.data()[name.size() - 1];
  bool isSpecific = last == 'a' || last == 'f';
  return Chip{/*name=*/name,
              /*computeCapability=*/cc,
              /*ptxVersion=*/ptxVersion,
              /*maxDynamicSharedMemory=*/sharedKiB * kKiB,
              /*hasF8Conversion=*/cc >= 89,
              /*hasF4F6E8M0Conversion=*/cc >= 100 && isSpecific,
              /*hasF8Mma=*/cc >= 89,
              /*hasWgmma=*/cc == 90 && isSpecific,
              /*hasTMA=*/cc >= 90,
              /*hasClusters=*/cc >= 90,
              /*has32ByteAccess=*/cc >= 100};
}

// PTX 8.4 has e4m3 `mma.sync` for sm_89, PTX 8.8 the 32-byte accesses and the
// family targets, PTX 9.0 sm_110 (sm_101 of older versions). Shared memory is
// that of the compute capability table of the CUDA C++ Programming Guide 13.0,
// which is silent on sm_88: it is left out.
constexpr Chip kChips[] = {
    makeChip("sm_80", 80, 84, 163),    makeChip("sm_86", 86, 84, 99),
    makeChip("sm_87", 87, 84, 163),    makeChip("sm_89", 89, 84, 99),
    makeChip("sm_90", 90, 84, 227),    makeChip("sm_90a", 90, 84, 227),
    makeChip("sm_100", 100, 88, 227),  makeChip("sm_100f", 100, 88, 227),
    makeChip("sm_100a", 100, 88, 227), makeChip("sm_103", 103, 88, 227),
    makeChip("sm_103f", 103, 88, 227), makeChip("sm_103a", 103, 88, 227),
    makeChip("sm_110", 110, 90, 227),  makeChip("sm_110f", 110, 90, 227),
    makeChip("sm_110a", 110, 90, 227), makeChip("sm_120", 120, 88, 99),
    makeChip("sm_120f", 120, 88, 99),  makeChip("sm_120a", 120, 88, 99),
    makeChip("sm_121", 121, 88, 99),   makeChip("sm_121f", 121, 88, 99),
    makeChip("sm_121a", 121, 88, 99),
};

} // namespace

std::string Chip::getPTXFeature() const {
  return "+ptx" + llvm::utostr(ptxVersion);
}

llvm::ArrayRef<Chip> mlir::kvcache::getKnownChips() { return kChips; }

const Chip *mlir::kvcache::findChip(llvm::StringRef name) {
  const auto *it = llvm::find_if(
      kChips, [&](const Chip &chip) { return chip.name == name; });
  return it == std::end(kChips) ? nullptr : it;
}

FailureOr<Chip>
mlir::kvcache::lookupChip(llvm::StringRef name,
                          llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (const Chip *chip = findChip(name))
    return *chip;
  InFlightDiagnostic diag = emitError();
  diag << "unknown chip '" << name << "', expected one of ";
  llvm::interleaveComma(getKnownChips(), diag,
                        [&](const Chip &chip) { diag << chip.name; });
  return diag;
}
