//===- KernelBuilder.cpp - A kernel and its launch -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "../Instrument.h"
#include "../RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// Arith
//===----------------------------------------------------------------------===//

static constexpr arith::IntegerOverflowFlags noWrap =
    arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;

Value Arith::i32(int64_t number) {
  return arith::ConstantOp::create(
      b, b.getI32IntegerAttr(static_cast<int32_t>(number)));
}

Value Arith::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value Arith::like(Value value, int64_t number) {
  return arith::ConstantOp::create(b,
                                   b.getIntegerAttr(value.getType(), number));
}

Value Arith::toI32(Value value) {
  return b.createOrFold<arith::IndexCastUIOp>(b.getI32Type(), value);
}

Value Arith::toIndex(Value value) {
  return b.createOrFold<arith::IndexCastUIOp>(b.getIndexType(), value);
}

Value Arith::add(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(lhs, rhs, noWrap);
}

Value Arith::mul(Value lhs, Value rhs) {
  return b.createOrFold<arith::MulIOp>(lhs, rhs, noWrap);
}

Value Arith::sub(Value lhs, Value rhs) {
  // Not nuw: MLIR 22 makes x + -284, nuw too, of x - 299 + 15, which is poison.
  return b.createOrFold<arith::SubIOp>(lhs, rhs);
}

Value Arith::div(Value lhs, Value rhs) {
  return b.createOrFold<arith::DivUIOp>(lhs, rhs);
}

Value Arith::rem(Value lhs, Value rhs) {
  return b.createOrFold<arith::RemUIOp>(lhs, rhs);
}

Value Arith::div(Value value, int64_t number) {
  return number == 1 ? value : div(value, like(value, number));
}

Value Arith::rem(Value value, int64_t number) {
  return number == 1 ? like(value, 0) : rem(value, like(value, number));
}

Value Arith::ceilDiv(Value value, int64_t number) {
  return div(add(value, number - 1), number);
}

Value Arith::minimum(Value lhs, Value rhs) {
  return b.createOrFold<arith::MinUIOp>(lhs, rhs);
}

Value Arith::less(Value lhs, Value rhs) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, lhs, rhs);
}

Value Arith::equal(Value lhs, Value rhs) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, lhs, rhs);
}

Value Arith::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return b.createOrFold<arith::AndIOp>(lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value Tensor::row(ImplicitLocOpBuilder &b, ValueRange indices,
                  int64_t count) const {
  Arith arith(b);
  Value offset = arith.index(0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    offset =
        arith.add(offset, arith.mul(index, arith.mul(stride, elementBytes())));
  return ByteViewOp::create(b, MemRefType::get({count}, elementType), base,
                            offset);
}

HostTensor::HostTensor(ImplicitLocOpBuilder &host, Value memref) {
  auto metadata = memref::ExtractStridedMetadataOp::create(host, memref);
  auto type = cast<MemRefType>(metadata.getBaseBuffer().getType());
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  Value offset = host.createOrFold<arith::MulIOp>(
      getValueOrCreateConstantIndexOp(host, host.getLoc(),
                                      metadata.getConstifiedMixedOffset()),
      arith::ConstantIndexOp::create(host, bytes));
  base = host.createOrFold<ByteViewOp>(type, metadata.getBaseBuffer(), offset);
  strides = metadata.getConstifiedMixedStrides();
}

Value mlir::kvcache::sizeOf(ImplicitLocOpBuilder &host, Value memref,
                            int64_t dimension) {
  return host.createOrFold<memref::DimOp>(memref, dimension);
}

std::optional<bool> mlir::kvcache::areRowsAligned(ArrayRef<Value> memrefs,
                                                  int64_t bytes,
                                                  unsigned rowRank) {
  bool known = true;
  for (Value memref : memrefs) {
    auto type = cast<MemRefType>(memref.getType());
    int64_t element = type.getElementTypeBitWidth() / 8;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)))
      return false;
    // The first element of a memref without an offset is aligned by contract.
    SmallVector<int64_t> steps = {offset};
    llvm::append_range(steps, ArrayRef<int64_t>(strides).drop_back(rowRank));
    for (auto [place, step] : llvm::enumerate(steps)) {
      if (place > 0 && type.getDimSize(place - 1) == 1)
        continue;
      if (place > 0 && ShapedType::isDynamic(step) &&
          type.getLayout().isIdentity()) {
        // A product of sizes, of which some are known.
        step = 1;
        for (int64_t size : type.getShape().drop_front(place))
          step *= ShapedType::isDynamic(size) ? 1 : size;
        known = known && step * element % bytes == 0;
        continue;
      }
      if (ShapedType::isDynamic(step))
        known = false;
      else if (step * element % bytes != 0)
        return false;
    }
  }
  return known ? std::optional(true) : std::nullopt;
}

