// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the warps of a cluster have done to a block's shared memory, numbered,
// so that what is kept of each place there is a few numbers.
#ifndef KVCACHE_LIB_SIMULATOR_SHAREDEVENTS_H
#define KVCACHE_LIB_SIMULATOR_SHAREDEVENTS_H

#include "WarpEpochs.h"

#include <algorithm>
#include <vector>

namespace ptxsim {

/// What a warp (or a warp group) does by an instruction in an epoch.
struct alignas(16) SharedEvent {
  /// 0: of no event.
  uint32_t epoch = 0;
  uint32_t pc = 0;
  /// Counted through the cluster.
  uint16_t warp = 0;
  bool strong = false;
};

/// The number of an event, times 32, and perhaps a lane; below 32: none.
using EventPlace = uint32_t;
/// Behind all.
constexpr EventPlace noPlace = 0x7fffffff;

class SharedEvents {
public:
  void prepare(size_t numWarpsAndGroups, size_t numWarpsOfBlock,
               size_t numEvents) {
    events.assign(numEvents, SharedEvent());
    next = 1;
    sources.assign(numWarpsAndGroups, Source());
    horizons.assign(numWarpsOfBlock, Horizon());
  }
  PTXSIM_INLINE const SharedEvent &at(EventPlace place) const {
    return events[place / 32];
  }
  /// Before the next event the others must be numbered anew.
  bool isFull() const { return next == events.size(); }
  /// The lane is 0. What a warp does again is no new event.
  PTXSIM_INLINE EventPlace add(const SharedEvent &event) {
    Source &source = sources[event.warp];
    bool isLast = lastSource == event.warp;
    if (isLast && source.pc == event.pc && source.epoch == event.epoch &&
        source.strong == event.strong)
      return source.last * 32;
    source.last = next++;
    source.pc = event.pc;
    source.strong = event.strong;
    if (source.epoch != event.epoch) {
      source.before = source.epoch;
      source.epoch = event.epoch;
      source.first = source.last;
    }
    if (!isLast)
      ownSince = source.last * 32;
    lastSource = event.warp;
    if (event.strong)
      weakSince = source.last * 32 + 32;
    events[source.last] = event;
    return source.last * 32;
  }
  /// Since then all has been by the source of the last event.
  EventPlace lastTurn() const { return ownSince; }
  /// Since then all has been weak and in the epoch of its last event.
  EventPlace lastWeakOfEpoch() const {
    return std::max(std::max(ownSince, weakSince),
                    sources[lastSource].first * 32);
  }
  /// Whatever lies before is ordered before all that a warp of the block does,
  /// which has seen this. More may be.
  PTXSIM_INLINE EventPlace orderedBefore(uint32_t warpOfBlock,
                                         const WarpEpochs &seen) {
    Horizon &horizon = horizons[warpOfBlock];
    if (horizon.changes != seen.changes())
      look(horizon, seen);
    return horizon.place;
  }
  /// Calls `forPlaces(visit)`, which calls `visit(place)` for all places that
  /// refer to events, and then `forPlaces(move)` likewise: only those events
  /// stay that are referred to, in the order they have.
  template <typename ForPlaces> void renumber(ForPlaces forPlaces) {
    std::vector<uint32_t> numbers(next + 1, 0);
    forPlaces([&](EventPlace &place) { numbers[place / 32] = 1; });
    numbers[0] = 1;
    uint32_t end = next;
    next = 0;
    for (uint32_t k = 0; k <= end; ++k) {
      bool stays = numbers[k];
      numbers[k] = next;
      if (stays)
        events[next++] = events[k];
    }
    auto move = [&](EventPlace &place) {
      place = numbers[place / 32] * 32 + place % 32;
    };
    forPlaces(move);
    for (Source &source : sources) {
      source.first = numbers[source.first];
      // The last may be gone: what is added next is another.
      source.pc = ~0u;
    }
    for (Horizon &horizon : horizons)
      move(horizon.place);
    move(ownSince);
    move(weakSince);
    if (next > events.size() / 2)
      events.resize(2 * events.size());
  }

private:
  /// A warp or group.
  struct Source {
    /// Its last event, its last epoch with events and the first of these, and
    /// the epoch with events before that.
    uint32_t last = 0, epoch = 0, first = 0, before = 0;
    /// Of the last event.
    uint32_t pc = ~0u;
    bool strong = false;
  };
  struct Horizon {
    EventPlace place = 0;
    /// Of what has been seen.
    uint32_t changes = 0;
  };

  PTXSIM_NOINLINE void look(Horizon &horizon, const WarpEpochs &seen) {
    horizon.changes = seen.changes();
    uint32_t number = next;
    const uint32_t *all = seen.allLanes();
    for (size_t k = 0; k < sources.size(); ++k) {
      const Source &source = sources[k];
      if (source.epoch <= all[k])
        continue;
      if (source.before > all[k])
        return;
      number = std::min(number, source.first);
    }
    horizon.place = std::max(horizon.place, number * 32);
  }

  /// The first is none; there is room for more than the `next` ones.
  std::vector<SharedEvent> events;
  uint32_t next = 1;
  uint16_t lastSource = 0;
  EventPlace ownSince = 0, weakSince = 0;
  std::vector<Source> sources;
  std::vector<Horizon> horizons;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_SHAREDEVENTS_H
