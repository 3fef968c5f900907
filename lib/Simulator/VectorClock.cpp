// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorClock.h"

#include <algorithm>

using namespace ptxsim;

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
