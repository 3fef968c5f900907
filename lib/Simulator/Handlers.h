// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers outside of the Isa folder.
#ifndef KVCACHE_LIB_SIMULATOR_HANDLERS_H
#define KVCACHE_LIB_SIMULATOR_HANDLERS_H

#include "Isa/Isa.h"

namespace ptxsim {

struct Launch;

// Moves and conversions (MoveHandlers.cpp)
void unpackHandler(Warp &, const Inst &, uint32_t);
void packHandler(Warp &, const Inst &, uint32_t);
void timeHandler(Warp &, const Inst &, uint32_t);
/// Null where the generic address is the address.
Handler cvtaHandler(Space space, bool toSpace);
void isspacepHandler(Warp &, const Inst &, uint32_t);
void cvtPackHandler(Warp &, const Inst &, uint32_t);
/// cvt.rs from f32 to a packed type; the sources are further operands, a holds
/// the random bits (StochasticRounding.cpp). Null for other types.
Handler stochasticHandler(Type to);
/// Runs the handler in Inst::imm under the rounding mode in Inst::op.
void roundedHandler(Warp &, const Inst &, uint32_t);

// Memory (Access.cpp, Atomics.cpp)

enum class AccessMode : uint8_t { Read, Write, Atomic };

/// "read", "write" or "atomic access".
const char *modeName(AccessMode mode);

/// Flags of loads and stores, in Inst::flags.
enum : uint8_t {
  AccessSigned = 1,
  /// The address may be of another block of the cluster.
  AccessCluster = 2,
  /// Volatile, relaxed or stronger: exempt from the race check.
  AccessStrong = 4,
  /// Orders what comes behind it, or what came before it.
  AccessAcquire = 8,
  AccessRelease = 16,
  /// Its scope reaches no other block, or no other cluster.
  AccessOfBlock = 32,
  AccessOfCluster = 64,
  /// A plain load of what a compare-and-swap will look at again: it races with
  /// no strong access, and observes nothing.
  AccessGuess = 128
};

/// Host memory behind `bytes` at an address, null if there is none; then the
/// access has been reported and must be left out.
char *resolve(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
              unsigned bytes, unsigned align, Space space, AccessMode mode);
/// The checks of a plain access whose lanes lie in the instruction's range,
/// `inRow` if it is that of a whole warp and each lane's follows the last
/// one's; false, and nothing noted, if one of them may find something
/// (GlobalPasses.cpp).
bool passesChecks(Warp &warp, const Inst &inst, uint32_t mask,
                  const uint64_t *addresses, uint64_t disp, unsigned bytes,
                  bool inRow, AccessMode mode);
/// The same of accesses to the block's own shared memory, which may be noted
/// where it is false (SharedPasses.cpp).
bool passesShared(Warp &warp, const Inst &inst, uint32_t mask,
                  const uint32_t *offsets, unsigned bytes, AccessMode mode);
/// Those of an atomic on shared memory, of whatever block; false, and nothing
/// noted, if one of them may find something or needs more than its checks.
bool passesSharedAtomic(Warp &warp, const Inst &inst, uint32_t mask,
                        const uint64_t *addresses, unsigned bytes);
void loadHandler(Warp &, const Inst &, uint32_t);
void storeHandler(Warp &, const Inst &, uint32_t);
/// Parameters of the kernel are the same for all lanes.
void loadParamHandler(Warp &, const Inst &, uint32_t);
void prefetchHandler(Warp &, const Inst &, uint32_t);
void discardHandler(Warp &, const Inst &, uint32_t);
/// st.bulk; b holds the bytes, in a register of Inst::size bytes.
void bulkStoreHandler(Warp &, const Inst &, uint32_t);

/// Address of a lane: register plus displacement, or the displacement alone.
PTXSIM_INLINE uint64_t laneAddress(const Warp &warp, const Inst &inst,
                                   unsigned lane) {
  uint64_t base =
      inst.a == noSlot ? 0 : readLane(warp, inst.a, inst.aWidth, lane);
  return base + uint64_t(inst.imm);
}

enum class AtomicOp : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exch,
  Cas,
  Inc,
  Dec
};
/// Combines the bits of a value with those at a place; gives the old ones.
using AtomicApply = uint64_t (*)(Warp &warp, char *place, uint64_t value);
struct AtomicForm {
  Handler handler = nullptr;
  AtomicApply apply = nullptr;
};
/// Empty if there is no such operation.
AtomicForm atomicForm(AtomicOp op, Type type);
/// atom.exch and atom.cas of .b128.
void atomicWideHandler(Warp &, const Inst &, uint32_t);

// Instrumentation (Instrument.cpp)

/// Counts one warp-level access; `addresses` are those of the lanes in `mask`.
void countAccess(Warp &warp, const Inst &inst, uint32_t mask,
                 const uint64_t *addresses, unsigned bytes, AccessMode mode);

/// Counts one access of a bulk copy to a range of global memory; `issued` once
/// a copy.
void countBulk(Warp &warp, const Inst &inst, uint64_t address, uint64_t bytes,
               bool issued);

// Warp collectives (Collectives.cpp)
void shflHandler(Warp &, const Inst &, uint32_t);
void voteHandler(Warp &, const Inst &, uint32_t);
void matchHandler(Warp &, const Inst &, uint32_t);
void reduxHandler(Warp &, const Inst &, uint32_t);
void reduxFloatHandler(Warp &, const Inst &, uint32_t);
void electHandler(Warp &, const Inst &, uint32_t);
void activemaskHandler(Warp &, const Inst &, uint32_t);
void nothingHandler(Warp &, const Inst &, uint32_t);
void yieldHandler(Warp &, const Inst &, uint32_t);

// Calls (Calls.cpp)
void copyLocalHandler(Warp &, const Inst &, uint32_t);
void vprintfHandler(Warp &, const Inst &, uint32_t);
void assertFailHandler(Warp &, const Inst &, uint32_t);
void mallocHandler(Warp &, const Inst &, uint32_t);
void freeHandler(Warp &, const Inst &, uint32_t);
/// A call of an address that is no function the call can take.
void badCallHandler(Warp &, const Inst &, uint32_t);

// Frames and alloca (Stack.cpp)
void prepareFrameHandler(Warp &, const Inst &, uint32_t);
void pushFrameHandler(Warp &, const Inst &, uint32_t);
void popFrameHandler(Warp &, const Inst &, uint32_t);
void frameAddressHandler(Warp &, const Inst &, uint32_t);
void allocaHandler(Warp &, const Inst &, uint32_t);
void stackSaveHandler(Warp &, const Inst &, uint32_t);
void stackRestoreHandler(Warp &, const Inst &, uint32_t);

// Rare forms (WideHandlers.cpp)
/// SIMD video instructions: Inst::op is the operation.
enum class VideoOp : uint8_t {
  Add,
  Sub,
  Average,
  Min,
  Max,
  Absdiff,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge
};
/// Inst::flags.
enum : uint8_t {
  VideoSignedA = 1,
  VideoSignedB = 2,
  VideoSignedD = 4,
  VideoSaturate = 8,
  VideoAccumulate = 16
};
void videoHandler(Warp &, const Inst &, uint32_t);
/// fma.oob: what the handler in Inst::imm gives, or 0 where a or b is what
/// tensor copies put for elements outside of the tensor; Inst::count: elements
/// of two bytes a lane.
void fmaOutsideHandler(Warp &, const Inst &, uint32_t);
/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64.
void coarseRcpHandler(Warp &, const Inst &, uint32_t);
void coarseRsqrtHandler(Warp &, const Inst &, uint32_t);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_HANDLERS_H
