// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel decoded for execution, with the device functions it calls.
#ifndef KVCACHE_LIB_SIMULATOR_PROGRAM_H
#define KVCACHE_LIB_SIMULATOR_PROGRAM_H

#include "Ast.h"
#include "Inst.h"
#include "kvcache/Simulator/Counters.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ptxsim {

/// Read-only registers that have a value per block or per lane.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicSmemSize,
  TotalSmemSize,
  IsExplicitCluster,
  GridId,
  /// Address of the workspace that grid-wide barriers use, in two halves.
  GridWorkspaceHigh,
  GridWorkspaceLow,
  ReservedSmemBegin,
  ReservedSmemEnd,
  ReservedSmemCap,
  ReservedSmemFirst,
  ReservedSmemSecond,
  AggrSmemSize,
  /// What the driver defines, and performance monitors.
  Zero
};

/// Where an instruction comes from.
struct InstInfo {
  uint32_t line = 0;
  std::string_view text;
  ast::Location location;
  /// Index into Program::lineTable for counters.
  uint32_t lineIndex = 0;
};

struct SharedVariable {
  std::string_view name;
  uint32_t offset = 0, size = 0;
};

struct LocalVariable {
  std::string_view name;
  uint32_t offset = 0, size = 0;
};

/// What a function that lives on the stack has there (Stack.h).
struct FrameLayout {
  std::string_view name;
  uint32_t bytes = 0, align = 16;
  std::vector<LocalVariable> variables;
  /// Registers that a call of the function by itself, or of one that leads back
  /// to it, must not lose. Width 0: a lane of a mask.
  std::vector<OperandSlot> saved;
  uint32_t savedBytesPerLane = 0;
};

/// A register that may be read before it is written, and the mask of lanes that
/// have written it.
struct TrackedRegister {
  std::string name;
  uint32_t slot = noSlot;
};

/// What an instruction does to tracked registers, by their numbers in
/// Program::trackedRegisters.
struct RegisterEvent {
  struct Move {
    uint32_t to;
    /// The result counts as written if one of them is.
    std::vector<uint32_t> from;
  };
  /// Must have been written: in the lanes that execute, in those that come
  /// here.
  std::vector<uint32_t> reads, guards;
  std::vector<uint32_t> writes;
  std::vector<Move> moves;
  /// A shfl: as the source of the lane that each takes.
  std::vector<Move> exchanges;
  /// A selp: as that of two sources which its predicate takes.
  std::vector<Move> selects;
  /// Per element of a store, noSlot where it has been written for certain.
  std::vector<uint32_t> stored;
  /// Unknown again: a function has been entered.
  std::vector<uint32_t> clears;
};

/// An instruction that accesses registers of a wgmma or copies of them, by
/// their numbers in Program::productRegisters; of a wgmma all are `writes`, in
/// the order of its operands.
struct ProductEvent {
  std::vector<uint32_t> reads, writes;
  /// It only copies, which compilers move across a wgmma.fence.
  bool isCopy = false;
};

struct Program {
  const ModuleImpl *module = nullptr;
  const ast::Function *kernel = nullptr;
  std::vector<Inst> code;
  /// Parallel to `code`.
  std::vector<InstInfo> info;
  std::vector<OperandSlot> operands;
  std::vector<std::vector<int32_t>> branchTables;
  uint32_t entry = 0;
  uint32_t registerBytes = 0;

  struct Constant {
    uint32_t slot;
    uint8_t width;
    uint64_t low, high;
  };
  std::vector<Constant> constants;
  struct SpecialSlot {
    Special special;
    uint32_t slot;
  };
  std::vector<SpecialSlot> specials;
  /// Only with DecodeOptions::trackRegisters, and if some register may be read
  /// before it is written: then eventAt, parallel to `code`, gives an index of
  /// registerEvents or noSlot.
  std::vector<TrackedRegister> trackedRegisters;
  std::vector<RegisterEvent> registerEvents;
  std::vector<uint32_t> eventAt;

  /// The names of registers that wgmmas accumulate in or have A in, and of
  /// those that such are copied to, and per instruction an index of
  /// productEvents or noSlot.
  std::vector<std::string> productRegisters;
  std::vector<ProductEvent> productEvents;
  std::vector<uint32_t> productEventAt;
  /// Some of them are copied.
  bool copiesProducts = false;

  uint32_t staticSharedBytes = 0;
  /// The kernel asks for the shared memory that the system keeps in a block.
  bool usesReservedShared = false;
  /// Alignment of dynamic shared memory.
  uint32_t dynamicSharedAlign = 16;
  uint32_t localBytes = 0;
  std::vector<SharedVariable> sharedVariables;
  std::vector<LocalVariable> localVariables;
  /// Some function has a frame or takes room by alloca. Then these slots hold,
  /// per lane, the local address of the frame of the function that runs, and of
  /// one that is about to be called or has returned.
  bool usesStack = false;
  uint32_t frameBaseSlot = noSlot, calleeBaseSlot = noSlot;
  std::vector<FrameLayout> frames;
  /// Results may depend on the order of blocks (global atomics that return
  /// values or round, waiting on other blocks): such kernels run on one worker.
  bool orderDependent = false;
  /// A fence or a release reaches the device: it may order blocks.
  bool ordersBlocks = false;
  /// It reads %clock or %globaltimer.
  bool readsTime = false;
  /// Where registers lie, beginnings and ends, but for those whose values come
  /// from these.
  std::vector<std::pair<uint32_t, uint32_t>> registersBesideTime;
  /// Bulk copies or wgmma read shared memory, which needs proxy fences.
  bool asyncReadsShared = false;
  /// Bulk copies or wgmma at all; copies that read global memory, and ordinary
  /// instructions that write it.
  bool usesAsyncProxy = false, asyncReadsGlobal = false, writesGlobal = false;
  /// Some access to global memory is narrower than 4 bytes.
  bool accessesBytes = false;
};

struct DecodeOptions {
  /// Handlers that check or count every access.
  bool instrumented = false;
  /// Gaps between shared variables, and between local ones.
  bool redZones = false;
  /// Find registers that may be read before they are written.
  bool trackRegisters = false;
};

/// Gives the address of a `.global` or `.const` variable; 0 if there is none.
using AddressOf = std::function<uint64_t(const ast::Variable &)>;

/// Decodes an `.entry` and everything it calls.
Result<std::unique_ptr<Program>> decode(const ModuleImpl &module,
                                        const ast::Function &kernel,
                                        const DecodeOptions &options,
                                        const AddressOf &addressOf);

/// Device functions have addresses for indirect calls: numbers above this base.
constexpr uint64_t functionAddressBase = 0x0400000000000000;
uint64_t functionAddress(const ModuleImpl &module,
                         const ast::Function &function);
/// The function of an address, null if it is none.
const ast::Function *functionAt(const ModuleImpl &module, uint64_t address);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_PROGRAM_H
