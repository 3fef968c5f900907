// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves, comparisons and selection.
#include "Decoder.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

/// `mov.b64 {a, b}, c` and back.
void decodePack(Statement &s, Type type, bool unpack) {
  const ast::Operand &vector = s.operand(unpack ? 0 : 1);
  size_t n = vector.elements.size();
  unsigned bytes = sizeOf(type);
  if (n != 2 && n != 4 && n != 8) {
    s.fail("a vector here has 2, 4 or 8 elements");
    return;
  }
  unsigned elementBytes = bytes / unsigned(n);
  Type element = elementBytes == 1   ? Type::B8
                 : elementBytes == 2 ? Type::B16
                 : elementBytes == 4 ? Type::B32
                 : elementBytes == 8 ? Type::B64
                                     : Type::None;
  if (element == Type::None) {
    s.fail("a vector of " + std::to_string(n) + " does not fit ." +
           std::string(typeInfo(type).name));
    return;
  }
  for (const ast::Operand &part : vector.elements) {
    bool discard = part.kind == ast::Operand::Discard;
    if (discard && !unpack) {
      s.fail("'_' is no source");
      return;
    }
    uint32_t slot = discard  ? noSlot
                    : unpack ? s.dst(part, element)
                             : s.src(part, element);
    s.addOperand(slot, uint8_t(elementBytes == 1 ? 2 : elementBytes), discard);
  }
  if (unpack)
    s.inst.a = s.src(1, type);
  else
    s.inst.dst = s.dst(0, type);
  s.inst.size = uint8_t(elementBytes);
  s.inst.count = uint8_t(n);
  s.inst.aWidth = s.inst.dstWidth = uint8_t(bytes);
  s.emit(InstClass::Move, unpack ? unpackHandler : packHandler);
}

void decodeMov(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(2))
    return;
  if (type == Type::Pred) {
    bool negated = false;
    s.inst.dst = s.dstPred(s.operand(0));
    if (s.operand(1).kind == ast::Operand::Name &&
        s.operand(1).name == "%is_explicit_cluster" && !s.operand(1).negated) {
      s.inst.a = s.builder.special(Special::IsExplicitCluster);
      s.inst.b = s.builder.constant(0, 4);
      s.emit(InstClass::Predicate,
             isa().compare(CompareOp::Ne, Type::U32, /*ftz=*/false));
      return;
    }
    s.inst.a = s.srcPred(s.operand(1), &negated);
    s.inst.flags = negated;
    s.emit(InstClass::Predicate, isa().predicate(PredOp::Mov));
    return;
  }
  if (s.operand(0).kind == ast::Operand::Vector)
    return decodePack(s, type, /*unpack=*/true);
  if (s.operand(1).kind == ast::Operand::Vector)
    return decodePack(s, type, /*unpack=*/false);
  // Registers that change while the kernel runs are read by a handler.
  if (s.operand(1).kind == ast::Operand::Name) {
    std::string_view name = s.operand(1).name;
    bool high = name == "%clock_hi" || name == "%globaltimer_hi";
    bool wide = name == "%clock64" || name == "%globaltimer";
    if (wide || high || name == "%clock" || name == "%globaltimer_lo") {
      if (sizeOf(type) != (wide ? 8 : 4)) {
        s.fail("special register " + std::string(name) + " has " +
               (wide ? "64" : "32") + " bits");
        return;
      }
      s.inst.dst = s.dst(0, type);
      s.inst.dstWidth = wide ? 8 : 4;
      s.inst.imm = high ? 32 : 0;
      // The turn counts its instructions up to one that may end it.
      s.inst.flow = Flow::MayYield;
      s.builder.program->readsTime = true;
      s.emit(InstClass::Move, timeHandler);
      return;
    }
    // 64-bit moves of 32-bit special registers extend with zeros.
    if (sizeOf(type) == 8)
      if (const Special *which = findSpecial(name)) {
        s.inst.dst = s.dst(0, type);
        s.inst.dstWidth = 8;
        s.inst.a = s.builder.special(*which);
        s.inst.aWidth = 4;
        s.emit(InstClass::Move,
               isa().convert(Type::U64, Type::U32, Rounding::None));
        return;
      }
  }
  s.inst.dst = s.dst(0, type);
  // A kernel parameter's address as data: it lies in the generic window.
  s.inst.a = s.src(1, type);
  s.emit(InstClass::Move, isa().move(sizeOf(type) == 1 ? 2 : sizeOf(type)));
}

