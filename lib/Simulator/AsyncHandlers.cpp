// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async and cp.async.bulk: issuing, committing, waiting.
#include "AsyncHandlers.h"
#include "Async.h"
#include "Checks.h"
#include "PendingSources.h"

#include <algorithm>

using namespace ptxsim;

static uint64_t operandValue(const Warp &w, const Inst &i, unsigned index,
                             unsigned lane) {
  const OperandSlot &o = w.operands[i.operands + index];
  return readLane(w, o.slot, o.width, lane);
}

/// An address operand is a register (or noSlot) and a constant displacement.
static uint64_t addressOperand(const Warp &w, const Inst &i, unsigned index,
                               unsigned lane) {
  const OperandSlot &o = w.operands[i.operands + index];
  uint64_t base = o.slot == noSlot ? 0 : readLane(w, o.slot, o.width, lane);
  return base + operandValue(w, i, index + 1, lane);
}

static PendingCopy start(Warp &w, const Inst &i, unsigned lane, CopyKind kind) {
  PendingCopy copy;
  copy.kind = kind;
  copy.inst = &i;
  copy.warp = &w;
  copy.lane = lane;
  copy.epoch = w.clock ? w.clock->epoch : 0;
  return copy;
}

void ptxsim::cpAsyncHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t sources[32];
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    PendingCopy copy = start(w, i, l, CopyKind::Small);
    copy.dst = addressOperand(w, i, 0, l);
    copy.src = sources[l] = addressOperand(w, i, 2, l);
    copy.bytes = copy.sourceBytes = i.size;
    if (i.b != noSlot)
      copy.sourceBytes = w.reg<uint32_t>(i.b)[l];
    if (i.c != noSlot) {
      bool ignore = (w.pred(i.c) >> l & 1) != (i.flags & 1);
      copy.sourceBytes = ignore ? 0 : i.size;
    }
    AsyncState &state = asyncOf(*w.block);
    ThreadCopies &thread = state.of(w, l);
    copy.group = thread.group;
    markPending(copy);
    if (PendingSources *sources = w.block->launch->pendingSources.get())
      sources->add(copy);
    enqueue(state, thread.small, copy);
  }
  if (w.block->launch->instrumented)
    countAccess(w, i, mask, sources, i.size, AccessMode::Read);
}

void ptxsim::cpCommitHandler(Warp &w, const Inst &, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1)
    ++asyncOf(*w.block).of(w, unsigned(__builtin_ctz(m))).group;
}

/// Inst::imm: groups that may be outstanding, -1 for wait_all.
void ptxsim::cpWaitHandler(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.block->async)
    return;
  for (uint32_t m = mask; m; m &= m - 1) {
    ThreadCopies &thread = asyncOf(*w.block).of(w, unsigned(__builtin_ctz(m)));
    while (!thread.small.empty()) {
      // Group g is waited for if at most imm committed ones follow it.
      bool waited = i.imm < 0 || int64_t(thread.small.front().group) <
                                     int64_t(thread.group) - i.imm;
      if (!waited)
        break;
      PendingCopy copy = thread.small.front();
      thread.small.pop_front();
      land(copy);
      // What an mbarrier is told of is for whoever waits there.
      bool isAnnounced = std::any_of(
          thread.small.begin(), thread.small.end(), [](const PendingCopy &c) {
            return c.kind == CopyKind::ArriveWhenDone;
          });
      if (copy.kind == CopyKind::Small && !isAnnounced)
        markWaited(copy);
    }
  }
}

void ptxsim::cpArriveHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    PendingCopy copy = start(w, i, l, CopyKind::ArriveWhenDone);
    copy.barrier = absoluteShared(*w.block, addressOperand(w, i, 0, l));
    // Without .noinc the barrier expects one arrival more.
    checkInitOrder(w, i, l, copy.barrier);
    if (!(i.flags & 1))
      expectArrival(w, i, l, copy.barrier);
    AsyncState &state = asyncOf(*w.block);
    ThreadCopies &thread = state.of(w, l);
    copy.group = thread.group;
    enqueue(state, thread.small, copy);
  }
}

