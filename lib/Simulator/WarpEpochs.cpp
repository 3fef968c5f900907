// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WarpEpochs.h"

#include <algorithm>

using namespace ptxsim;

void WarpEpochs::reset(size_t numWarps) {
  all.assign(numWarps, 0);
  some.clear();
}

bool WarpEpochs::coversSome(unsigned warp, unsigned lane,
                            uint32_t epoch) const {
  for (const LaneEpochs &entry : some)
    if (entry.warp == warp)
      return epoch <= entry.epochs[lane];
  return false;
}

uint32_t *WarpEpochs::epochsOf(unsigned warp) {
  for (LaneEpochs &entry : some)
    if (entry.warp == warp)
      return entry.epochs;
  some.push_back({warp, {}});
  return some.back().epochs;
}

/// Drops what is seen of all lanes anyway.
void WarpEpochs::prune() {
  some.erase(std::remove_if(some.begin(), some.end(),
                            [&](const LaneEpochs &entry) {
                              return *std::max_element(entry.epochs,
                                                       entry.epochs + 32) <=
                                     all[entry.warp];
                            }),
             some.end());
}

void WarpEpochs::raise(unsigned warp, uint32_t lanes, uint32_t counted,
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

void WarpEpochs::join(const WarpEpochs &other) {
  if (other.empty())
    return;
  if (empty()) {
    *this = other;
    return;
  }
  ++numChanges;
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

bool WarpEpochs::contains(const WarpEpochs &other) const {
  if (empty())
    return other.empty();
  for (size_t u = 0, n = other.all.size(); u < n; ++u)
    if (other.all[u] > all[u])
      return false;
  for (const LaneEpochs &entry : other.some) {
    auto own = std::find_if(some.begin(), some.end(), [&](const auto &mine) {
      return mine.warp == entry.warp;
    });
    uint32_t least = all[entry.warp];
    bool covered = true;
    for (unsigned l = 0; l < 32; ++l)
      covered &= entry.epochs[l] <=
                 (own == some.end() ? least : std::max(least, own->epochs[l]));
    if (!covered)
      return false;
  }
  return true;
}
