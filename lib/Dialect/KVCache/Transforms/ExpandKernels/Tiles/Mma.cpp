//===- Mma.cpp - Products of fragments by tensor cores -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mma.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

static SmallVector<Value> partsOf(ImplicitLocOpBuilder &b, Value structure) {
  SmallVector<Value> parts;
  auto type = cast<LLVM::LLVMStructType>(structure.getType());
  for (int64_t i = 0, n = type.getBody().size(); i < n; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, structure, i));
  return parts;
}

Type mlir::kvcache::productType(Type dtype) {
  return dtype.getIntOrFloatBitWidth() == 8
             ? Type(Float16Type::get(dtype.getContext()))
             : dtype;
}

SmallVector<Value> mlir::kvcache::emitMma(ImplicitLocOpBuilder &b, Type element,
                                          ValueRange aFragment,
                                          ValueRange bFragment, ValueRange c) {
  bool isBF16 = element.isBF16();
  // The operation takes pairs of f16, but registers of bf16.
  auto registers = [&](ValueRange words) {
    return llvm::map_to_vector(words, [&](Value word) -> Value {
      if (isBF16)
        return word;
      return LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()),
                                     word);
    });
  };
  SmallVector<Type> sums(4, b.getF32Type());
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), sums);
  NVVM::MMATypes type = isBF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  return partsOf(b, NVVM::MmaOp::create(
                        b, result, registers(aFragment), registers(bFragment),
                        c, ArrayRef<int64_t>{16, 8, 16},
                        /*b1Op=*/std::nullopt,
                        /*intOverflow=*/std::nullopt,
                        std::array<NVVM::MMATypes, 2>{type, type},
                        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                                       NVVM::MMALayout::col}));
}

SmallVector<Value> mlir::kvcache::emitLoadMatrices(ImplicitLocOpBuilder &b,
                                                   Value pointer,
                                                   bool transposed) {
  MLIRContext *context = b.getContext();
  SmallVector<Type> words(4, b.getI32Type());
  return partsOf(
      b,
      NVVM::LdMatrixOp::create(
          b, LLVM::LLVMStructType::getLiteral(context, words), pointer,
          b.getI32IntegerAttr(4),
          NVVM::MMALayoutAttr::get(context, transposed ? NVVM::MMALayout::col
                                                       : NVVM::MMALayout::row),
          NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
          NVVM::LdStMatrixEltTypeAttr::get(context,
                                           NVVM::LdStMatrixEltType::B16)));
}

Value mlir::kvcache::emitTranspose(ImplicitLocOpBuilder &b, Value word) {
  // All lanes take part: it stays where it is.
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), ValueRange{word},
             "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}
