//===- building_block.h - A building block in a kernel of its own ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TEST_EXECUTION_TILES_INPUTS_BUILDING_BLOCK_H
#define TEST_EXECUTION_TILES_INPUTS_BUILDING_BLOCK_H

#include "KernelBuilder.h"
#include "Tiles/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

namespace tiles {

using namespace mlir;
using namespace mlir::kvcache;
using Values = SmallVector<Value>;

/// What a building block is given, beside the words of its threads.
struct Kernel {
  KernelBuilder &builder;
  ImplicitLocOpBuilder &b;
  Arith arith;
  Warp warp;
  /// On the host: what main has after `in` and `out`, and its caches.
  ValueRange arguments;
  Value keys, values;
  /// What comes after the kernel, on the host.
  std::function<void()> after = [] {};

  explicit Kernel(KernelBuilder &builder)
      : builder(builder), b(builder.body()), arith(b), warp(b) {}

  Value asFloat(Value word) {
    return arith::BitcastOp::create(b, b.getF32Type(), word);
  }
  Values asFloats(ValueRange words) {
    return llvm::map_to_vector(words, [&](Value x) { return asFloat(x); });
  }
  Value asWord(Value number) {
    return arith::BitcastOp::create(b, b.getI32Type(), number);
  }
  Value asWordOf(Value condition) {
    return arith::ExtUIOp::create(b, b.getI32Type(), condition);
  }
  Values asWords(ValueRange numbers) {
    return llvm::map_to_vector(numbers, [&](Value x) { return asWord(x); });
  }
};

struct BuildingBlock {
  StringRef name;
  /// Threads of the block, and the words that each reads.
  int64_t threads, words;
  /// The words that each writes, of those that it reads.
  std::function<Values(Kernel &, ValueRange)> emit;
};

/// Those of attention, in attention_blocks.cpp.
void addAttentionBlocks(MLIRContext &context,
                        SmallVectorImpl<BuildingBlock> &blocks);

/// Those of the indexer, in indexer_blocks.cpp.
void addIndexerBlocks(SmallVectorImpl<BuildingBlock> &blocks);

} // namespace tiles

#endif // TEST_EXECUTION_TILES_INPUTS_BUILDING_BLOCK_H