void decodeCvta(Statement &s) {
  bool to = s.take("to");
  Space space = s.takeSpace();
  Type type = s.needType();
  if (!s.expectOperands(2))
    return;
  if (type != Type::U64 || space == Space::Generic) {
    s.fail("cvta needs a space and .u64");
    return;
  }
  s.inst.dst = s.dst(0, type);
  s.inst.space = space;
  s.inst.a = s.src(1, type);
  Handler fn = cvtaHandler(space, to);
  if (!fn)
    fn = isa().move(8);
  s.emit(InstClass::Move, fn);
}

void decodeIsspacep(Statement &s) {
  bool cluster = s.has("shared::cluster");
  Space space = s.takeSpace();
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dstPred(s.operand(0));
  s.inst.a = s.src(1, Type::U64);
  s.inst.space = space;
  s.inst.flags = cluster;
  s.emit(InstClass::Predicate,
         space == Space::Generic ? nullptr : isspacepHandler);
}

struct CompareRow {
  std::string_view name;
  CompareOp op;
  /// For unsigned integers only (lo, ls, hi, hs).
  bool unsignedOnly;
};
constexpr CompareRow compareRows[] = {
    {"eq", CompareOp::Eq, false},   {"ne", CompareOp::Ne, false},
    {"lt", CompareOp::Lt, false},   {"le", CompareOp::Le, false},
    {"gt", CompareOp::Gt, false},   {"ge", CompareOp::Ge, false},
    {"lo", CompareOp::Lt, true},    {"ls", CompareOp::Le, true},
    {"hi", CompareOp::Gt, true},    {"hs", CompareOp::Ge, true},
    {"equ", CompareOp::Equ, false}, {"neu", CompareOp::Neu, false},
    {"ltu", CompareOp::Ltu, false}, {"leu", CompareOp::Leu, false},
    {"gtu", CompareOp::Gtu, false}, {"geu", CompareOp::Geu, false},
    {"num", CompareOp::Num, false}, {"nan", CompareOp::Nan, false}};

const CompareRow *takeCompare(Statement &s) {
  for (const CompareRow &row : compareRows)
    if (s.take(row.name))
      return &row;
  s.fail("a comparison such as .lt is missing");
  return nullptr;
}

Handler compareFor(Statement &s, const CompareRow &row, Type type, bool ftz) {
  TypeKind kind = typeInfo(type).kind;
  if (row.unsignedOnly && kind != TypeKind::Unsigned) {
    s.fail("." + std::string(row.name) + " needs an unsigned type");
    return nullptr;
  }
  if (kind == TypeKind::Bits && row.op != CompareOp::Eq &&
      row.op != CompareOp::Ne) {
    s.fail("." + std::string(row.name) + " does not apply to ." +
           std::string(typeInfo(type).name));
    return nullptr;
  }
  return isa().compare(row.op, type, ftz);
}

