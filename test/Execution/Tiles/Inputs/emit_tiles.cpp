//===- emit_tiles.cpp - Building blocks, each in a kernel -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: kvcache-emit-tiles BLOCK < PROGRAM
//
// Reads a program whose main(in, out, ...) may make caches, and prints it with
// a kernel of one block of threads: each thread reads its words (`i32`) of
// `in`, gives them to the building block and writes what comes of them to
// `out`. Word `i` of thread `t` is at `i * threads + t`.
//
//===----------------------------------------------------------------------===//

#include "building_block.h"

#include "Attention/SharedTile.h"
#include "Tiles/FastMath.h"
#include "Tiles/Mma.h"
#include "Tiles/Wgmma.h"
#include "Tiles/Words.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tiles;

namespace {

Values emitWarp(Kernel &kernel, ValueRange in) {
  Warp &warp = kernel.warp;
  Arith &arith = kernel.arith;
  ImplicitLocOpBuilder &b = kernel.b;
  auto sum = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  Value isOdd = arith.equal(arith.rem(in[0], 2), arith.i32(1));
  return {warp.exchange(in[0], 5),
          warp.from(in[0], arith.sub(arith.i32(31), warp.lane)),
          warp.reduceRow(in[0], sum),
          warp.reduceColumn(in[0], sum),
          warp.reduce(in[0], sum),
          warp.ballot(isOdd),
          kernel.asWordOf(warp.any(arith.equal(in[0], arith.i32(7)))),
          warp.number};
}

Values emitFastMath(Kernel &kernel, ValueRange in) {
  FastMath math(kernel.b);
  Value x = kernel.asFloat(in[0]), y = kernel.asFloat(in[1]);
  auto [up, down] = math.powersTo16Bits(math.absolute(y));
  Values numbers = {math.exp2(x),
                    math.log2(math.absolute(y)),
                    math.reciprocal(y),
                    math.tanh(x),
                    math.withSign(x, y),
                    math.max(x, y),
                    math.maxOrNaN(x, y),
                    up,
                    down};
  return kernel.asWords(numbers);
}

Values emitProduct(Kernel &kernel, ValueRange in, Type type) {
  return kernel.asWords(emitMma(kernel.b, type, in.take_front(4),
                                in.slice(4, 2),
                                kernel.asFloats(in.drop_front(6))));
}

Values emitMatrices(Kernel &kernel, ValueRange in) {
  ImplicitLocOpBuilder &b = kernel.b;
  Arith &arith = kernel.arith;
  Value memory = kernel.builder.shareMemory(b.getI8Type(), 512, 16);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  address = arith.add(address, arith.toIndex(arith.mul(kernel.warp.lane, 16)));
  address = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
  Value pointer = LLVM::IntToPtrOp::create(
      b,
      LLVM::LLVMPointerType::get(
          b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared)),
      address);
  LLVM::StoreOp::create(b, Words(b).vector(in), pointer, 16);
  kernel.warp.wait();
  Values words = emitLoadMatrices(b, pointer, /*transposed=*/false);
  llvm::append_range(words, emitLoadMatrices(b, pointer, /*transposed=*/true));
  words.push_back(emitTranspose(b, in[0]));
  return words;
}

/// Two steps of 16 columns: words 0 to 7 are of A, 8 and 9 of B.
Values emitWarpgroup(Kernel &kernel, ValueRange in) {
  ImplicitLocOpBuilder &b = kernel.b;
  Arith &arith = kernel.arith;
  constexpr int64_t steps = 2, columns = 16;
  Value memory = kernel.builder.shareMemory(b.getI32Type(), 256, 16);
  Value thread =
      arith.add(arith.mul(kernel.warp.number, Warp::lanes), kernel.warp.lane);
  for (int64_t i = 0; i < 2; ++i)
    memref::StoreOp::create(
        b, in[8 + i], memory,
        ValueRange{arith.toIndex(arith.add(thread, 128 * i))});
  emitFenceForWgmma(b);
  gpu::BarrierOp::create(b);
  return kernel.asWords(emitWgmma(b, in.take_front(4 * steps),
                                  emitMatrixDescriptor(b, memory, 0, steps),
                                  columns));
}

