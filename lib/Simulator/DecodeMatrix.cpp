// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma.
#include "Decoder.h"
#include "Handlers.h"
#include "Matrix.h"

#include <algorithm>

using namespace ptxsim;

namespace {

bool addRegisters(Statement &s, const ast::Operand &vector, size_t count,
                  Type type, bool written) {
  uint8_t width = uint8_t(sizeOf(type));
  bool isVector = vector.kind == ast::Operand::Vector;
  size_t given = isVector ? vector.elements.size() : 1;
  if (given != count)
    return s.fail("expected " + std::to_string(count) + " registers, found " +
                  std::to_string(given));
  for (size_t k = 0; k < count; ++k) {
    const ast::Operand &element = isVector ? vector.elements[k] : vector;
    s.addOperand(written ? s.dst(element, type) : s.src(element, type), width);
  }
  return !s.failed();
}

void decodeMatrixMove(Statement &s, bool isLoad) {
  if (!s.take("sync") || !s.take("aligned") || !s.take("m8n8"))
    s.fail("only .sync.aligned.m8n8 is supported");
  int x = s.takeOneOf({"x1", "x2", "x4"});
  s.inst.flags = s.take("trans");
  s.takeOneOf({"shared", "shared::cta"});
  if (s.needType() != Type::B16 || x < 0) {
    s.fail("only .x1, .x2 and .x4 of .b16 are supported");
    return;
  }
  if (!s.expectOperands(2))
    return;
  size_t count = size_t(1) << x;
  addRegisters(s, s.operand(isLoad ? 0 : 1), count, Type::B32, isLoad);
  s.inst.count = uint8_t(count);
  const ast::Operand &address = s.operand(isLoad ? 1 : 0);
  if (address.kind != ast::Operand::Address || address.elements.size() != 1) {
    s.fail("expected an address in brackets");
    return;
  }
  s.address(address, Space::Shared);
  s.emitWholeWarp(InstClass::Matrix,
                  isLoad ? ldmatrixHandler : stmatrixHandler);
}
void decodeLdmatrix(Statement &s) { decodeMatrixMove(s, true); }
void decodeStmatrix(Statement &s) { decodeMatrixMove(s, false); }

void decodeMovmatrix(Statement &s) {
  if (!s.take("sync") || !s.take("aligned") || !s.take("m8n8") ||
      !s.take("trans") || s.needType() != Type::B16)
    s.fail("only .sync.aligned.m8n8.trans.b16 is supported");
  if (!s.expectOperands(2))
    return;
  s.inst.dst = s.dst(0, Type::B32);
  s.inst.a = s.src(1, Type::B32);
  s.emitWholeWarp(InstClass::Matrix, movmatrixHandler);
}

bool matrixType(std::string_view name, MatrixType &type) {
  struct Row {
    std::string_view name;
    MatrixType type;
  };
  static constexpr Row rows[] = {
      {"f16", MatrixType::F16},   {"bf16", MatrixType::BF16},
      {"tf32", MatrixType::TF32}, {"e4m3", MatrixType::E4M3},
      {"e5m2", MatrixType::E5M2}, {"s8", MatrixType::S8},
      {"u8", MatrixType::U8},     {"s4", MatrixType::S4},
      {"u4", MatrixType::U4}};
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

/// The types of D, A, B and (mma only) C stand last, in this order.
bool takeTypes(Statement &s, size_t count, std::string_view *names) {
  const auto &modifiers = s.ast.modifiers;
  if (modifiers.size() < count)
    return s.fail("types are missing");
  for (size_t i = 0; i < count; ++i) {
    names[i] = modifiers[modifiers.size() - count + i];
    if (!s.take(names[i]))
      return s.fail("types are missing");
  }
  return true;
}

/// mma of f64: m8n8k4, m16n8k4, m16n8k8 and m16n8k16.
void decodeMmaDouble(Statement &s, unsigned m, unsigned n, unsigned k) {
  s.take("rn");
  bool fits =
      n == 8 && (m == 16 ? k == 4 || k == 8 || k == 16 : m == 8 && k == 4);
  if (!fits) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  addRegisters(s, s.operand(0), m / 4, Type::F64, true);
  addRegisters(s, s.operand(1), k * m / 32, Type::F64, false);
  addRegisters(s, s.operand(2), k / 4, Type::F64, false);
  addRegisters(s, s.operand(3), m / 4, Type::F64, false);
  s.inst.count = uint8_t(k);
  s.inst.op = uint8_t(m);
  s.emitWholeWarp(InstClass::Matrix, mmaDoubleHandler);
}

void decodeMma(Statement &s) {
  // .satfinite stands before the types.
  unsigned m = 0, n = 0, k = 0;
  std::string_view names[4];
  MmaShape shape;
  if (!takeTypes(s, 4, names) || !takeShape(s, m, n, k))
    return;
  shape.saturate = s.take("satfinite");
  bool layout = s.take("row") && s.take("col");
  if (!s.take("sync") || !s.take("aligned") || !layout) {
    s.fail("only .sync.aligned with .row.col is supported");
    return;
  }
  auto isDouble = [](std::string_view name) { return name == "f64"; };
  if (std::all_of(std::begin(names), std::end(names), isDouble))
    return decodeMmaDouble(s, m, n, k);
  if (!matrixType(names[1], shape.a) || !matrixType(names[2], shape.b)) {
    s.fail("unsupported types of A and B");
    return;
  }
  bool half = names[0] == "f16" && names[3] == "f16";
  bool single = names[0] == "f32" && names[3] == "f32";
  bool integer = names[0] == "s32" && names[3] == "s32";
  bool sameBits = matrixBits(shape.a) == matrixBits(shape.b);
  bool typesFit = isInteger(shape.a) ? integer && isInteger(shape.b) && sameBits
                  : isFp8(shape.a)
                      ? (single || half) && isFp8(shape.b)
                      : shape.a == shape.b &&
                            (single || (half && shape.a == MatrixType::F16));
  // Rows of 16 or 32 bytes; 8 of 16 bytes where the elements are integers.
  unsigned rowBytes = k * matrixBits(shape.a) / 8;
  shape.eightRows = m == 8;
  bool shapeFits =
      n == 8 && (m == 16 ? rowBytes == 32 || rowBytes == 16
                         : m == 8 && rowBytes == 16 && isInteger(shape.a));
  if (!typesFit || !shapeFits || (shape.saturate && !integer)) {
    s.fail("unsupported shape or types");
    return;
  }
  if (!s.expectOperands(4))
    return;
  shape.k = uint8_t(k);
  shape.halfAccumulator = half;
  size_t accumulators = half || shape.eightRows ? 2 : 4;
  Type accumulator = single ? Type::F32 : integer ? Type::S32 : Type::B32;
  addRegisters(s, s.operand(0), accumulators, accumulator, true);
  addRegisters(s, s.operand(1), rowBytes * m / 128, Type::B32, false);
  addRegisters(s, s.operand(2), rowBytes / 16, Type::B32, false);
  addRegisters(s, s.operand(3), accumulators, accumulator, false);
  s.inst.imm = bitCast<int64_t>(shape);
  s.emitWholeWarp(InstClass::Matrix, mmaHandler);
}

// wmma
// --------------------------------------------------------------------------------

/// Index into wmmaShapes; -1, and an error, if the type has no such shape.
int takeWmmaShape(Statement &s, MatrixType factor, bool isAccumulator) {
  unsigned m = 0, n = 0, k = 0;
  if (!takeShape(s, m, n, k))
    return -1;
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
  int shape = takeWmmaShape(s, type, isAccumulator);
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
  addRegisters(s, s.operand(isLoad ? 0 : 1), count, registerType, isLoad);
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
  const auto &words = s.ast.modifiers;
  bool isHalf = words.size() > 2 && !words[words.size() - 3].empty() &&
                words[words.size() - 3][0] == 'm';
  std::string_view names[4];
  std::string_view &nameD = names[0], &nameC = names[isHalf ? 1 : 3];
  WmmaProduct product;
  product.saturate = s.take("satfinite");
  s.take("sync");
  s.take("aligned");
  if (s.takeOneOf({"row", "col"}) < 0 || s.takeOneOf({"row", "col"}) < 0 ||
      !takeTypes(s, isHalf ? 2 : 4, names)) {
    s.fail("layouts or types are missing");
    return;
  }
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
  int shape = takeWmmaShape(s, product.a, /*isAccumulator=*/false);
  if (shape < 0 || !s.expectOperands(4))
    return;
  Type typeD = integer ? Type::S32 : product.halfD ? Type::B32 : Type::F32;
  Type typeC = integer ? Type::S32 : product.halfC ? Type::B32 : Type::F32;
  static_cast<WmmaShape &>(product) = wmmaShapes[shape];
  addRegisters(s, s.operand(0), product.halfD ? 4 : 8, typeD, true);
  addRegisters(s, s.operand(1), wmmaRegisters(product.a, product.m, product.k),
               Type::B32, false);
  addRegisters(s, s.operand(2), wmmaRegisters(product.b, product.n, product.k),
               Type::B32, false);
  addRegisters(s, s.operand(3), product.halfC ? 4 : 8, typeC, false);
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
  if (!takeTypes(s, 3, names) || !takeShape(s, m, n, k))
    return;
  shape.saturate = s.take("satfinite");
  if (!s.take("sync") || !s.take("aligned"))
    s.fail("expected .sync.aligned");
  if (!matrixType(names[1], shape.a) || !matrixType(names[2], shape.b)) {
    s.fail("unsupported types of A and B");
    return;
  }
  bool integer = names[0] == "s32";
  bool half = names[0] == "f16";
  bool floating = names[0] == "f32" || half;
  bool typesFit = isInteger(shape.a) ? integer && isInteger(shape.b)
                  : isFp8(shape.a)   ? floating && isFp8(shape.b)
                                     : floating && shape.a == shape.b;
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
  addRegisters(s, s.operand(0), half ? n / 4 : n / 2, accumulator, true);
  if (fromRegisters) {
    addRegisters(s, s.operand(1), 4, Type::B32, false);
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
  if (what == 2)
    s.inst.flow = Flow::MayYield;
  s.emit(InstClass::Matrix, what == 0   ? nothingHandler
                            : what == 1 ? wgmmaCommitHandler
                                        : wgmmaWaitHandler);
}

} // namespace

const DecodeEntry ptxsim::matrixDecoders[] = {{"ldmatrix", decodeLdmatrix},
                                              {"stmatrix", decodeStmatrix},
                                              {"movmatrix", decodeMovmatrix},
                                              {"mma", decodeMma},
                                              {"wmma", decodeWmma},
                                              {"wgmma", decodeWgmma},
                                              {"", nullptr}};