void ptxsim::asyncStoreHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    PendingCopy copy = start(w, i, l, CopyKind::Store);
    copy.dst = absoluteShared(*w.block, addressOperand(w, i, 0, l));
    copy.barrier = absoluteShared(*w.block, addressOperand(w, i, 2, l));
    copy.hasBarrier = true;
    checkInitOrder(w, i, l, copy.barrier);
    copy.apply = reinterpret_cast<AtomicApply>(i.imm);
    copy.elementBytes = i.size;
    copy.bytes = copy.sourceBytes = uint32_t(i.size) * i.count;
    for (unsigned k = 0; k < i.count; ++k) {
      uint64_t value = operandValue(w, i, 4 + k, l);
      memcpy(copy.value + k * i.size, &value, i.size);
    }
    markPending(copy);
    AsyncState &state = asyncOf(*w.block);
    enqueue(state, state.bulk, copy);
  }
}

/// A bulk copy that completes on one barrier, or with multicast on one in each
/// of several blocks.
static void issueBulk(PendingCopy &copy) {
  Warp &w = *copy.warp;
  auto check = [&](uint64_t barrier) {
    checkInitOrder(w, *copy.inst, copy.lane, barrier);
    checkBarrierInit(w, *copy.inst, copy.lane, barrier);
  };
  for (uint32_t rank = 0; copy.multicast >> rank; ++rank)
    if (copy.multicast >> rank & 1)
      check(uint64_t(rank + 1) << sharedRankShift |
            (copy.barrier & sharedOffsetMask));
  if (!copy.multicast)
    check(copy.barrier);
  copy.hasBarrier = true;
  markPending(copy);
  AsyncState &state = asyncOf(*w.block);
  enqueue(state, state.bulk, copy);
}

void ptxsim::bulkHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    PendingCopy copy = start(w, i, l, CopyKind::Bulk);
    bool toGlobal = i.flags & BulkToGlobal;
    copy.dstSpace = toGlobal ? Space::Global : Space::Shared;
    copy.srcSpace =
        toGlobal || i.flags & BulkFromShared ? Space::Shared : Space::Global;
    uint64_t dst = addressOperand(w, i, 0, l), src = addressOperand(w, i, 2, l);
    copy.dst = toGlobal ? dst : absoluteShared(*w.block, dst);
    copy.src =
        copy.srcSpace == Space::Shared ? absoluteShared(*w.block, src) : src;
    copy.bytes = copy.sourceBytes = w.reg<uint32_t>(i.a)[l];
    if (i.flags & BulkReduce) {
      copy.apply = reinterpret_cast<AtomicApply>(i.imm);
      copy.elementBytes = i.size;
    }
    if (copy.bytes % 16) {
      report(w, i, l, MemCheck, "misaligned",
             "bulk copy of " + std::to_string(copy.bytes) +
                 " bytes, which is not a multiple of 16");
      if (!(w.block->launch->tools & MemCheck))
        w.worker->fail(w, "bulk copy size is not a multiple of 16");
      continue;
    }
    if (i.flags & BulkMulticast)
      copy.multicast =
          uint32_t(readLane(w, i.c, 2, l) &
                   ((uint64_t(1) << w.block->cluster->blocks.size()) - 1));
    if (!(i.flags & BulkFromShared))
      countBulk(w, i, toGlobal ? copy.dst : copy.src, copy.bytes, true);
    if (i.flags & BulkMasked)
      copy.byteMask = uint16_t(readLane(w, i.c, 2, l));
    AsyncState &state = asyncOf(*w.block);
    if (toGlobal) {
      ThreadCopies &thread = state.of(w, l);
      copy.group = thread.bulkGroup;
      enqueue(state, thread.bulk, copy);
      continue;
    }
    copy.barrier = absoluteShared(*w.block, addressOperand(w, i, 4, l));
    issueBulk(copy);
  }
}