/// 32 tokens of 64 elements, of which a warp has 16.
Values emitSharedTile(Kernel &kernel, ValueRange in, Type dtype) {
  ImplicitLocOpBuilder &b = kernel.b;
  constexpr int64_t size = 64, slice = 16, tokens = 32, warps = 4;
  bool is8Bit = dtype.getIntOrFloatBitWidth() == 8;
  Value memory = kernel.builder.shareMemory(
      b.getI8Type(), SharedTile::bytesOf(size, tokens), 16);
  SharedTile tile(b, kernel.warp, memory, dtype, productType(dtype), size,
                  slice, tokens, warps);
  tile.store(in);
  gpu::BarrierOp::create(b);
  Values words;
  for (int64_t pair = 0; pair < size / 32; ++pair)
    llvm::append_range(words, emitLoadMatrices(b, tile.keyMatrix(pair), false));
  for (int64_t half = 0; half < tokens / 16; ++half)
    llvm::append_range(words,
                       emitLoadMatrices(b, tile.valueMatrix(0, half), true));
  for (int64_t pair = 0; pair < 2; ++pair)
    words.push_back(tile.pairAt(kernel.warp.column, pair));
  words.push_back(kernel.asWord(is8Bit ? Words(b).decodedUnit(dtype)
                                       : FastMath(b).number(1)));
  return words;
}

/// Adds the kernel of `block` to the end of main.
void emitKernel(func::FuncOp main, const BuildingBlock &block) {
  ImplicitLocOpBuilder host(main.getLoc(), main.getContext());
  Operation *end = main.getBody().front().getTerminator();
  host.setInsertionPoint(end);
  KernelBuilder builder(host, end, block.threads, /*blocksPerSM=*/0);
  Tensor in = builder.takeTensor(main.getArgument(0), /*readOnly=*/true);
  Tensor out = builder.takeTensor(main.getArgument(1), /*readOnly=*/false);
  Kernel kernel(builder);
  kernel.arguments = main.getArguments().drop_front(2);
  main.walk([&](GetKeyCacheOp op) { kernel.keys = op; });
  main.walk([&](GetValueCacheOp op) { kernel.values = op; });
  Value thread = gpu::ThreadIdOp::create(kernel.b, gpu::Dimension::x);
  auto view = [&](const Tensor &tensor, int64_t word) -> Value {
    Value at = kernel.arith.add(thread, word * block.threads);
    return ByteViewOp::create(kernel.b,
                              MemRefType::get({1}, kernel.b.getI32Type()),
                              tensor.base, kernel.arith.mul(at, 4));
  };
  Value first = kernel.arith.index(0);
  Values words;
  for (int64_t word = 0; word < block.words; ++word)
    words.push_back(
        memref::LoadOp::create(kernel.b, view(in, word), ValueRange{first}));
  for (auto [number, word] : llvm::enumerate(block.emit(kernel, words)))
    memref::StoreOp::create(kernel.b, word, view(out, number),
                            ValueRange{first});
  builder.launch(Arith(host).index(1));
  kernel.after();
}

} // namespace

int main(int argc, char **argv) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                      KVCacheDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect>();
  Type f16 = Float16Type::get(&context), bf16 = BFloat16Type::get(&context),
       e4m3 = Float8E4M3FNType::get(&context);
  auto with = [](auto emit, Type type) {
    return
        [=](Kernel &kernel, ValueRange in) { return emit(kernel, in, type); };
  };
  SmallVector<BuildingBlock> blocks = {
      {"warp", 64, 1, emitWarp},
      {"fast-math", 128, 2, emitFastMath},
      {"mma-f16", 32, 10, with(emitProduct, f16)},
      {"mma-bf16", 32, 10, with(emitProduct, bf16)},
      {"matrices", 32, 4, emitMatrices},
      {"wgmma", 128, 10, emitWarpgroup},
      {"tile-8-bit", 128, 4, with(emitSharedTile, e4m3)},
      {"tile-16-bit", 128, 8, with(emitSharedTile, bf16)}};
  addAttentionBlocks(context, blocks);
  addIndexerBlocks(blocks);
  for (const BuildingBlock &block : blocks) {
    if (argc != 2 || block.name != argv[1])
      continue;
    llvm::SourceMgr sources;
    auto text = llvm::MemoryBuffer::getSTDIN();
    if (!text)
      return 1;
    sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
    if (!module)
      return 1;
    emitKernel(module->lookupSymbol<func::FuncOp>("main"), block);
    module->print(llvm::outs());
    return 0;
  }
  llvm::errs() << "usage: kvcache-emit-tiles BLOCK < PROGRAM\n";
  return 1;
}
