// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma, wmma, wgmma.
#include "Decoder.h"
#include "Handlers.h"
#include "Matrix.h"

#include <algorithm>

using namespace ptxsim;

namespace {

bool matrixType(std::string_view name, MatrixType &type) {
  struct Row {
    std::string_view name;
    MatrixType type;
  };
  static constexpr Row rows[] = {
      {"f16", MatrixType::F16},   {"bf16", MatrixType::BF16},
      {"tf32", MatrixType::TF32}, {"e4m3", MatrixType::E4M3},
      {"e5m2", MatrixType::E5M2}, {"e2m1", MatrixType::E2M1},
      {"e2m3", MatrixType::E2M3}, {"e3m2", MatrixType::E3M2},
      {"s8", MatrixType::S8},     {"u8", MatrixType::U8},
      {"s4", MatrixType::S4},     {"u4", MatrixType::U4}};
  for (const Row &row : rows)
    if (row.name == name) {
      type = row.type;
      return true;
    }
  return false;
}

/// "m16n8k32" from the modifiers.
bool takeShape(Statement &s, unsigned &m, unsigned &n, unsigned &k) {
  for (std::string_view word : s.ast.modifiers) {
    if (word.empty() || word[0] != 'm' || word.find('n') == word.npos)
      continue;
    unsigned *parts[3] = {&m, &n, &k};
    int part = -1;
    bool good = true;
    for (char c : word) {
      if (c == 'm' || c == 'n' || c == 'k') {
        good &= ++part < 3;
        if (good)
          *parts[part] = 0;
      } else if (c >= '0' && c <= '9' && part >= 0) {
        *parts[part] = (*parts[part] * 10 + unsigned(c - '0')) & 0xffff;
      } else {
        good = false;
      }
      if (!good)
        break;
    }
    if (good && part == 2)
      return s.take(word);
  }
  return s.fail("a shape such as .m16n8k16 is missing");
}

/// Sparse factors are refused by their name.
bool refuseSparse(Statement &s) {
  for (std::string_view word : s.ast.modifiers)
    if (word == "sp" || word.substr(0, 4) == "sp::")
      return s.fail("a sparse matrix A (." + std::string(word) +
                    ") is not supported");
  return true;
}

/// The types of D, A, B and (mma only) C stand behind all else but modifiers
/// that have been taken.
bool takeTypes(Statement &s, size_t count, std::string_view *names) {
  return s.takeLast(count, names) || s.fail("types are missing");
}

/// mma of f64: m8n8k4, m16n8k4, m16n8k8 and m16n8k16.
void decodeMmaDouble(Statement &s, unsigned m, unsigned n, unsigned k,
                     int rounding) {
  if (rounding > 0)
    s.fail("directed rounding of mma is not supported");
  bool fits =
      n == 8 && (m == 16 ? k == 4 || k == 8 || k == 16 : m == 8 && k == 4);
  if (!fits) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  s.addRegisters(s.operand(0), m / 4, Type::F64, true);
  s.addRegisters(s.operand(1), k * m / 32, Type::F64, false);
  s.addRegisters(s.operand(2), k / 4, Type::F64, false);
  s.addRegisters(s.operand(3), m / 4, Type::F64, false);
  s.inst.count = uint8_t(k);
  s.inst.op = uint8_t(m);
  s.emitWholeWarp(InstClass::Matrix, mmaDoubleHandler);
}

bool isHalfOrSingle(std::string_view name) {
  return name == "f16" || name == "f32";
}

/// mma.m8n8k4 of f16, which may be row- or column-major.
void decodeMmaQuads(Statement &s, bool halfD, bool halfC, bool columnsA,
                    bool columnsB) {
  if (halfD && !halfC) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  s.addRegisters(s.operand(0), halfD ? 4 : 8, halfD ? Type::B32 : Type::F32,
                 true);
  s.addRegisters(s.operand(1), 2, Type::B32, false);
  s.addRegisters(s.operand(2), 2, Type::B32, false);
  s.addRegisters(s.operand(3), halfC ? 4 : 8, halfC ? Type::B32 : Type::F32,
                 false);
  s.inst.flags =
      uint8_t((columnsA ? QuadColumnsA : 0) | (columnsB ? QuadColumnsB : 0) |
              (halfD ? QuadHalfD : 0) | (halfC ? QuadHalfC : 0));
  s.emitWholeWarp(InstClass::Matrix, mmaQuadsHandler);
}

/// mma of single bits: their differences or common ones are counted.
void decodeMmaBits(Statement &s, unsigned m, unsigned n, unsigned k,
                   bool isAnd) {
  bool fits = n == 8 && (m == 16 ? k == 128 || k == 256 : m == 8 && k == 128);
  if (!fits) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  s.addRegisters(s.operand(0), m / 4, Type::S32, true);
  s.addRegisters(s.operand(1), k * m / 1024, Type::B32, false);
  s.addRegisters(s.operand(2), k / 128, Type::B32, false);
  s.addRegisters(s.operand(3), m / 4, Type::S32, false);
  s.inst.count = uint8_t(k / 32);
  s.inst.op = uint8_t(m);
  s.inst.flags = isAnd;
  s.emitWholeWarp(InstClass::Matrix, mmaBitsHandler);
}

/// mma.block_scale, behind the words and before the types.
void decodeMmaScaled(Statement &s, unsigned m, unsigned n, unsigned k) {
  struct Kind {
    std::string_view name, scale;
    uint8_t blocks;
    bool isDefault;
  };
  static constexpr Kind kinds[] = {{"kind::mxf8f6f4", "ue8m0", 1, true},
                                   {"kind::mxf4", "ue8m0", 2, true},
                                   {"kind::mxf4nvf4", "ue8m0", 2, false},
                                   {"kind::mxf4nvf4", "ue8m0", 4, false},
                                   {"kind::mxf4nvf4", "ue4m3", 4, false}};
  int blocks = s.takeOneOf({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  const Kind *kind = nullptr;
  for (const Kind &candidate : kinds)
    if (s.has(candidate.name) && s.ast.modifiers.back() == candidate.scale &&
        (blocks < 0 ? candidate.isDefault : candidate.blocks == 1u << blocks))
      kind = &candidate;
  if (!kind) {
    s.fail("unsupported kind, type or number of scales");
    return;
  }
  s.take(kind->name);
  std::string_view names[5];
  ScaledMma shape;
  bool fourBits = kind->name != "kind::mxf8f6f4";
  if (!takeTypes(s, 5, names) || !s.expectOperands(8))
    return;
  bool typesFit = names[0] == "f32" && names[3] == "f32" &&
                  matrixType(names[1], shape.a) &&
                  matrixType(names[2], shape.b) && isFormatOfByte(shape.a) &&
                  isFormatOfByte(shape.b) &&
                  (!fourBits || (names[1] == "e2m1" && names[2] == "e2m1"));
  if (!typesFit || m != 16 || n != 8 || k != (fourBits ? 64 : 32)) {
    s.fail("unsupported shape or types");
    return;
  }
  if (fourBits)
    shape.a = shape.b = MatrixType::E2M1Pair;
  shape.k = uint8_t(k);
  shape.blocks = kind->blocks;
  shape.fractions = kind->scale == "ue4m3";
  s.addRegisters(s.operand(0), 4, Type::F32, true);
  s.addRegisters(s.operand(1), 4, Type::B32, false);
  s.addRegisters(s.operand(2), 2, Type::B32, false);
  s.addRegisters(s.operand(3), 4, Type::F32, false);
  for (size_t scales : {4, 6}) {
    s.addRegisters(s.operand(scales), 1, Type::B32, false);
    s.addRegisters(s.operand(scales + 1), 2, Type::U16, false);
  }
  s.inst.imm = bitCast<int64_t>(shape);
  s.emitWholeWarp(InstClass::Matrix, mmaScaledHandler);
}

void decodeMma(Statement &s) {
  unsigned m = 0, n = 0, k = 0;
  std::string_view names[4];
  MmaShape shape;
  if (!refuseSparse(s) || !takeShape(s, m, n, k))
    return;
  // Compilers print some of these behind the types.
  bool isSync = s.take("sync") && s.take("aligned");
  shape.saturate = s.take("satfinite");
  int bits = s.takeOneOf({"xor", "and"});
  bool counts = s.take("popc");
  bool anyFormat = s.take("kind::f8f6f4");
  int rounding = s.takeOneOf({"rn", "rz", "rm", "rp"});
  int layoutA = s.takeLeftmost({"row", "col"});
  int layoutB = s.takeLeftmost({"row", "col"});
  if (!isSync || layoutA < 0 || layoutB < 0) {
    s.fail("expected .sync.aligned, and .row or .col for A and for B");
    return;
  }
  bool isRowColumn = layoutA == 0 && layoutB == 1;
  bool isLogical = bits >= 0 && counts;
  bool isPlain = !shape.saturate && bits < 0 && !counts && !anyFormat;
  if (isRowColumn && isPlain && rounding < 0 && s.take("block_scale"))
    return decodeMmaScaled(s, m, n, k);
  if (!takeTypes(s, 4, names))
    return;
  if (m == 8 && n == 8 && k == 4 && names[1] == "f16" && names[2] == "f16" &&
      isHalfOrSingle(names[0]) && isHalfOrSingle(names[3]) && isPlain &&
      rounding < 0)
    return decodeMmaQuads(s, names[0] == "f16", names[3] == "f16", layoutA == 1,
                          layoutB == 1);
  if (!isRowColumn) {
    s.fail("this shape needs a row-major A and a column-major B (.row.col)");
    return;
  }
  auto areAll = [&](std::string_view outer, std::string_view inner) {
    return names[0] == outer && names[1] == inner && names[2] == inner &&
           names[3] == outer;
  };
  if (areAll("f64", "f64") && isPlain)
    return decodeMmaDouble(s, m, n, k, rounding);
  if (areAll("s32", "b1") && isLogical && !shape.saturate && !anyFormat &&
      rounding < 0)
    return decodeMmaBits(s, m, n, k, bits == 1);
  if (!matrixType(names[1], shape.a) || !matrixType(names[2], shape.b)) {
    s.fail("unsupported types of A and B");
    return;
  }
  bool half = names[0] == "f16" && names[3] == "f16";
  bool single = names[0] == "f32" && names[3] == "f32";
  bool integer = names[0] == "s32" && names[3] == "s32";
  bool sameBits = matrixBits(shape.a) == matrixBits(shape.b);
  bool typesFit =
      isInteger(shape.a) ? integer && isInteger(shape.b) && sameBits
      : anyFormat ? (single || half) && k == 32 && isFormatOfByte(shape.a) &&
                        isFormatOfByte(shape.b)
      : isFp8(shape.a) ? (single || half) && isFp8(shape.b)
                       : !isFormatOfByte(shape.a) && shape.a == shape.b &&
                             (single || (half && shape.a == MatrixType::F16));
  // Rows of 16 or 32 bytes; 8 of 16 bytes where the elements are integers.
  unsigned rowBytes = k * matrixBits(shape.a) / 8;
  shape.eightRows = m == 8;
  bool shapeFits =
      n == 8 && (m == 16 ? rowBytes == 32 || rowBytes == 16
                         : m == 8 && rowBytes == 16 && isInteger(shape.a));
  if (!typesFit || !shapeFits || (shape.saturate && !integer) ||
      (anyFormat && integer) || bits >= 0 || counts || rounding >= 0) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  shape.k = uint8_t(k);
  shape.halfAccumulator = half;
  size_t accumulators = half || shape.eightRows ? 2 : 4;
  Type accumulator = single ? Type::F32 : integer ? Type::S32 : Type::B32;
  s.addRegisters(s.operand(0), accumulators, accumulator, true);
  s.addRegisters(s.operand(1), rowBytes * m / 128, Type::B32, false);
  s.addRegisters(s.operand(2), rowBytes / 16, Type::B32, false);
  s.addRegisters(s.operand(3), accumulators, accumulator, false);
  s.inst.imm = bitCast<int64_t>(shape);
  s.emitWholeWarp(InstClass::Matrix, mmaHandler);
}

// wmma
// --------------------------------------------------------------------------------

/// Index into wmmaShapes; -1, and an error, if the type has no such shape.
int findWmmaShape(Statement &s, unsigned m, unsigned n, unsigned k,
                  MatrixType factor, bool isAccumulator) {
  bool isTf32 = factor == MatrixType::TF32;
  for (size_t i = 0; i < std::size(wmmaShapes); ++i)
    if (wmmaShapes[i].m == m && wmmaShapes[i].n == n && wmmaShapes[i].k == k &&
        (isAccumulator || isTf32 == (k == 8)))
      return int(i);
  s.fail("unsupported shape or types");
  return -1;
}

bool isWmmaFactor(MatrixType type) {
  return type == MatrixType::F16 || type == MatrixType::BF16 ||
         type == MatrixType::TF32 || type == MatrixType::S8 ||
         type == MatrixType::U8;
}

/// wmma.load of a, b or c, and wmma.store of d.
void decodeWmmaMove(Statement &s, bool isLoad) {
  int role = isLoad ? s.takeOneOf({"a", "b", "c"}) : s.take("d") ? 2 : -1;
  s.take("sync");
  s.take("aligned");
  int layout = s.takeOneOf({"row", "col"});
  std::string_view name;
  if (!takeTypes(s, 1, &name))
    return;
  bool isAccumulator = WmmaRole(role) == WmmaRole::Accumulator;
  MatrixType type = MatrixType::F16;
  bool isWide = name == "f32" || name == "s32";
  bool typeFits = isAccumulator ? isWide || name == "f16"
                                : matrixType(name, type) && isWmmaFactor(type);
  if (role < 0 || layout < 0 || !typeFits) {
    s.fail("unsupported matrix, layout or type");
    return;
  }
  unsigned m = 0, n = 0, k = 0;
  if (!takeShape(s, m, n, k))
    return;
  int shape = findWmmaShape(s, m, n, k, type, isAccumulator);
  Space space = s.takeSpace();
  if (space != Space::Generic && space != Space::Global &&
      space != Space::Shared)
    s.fail("a matrix lies in global or shared memory");
  if (shape < 0 || !s.expectOperands(2, 3))
    return;
  const WmmaShape &size = wmmaShapes[shape];
  size_t count = isAccumulator
                     ? (isWide ? 8 : 4)
                     : wmmaRegisters(type, role == 0 ? size.m : size.n, size.k);
  Type registerType = name == "f32"   ? Type::F32
                      : name == "s32" ? Type::S32
                                      : Type::B32;
  s.addRegisters(s.operand(isLoad ? 0 : 1), count, registerType, isLoad);
  const ast::Operand &address = s.operand(isLoad ? 1 : 0);
  if (address.kind != ast::Operand::Address || address.elements.size() != 1) {
    s.fail("expected an address in brackets");
    return;
  }
  s.address(address, space);
  if (s.numOperands() == 3)
    s.inst.c = s.src(2, Type::U32);
  s.inst.op = uint8_t(shape);
  s.inst.size = uint8_t(isWide ? 4 : matrixBits(type) / 8);
  s.inst.flags =
      uint8_t(role << WmmaRoleShift | (layout == 1 ? WmmaColumnMajor : 0));
  s.inst.count = uint8_t(count);
  s.builder.program->writesGlobal |=
      !isLoad && (space == Space::Global || space == Space::Generic);
  s.emitWholeWarp(InstClass::Matrix,
                  isLoad ? wmmaLoadHandler : wmmaStoreHandler);
}

void decodeWmmaProduct(Statement &s) {
  // Of f16 only the types of D and C are said, .f16 or .f32 each.
  std::string_view names[4];
  unsigned m = 0, n = 0, k = 0;
  WmmaProduct product;
  product.saturate = s.take("satfinite");
  s.take("sync");
  s.take("aligned");
  if (s.takeLeftmost({"row", "col"}) < 0 ||
      s.takeLeftmost({"row", "col"}) < 0) {
    s.fail("the layouts of A and B are missing");
    return;
  }
  if (!takeShape(s, m, n, k))
    return;
  bool isHalf = s.numUntaken() == 2;
  std::string_view &nameD = names[0], &nameC = names[isHalf ? 1 : 3];
  if (!takeTypes(s, isHalf ? 2 : 4, names))
    return;
  if (!isHalf &&
      (!matrixType(names[1], product.a) || !matrixType(names[2], product.b))) {
    s.fail("unsupported types of A and B");
    return;
  }
  product.halfD = nameD == "f16";
  product.halfC = nameC == "f16";
  bool integer = isInteger(product.a);
  auto isSum = [&](std::string_view name) {
    return name == (integer ? "s32" : "f32") || (isHalf && name == "f16");
  };
  if (!isWmmaFactor(product.a) || product.a != product.b ||
      isHalf != (product.a == MatrixType::F16) || !isSum(nameD) ||
      !isSum(nameC) || (product.saturate && !integer)) {
    s.fail("unsupported shape or types");
    return;
  }
  int shape = findWmmaShape(s, m, n, k, product.a, /*isAccumulator=*/false);
  if (shape < 0 || !s.expectOperands(4))
    return;
  Type typeD = integer ? Type::S32 : product.halfD ? Type::B32 : Type::F32;
  Type typeC = integer ? Type::S32 : product.halfC ? Type::B32 : Type::F32;
  static_cast<WmmaShape &>(product) = wmmaShapes[shape];
  s.addRegisters(s.operand(0), product.halfD ? 4 : 8, typeD, true);
  s.addRegisters(s.operand(1), wmmaRegisters(product.a, product.m, product.k),
                 Type::B32, false);
  s.addRegisters(s.operand(2), wmmaRegisters(product.b, product.n, product.k),
                 Type::B32, false);
  s.addRegisters(s.operand(3), product.halfC ? 4 : 8, typeC, false);
  s.inst.imm = bitCast<int64_t>(product);
  s.emitWholeWarp(InstClass::Matrix, wmmaHandler);
}

void decodeWmma(Statement &s) {
  switch (s.takeOneOf({"load", "store", "mma"})) {
  case 0:
    return decodeWmmaMove(s, /*isLoad=*/true);
  case 1:
    return decodeWmmaMove(s, /*isLoad=*/false);
  case 2:
    return decodeWmmaProduct(s);
  default:
    s.fail("unsupported wmma operation");
  }
}

// wgmma
// -------------------------------------------------------------------------------

void decodeWgmmaProduct(Statement &s) {
  unsigned m = 0, n = 0, k = 0;
  std::string_view names[3];
  MmaShape shape;
  if (!refuseSparse(s) || !takeShape(s, m, n, k))
    return;
  // In front of the types or behind them.
  shape.saturate = s.take("satfinite");
  if (!s.take("sync") || !s.take("aligned"))
    s.fail("expected .sync.aligned");
  if (!takeTypes(s, 3, names))
    return;
  if (!matrixType(names[1], shape.a) || !matrixType(names[2], shape.b)) {
    s.fail("unsupported types of A and B");
    return;
  }
  bool integer = names[0] == "s32";
  bool half = names[0] == "f16";
  bool floating = names[0] == "f32" || half;
  bool typesFit = isInteger(shape.a) ? integer && isInteger(shape.b)
                  : isFp8(shape.a)   ? floating && isFp8(shape.b)
                                     : floating && shape.a == shape.b &&
                                           !isFormatOfByte(shape.a);
  if (half && !isFp8(shape.a) && shape.a != MatrixType::F16)
    typesFit = false;
  if (!typesFit || (shape.saturate && !integer) || m != 64 || n % 8 || n == 0 ||
      n > 256 || matrixBits(shape.a) != matrixBits(shape.b) ||
      matrixBits(shape.a) < 8 || k * matrixBits(shape.a) != 256) {
    s.fail("unsupported shape or types");
    return;
  }
  bool sixteen = matrixBits(shape.a) == 16;
  bool fromRegisters =
      s.numOperands() > 1 && s.operand(1).kind == ast::Operand::Vector;
  // Scale of D; signs of A and B but for integers; major-ness of what lies in
  // shared memory, for 16-bit types.
  size_t signs = integer ? 0 : 2;
  size_t majors = sixteen ? (fromRegisters ? 1 : 2) : 0;
  if (!s.expectOperands(4 + signs + majors))
    return;
  Type accumulator = integer ? Type::S32 : half ? Type::B32 : Type::F32;
  s.addRegisters(s.operand(0), half ? n / 4 : n / 2, accumulator, true);
  if (fromRegisters) {
    s.addRegisters(s.operand(1), 4, Type::B32, false);
    s.inst.flags |= WgmmaARegisters;
  } else {
    s.inst.a = s.src(1, Type::B64);
  }
  s.builder.program->asyncReadsShared = true;
  s.builder.program->usesAsyncProxy = true;
  s.inst.b = s.src(2, Type::B64);
  bool negated = false;
  s.inst.c = s.srcPred(s.operand(3), &negated);
  if (negated)
    s.fail("'!' before the scale of D");
  for (size_t i = 0; i < signs; ++i) {
    uint64_t sign = 0;
    if (!s.immediate(s.operand(4 + i), sign))
      return;
    if (sign != 1 && sign != ~uint64_t(0)) {
      s.fail("the scales of A and B are 1 or -1");
      return;
    }
    if (sign != 1)
      s.inst.flags |= i == 0 ? WgmmaNegateA : WgmmaNegateB;
  }
  for (size_t i = 0; i < majors; ++i) {
    uint64_t major = 0;
    if (!s.immediate(s.operand(4 + signs + i), major))
      return;
    if (major > 1) {
      s.fail("the major-ness of A and B is 0 or 1");
      return;
    }
    if (major)
      s.inst.flags |= i + 1 == majors ? WgmmaTransposeB : WgmmaTransposeA;
  }
  shape.n = uint16_t(n);
  shape.k = uint8_t(k);
  shape.halfAccumulator = half;
  s.inst.imm = bitCast<int64_t>(shape);
  s.emitWholeWarp(InstClass::Matrix, wgmmaHandler);
}

void decodeWgmma(Statement &s) {
  if (s.take("mma_async"))
    return decodeWgmmaProduct(s);
  int what = s.takeOneOf({"fence", "commit_group", "wait_group"});
  s.take("sync");
  s.take("aligned");
  if (what < 0) {
    s.fail("unsupported wgmma operation");
    return;
  }
  uint64_t groups = 0;
  if (!s.expectOperands(what == 2 ? 1 : 0) ||
      (what == 2 && !s.immediate(s.operand(0), groups)))
    return;
  s.inst.imm = int64_t(groups & 0xff);
  if (what != 2) {
    s.emitWholeWarp(InstClass::Matrix,
                    what == 0 ? wgmmaFenceHandler : wgmmaCommitHandler);
    return;
  }
  s.inst.flow = Flow::MayYield;
  s.emit(InstClass::Matrix, wgmmaWaitHandler);
}

} // namespace

const DecodeEntry ptxsim::matrixDecoders[] = {{"mma", decodeMma},
                                              {"wmma", decodeWmma},
                                              {"wgmma", decodeWgmma},
                                              {"", nullptr}};
