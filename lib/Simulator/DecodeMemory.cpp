// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores, atomics, prefetches and fences.
#include "Barriers.h"
#include "Checks.h"
#include "Clocks.h"
#include "Decoder.h"
#include "Handlers.h"

#include <algorithm>

using namespace ptxsim;

namespace {

/// Parameters of device functions and of calls are kept in local memory; those
/// of the kernel are one block for all threads.
Space accessedSpace(Statement &s, Space space, const ast::Operand &address) {
  if (space != Space::Param)
    return space;
  bool inKernel = s.builder.frame->function == &s.builder.kernel;
  if (!address.elements.empty() &&
      address.elements[0].kind == ast::Operand::Variable) {
    const ast::Variable *variable = address.elements[0].variable;
    for (const ast::Variable *param : s.builder.kernel.params)
      if (param == variable)
        return Space::Param;
    return Space::Local;
  }
  return inKernel ? Space::Param : Space::Local;
}

void fixParamSpace(Statement &s, Space stated, const ast::Operand &address) {
  s.address(address, stated);
  if (s.failed())
    return;
  s.inst.space = accessedSpace(s, stated, address);
}

unsigned takeVector(Statement &s) {
  int v = s.takeOneOf({"v2", "v4", "v8"});
  return v < 0 ? 1 : 2u << v;
}

/// Whether the access acquires or releases; its scope.
void takeOrder(Statement &s) {
  bool both = s.has("acq_rel");
  if (both || s.has("acquire"))
    s.inst.flags |= AccessAcquire;
  if (both || s.has("release"))
    s.inst.flags |= AccessRelease;
  if (s.has("cta"))
    s.inst.flags |= AccessOfBlock;
  else if (s.has("cluster"))
    s.inst.flags |= AccessOfCluster;
  s.builder.program->ordersBlocks |= s.inst.flags & AccessRelease;
  s.takeScopeAndSemantics();
}

/// volatile, relaxed and stronger accesses may wait for other blocks.
void takeStrength(Statement &s) {
  for (std::string_view word :
       {"relaxed", "acquire", "release", "volatile", "sc", "mmio"})
    if (s.has(word)) {
      s.inst.flags |= AccessStrong;
      s.builder.program->orderDependent = true;
    }
  takeOrder(s);
}

bool valueOperands(Statement &s, const ast::Operand &values, unsigned count,
                   Type type, bool isLoad) {
  // One element may stand in braces, too, as Triton writes it.
  bool inBraces = values.kind == ast::Operand::Vector;
  if (count > 1 && !inBraces)
    return s.fail("expected a vector in braces");
  if (inBraces && values.elements.size() != count)
    return s.fail(count > 1 ? "expected " + std::to_string(count) +
                                  " elements, found " +
                                  std::to_string(values.elements.size())
                            : "a vector needs .v2, .v4 or .v8");
  for (unsigned k = 0; k < count; ++k) {
    const ast::Operand &value = inBraces ? values.elements[k] : values;
    uint8_t width = 0;
    bool discard = value.kind == ast::Operand::Discard;
    if (discard && !isLoad)
      return s.fail("'_' is no source");
    uint32_t slot =
        isLoad ? s.dstWide(value, type, width)
               : s.copied([&] { return s.srcWide(value, type, width); });
    s.addOperand(slot, width, discard);
  }
  return !s.failed();
}

void decodeAccess(Statement &s, AccessKind kind) {
  bool isLoad = kind == AccessKind::Load;
  takeStrength(s);
  uint8_t flags = s.inst.flags;
  bool cluster = s.has("shared::cluster");
  Space space = s.takeSpace();
  unsigned count = takeVector(s);
  s.takeCacheHints();
  bool policy = s.take("L2::cache_hint");
  Type type = s.needType();
  if (!s.expectOperands(policy ? 3 : 2) || s.failed())
    return;
  unsigned size = sizeOf(type);
  if (type == Type::Pred || typeInfo(type).lanes != 1 || size == 0 ||
      size * count > 32) {
    s.fail("unsupported type or vector");
    return;
  }
  const ast::Operand &address = s.operand(isLoad ? 1 : 0);
  const ast::Operand &values = s.operand(isLoad ? 0 : 1);
  if (policy)
    s.src(2, Type::B64);
  if (!isLoad && space == Space::Const) {
    s.fail("constant memory is read-only");
    return;
  }
  if (!isLoad && address.kind == ast::Operand::Address) {
    const auto &inputs = s.builder.frame->function->params;
    const ast::Operand &base = address.elements[0];
    if (base.kind == ast::Operand::Variable &&
        std::find(inputs.begin(), inputs.end(), base.variable) !=
            inputs.end()) {
      s.fail("parameter '" + std::string(base.name) +
             "' is read-only; copy it to .local memory");
      return;
    }
  }
  fixParamSpace(s, space, address);
  if (s.failed() || !valueOperands(s, values, count, type, isLoad))
    return;
  s.inst.size = uint8_t(size);
  s.inst.count = uint8_t(count);
  s.inst.flags = uint8_t(flags | (isSigned(type) ? AccessSigned : 0) |
                         (cluster ? AccessCluster : 0));
  s.builder.program->writesGlobal |=
      !isLoad && (space == Space::Global || space == Space::Generic);
  InstClass instClass = isLoad ? InstClass::Load : InstClass::Store;
  s.builder.program->accessesBytes |= size * count < 4;

  if (s.inst.space == Space::Param && s.inst.a == noSlot && isLoad) {
    uint64_t end = uint64_t(s.inst.imm) + size * count;
    if (s.inst.imm < 0 || end > s.builder.kernel.info.paramBytes) {
      s.fail("outside of the kernel's parameters");
      return;
    }
    s.emit(instClass, loadParamHandler);
    return;
  }
  // The fast forms have registers of one width.
  bool fast = !cluster;
  for (const OperandSlot &o : s.extra)
    fast &= !o.discard && o.width == s.extra[0].width;
  if (s.inst.space != Space::Shared)
    fast &= s.inst.a != noSlot && s.inst.aWidth == 8;
  Handler fn = nullptr;
  if (fast)
    fn = isa().access(kind, s.inst.space, size, s.extra[0].width, count,
                      isSigned(type) && isLoad, s.builder.options.instrumented);
  if (!fn)
    fn = isLoad ? loadHandler : storeHandler;
  bool isPlain = !(flags & AccessStrong);
  s.emit(instClass, fn);
  if (isLoad && isPlain && !s.failed())
    s.builder.plainLoads.push_back(s.builder.program->code.size() - 1);
}

/// st.bulk: zeros over a part of shared memory.
void decodeBulkStore(Statement &s) {
  s.take("weak");
  s.take("shared::cta");
  uint64_t value = 0;
  if (!s.expectOperands(3) || !s.immediate(s.operand(2), value))
    return;
  if (value != 0)
    s.fail("st.bulk stores zeros only");
  s.address(s.operand(0), Space::Shared);
  const ast::Operand &size = s.operand(1);
  bool isWide = size.kind == ast::Operand::Register &&
                s.builder.registerInfo(uint32_t(size.value)).width == 8;
  s.inst.b = s.src(size, isWide ? Type::B64 : Type::B32);
  s.inst.size = isWide ? 8 : 4;
  s.emit(InstClass::Store, bulkStoreHandler);
}

void decodeLoad(Statement &s) { decodeAccess(s, AccessKind::Load); }
void decodeStore(Statement &s) {
  if (s.take("async"))
    return decodeAsyncStore(s, /*isReduction=*/false);
  if (s.take("bulk"))
    return decodeBulkStore(s);
  decodeAccess(s, AccessKind::Store);
}

void decodeAtomic(Statement &s, bool isRed) {
  if (isRed && s.take("async"))
    return decodeAsyncStore(s, /*isReduction=*/true);
  AtomicOp op = AtomicOp::Add;
  if (!takeAtomicOp(s, op))
    return;
  takeOrder(s);
  bool cluster = s.has("shared::cluster");
  Space space = s.takeSpace();
  bool noftz = s.take("noftz");
  unsigned count = takeVector(s);
  s.takeCacheHints();
  bool policy = s.take("L2::cache_hint");
  Type type = s.needType();
  bool narrow = isFloat(type) && sizeOf(type) <= 4 && type != Type::F32;
  if (narrow != noftz) {
    s.fail(narrow ? "expected .noftz" : "unsupported modifier '.noftz' here");
    return;
  }
  size_t first = isRed ? 0 : 1;
  bool isCas = op == AtomicOp::Cas;
  size_t operands = first + (isCas ? 3 : 2);
  if (!s.expectOperands(operands + policy) || s.failed())
    return;
  if (policy)
    s.src(operands, Type::B64);
  if (isRed && (isCas || op == AtomicOp::Exch)) {
    s.fail("red has no .exch and no .cas");
    return;
  }
  bool discards = isRed || s.operand(0).kind == ast::Operand::Discard;
  s.address(s.operand(first), space);
  if (count > 1) {
    bool packed = type == Type::F16x2 || type == Type::BF16x2;
    bool fits = space != Space::Shared &&
                (type == Type::F32 ? op == AtomicOp::Add && count <= 4
                                   : narrow && op <= AtomicOp::Max &&
                                         (count <= 4 || !packed));
    if (!fits) {
      s.fail("unsupported type or operation of a vector");
      return;
    }
    for (size_t which = discards ? 1 : 0; which < 2; ++which) {
      const ast::Operand &vector = s.operand(which ? first + 1 : 0);
      if (vector.kind != ast::Operand::Vector ||
          vector.elements.size() != count) {
        s.fail("expected " + std::to_string(count) + " elements in braces");
        return;
      }
      for (const ast::Operand &element : vector.elements)
        s.addOperand(which ? s.src(element, type) : s.dst(element, type),
                     uint8_t(sizeOf(type)));
    }
    s.inst.count = uint8_t(count);
    s.inst.dst = discards ? noSlot : s.extra[0].slot;
  } else {
    if (narrow && op != AtomicOp::Add)
      s.fail("minima and maxima of ." + std::string(typeInfo(type).name) +
             " need a vector");
    s.inst.dst = discards ? noSlot : s.dst(0, type);
    s.inst.b = s.src(first + 1, type);
  }
  if (isCas) {
    s.inst.c = s.src(first + 2, type);
    s.builder.swapAddresses.insert({s.inst.space, s.inst.a, s.inst.imm});
  }
  s.inst.flags |= uint8_t(AccessStrong | (cluster ? AccessCluster : 0));
  s.inst.size = uint8_t(sizeOf(type) / typeInfo(type).lanes);
  if (space != Space::Shared) {
    // Integer reductions give the same in any order.
    bool commutes = discards && !isFloat(type) && (op <= AtomicOp::Xor);
    s.builder.program->orderDependent |= !commutes;
    s.builder.program->writesGlobal = true;
  }
  s.emit(InstClass::Atomic,
         space == Space::Local || space == Space::Const || space == Space::Param
             ? nullptr
             : atomicForm(op, type).handler);
}

void decodeAtom(Statement &s) { decodeAtomic(s, /*isRed=*/false); }
void decodeRed(Statement &s) { decodeAtomic(s, /*isRed=*/true); }

void decodePrefetch(Statement &s) {
  Space space = s.takeSpace();
  s.take("tensormap");
  s.takeOneOf({"L1", "L2"});
  s.takeCacheHints();
  if (!s.expectOperands(1))
    return;
  fixParamSpace(s, space, s.operand(0));
  s.emit(InstClass::Special, prefetchHandler);
}

/// applypriority is a hint about 128 bytes; discard destroys them.
void decodeCacheLine(Statement &s) {
  bool discards = s.ast.opcode == "discard";
  Space space = s.take("global") ? Space::Global : Space::Generic;
  uint64_t bytes = 0;
  if (!s.take(discards ? "L2" : "L2::evict_normal") || !s.expectOperands(2) ||
      !s.immediate(s.operand(1), bytes) || bytes != 128) {
    s.fail("expected 128 bytes of .L2");
    return;
  }
  s.address(s.operand(0), space);
  s.builder.program->writesGlobal |= discards;
  s.emit(InstClass::Special, discards ? discardHandler : prefetchHandler);
}

/// Ordering is sequential within a block here; the race check has rules of its
/// own.
void decodeFence(Statement &s) {
  enum Proxy { Async, Alias, AsyncAfterGeneric, TensorMapAfterGeneric };
  // Which other blocks may observe it.
  bool device = s.has("gpu") || s.has("sys") || s.has("gl");
  bool wide = device || s.has("cluster");
  s.builder.program->orderDependent |= device;
  s.builder.program->ordersBlocks |= device;
  bool acquires = s.has("acquire");
  bool hasProxy = s.take("proxy");
  int proxy = hasProxy ? s.takeOneOf({"async", "alias", "async::generic",
                                      "tensormap::generic"})
                       : -1;
  if (hasProxy && proxy < 0)
    s.fail("expected .async, .alias, .async::generic or .tensormap::generic");
  bool restricted = s.takeOneOf({"sync_restrict::shared::cta",
                                 "sync_restrict::shared::cluster"}) >= 0;
  bool init = s.take("mbarrier_init");
  bool global = s.take("global");
  bool shared = s.takeOneOf({"shared::cta", "shared::cluster"}) >= 0;
  s.takeScopeAndSemantics();
  s.takeOneOf({"gl"});
  if (proxy == TensorMapAfterGeneric && acquires) {
    // A map is read where it lies, when a copy is issued.
    uint64_t bytes = 0;
    if (!s.expectOperands(2) || !s.immediate(s.operand(1), bytes))
      return;
    if (bytes != 128)
      s.fail("a tensor map has 128 bytes");
    s.address(s.operand(0), Space::Generic);
    s.inst = Inst();
  } else {
    s.expectOperands(0);
  }
  if (proxy == Async || init || (proxy == AsyncAfterGeneric && restricted)) {
    bool anySpace = proxy == Async && !global && !shared;
    s.inst.flags = init ? uint8_t(FenceInit)
                        : uint8_t((anySpace || global ? FenceGlobal : 0) |
                                  (anySpace || !global ? FenceShared : 0));
    s.emit(InstClass::Barrier, proxyFenceHandler);
  }
  if (proxy == Async || init)
    return;
  s.inst.flags =
      uint8_t((wide ? FenceCluster : 0) | (device ? FenceDevice : 0));
  // The fences of one direction order memory as others do.
  s.emit(InstClass::Barrier, proxy == Alias ? nothingHandler : fenceHandler);
}

/// createpolicy makes a cache policy, which means nothing here.
void decodeCreatePolicy(Statement &s) {
  int form = s.takeOneOf({"fractional", "range", "cvt"});
  if (form < 0) {
    s.fail("expected .fractional, .range or .cvt");
    return;
  }
  if (form == 2 && !s.take("L2"))
    s.fail("expected .L2");
  if (form == 1)
    s.take("global");
  s.takeCacheHints();
  Type type = s.needType();
  if (!s.expectOperands(form == 0   ? 1
                        : form == 1 ? 4
                                    : 2,
                        form == 1 ? 4 : 2) ||
      s.failed())
    return;
  if (form == 1) {
    // The range is not looked at.
    s.address(s.operand(1), Space::Global);
    s.src(2, Type::U32);
    s.src(3, Type::U32);
  } else if (form == 2) {
    s.src(1, Type::B64);
  }
  s.inst = Inst();
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.builder.constant(0, 8);
  s.emit(InstClass::Special, isa().move(8));
}

} // namespace

bool ptxsim::takeAtomicOp(Statement &s, AtomicOp &op) {
  int which = s.takeOneOf(
      {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  if (which < 0)
    return s.fail("an operation such as .add is missing");
  op = AtomicOp(which);
  return true;
}

const DecodeEntry ptxsim::memoryDecoders[] = {
    {"ld", decodeLoad},
    {"ldu", decodeLoad},
    {"st", decodeStore},
    {"atom", decodeAtom},
    {"red", decodeRed},
    {"prefetch", decodePrefetch},
    {"prefetchu", decodePrefetch},
    {"applypriority", decodeCacheLine},
    {"discard", decodeCacheLine},
    {"membar", decodeFence},
    {"fence", decodeFence},
    {"createpolicy", decodeCreatePolicy},
    {"", nullptr}};
