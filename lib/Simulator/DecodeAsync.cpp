// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async, bulk and tensor copies, mbarrier.
#include "AsyncHandlers.h"
#include "Clocks.h"
#include "Decoder.h"
#include "Handlers.h"
#include "kvcache/Simulator/TensorMap.h"

using namespace ptxsim;

namespace {

/// Adds `[base + offset]` as two operands: register and displacement.
void addAddress(Statement &s, const ast::Operand &operand, Space space) {
  if (operand.kind != ast::Operand::Address || operand.elements.empty()) {
    s.fail("expected an address in brackets");
    return;
  }
  int64_t disp = 0;
  uint8_t width = 8;
  uint32_t slot = s.addressSlot(operand.elements[0], space, disp, width);
  s.addOperand(slot, width);
  s.addOperand(s.builder.constant(uint64_t(disp), 8), 8);
}

void plainAddress(Statement &s, const ast::Operand &operand, Space space) {
  if (operand.elements.size() > 1)
    s.fail("an address without coordinates is expected");
  addAddress(s, operand, space);
}

void decodeWaitGroup(Statement &s, Handler fn) {
  uint64_t count = 0;
  if (!s.expectOperands(1) || !s.immediate(s.operand(0), count))
    return;
  s.inst.imm = int64_t(count & 0x7fffffff);
  s.emit(InstClass::AsyncCopy, fn);
}

void decodeSmallCopy(Statement &s) {
  int cache = s.takeOneOf({"ca", "cg"});
  if (!s.take("shared") && !s.take("shared::cta"))
    s.fail("cp.async copies to .shared");
  if (!s.take("global"))
    s.fail("cp.async copies from .global");
  bool policy = s.take("L2::cache_hint");
  s.takeCacheHints();
  uint64_t size = 0;
  size_t extraOperand = policy ? 1 : 0;
  if (!s.expectOperands(3 + extraOperand, 4 + extraOperand) ||
      !s.immediate(s.operand(2), size))
    return;
  if (cache < 0 || (size != 16 && (cache == 1 || (size != 4 && size != 8)))) {
    s.fail("cp.async.ca copies 4, 8 or 16 bytes, cp.async.cg 16");
    return;
  }
  plainAddress(s, s.operand(0), Space::Shared);
  plainAddress(s, s.operand(1), Space::Global);
  if (s.numOperands() - extraOperand == 4) {
    const ast::Operand &fourth = s.operand(3);
    bool isPred = fourth.kind == ast::Operand::Register &&
                  s.builder.registerInfo(uint32_t(fourth.value)).width == 0;
    if (isPred) {
      bool negated = false;
      s.inst.c = s.srcPred(fourth, &negated);
      s.inst.flags = negated;
    } else {
      s.inst.b = s.src(fourth, Type::U32);
    }
  }
  if (policy)
    s.src(s.numOperands() - 1, Type::B64);
  s.inst.space = Space::Global;
  s.inst.size = uint8_t(size);
  s.emit(InstClass::AsyncCopy, cpAsyncHandler);
}

void decodeMbarrierArriveCopy(Statement &s) {
  s.take("arrive");
  s.inst.flags = s.take("noinc");
  s.takeOneOf({"shared", "shared::cta"});
  if (s.needType() != Type::B64)
    s.fail("an mbarrier is .b64");
  if (!s.expectOperands(1))
    return;
  plainAddress(s, s.operand(0), Space::Shared);
  s.emit(InstClass::AsyncCopy, cpArriveHandler);
}

/// The order of spaces tells the direction: destination first.
bool takeDirection(Statement &s, uint8_t &flags) {
  int to = -1;
  for (std::string_view m : s.ast.modifiers) {
    if (m == "global") {
      to = 0;
      break;
    }
    if (m == "shared::cluster" || m == "shared::cta") {
      to = 1;
      break;
    }
  }
  bool global = s.take("global");
  bool cluster = s.take("shared::cluster");
  bool cta = s.take("shared::cta");
  if (to == 0) {
    flags |= BulkToGlobal;
    return global && cta && !cluster && s.take("bulk_group")
               ? true
               : s.fail("unsupported direction of a bulk copy");
  }
  if (cluster && cta && !global)
    flags |= BulkFromShared;
  else if (!(global && (cluster != cta)))
    return s.fail("unsupported direction of a bulk copy");
  return s.take("mbarrier::complete_tx::bytes")
             ? true
             : s.fail("expected .mbarrier::complete_tx::bytes");
}

void noteAsyncProxy(Program &program, bool readsShared) {
  program.usesAsyncProxy = true;
  (readsShared ? program.asyncReadsShared : program.asyncReadsGlobal) = true;
}

/// Operation and type of cp.reduce.async.bulk.
bool takeReduction(Statement &s, Inst &inst) {
  AtomicOp op = AtomicOp::Add;
  if (!takeAtomicOp(s, op))
    return false;
  bool noftz = s.take("noftz");
  Type type = s.needType();
  AtomicForm form = atomicForm(op, type);
  bool known = form.apply && op != AtomicOp::Exch && op != AtomicOp::Cas &&
               typeInfo(type).lanes == 1 &&
               noftz == (op == AtomicOp::Add && sizeOf(type) == 2);
  if (!known)
    return s.fail("unsupported operation or type of a bulk reduction");
  inst.op = uint8_t(op);
  inst.imm = reinterpret_cast<int64_t>(form.apply);
  inst.size = uint8_t(sizeOf(type));
  return true;
}

void decodeBulkCopy(Statement &s, bool isReduction) {
  uint8_t flags = isReduction ? BulkReduce : 0;
  if (!takeDirection(s, flags))
    return;
  if (!isReduction && s.take("multicast::cluster"))
    flags |= BulkMulticast;
  bool policy = s.take("L2::cache_hint");
  if (isReduction && !takeReduction(s, s.inst))
    return;
  bool toGlobal = flags & BulkToGlobal;
  if (toGlobal && !isReduction && s.take("cp_mask"))
    flags |= BulkMasked;
  size_t mask = flags & (BulkMulticast | BulkMasked) ? 1 : 0;
  size_t operands = (toGlobal ? 3u : 4u) + mask + (policy ? 1 : 0);
  if (!s.expectOperands(operands))
    return;
  plainAddress(s, s.operand(0), toGlobal ? Space::Global : Space::Shared);
  plainAddress(s, s.operand(1),
               toGlobal || flags & BulkFromShared ? Space::Shared
                                                  : Space::Global);
  noteAsyncProxy(*s.builder.program, toGlobal || flags & BulkFromShared);
  s.inst.a = s.src(2, Type::U32);
  if (!toGlobal)
    plainAddress(s, s.operand(3), Space::Shared);
  // A mask of bytes stands last, that of blocks in front of the policy.
  if (flags & BulkMulticast)
    s.inst.c = s.src(4, Type::U16);
  if (flags & BulkMasked)
    s.inst.c = s.src(operands - 1, Type::B16);
  if (policy)
    s.src(operands - (flags & BulkMasked ? 2 : 1), Type::B64);
  s.inst.flags = flags;
  s.emit(InstClass::AsyncCopy, bulkHandler);
}

/// Modes other than tiles are refused by their names.
bool checkTensorMode(Statement &s) {
  for (std::string_view word : s.ast.modifiers) {
    if (word.substr(0, 6) == "im2col" || word.substr(0, 6) == "tile::")
      return s.fail("tensor copies of mode ." + std::string(word) +
                    " are not supported");
    if (word == "cta_group::2")
      return s.fail("the barrier of a pair of blocks (.cta_group::2) is not "
                    "supported");
  }
  // The barrier lies in the block that the copy goes to.
  s.take("cta_group::1");
  s.take("tile");
  return true;
}

void decodeTensorCopy(Statement &s, bool isReduction) {
  int rank = s.takeOneOf({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (rank == 0) {
    s.fail("a tensor copy needs .1d to .5d");
    return;
  }
  uint8_t flags = isReduction ? BulkReduce : 0;
  if (!checkTensorMode(s) || !takeDirection(s, flags))
    return;
  AtomicOp op = AtomicOp::Add;
  if (isReduction && !takeAtomicOp(s, op))
    return;
  s.inst.op = uint8_t(op);
  if (!isReduction && s.take("multicast::cluster"))
    flags |= BulkMulticast;
  bool policy = s.take("L2::cache_hint");
  bool store = flags & BulkToGlobal;
  size_t operands =
      (store ? 2u : 3u) + (flags & BulkMulticast ? 1 : 0) + (policy ? 1 : 0);
  if (!s.expectOperands(operands) || flags & BulkFromShared ||
      (isReduction && !store)) {
    s.fail("unsupported form of a tensor copy");
    return;
  }
  const ast::Operand &map = s.operand(store ? 0 : 1);
  const ast::Operand &shared = s.operand(store ? 1 : 0);
  plainAddress(s, shared, Space::Shared);
  addAddress(s, map, Space::Generic);
  if (map.elements.size() != 2 ||
      map.elements[1].kind != ast::Operand::Vector ||
      map.elements[1].elements.size() != size_t(rank)) {
    s.fail("expected a tensor map and " + std::to_string(rank) +
           " coordinates in brackets");
    return;
  }
  for (const ast::Operand &coordinate : map.elements[1].elements)
    s.addOperand(s.src(coordinate, Type::S32), 4);
  if (!store)
    plainAddress(s, s.operand(2), Space::Shared);
  if (flags & BulkMulticast)
    s.inst.c = s.src(3, Type::U16);
  if (policy)
    s.src(operands - 1, Type::B64);
  noteAsyncProxy(*s.builder.program, store);
  s.inst.flags = flags;
  s.inst.count = uint8_t(rank);
  s.emit(InstClass::AsyncCopy, tensorHandler);
}

void decodeCp(Statement &s) {
  bool isReduction = s.take("reduce");
  if (!s.take("async") || (isReduction && !s.has("bulk"))) {
    s.fail("unsupported instruction");
    return;
  }
  if (s.take("bulk")) {
    if (s.take("commit_group")) {
      s.expectOperands(0);
      s.emit(InstClass::AsyncCopy, bulkCommitHandler);
      return;
    }
    if (s.take("wait_group")) {
      if (s.take("read"))
        s.inst.flags = BulkWaitRead;
      return decodeWaitGroup(s, bulkWaitHandler);
    }
    if (s.take("prefetch")) {
      // A prefetch changes nothing; its operands are still checked loosely.
      s.take("tensor");
      s.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
      s.take("L2");
      s.take("global");
      s.takeOneOf(
          {"tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128"});
      if (s.has("L2::cache_hint"))
        s.take("L2::cache_hint");
      s.emit(InstClass::AsyncCopy, prefetchHandler);
      return;
    }
    // The sums of floats depend on their order.
    s.builder.program->orderDependent |= isReduction;
    return s.take("tensor") ? decodeTensorCopy(s, isReduction)
                            : decodeBulkCopy(s, isReduction);
  }
  if (s.take("commit_group")) {
    s.expectOperands(0);
    s.emit(InstClass::AsyncCopy, cpCommitHandler);
    return;
  }
  if (s.take("wait_all")) {
    s.expectOperands(0);
    s.inst.imm = -1;
    s.emit(InstClass::AsyncCopy, cpWaitHandler);
    return;
  }
  if (s.take("wait_group"))
    return decodeWaitGroup(s, cpWaitHandler);
  if (s.take("mbarrier"))
    return decodeMbarrierArriveCopy(s);
  decodeSmallCopy(s);
}

void decodeMbarrier(Statement &s) {
  // An arrival may also expect bytes: it comes first.
  static const std::initializer_list<std::string_view> words = {
      "init",        "inval",     "arrive",   "arrive_drop",  "expect_tx",
      "complete_tx", "test_wait", "try_wait", "pending_count"};
  static constexpr uint8_t ops[] = {
      MbarrierInit,     MbarrierInval,    MbarrierArrive,
      MbarrierArrive,   MbarrierExpectTx, MbarrierCompleteTx,
      MbarrierTestWait, MbarrierTryWait,  MbarrierPending};
  int what = s.takeOneOf(words);
  if (what < 0) {
    s.fail("unsupported mbarrier operation");
    return;
  }
  uint8_t op = ops[what];
  bool arrives = op == MbarrierArrive;
  bool drops = s.ast.modifiers.front() == "arrive_drop";
  bool expects = arrives && s.take("expect_tx");
  bool noComplete = arrives && s.take("noComplete");
  bool parity = s.take("parity");
  // Without a scope it is the block's by the manual, but an arrival at another
  // block's barrier is made so everywhere, and is relied upon.
  uint8_t order = uint8_t((s.has("relaxed") ? MbarrierRelaxed : 0) |
                          (s.has("cta") ? MbarrierOfBlock : 0));
  s.takeScopeAndSemantics();
  bool remote = s.take("shared::cluster");
  s.takeOneOf({"shared::cta", "shared"});
  if (s.needType() != Type::B64) {
    s.fail("an mbarrier is .b64");
    return;
  }
  if (op == MbarrierPending) {
    if (!s.expectOperands(2))
      return;
    s.inst.dst = s.dst(0, Type::U32);
    s.inst.a = s.src(1, Type::B64);
    s.emit(InstClass::Barrier, mbarrierPendingHandler);
    return;
  }
  bool waits = op == MbarrierTestWait || op == MbarrierTryWait;
  if (parity && !waits) {
    s.fail("unsupported modifier '.parity' here");
    return;
  }
  s.inst.op = expects ? uint8_t(MbarrierArriveExpectTx) : op;
  if (waits) {
    if (!s.expectOperands(3, op == MbarrierTryWait ? 4 : 3))
      return;
    s.address(s.operand(1), Space::Shared);
    s.inst.dst = s.dstPred(s.operand(0));
    s.inst.b = parity ? s.src(2, Type::U32) : s.src(2, Type::B64);
    if (s.numOperands() == 4)
      s.src(3, Type::U32);
    s.inst.flags = uint8_t((parity ? MbarrierParity : 0) | order);
    s.inst.flow = Flow::MayYield;
    s.emit(InstClass::Barrier, mbarrierWaitHandler);
    return;
  }
  size_t k = 0;
  if (arrives && s.numOperands() > 0 &&
      s.operand(0).kind != ast::Operand::Address) {
    const ast::Operand &state = s.operand(k++);
    if (state.kind != ast::Operand::Discard)
      s.inst.dst = s.dst(state, Type::B64);
    if (remote && state.kind != ast::Operand::Discard)
      s.fail("an arrival at another block has no state");
  }
  bool needsValue = op == MbarrierInit || op == MbarrierExpectTx ||
                    op == MbarrierCompleteTx || expects || noComplete;
  if (!s.expectOperands(k + (needsValue ? 2 : 1),
                        k + (op == MbarrierInval ? 1 : 2)))
    return;
  s.address(s.operand(k), Space::Shared);
  if (k + 1 < s.numOperands())
    s.inst.b = s.src(k + 1, Type::U32);
  s.inst.flags = uint8_t((noComplete ? MbarrierNoComplete : 0) |
                         (drops ? MbarrierDrop : 0) | order);
  s.emit(InstClass::Barrier, mbarrierHandler);
}

void decodeMapa(Statement &s) {
  s.take("shared::cluster");
  Type type = s.needType();
  if (!s.expectOperands(3) || (type != Type::U32 && type != Type::U64)) {
    s.fail("mapa is .u32 or .u64");
    return;
  }
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.aWidth = uint8_t(sizeOf(type));
  s.inst.b = s.src(2, Type::U32);
  s.emit(InstClass::Move, mapaHandler);
}

void decodeGetctarank(Statement &s) {
  s.take("shared::cluster");
  Type type = s.needType();
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dst(0, Type::U32);
  s.inst.a = s.src(1, type);
  s.inst.aWidth = uint8_t(sizeOf(type));
  s.emit(InstClass::Move, getctarankHandler);
}

} // namespace

void ptxsim::decodeAsyncStore(Statement &s, bool isReduction) {
  AtomicOp op = AtomicOp::Add;
  s.takeScopeAndSemantics();
  s.take("shared::cluster");
  bool counts = s.take("mbarrier::complete_tx::bytes");
  if (isReduction && !takeAtomicOp(s, op))
    return;
  int vector = isReduction ? -1 : s.takeOneOf({"v2", "v4"});
  unsigned count = vector < 0 ? 1 : 2u << vector;
  Type type = s.needType();
  unsigned bytes = sizeOf(type);
  AtomicApply apply = nullptr;
  bool known = counts && typeInfo(type).lanes == 1 &&
               (bytes == 4 || bytes == 8) && bytes * count <= 16;
  if (isReduction) {
    apply = atomicForm(op, type).apply;
    known &= apply && op != AtomicOp::Exch && op != AtomicOp::Cas &&
             !isFloat(type) && (bytes == 4 || op == AtomicOp::Add);
  }
  if (!known || !s.expectOperands(3)) {
    s.fail("unsupported form of an asynchronous store");
    return;
  }
  plainAddress(s, s.operand(0), Space::Shared);
  plainAddress(s, s.operand(2), Space::Shared);
  const ast::Operand &values = s.operand(1);
  bool isVector = values.kind == ast::Operand::Vector;
  if (isVector != (count > 1) ||
      (isVector && values.elements.size() != count)) {
    s.fail("expected " + std::to_string(count) + " values");
    return;
  }
  for (unsigned k = 0; k < count; ++k)
    s.addOperand(s.src(isVector ? values.elements[k] : values, type),
                 uint8_t(bytes));
  s.inst.imm = reinterpret_cast<int64_t>(apply);
  s.inst.size = uint8_t(bytes);
  s.inst.count = uint8_t(count);
  s.emit(InstClass::AsyncCopy, asyncStoreHandler);
}

namespace {

/// tensormap.replace: one field of a map, by its name here and in PTX.
void decodeTensorMapReplace(Statement &s) {
  struct Row {
    std::string_view name;
    TensorMapField field;
    /// Has one value for each dimension.
    bool isOrdinal;
  };
  static constexpr Row rows[] = {
      {"global_address", TensorMapField::Address, false},
      {"rank", TensorMapField::Rank, false},
      {"box_dim", TensorMapField::Box, true},
      {"global_dim", TensorMapField::Dim, true},
      {"global_stride", TensorMapField::Stride, true},
      {"element_stride", TensorMapField::ElementStride, true},
      {"elemtype", TensorMapField::Type, false},
      {"interleave_layout", TensorMapField::Interleave, false},
      {"swizzle_mode", TensorMapField::Swizzle, false},
      {"fill_mode", TensorMapField::Fill, false}};
  const Row *row = nullptr;
  for (const Row &candidate : rows)
    if (s.take(candidate.name))
      row = &candidate;
  if (!row || !s.take("tile") || !s.take("b1024")) {
    s.fail("expected .tile, a field that is supported, and .b1024");
    return;
  }
  Space space = s.takeSpace();
  if (space != Space::Generic && space != Space::Global &&
      space != Space::Shared)
    s.fail("a tensor map lies in global or shared memory");
  Type type = s.needType();
  bool isWide = row->field == TensorMapField::Address ||
                row->field == TensorMapField::Stride;
  uint64_t ordinal = 0;
  if (!s.expectOperands(row->isOrdinal ? 3 : 2) ||
      (row->isOrdinal && !s.immediate(s.operand(1), ordinal)))
    return;
  if (type != (isWide ? Type::B64 : Type::B32) || ordinal > 4) {
    s.fail("." + std::string(row->name) +
           (ordinal > 4 ? " has no dimension " + std::to_string(ordinal)
            : isWide    ? " is .b64"
                        : " is .b32"));
    return;
  }
  s.address(s.operand(0), space);
  s.inst.b = s.src(row->isOrdinal ? 2 : 1, type);
  s.inst.size = uint8_t(sizeOf(type));
  s.inst.op = uint8_t(row->field);
  s.inst.count = uint8_t(ordinal);
  s.emit(InstClass::Store, tensorMapReplaceHandler);
}

/// tensormap.cp_fenceproxy: a map from shared to global memory, and a fence.
void decodeTensorMapCopy(Statement &s) {
  bool device = s.has("gpu") || s.has("sys");
  uint8_t scope = uint8_t((device || s.has("cluster") ? FenceCluster : 0) |
                          (device ? FenceDevice : 0));
  s.builder.program->orderDependent |= device;
  s.builder.program->ordersBlocks |= device;
  bool known = s.take("global") &&
               s.takeOneOf({"shared::cta", "shared"}) >= 0 &&
               s.take("tensormap::generic") && s.take("release") &&
               s.take("sync") && s.take("aligned");
  s.takeScopeAndSemantics();
  uint64_t bytes = 0;
  if (!s.expectOperands(3) || !s.immediate(s.operand(2), bytes))
    return;
  if (!known || bytes != 128) {
    s.fail("unsupported form of a copy of a tensor map");
    return;
  }
  plainAddress(s, s.operand(0), Space::Global);
  plainAddress(s, s.operand(1), Space::Shared);
  s.builder.program->writesGlobal = true;
  s.emitWholeWarp(InstClass::Store, tensorMapCopyHandler);
  s.inst.flags = scope;
  s.emit(InstClass::Barrier, fenceHandler);
}

void decodeMapInstruction(Statement &s) {
  if (s.take("replace"))
    return decodeTensorMapReplace(s);
  if (s.take("cp_fenceproxy"))
    return decodeTensorMapCopy(s);
  s.fail("expected .replace or .cp_fenceproxy");
}

} // namespace

const DecodeEntry ptxsim::asyncDecoders[] = {
    {"cp", decodeCp},
    {"tensormap", decodeMapInstruction},
    {"mbarrier", decodeMbarrier},
    {"mapa", decodeMapa},
    {"getctarank", decodeGetctarank},
    {"", nullptr}};