/// Operands: shared address, map address, coordinates, barrier address.
void ptxsim::tensorHandler(Warp &w, const Inst &i, uint32_t mask) {
  bool store = i.flags & BulkToGlobal;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    PendingCopy copy =
        start(w, i, l, store ? CopyKind::TensorStore : CopyKind::TensorLoad);
    uint64_t shared = absoluteShared(*w.block, addressOperand(w, i, 0, l));
    (store ? copy.src : copy.dst) = shared;
    uint64_t mapAddress = addressOperand(w, i, 2, l);
    const char *map = resolve(w, i, l, mapAddress, sizeof(TensorMap), 64,
                              Space::Generic, AccessMode::Read);
    if (!map)
      continue;
    TensorMap held;
    memcpy(&held, map, sizeof held);
    Result<TensorMapSpec> spec = decodeTensorMap(held);
    Status usable = spec.ok() ? checkTensorCopy(*spec) : spec.status();
    if (usable.ok() && spec->rank != i.count)
      usable = Status::error("the tensor map has rank " +
                             std::to_string(spec->rank) + ", the copy " +
                             std::to_string(i.count));
    if (usable.ok() && i.flags & BulkReduce) {
      copy.apply = tensorReduction(AtomicOp(i.op), spec->type);
      copy.elementBytes = uint8_t(tensorElementBytes(spec->type));
      if (!copy.apply)
        usable = Status::error("the tensor map's type has no such reduction");
    }
    if (!usable.ok()) {
      fault(w, i, l, MemCheck, "bad-tensor-map", usable.message(), &mapAddress);
      return;
    }
    copy.map = *spec;
    countBulk(w, i, 0, 0, true);
    for (unsigned k = 0; k < i.count; ++k)
      copy.coordinates[k] = int32_t(operandValue(w, i, 4 + k, l));
    AsyncState &state = asyncOf(*w.block);
    if (store) {
      ThreadCopies &thread = state.of(w, l);
      copy.group = thread.bulkGroup;
      enqueue(state, thread.bulk, copy);
      continue;
    }
    if (i.flags & BulkMulticast)
      copy.multicast =
          uint32_t(readLane(w, i.c, 2, l) &
                   ((uint64_t(1) << w.block->cluster->blocks.size()) - 1));
    copy.bytes = copy.sourceBytes = boxBytes(copy.map);
    copy.barrier =
        absoluteShared(*w.block, addressOperand(w, i, 4 + i.count, l));
    issueBulk(copy);
  }
}

void ptxsim::tensorMapReplaceHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = laneAddress(w, i, l);
    char *place = resolve(w, i, l, address, sizeof(TensorMap), 64, i.space,
                          AccessMode::Write);
    if (!place)
      continue;
    TensorMap map;
    memcpy(&map, place, sizeof map);
    Status status = replaceTensorMapField(map, TensorMapField(i.op), i.count,
                                          readLane(w, i.b, i.size, l));
    if (!status.ok()) {
      fault(w, i, l, MemCheck, "tensor-map", status.message(), &address,
            i.space);
      return;
    }
    memcpy(place, &map, sizeof map);
    ++w.modifications;
  }
}

void ptxsim::tensorMapCopyHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned l = unsigned(__builtin_ctz(mask));
  const char *from =
      resolve(w, i, l, addressOperand(w, i, 2, l), sizeof(TensorMap), 64,
              Space::Shared, AccessMode::Read);
  char *to =
      from ? resolve(w, i, l, addressOperand(w, i, 0, l), sizeof(TensorMap), 64,
                     Space::Global, AccessMode::Write)
           : nullptr;
  if (to)
    memcpy(to, from, sizeof(TensorMap));
  ++w.modifications;
}

void ptxsim::bulkCommitHandler(Warp &w, const Inst &, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1)
    ++asyncOf(*w.block).of(w, unsigned(__builtin_ctz(m))).bulkGroup;
}

/// A copy out of shared memory lands when it is waited for. A wait for its
/// reading leaves what it writes to a later one.
void ptxsim::bulkWaitHandler(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.block->async)
    return;
  for (uint32_t m = mask; m; m &= m - 1) {
    ThreadCopies &thread = asyncOf(*w.block).of(w, unsigned(__builtin_ctz(m)));
    auto isWaitedFor = [&](const PendingCopy &copy) {
      return int64_t(copy.group) < int64_t(thread.bulkGroup) - i.imm;
    };
    if (i.flags & BulkWaitRead) {
      for (PendingCopy &copy : thread.bulk)
        if (isWaitedFor(copy))
          readSource(copy);
      continue;
    }
    while (!thread.bulk.empty() && isWaitedFor(thread.bulk.front())) {
      PendingCopy copy = std::move(thread.bulk.front());
      thread.bulk.pop_front();
      land(copy);
    }
  }
}