/// setp: compares into a predicate, combines it with another and may give the
/// complement as a second result.
void decodeSetp(Statement &s) {
  const CompareRow *row = takeCompare(s);
  int combine = s.takeOneOf({"and", "or", "xor"});
  bool ftz = s.take("ftz");
  Type type = s.needType();
  if (!s.expectOperands(combine >= 0 ? 4 : 3) || !row || s.failed())
    return;
  const ast::Operand *first = &s.operand(0), *second = nullptr;
  if (first->kind == ast::Operand::Pair) {
    second = &first->elements[1];
    first = &first->elements[0];
  }
  bool packed = type == Type::F16x2 || type == Type::BF16x2;
  if (packed && !second) {
    s.fail("a packed comparison needs two results");
    return;
  }
  Handler fn = compareFor(s, *row, type, ftz);
  uint32_t a = s.src(1, type), b = s.src(2, type);
  static constexpr PredOp ops[] = {PredOp::And, PredOp::Or, PredOp::Xor};
  if (packed) {
    uint32_t cmp[2] = {s.builder.newSlot(0), s.builder.newSlot(0)};
    bool combines = combine >= 0, negated = false;
    s.inst.dst = combines ? cmp[0] : s.dstPred(*first);
    s.inst.c = combines ? cmp[1] : s.dstPred(*second);
    s.inst.a = a;
    s.inst.b = b;
    s.emit(InstClass::Predicate, fn);
    if (!combines)
      return;
    // The source may be one of the destinations.
    uint32_t kept = s.builder.newSlot(0);
    s.inst.dst = kept;
    s.inst.a = s.srcPred(s.operand(3), &negated);
    s.inst.flags = negated;
    s.emit(InstClass::Predicate, isa().predicate(PredOp::Mov));
    for (int k = 0; k < 2; ++k) {
      s.inst.dst = s.dstPred(k ? *second : *first);
      s.inst.a = cmp[k];
      s.inst.b = kept;
      s.emit(InstClass::Predicate, isa().predicate(ops[combine]));
    }
    return;
  }
  if (combine < 0 && !second) {
    s.inst.dst = s.dstPred(*first);
    s.inst.a = a;
    s.inst.b = b;
    s.emit(InstClass::Predicate, fn);
    return;
  }
  // p = cmp op c, q = !cmp op c.
  uint32_t cmp = s.builder.newSlot(0);
  bool negated = false;
  uint32_t c = combine >= 0 ? s.srcPred(s.operand(3), &negated) : noSlot;
  // The source may be one of the destinations.
  uint32_t kept = s.builder.newSlot(0);
  s.inst.dst = cmp;
  s.inst.a = a;
  s.inst.b = b;
  s.emit(InstClass::Predicate, fn);
  if (combine >= 0) {
    s.inst.dst = kept;
    s.inst.a = c;
    s.inst.flags = negated;
    s.emit(InstClass::Predicate, isa().predicate(PredOp::Mov));
  }
  for (int k = 0; k < 2; ++k) {
    const ast::Operand *target = k ? second : first;
    if (!target || target->kind == ast::Operand::Discard)
      continue;
    s.inst.dst = s.dstPred(*target);
    s.inst.a = cmp;
    s.inst.flags = uint8_t(k);
    if (combine >= 0)
      s.inst.b = kept;
    s.emit(InstClass::Predicate,
           isa().predicate(combine >= 0 ? ops[combine] : PredOp::Mov));
  }
}

/// set of packed halves: each half of the result is all ones or 1.0.
void decodePackedSet(Statement &s, const CompareRow &row, Type to, Type from,
                     int combine, bool ftz) {
  uint64_t yes = to == Type::U32 || to == Type::S32 ? 0xffff
                 : to != from                       ? 0
                 : to == Type::F16x2                ? 0x3c00
                                                    : 0x3f80;
  if (!yes) {
    s.fail("unsupported types");
    return;
  }
  uint32_t cmp[2] = {s.builder.newSlot(0), s.builder.newSlot(0)};
  s.inst.dst = cmp[0];
  s.inst.c = cmp[1];
  s.inst.a = s.src(1, from);
  s.inst.b = s.src(2, from);
  s.emit(InstClass::Predicate, compareFor(s, row, from, ftz));
  uint32_t halves[2];
  for (int k = 0; k < 2; ++k) {
    if (combine >= 0) {
      static constexpr PredOp ops[] = {PredOp::And, PredOp::Or, PredOp::Xor};
      bool negated = false;
      s.inst.dst = s.inst.a = cmp[k];
      s.inst.b = s.srcPred(s.operand(3), &negated);
      s.inst.flags = negated ? 2 : 0;
      s.emit(InstClass::Predicate, isa().predicate(ops[combine]));
    }
    s.inst.dst = halves[k] = s.builder.newSlot(2);
    s.inst.a = s.builder.constant(yes, 2);
    s.inst.b = s.builder.constant(0, 2);
    s.inst.c = cmp[k];
    s.emit(InstClass::Move, isa().select(2));
  }
  for (uint32_t half : halves)
    s.addOperand(half, 2);
  s.inst.dst = s.dst(0, to);
  s.inst.size = 2;
  s.inst.count = 2;
  s.inst.aWidth = s.inst.dstWidth = 4;
  s.emit(InstClass::Move, packHandler);
}