Value mlir::kvcache::emitAreRowsAligned(ImplicitLocOpBuilder &host,
                                        ArrayRef<Value> memrefs, int64_t bytes,
                                        unsigned rowRank) {
  Value bits = arith::ConstantIndexOp::create(host, 0);
  auto include = [&](Value number) {
    bits = host.createOrFold<arith::OrIOp>(bits, number);
  };
  for (Value memref : memrefs) {
    HostTensor tensor(host, memref);
    auto type = cast<MemRefType>(memref.getType());
    include(memref::ExtractAlignedPointerAsIndexOp::create(host, tensor.base));
    Value element =
        arith::ConstantIndexOp::create(host, type.getElementTypeBitWidth() / 8);
    for (OpFoldResult stride : ArrayRef(tensor.strides).drop_back(rowRank))
      if (auto value = dyn_cast<Value>(stride))
        include(arith::MulIOp::create(host, value, element));
  }
  Value low = arith::AndIOp::create(
      host, bits, arith::ConstantIndexOp::create(host, bytes - 1));
  return arith::CmpIOp::create(host, arith::CmpIPredicate::eq, low,
                               arith::ConstantIndexOp::create(host, 0));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(ImplicitLocOpBuilder &host, Operation *op,
                             int64_t threads, int64_t blocksPerSM,
                             int64_t maxBlocks)
    : host(host), op(op), kernel(op->getLoc(), op->getContext()),
      threads(threads), maxBlocks(maxBlocks) {
  auto top = op->getParentOfType<ModuleOp>();
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string name = op->getName().stripDialect().str();
  if (function)
    name = (cast<SymbolOpInterface>(function.getOperation()).getName() + "_" +
            name)
               .str();
  top->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
               kernel.getUnitAttr());

  module = gpu::GPUModuleOp::create(kernel, name);
  // Gives it a name of its own where there is one already.
  SymbolTable(top).insert(module, std::prev(top.getBody()->end()));
  kernel.setInsertionPointToStart(module.getBody());
  func = gpu::GPUFuncOp::create(kernel, module.getName(),
                                kernel.getFunctionType({}, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), kernel.getUnitAttr());
  func->setAttr(KVCacheDialect::getKernelOpAttrName(),
                kernel.getStringAttr(op->getName().getStringRef()));
  func.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(threads), 1, 1});
  if (blocksPerSM > 0)
    func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  kernel.getI32IntegerAttr(blocksPerSM));
  kernel.setInsertionPointToStart(&func.getFunctionBody().front());
}

void KernelBuilder::limitRegisters(int64_t count) {
  func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                kernel.getI32IntegerAttr(static_cast<int32_t>(count)));
}

Value KernelBuilder::addArgument(Value value, ArrayRef<StringRef> attributes) {
  auto [place, isNew] = taken.try_emplace(value);
  if (!isNew)
    return place->second;
  SmallVector<NamedAttribute> attrs;
  for (StringRef name : attributes)
    attrs.emplace_back(kernel.getStringAttr(name), kernel.getUnitAttr());
  argumentAttrs.push_back(kernel.getDictionaryAttr(attrs));
  operands.push_back(value);
  return place->second = func.getFunctionBody().front().addArgument(
             value.getType(), host.getLoc());
}

Value KernelBuilder::take(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return arith::ConstantOp::create(
        kernel, kernel.getIntegerAttr(value.getType(), *constant));
  return addArgument(value, {});
}

Tensor KernelBuilder::takeTensor(Value memref, bool readOnly) {
  HostTensor whole(host, memref);
  Tensor tensor;
  SmallVector<StringRef> attributes = {LLVM::LLVMDialect::getNoAliasAttrName(),
                                       LLVM::LLVMDialect::getNoUndefAttrName()};
  if (readOnly)
    attributes.push_back(LLVM::LLVMDialect::getReadonlyAttrName());
  tensor.base = addArgument(whole.base, attributes);
  tensor.elementType = cast<MemRefType>(memref.getType()).getElementType();
  ArrayRef<OpFoldResult> strides = whole.strides;
  for (OpFoldResult stride : strides.drop_back(strides.empty() ? 0 : 1))
    tensor.strides.push_back(
        take(getValueOrCreateConstantIndexOp(host, host.getLoc(), stride)));
  return tensor;
}

Value KernelBuilder::takeNumber(Value memref) {
  if (!memref)
    return Value();
  return memref::LoadOp::create(
      kernel, takeTensor(memref, /*readOnly=*/true).base, ValueRange());
}

Value KernelBuilder::takeList(Value memref) {
  return takeTensor(memref, /*readOnly=*/true).base;
}

