// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix.
#include "Decoder.h"
#include "Matrix.h"

using namespace ptxsim;

namespace {

/// The forms there are. Of the bytes of a register, 6- and 4-bit elements take
/// the low bits.
struct MoveForm {
  std::string_view shape;
  bool isLoad;
  /// In memory, and as the type or format is spelled.
  uint8_t bits;
  std::string_view type;
  /// 0: never, 1: always, -1: as the instruction says.
  int8_t transposed;
  uint8_t maxMatrices, registersEach;
  Handler handler;
};
constexpr MoveForm moveForms[] = {
    {"m8n8", true, 16, "b16", -1, 4, 1, ldmatrixHandler},
    {"m16n16", true, 8, "b8", 1, 2, 2, ldmatrixBytesHandler},
    {"m16n16", true, 6, "b6x16_p32", 1, 2, 2, ldmatrixBytesHandler},
    {"m16n16", true, 4, "b4x16_p64", 1, 2, 2, ldmatrixBytesHandler},
    {"m8n16", true, 6, "b6x16_p32", 0, 4, 1, ldmatrixBytesHandler},
    {"m8n16", true, 4, "b4x16_p64", 0, 4, 1, ldmatrixBytesHandler},
    {"m8n8", false, 16, "b16", -1, 4, 1, stmatrixHandler},
    {"m16n8", false, 8, "b8", 1, 4, 1, stmatrixBytesHandler},
};

void decodeMatrixMove(Statement &s, bool isLoad) {
  if (!s.take("sync") || !s.take("aligned"))
    s.fail("expected .sync.aligned");
  const MoveForm *form = nullptr;
  for (const MoveForm &candidate : moveForms)
    if (candidate.isLoad == isLoad && s.has(candidate.shape) &&
        s.has(candidate.type))
      form = &candidate;
  if (!form) {
    s.fail("unsupported shape or type");
    return;
  }
  s.take(form->shape);
  s.take(form->type);
  bool unpacks = form->bits < 8;
  if (unpacks != s.take("b8x16"))
    s.fail("." + std::string(form->type) +
           (unpacks ? " is loaded as .b8x16" : " is not loaded as .b8x16"));
  bool transposed = s.take("trans");
  if (form->transposed >= 0 && transposed != (form->transposed == 1))
    s.fail("." + std::string(form->shape) + " of ." + std::string(form->type) +
           (transposed ? " cannot be transposed" : " needs .trans"));
  int x = s.takeOneOf({"x1", "x2", "x4"});
  size_t count = size_t(1) << x;
  if (x < 0 || count > form->maxMatrices) {
    s.fail("expected .x1, .x2" +
           std::string(form->maxMatrices == 4 ? " or .x4" : ""));
    return;
  }
  s.takeOneOf({"shared", "shared::cta"});
  if (!s.expectOperands(2))
    return;
  s.addRegisters(s.operand(isLoad ? 0 : 1), count * form->registersEach,
                 Type::B32, isLoad);
  s.inst.flags = transposed;
  s.inst.count = uint8_t(count);
  s.inst.size = form->bits;
  const ast::Operand &address = s.operand(isLoad ? 1 : 0);
  if (address.kind != ast::Operand::Address || address.elements.size() != 1) {
    s.fail("expected an address in brackets");
    return;
  }
  s.address(address, Space::Shared);
  s.emitWholeWarp(InstClass::Matrix, form->handler);
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

} // namespace

const DecodeEntry ptxsim::matrixMoveDecoders[] = {
    {"ldmatrix", decodeLdmatrix},
    {"stmatrix", decodeStmatrix},
    {"movmatrix", decodeMovmatrix},
    {"", nullptr}};
