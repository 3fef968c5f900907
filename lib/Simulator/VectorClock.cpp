// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorClock.h"

#include <algorithm>

using namespace ptxsim;

void VectorClock::reset(size_t numWarps) {
  all.assign(numWarps, 0);
  some.clear();
}

bool VectorClock::coversSome(unsigned warp, unsigned lane,
                             uint32_t epoch) const {
  for (const LaneEpochs &entry : some)
    if (entry.warp == warp)
      return epoch <= entry.epochs[lane];
  return false;
}

uint32_t *VectorClock::epochsOf(unsigned warp) {
  for (LaneEpochs &entry : some)
    if (entry.warp == warp)
      return entry.epochs;
  some.push_back({warp, {}});
  return some.back().epochs;
}

/// Drops what is seen of all lanes anyway.
void VectorClock::prune() {
  some.erase(std::remove_if(some.begin(), some.end(),
                            [&](const LaneEpochs &entry) {
                              return *std::max_element(entry.epochs,
                                                       entry.epochs + 32) <=
                                     all[entry.warp];
                            }),
             some.end());
}

void VectorClock::raise(unsigned warp, uint32_t lanes, uint32_t counted,
                        uint32_t epoch) {
  if (epoch <= all[warp])
    return;
  uint32_t *epochs = epochsOf(warp);
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t &seen = epochs[__builtin_ctz(m)];
    seen = std::max(seen, epoch);
  }
  uint32_t least = epoch;
  for (uint32_t m = counted; m; m &= m - 1)
    least = std::min(least, epochs[__builtin_ctz(m)]);
  if (least > all[warp])
    raise(warp, least);
}

void VectorClock::join(const VectorClock &other) {
  if (other.empty())
    return;
  if (empty()) {
    *this = other;
    return;
  }
  uint32_t *to = all.data();
  const uint32_t *from = other.all.data();
  for (size_t u = 0, n = all.size(); u < n; ++u)
    to[u] = std::max(to[u], from[u]);
  for (const LaneEpochs &entry : other.some) {
    if (*std::max_element(entry.epochs, entry.epochs + 32) <= all[entry.warp])
      continue;
    uint32_t *epochs = epochsOf(entry.warp);
    for (unsigned l = 0; l < 32; ++l)
      epochs[l] = std::max(epochs[l], entry.epochs[l]);
  }
  if (!some.empty())
    prune();
}

// Views
// -----------------------------------------------------------------------

/// From here on views are kept by single lanes, of which there are no more.
static constexpr unsigned maxMixedViews = 32;

LaneViews::View *LaneViews::find(uint32_t lanes) {
  for (unsigned k = 0; k < used; ++k)
    if (views[k].lanes == lanes)
      return &views[k];
  return nullptr;
}

void LaneViews::addView(uint32_t lanes, const VectorClock &clock) {
  if (View *view = find(lanes)) {
    view->clock.join(clock);
    return;
  }
  if (used == views.size())
    views.emplace_back();
  View &view = views[used++];
  view.lanes = lanes;
  view.clock = clock;
}

void LaneViews::add(uint32_t lanes, const VectorClock &clock) {
  if (clock.empty())
    return;
  if (used < maxMixedViews || find(lanes)) {
    addView(lanes, clock);
    return;
  }
  for (uint32_t m = lanes; m; m &= m - 1)
    addView(m & -m, clock);
}

void LaneViews::joinTo(VectorClock &clock, uint32_t lanes) const {
  for (unsigned k = 0; k < used; ++k)
    if (views[k].lanes & lanes)
      clock.join(views[k].clock);
}

void LaneViews::drop(uint32_t lanes) {
  for (unsigned k = 0; k < used;) {
    views[k].lanes &= ~lanes;
    if (views[k].lanes)
      ++k;
    else
      std::swap(views[k], views[--used]);
  }
}

// Places
// ----------------------------------------------------------------------

void Released::join(const Released &other) {
  wide.join(other.wide);
  if (byBlock.size() < other.byBlock.size())
    byBlock.resize(other.byBlock.size());
  for (size_t rank = 0; rank < other.byBlock.size(); ++rank)
    byBlock[rank].join(other.byBlock[rank]);
}

uint64_t ReleasePlaces::keyOf(uint64_t address) {
  // Shared addresses are short.
  constexpr uint64_t numGlobal = 4096;
  return address >> 32 ? uint64_t(1) << 32 | (address / 4 % numGlobal)
                       : address;
}

ReleasePlaces::Place *ReleasePlaces::find(uint64_t address) {
  auto it = places.find(keyOf(address));
  return it == places.end() ? nullptr : &it->second;
}

ReleasePlaces::Place &ReleasePlaces::at(uint64_t address) {
  return places[keyOf(address)];
}
