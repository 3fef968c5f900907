//===- ConvertTMA.cpp - Tensor maps --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// Numbers of the driver's CUtensorMapDataType.
int64_t dataTypeOf(Type type) {
  if (type.isF16())
    return 6;
  if (type.isF32())
    return 7;
  if (type.isBF16())
    return 9;
  return 0; // bytes
}

/// Numbers of the driver's CUtensorMapL2promotion: 128 bytes.
constexpr int64_t l2Promotion128B = 2;

constexpr StringLiteral encodeName = "mgpuTensorMapEncodeTiledMemref";

/// Encodes a tensor map of a strided memref with a box of `box`, through the
/// runtime. The map lives until the program ends.
FailureOr<Value> encode(ImplicitLocOpBuilder &b, Operation *op, Value memref,
                        ArrayRef<int64_t> box, Swizzle swizzle) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return op->emitOpError("expected to stand in a module");
  MLIRContext *context = b.getContext();
  Type i64 = b.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type = cast<MemRefType>(memref.getType());
  int64_t rank = type.getRank();
  FailureOr<LLVM::LLVMFuncOp> encoder = LLVM::lookupOrCreateFn(
      b, module, encodeName, {i64, pointer, i64, i64, i64, i64, i64, pointer},
      pointer);
  if (failed(encoder))
    return failure();

  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value));
  };
  auto array = LLVM::LLVMArrayType::get(i64, rank);
  auto descriptorType = LLVM::LLVMStructType::getLiteral(
      context, {pointer, pointer, i64, array, array});
  Value descriptor =
      UnrealizedConversionCastOp::create(b, descriptorType, memref)
          .getResult(0);
  // Once a call of the function, not once an iteration.
  Value descriptorAt, boxAt;
  {
    OpBuilder::InsertionGuard guard(b);
    if (auto func = op->getParentOfType<FunctionOpInterface>())
      b.setInsertionPointToStart(&func.getFunctionBody().front());
    descriptorAt =
        LLVM::AllocaOp::create(b, pointer, descriptorType, number(1));
    boxAt = LLVM::AllocaOp::create(b, pointer, i64, number(rank));
  }
  LLVM::StoreOp::create(b, descriptor, descriptorAt);
  for (auto [index, size] : llvm::enumerate(box)) {
    Value place =
        LLVM::GEPOp::create(b, pointer, i64, boxAt, LLVM::GEPArg(index));
    LLVM::StoreOp::create(b, number(size), place);
  }
  return LLVM::CallOp::create(
             b, *encoder,
             ValueRange{number(rank), descriptorAt,
                        number(dataTypeOf(type.getElementType())),
                        /*interleave=*/number(0),
                        number(static_cast<int64_t>(swizzle)),
                        number(l2Promotion128B), /*oob=*/number(0), boxAt})
      .getResult();
}

/// A ragged map has a second dimension of BN rows, at whose end the rows that
/// are not live lie outside.
template <typename TMAOp, bool ragged>
struct ConvertCreateTMA : public OpConversionPattern<TMAOp> {
  using OpConversionPattern<TMAOp>::OpConversionPattern;
  using OneToNOpAdaptor = typename OpConversionPattern<TMAOp>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(TMAOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    PoolLayout pool = at.poolLayout(Pool::values);
    int64_t bn = op.getBn();
    int64_t depth = op.getDepth() / pool.elementsPerStorage;
    int64_t bk = op.getBk() / pool.elementsPerStorage;
    if (int64_t width = getSwizzleBytes(op.getSwizzle()))
      bk = std::min(bk, width / pool.storageBytes);

    Value rows = NumKVRowsOp::create(b, op.getSource());
    SmallVector<OpFoldResult> sizes = {rows, b.getIndexAttr(pool.heads),
                                       b.getIndexAttr(depth)};
    SmallVector<OpFoldResult> strides = {b.getIndexAttr(pool.rowSize()),
                                         b.getIndexAttr(pool.inner),
                                         b.getIndexAttr(1)};
    SmallVector<int64_t> box = {bn, 1, bk};
    Value base = at.getValues().values->base;
    if (ragged) {
      sizes.front() = at.add(rows, at.index(1));
      sizes.insert(sizes.begin() + 1, b.getIndexAttr(bn));
      strides.insert(strides.begin(), b.getIndexAttr(pool.rowSize()));
      box.insert(box.begin(), 1);
      base = ByteViewOp::create(b, base.getType(), base,
                                at.index(-bn * pool.rowBytes()));
    }
    SmallVector<int64_t> staticSizes, staticStrides;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, staticSizes);
    dispatchIndexOpFoldResults(strides, dynamic, staticStrides);
    auto type = MemRefType::get(
        staticSizes, pool.storageType,
        StridedLayoutAttr::get(b.getContext(), /*offset=*/0, staticStrides));
    Value matrix = memref::ReinterpretCastOp::create(
        b, type, base, OpFoldResult(b.getIndexAttr(0)), sizes, strides);
    FailureOr<Value> map = encode(b, op, matrix, box, op.getSwizzle());
    if (failed(map))
      return failure();
    rewriter.replaceOp(op, *map);
    return success();
  }
};

} // namespace

void mlir::kvcache::populateTMAPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter) {
  patterns.add<ConvertCreateTMA<CreateTMATileOp, false>,
               ConvertCreateTMA<CreateRaggedTMATileOp, true>>(
      converter, patterns.getContext());
}
