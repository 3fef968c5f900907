// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PendingSources.h"
#include "Async.h"

#include <algorithm>

using namespace ptxsim;

void PendingSources::add(const PendingCopy &copy) {
  uint32_t bytes = std::min(copy.sourceBytes, copy.bytes);
  if (!bytes)
    return;
  Granule &granule = granules[copy.src / granuleBytes];
  ++granule.numCopies;
  for (uint64_t k = 0; k < bytes; ++k)
    ++granule.counts[(copy.src + k) % granuleBytes];
  granule.inst = copy.inst;
  granule.block = copy.warp->block->index;
  granule.thread = copy.warp->index * 32 + copy.lane;
}

void PendingSources::remove(const PendingCopy &copy) {
  uint32_t bytes = std::min(copy.sourceBytes, copy.bytes);
  auto it = granules.find(copy.src / granuleBytes);
  if (!bytes || it == granules.end())
    return;
  for (uint64_t k = 0; k < bytes; ++k)
    --it->second.counts[(copy.src + k) % granuleBytes];
  if (!--it->second.numCopies)
    granules.erase(it);
}

void PendingSources::check(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address, unsigned bytes) {
  // What is there already may be written.
  if (warp.storeData && memcmp(reinterpret_cast<const char *>(address),
                               warp.storeData, bytes) == 0)
    return;
  for (uint64_t k = address; k < address + bytes; ++k) {
    auto it = granules.find(k / granuleBytes);
    if (it == granules.end() || !it->second.counts[k % granuleBytes])
      continue;
    const Launch &launch = *warp.block->launch;
    Report *report =
        addFinding(warp, inst, lane, RaceCheck, "pending-source-write");
    if (!report)
      return;
    setOther(*report, launch, it->second.block, it->second.thread,
             uint32_t(it->second.inst - launch.program->code.data()));
    report->message = "write of global memory that an asynchronous copy of "
                      "thread " +
                      triple(report->other.thread) +
                      " has yet to read; it has not been waited for";
    report->hasAddress = true;
    report->address = k;
    report->nearest = describeAddress(warp, lane, k, Space::Global);
    return;
  }
}