Value KernelBuilder::shareMemory(Type element, int64_t count,
                                 int64_t alignment) {
  // The conversion of nvgpu and memref takes the number of the memory space.
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface(),
                              kernel.getI64IntegerAttr(static_cast<int64_t>(
                                  NVVM::NVVMMemorySpace::Shared)));
  // Gets a name of its own where there is one already.
  OpBuilder b(kernel.getContext());
  auto memory = memref::GlobalOp::create(
      b, host.getLoc(), "shared", b.getStringAttr("private"), type,
      /*initial_value=*/b.getUnitAttr(), /*constant=*/false,
      b.getI64IntegerAttr(alignment));
  SymbolTable(module).insert(memory, module.getBody()->begin());
  shared.push_back(
      memref::GetGlobalOp::create(kernel, type, memory.getSymName()));
  return shared.back();
}

int64_t KernelBuilder::moveToDynamicMemory() {
  SmallVector<int64_t> starts;
  int64_t bytes = 0;
  for (memref::GetGlobalOp memory : shared) {
    // Large enough a multiple for every access.
    starts.push_back(llvm::alignTo(bytes, 16));
    MemRefType type = memory.getType();
    bytes = starts.back() +
            type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  if (bytes <= staticSharedBytes)
    return 0;
  assert(bytes <= dynamicSharedBytes && "no chip-independent room");
  OpBuilder::InsertionGuard guard(kernel);
  for (auto [memory, start] : llvm::zip(shared, starts)) {
    kernel.setInsertionPoint(memory);
    Value all = shareDynamicMemory();
    Attribute space = cast<MemRefType>(all.getType()).getMemorySpace();
    MemRefType type = memory.getType();
    MemRefType there = MemRefType::Builder(type).setMemorySpace(space);
    Value view =
        memref::ViewOp::create(kernel, there, all, Arith(kernel).index(start),
                               /*sizes=*/ValueRange());
    SymbolTable(module).erase(
        SymbolTable(module).lookup(memory.getNameAttr().getValue()));
    memory.replaceAllUsesWith(
        memref::MemorySpaceCastOp::create(kernel, type, view).getResult());
    memory.erase();
  }
  shared.clear();
  return bytes;
}

Value KernelBuilder::shareDynamicMemory() {
  auto space = gpu::AddressSpaceAttr::get(
      kernel.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type = MemRefType::get({ShapedType::kDynamic}, kernel.getI8Type(),
                              MemRefLayoutAttrInterface(), space);
  return gpu::DynamicSharedMemoryOp::create(kernel, type);
}

void KernelBuilder::launch(Value blocks) { launch(blocks, /*dynamicBytes=*/0); }

Value KernelBuilder::enterBlock(Value blocks) {
  countsOn = true;
  Arith arith(kernel);
  Value block =
      arith.add(arith.mul(gpu::BlockIdOp::create(kernel, gpu::Dimension::y),
                          gpu::GridDimOp::create(kernel, gpu::Dimension::x)),
                gpu::BlockIdOp::create(kernel, gpu::Dimension::x));
  auto check = scf::IfOp::create(kernel, arith.less(block, take(blocks)),
                                 /*withElseRegion=*/false);
  kernel.setInsertionPointToStart(check.thenBlock());
  return block;
}

void KernelBuilder::forBlock(Value blocks, function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(kernel);
  body(enterBlock(blocks));
}

void KernelBuilder::launch(Value blocks, int64_t dynamicBytes) {
  Value one = arith::ConstantIndexOp::create(host, 1), rows = one;
  if (countsOn) {
    Arith arith(host);
    rows = arith.ceilDiv(blocks, maxBlocks);
    blocks = arith.minimum(blocks, arith.index(maxBlocks));
  }
  if (int64_t moved = moveToDynamicMemory()) {
    assert(dynamicBytes == 0 && "both kinds of dynamic memory");
    dynamicBytes = moved;
  }
  kernel.setInsertionPointToEnd(&func.getFunctionBody().front());
  gpu::ReturnOp::create(kernel);
  SmallVector<Type> types = llvm::map_to_vector(
      operands, [](Value operand) { return operand.getType(); });
  func.setFunctionType(kernel.getFunctionType(types, {}));
  func.setAllArgAttrs(argumentAttrs);
  if (op->hasAttr(KVCacheDialect::getInstrumentAttrName()))
    // What is moved may never have been written.
    instrumentLookups(func,
                      /*checkNaN=*/!isa<MoveTokensOp, ConvertLayoutOp>(op));

  Value none = arith::ConstantIndexOp::create(host, 0);
  Value some =
      arith::CmpIOp::create(host, arith::CmpIPredicate::ne, blocks, none);
  auto guard = scf::IfOp::create(host, some, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard insertion(host);
  host.setInsertionPointToStart(guard.thenBlock());
  Value size = arith::ConstantIndexOp::create(host, threads);
  Value sharedSize;
  if (dynamicBytes)
    sharedSize = Arith(host).i32(dynamicBytes);
  gpu::LaunchFuncOp::create(host, func, gpu::KernelDim3{blocks, rows, one},
                            gpu::KernelDim3{size, one, one}, sharedSize,
                            operands);
}
