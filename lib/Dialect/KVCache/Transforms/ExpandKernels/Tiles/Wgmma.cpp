//===- Wgmma.cpp - Products of fragments by a warpgroup ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

#include "../KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Bytes of a block of 8 x 8 numbers.
static constexpr int64_t blockBytes = 128;

Value mlir::kvcache::emitMatrixDescriptor(ImplicitLocOpBuilder &b, Value memory,
                                          int64_t first, int64_t steps) {
  // Addresses and strides are in units of 16 bytes: from a block to the next
  // along K in bits 16 to 29, along N in bits 32 to 45.
  int64_t alongN = 2 * steps * blockBytes;
  int64_t strides = (blockBytes / 16) << 16 | (alongN / 16) << 32;
  Type i64 = b.getI64Type();
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(n));
  };
  Value start = arith::IndexCastUIOp::create(
      b, i64, memref::ExtractAlignedPointerAsIndexOp::create(b, memory));
  // An address of shared memory has 18 bits.
  start = arith::AndIOp::create(b, start, number(0x3ffff));
  start = arith::AddIOp::create(b, start, number(first / 8 * alongN));
  start = arith::ShRUIOp::create(b, start, number(4));
  return arith::OrIOp::create(b, start, number(strides));
}

SmallVector<Value> mlir::kvcache::emitWgmma(ImplicitLocOpBuilder &b,
                                            ValueRange a, Value descriptor,
                                            int64_t columns) {
  int64_t sums = columns / 2, steps = a.size() / 4;
  std::string code, constraints;
  llvm::raw_string_ostream out(code), kinds(constraints);
  auto list = [&](int64_t first, int64_t count) {
    out << '{';
    for (int64_t i = 0; i < count; ++i)
      out << (i ? ", $" : "$") << first + i;
    out << '}';
  };
  // One statement, so that nothing comes between that would touch a register
  // while the products are under way. The first step adds to nothing.
  int64_t descriptorAt = sums + a.size();
  out << "{ .reg .pred adds; .reg .b64 matrix; setp.ne.b32 adds, 0, 0; "
         "mov.b64 matrix, $"
      << descriptorAt << "; wgmma.fence.sync.aligned; ";
  for (int64_t step = 0; step < steps; ++step) {
    if (step == 1)
      out << "setp.eq.b32 adds, 0, 0; ";
    if (step)
      out << "add.s64 matrix, matrix, " << 2 * blockBytes / 16 << "; ";
    out << "wgmma.mma_async.sync.aligned.m64n" << columns << "k16.f32.f16.f16 ";
    list(0, sums);
    out << ", ";
    list(sums + 4 * step, 4);
    out << ", matrix, adds, 1, 1, 0; ";
  }
  out << "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }";
  for (int64_t i = 0; i < sums; ++i)
    kinds << "=f,";
  for (size_t i = 0; i < a.size(); ++i)
    kinds << "r,";
  kinds << "l";

  SmallVector<Value> operands(a);
  operands.push_back(descriptor);
  SmallVector<Type> types(sums, b.getF32Type());
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value all =
      LLVM::InlineAsmOp::create(
          b, type, operands, code, constraints,
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
          /*operand_attrs=*/ArrayAttr())
          .getResult(0);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < sums; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return parts;
}

void mlir::kvcache::emitFenceForWgmma(ImplicitLocOpBuilder &b) {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}
