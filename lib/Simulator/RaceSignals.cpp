// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One access happened before another if the block of the first has released it
// since, and the block of the second has made a strong access still later. A
// fence alone orders nothing: something must be passed from one block to the
// other. Threads and addresses are not told apart.
#include "RaceSignals.h"

#include <algorithm>

using namespace ptxsim;

BlockSignals::Signals &BlockSignals::of(uint32_t block) {
  if (block == lastBlock)
    return *last;
  auto [it, isNew] = blocks.try_emplace(block);
  if (isNew)
    running.push_back(block);
  return it->second;
}

bool BlockSignals::access(uint32_t block, uint32_t now, bool isRelease) {
  Signals &signals = of(block);
  if (isRelease)
    signals.fence = now;
  // Nobody has made a last access in between: the former tells no more.
  bool again = block == lastBlock && !signals.accesses.empty();
  lastBlock = block;
  last = &signals;
  std::vector<Release> &releases = signals.releases;
  if (signals.fence &&
      (releases.empty() || releases.back().fence < signals.fence)) {
    if (again && !releases.empty() &&
        releases.back().access == signals.accesses.back())
      releases.pop_back();
    releases.push_back({signals.fence, now});
  }
  if (again)
    signals.accesses.pop_back();
  signals.accesses.push_back(now);
  if (std::max(signals.accesses.size(), releases.size()) >= signals.limit)
    thin(signals);
  return signals.fence;
}

bool BlockSignals::ordered(uint32_t block, uint32_t time, bool needsRelease,
                           uint32_t other) const {
  auto from = blocks.find(block), to = blocks.find(other);
  if (from == blocks.end() || to == blocks.end() || to->second.accesses.empty())
    return false;
  uint32_t observed = to->second.accesses.back();
  if (!needsRelease) {
    const std::vector<uint32_t> &accesses = from->second.accesses;
    auto it = std::lower_bound(accesses.begin(), accesses.end(), time);
    return it != accesses.end() && observed > *it;
  }
  const std::vector<Release> &releases = from->second.releases;
  auto it = std::lower_bound(
      releases.begin(), releases.end(), time,
      [](const Release &release, uint32_t t) { return release.fence < t; });
  return it != releases.end() && observed > it->access;
}

/// Keeps, of entries by ascending time, the last before each of some times, and
/// the last of all.
template <typename Entries, typename TimeOf>
static void keepLastBefore(Entries &entries, const std::vector<uint32_t> &times,
                           TimeOf timeOf) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    bool isLast = k + 1 == entries.size();
    if (!isLast) {
      auto next =
          std::upper_bound(times.begin(), times.end(), timeOf(entries[k]));
      isLast = next != times.end() && *next <= timeOf(entries[k + 1]);
    }
    if (isLast)
      entries[kept++] = entries[k];
  }
  entries.resize(kept);
  entries.shrink_to_fit();
}

void BlockSignals::thin(Signals &signals) const {
  std::vector<uint32_t> times;
  for (uint32_t block : running) {
    const std::vector<uint32_t> &accesses = blocks.at(block).accesses;
    if (!accesses.empty())
      times.push_back(accesses.back());
  }
  std::sort(times.begin(), times.end());
  keepLastBefore(signals.accesses, times, [](uint32_t time) { return time; });
  keepLastBefore(signals.releases, times,
                 [](const Release &release) { return release.access; });
  signals.limit = std::max(std::size_t(64), 2 * times.size() + 2);
}

void BlockSignals::finish(uint32_t block) {
  auto it = blocks.find(block);
  if (it == blocks.end())
    return;
  running.erase(std::find(running.begin(), running.end(), block));
  thin(it->second);
}

void BlockSignals::clear() {
  blocks.clear();
  running.clear();
  lastBlock = 0;
  last = nullptr;
}
