// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the synchronisation check keeps of writes that the async proxy must not
// read without a fence.
#ifndef KVCACHE_LIB_SIMULATOR_PROXY_H
#define KVCACHE_LIB_SIMULATOR_PROXY_H

#include "Handlers.h"

#include <map>
#include <unordered_map>
#include <vector>

namespace ptxsim {

struct Allocation;

/// Inst::flags of a fence of the async proxy: the spaces it is for.
enum : uint8_t { FenceShared = 1, FenceGlobal = 2, FenceInit = 4 };

/// The last write of ordinary instructions to a word: when, 0 for none, and by
/// which thread.
struct GenericWrite {
  uint32_t time = 0;
  uint32_t thread = 0;
};

/// Of a block's shared memory; empty where it is not needed.
struct ProxyShadow {
  uint32_t time = 0;
  /// Per 4-byte word.
  std::vector<GenericWrite> writes;
  /// Per thread: its last fence.proxy.async and fence.mbarrier_init.
  std::vector<uint32_t> fences, initFences;
  /// Initialised mbarriers, by their offsets.
  std::map<uint32_t, GenericWrite> barriers;
};

void prepareProxy(Block &block);
void resetProxy(Block &block);
/// An access to shared memory whose words are kept.
void checkProxy(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes, AccessMode mode);
/// mbarrier.init at an absolute shared address, and a bulk copy that will
/// complete there.
void noteBarrierInit(Warp &warp, unsigned lane, uint64_t address);
void checkBarrierInit(Warp &warp, const Inst &inst, unsigned lane,
                      uint64_t address);
void proxyFenceHandler(Warp &warp, const Inst &inst, uint32_t mask);

/// Of global memory, for one launch on one worker.
class GlobalProxy {
public:
  ~GlobalProxy();
  void access(Warp &warp, const Inst &inst, unsigned lane,
              const Allocation &allocation, uint64_t address, unsigned bytes,
              AccessMode mode);
  void fence(const Warp &warp, unsigned lane);
  /// The allocation is about to go.
  void forget(const Allocation &allocation);

private:
  struct Shadow {
    GenericWrite *writes;
    size_t bytes;
  };
  /// The number of a thread in the grid, by blocks of the largest size.
  static uint32_t threadOf(const Warp &warp, unsigned lane);

  uint32_t time = 0;
  std::map<const Allocation *, Shadow> shadows;
  std::unordered_map<uint32_t, uint32_t> fences;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_PROXY_H
