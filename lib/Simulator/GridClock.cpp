// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridClock.h"

using namespace ptxsim;

static constexpr unsigned bitsPerLevel = 4;
static constexpr unsigned fanOut = 1u << bitsPerLevel;

/// At level 0 a cluster; above, the clusters whose numbers are the same but for
/// their last digits, by the first of these.
struct GridClock::Node {
  unsigned level = 0;
  WarpEpochs seen;
  std::vector<Link> below;
};

static unsigned digit(uint32_t cluster, unsigned level) {
  return cluster >> (bitsPerLevel * (level - 1)) & (fanOut - 1);
}

const WarpEpochs *GridClock::find(uint32_t cluster) const {
  const Node *node = root.get();
  if (!node || uint64_t(cluster) >> (bitsPerLevel * node->level))
    return nullptr;
  while (node && node->level)
    node = node->below[digit(cluster, node->level)].get();
  return node ? &node->seen : nullptr;
}

/// The node of which a root is the first part.
GridClock::Link GridClock::above(Link node) {
  auto parent = std::make_shared<Node>();
  parent->level = node->level + 1;
  parent->below.resize(fanOut);
  parent->below[0] = std::move(node);
  return parent;
}

GridClock::Link GridClock::joined(const Link &a, const Link &b) {
  if (!b || a == b)
    return a;
  if (!a)
    return b;
  if (a->level != b->level)
    return a->level < b->level ? joined(above(a), b) : joined(a, above(b));
  if (a->level == 0) {
    if (a->seen.contains(b->seen))
      return a;
    if (b->seen.contains(a->seen))
      return b;
    auto both = std::make_shared<Node>(*a);
    both->seen.join(b->seen);
    return both;
  }
  Link below[fanOut];
  bool isA = true, isB = true;
  for (unsigned k = 0; k < fanOut; ++k) {
    below[k] = joined(a->below[k], b->below[k]);
    isA &= below[k] == a->below[k];
    isB &= below[k] == b->below[k];
  }
  if (isA || isB)
    return isA ? a : b;
  auto both = std::make_shared<Node>();
  both->level = a->level;
  both->below.assign(below, below + fanOut);
  return both;
}

void GridClock::join(uint32_t cluster, const WarpEpochs &seen) {
  auto node = std::make_shared<Node>();
  node->seen = seen;
  Link path = std::move(node);
  for (unsigned level = 1; cluster >> (bitsPerLevel * (level - 1)); ++level) {
    auto parent = std::make_shared<Node>();
    parent->level = level;
    parent->below.resize(fanOut);
    parent->below[digit(cluster, level)] = std::move(path);
    path = std::move(parent);
    if (level == 32 / bitsPerLevel)
      break;
  }
  root = joined(root, path);
}
