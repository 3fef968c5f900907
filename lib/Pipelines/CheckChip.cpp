//===- CheckChip.cpp - Does the chip have these instructions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Target/Chip.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_CHECKCHIPPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

using Predicate = bool (*)(const Chip &);

/// What operations need whose requirements MLIR does not know.
struct Requirement {
  /// Start of the operations' names.
  StringLiteral prefix;
  Predicate holds;
};

} // namespace

static bool hasF8(const Chip &chip) { return chip.hasF8Conversion; }
static bool hasF4(const Chip &chip) { return chip.hasF4F6E8M0Conversion; }
static bool hasTMA(const Chip &chip) { return chip.hasTMA; }
static bool hasClusters(const Chip &chip) { return chip.hasClusters; }
static bool hasWgmma(const Chip &chip) { return chip.hasWgmma; }
static bool isHopperOrLater(const Chip &chip) {
  return chip.computeCapability >= 90;
}

static constexpr Requirement requirements[] = {
    {"nvvm.convert.f8x2.to.f16x2", hasF8},
    {"nvvm.convert.f16x2.to.f8x2", hasF8},
    {"nvvm.convert.f32x2.to.f8x2", hasF8},
    {"nvvm.convert.f8x2.to.bf16x2", hasF4},
    {"nvvm.convert.bf16x2.to.f8x2", hasF4},
    {"nvvm.convert.f32x2.to.f6x2", hasF4},
    {"nvvm.convert.f32x2.to.f4x2", hasF4},
    {"nvvm.convert.f6x2.", hasF4},
    {"nvvm.convert.f4x2.", hasF4},
    {"nvvm.cp.async.bulk", hasTMA},
    {"nvvm.mbarrier.try_wait", hasTMA},
    {"nvvm.mbarrier.expect_tx", hasTMA},
    {"nvvm.mbarrier.complete_tx", hasTMA},
    {"nvvm.mbarrier.arrive.expect_tx", hasTMA},
    {"nvvm.cluster.", hasClusters},
    {"nvvm.mapa", hasClusters},
    {"nvvm.fence.sc.cluster", hasClusters},
    {"nvvm.fence.mbarrier.init", hasClusters},
    {"nvvm.read.ptx.sreg.cluster", hasClusters},
    {"nvvm.read.ptx.sreg.ncluster", hasClusters},
    {"nvvm.wgmma.", hasWgmma},
    {"nvvm.stmatrix", isHopperOrLater},
    {"nvvm.elect.sync", isHopperOrLater},
    {"nvvm.griddepcontrol", isHopperOrLater},
};

/// Returns what `op` needs of a chip, or null.
static Predicate findRequirement(Operation *op) {
  StringRef name = op->getName().getStringRef();
  // The same operations convert to another kind of 8-bit float.
  if (auto type = op->getAttrOfType<TypeAttr>("dstTy");
      type && isa<Float8E8M0FNUType>(type.getValue()))
    return hasF4;
  for (const Requirement &requirement : requirements)
    if (name.starts_with(requirement.prefix))
      return requirement.holds;
  return nullptr;
}

/// Describes the chips for which `holds`: "sm_89 or later", or their names.
static std::string describeChips(llvm::function_ref<bool(const Chip &)> holds) {
  SmallVector<StringRef> names;
  for (const Chip &chip : getKnownChips()) {
    if (!holds(chip))
      continue;
    // A name without a suffix stands for all later chips.
    if (names.empty() && llvm::isDigit(chip.name.back()))
      return (chip.name + " or later").str();
    names.push_back(chip.name);
  }
  if (names.empty())
    return "a chip that kvcache does not know";
  if (names.size() == 1)
    return names.front().str();
  StringRef last = names.pop_back_val();
  return llvm::join(names, ", ") + " or " + last.str();
}

namespace {

struct CheckChip : public kvcache::impl::CheckChipPassBase<CheckChip> {
  using CheckChipPassBase::CheckChipPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    FailureOr<Chip> found =
        lookupChip(chip, [&] { return emitError(UnknownLoc::get(context)); });
    if (failed(found))
      return failure();
    knownChip = *found;
    version.emplace(NVVM::NVVMCheckSMVersion::getTargetSMVersionFromStr(chip));
    return success();
  }

  void runOnOperation() override {
    bool failedAny = false;
    getOperation()->walk([&](Operation *op) {
      std::string needed;
      if (Predicate holds = findRequirement(op); holds && !holds(knownChip)) {
        needed = describeChips(holds);
      } else if (auto versioned = dyn_cast<NVVM::RequiresSMInterface>(op)) {
        NVVM::NVVMCheckSMVersion least = versioned.getRequiredMinSMVersion();
        if (!least.isCompatibleWith(*version))
          needed = describeChips([&](const Chip &other) {
            return least.isCompatibleWith(
                NVVM::NVVMCheckSMVersion::getTargetSMVersionFromStr(
                    other.name));
          });
      }
      if (needed.empty())
        return;
      failedAny = true;
      emitError(op->getLoc()) << "'" << op->getName() << "' needs " << needed
                              << ", but is compiled for " << knownChip.name;
    });
    if (failedAny)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  Chip knownChip;
  std::optional<NVVM::NVVMCheckSMVersion> version;
};

} // namespace