/// set: compares into a register, all ones or 1.0.
void decodeSet(Statement &s) {
  const CompareRow *row = takeCompare(s);
  int combine = s.takeOneOf({"and", "or", "xor"});
  bool ftz = s.take("ftz");
  Type to = s.needType(), from = s.needType();
  if (!s.expectOperands(combine >= 0 ? 4 : 3) || !row || s.failed())
    return;
  uint64_t yes = to == Type::F32                      ? 0x3f800000
                 : to == Type::U32 || to == Type::S32 ? 0xffffffff
                 : to == Type::U16 || to == Type::S16 ? 0xffff
                 : to == Type::F16                    ? 0x3c00
                 : to == Type::BF16                   ? 0x3f80
                                                      : 0;
  if (from == Type::F16x2 || from == Type::BF16x2)
    return decodePackedSet(s, *row, to, from, combine, ftz);
  if (!yes) {
    s.fail("unsupported types");
    return;
  }
  uint32_t cmp = s.builder.newSlot(0);
  s.inst.dst = cmp;
  s.inst.a = s.src(1, from);
  s.inst.b = s.src(2, from);
  s.emit(InstClass::Predicate, compareFor(s, *row, from, ftz));
  if (combine >= 0) {
    static constexpr PredOp ops[] = {PredOp::And, PredOp::Or, PredOp::Xor};
    bool negated = false;
    s.inst.dst = cmp;
    s.inst.a = cmp;
    s.inst.b = s.srcPred(s.operand(3), &negated);
    s.inst.flags = negated ? 2 : 0;
    s.emit(InstClass::Predicate, isa().predicate(ops[combine]));
  }
  uint8_t width = uint8_t(sizeOf(to));
  s.inst.dst = s.dst(0, to);
  s.inst.a = s.builder.constant(yes, width);
  s.inst.b = s.builder.constant(0, width);
  s.inst.c = cmp;
  s.emit(InstClass::Move, isa().select(width));
}

void decodeSelp(Statement &s) {
  Type type = s.needType();
  if (!s.expectOperands(4))
    return;
  bool negated = false;
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, type);
  s.inst.c = s.srcPred(s.operand(3), &negated);
  if (negated)
    std::swap(s.inst.a, s.inst.b);
  s.emit(InstClass::Move, isa().select(sizeOf(type)));
}

/// slct: selects by the sign of the last operand.
void decodeSlct(Statement &s) {
  bool ftz = s.take("ftz");
  Type type = s.needType(), by = s.needType();
  if (!s.expectOperands(4) || (by != Type::S32 && by != Type::F32)) {
    s.fail("unsupported types");
    return;
  }
  uint32_t cmp = s.builder.newSlot(0);
  s.inst.dst = cmp;
  s.inst.a = s.src(3, by);
  s.inst.b = s.builder.constant(0, 4);
  s.emit(InstClass::Predicate, isa().compare(CompareOp::Ge, by, ftz));
  s.inst.dst = s.dst(0, type);
  s.inst.a = s.src(1, type);
  s.inst.b = s.src(2, type);
  s.inst.c = cmp;
  s.emit(InstClass::Move, isa().select(sizeOf(type)));
}

} // namespace

const DecodeEntry ptxsim::dataDecoders[] = {
    {"mov", decodeMov},           {"cvta", decodeCvta}, {"setp", decodeSetp},
    {"isspacep", decodeIsspacep}, {"set", decodeSet},   {"selp", decodeSelp},
    {"slct", decodeSlct},         {"", nullptr}};
