//===- SharedTile.cpp - Tokens of a cache in shared memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

#include "../KernelBuilder.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

static constexpr int64_t chunkBytes = 16;
/// Rows start at the same bank, and groups of chunks inside a row.
static constexpr int64_t groupBytes = 256;

int64_t SharedTile::bytesOf(int64_t size, int64_t tokens) {
  return tokens * llvm::alignTo(2 * size, groupBytes);
}

static Value further(ImplicitLocOpBuilder &b, Value place, int64_t bytes) {
  if (bytes == 0)
    return place;
  return LLVM::GEPOp::create(
      b, place.getType(), b.getI8Type(), place,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

TilePieces::TilePieces(ImplicitLocOpBuilder &b, Warp &warp, int64_t tokenBytes,
                       int64_t tokens, int64_t warps)
    : b(b), threads(warps * Warp::lanes), perToken(tokenBytes / chunkBytes),
      count(perToken * tokens / threads) {
  Arith arith(b);
  thread = arith.add(arith.mul(warp.number, Warp::lanes), warp.lane);
  turn = 8 * perToken / std::gcd(8 * perToken, threads);
}

Value TilePieces::numberOf(int64_t i) {
  return Arith(b).add(thread, i * threads);
}

TilePieces::Piece TilePieces::at(int64_t i) {
  Arith arith(b);
  Value piece = numberOf(i % turn);
  return {arith.div(piece, perToken), arith.rem(piece, perToken),
          i / turn * turn * threads / perToken};
}

SharedTile::SharedTile(ImplicitLocOpBuilder &b, Warp &warp, Value memory,
                       Type dtype, Type product, int64_t size, int64_t slice,
                       int64_t tokens, int64_t warps)
    : b(b), dtype(dtype), product(product),
      is8Bit(dtype.getIntOrFloatBitWidth() == 8), rowBytes(bytesOf(size, 1)) {
  Arith arith(b);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  address = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
  pointer = LLVM::IntToPtrOp::create(
      b,
      LLVM::LLVMPointerType::get(
          b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared)),
      address);

  TilePieces pieces(b, warp, size * (is8Bit ? 1 : 2), tokens, warps);
  for (int64_t i = 0; i < pieces.perThread(); ++i) {
    TilePieces::Piece piece = pieces.at(i);
    if (piece.further > 0) {
      // The swizzle is that of the row eight further on.
      pieceAt.push_back(
          further(b, pieceAt[i % pieces.period()], piece.further * rowBytes));
      continue;
    }
    // Of two chunks the second is eight further on.
    Value chunk = is8Bit ? arith.mul(piece.inToken, 2) : piece.inToken;
    pieceAt.push_back(at(chunkAt(piece.token, chunk)));
  }
  // Of four matrices each lane names a row.
  Value inMatrix = arith.rem(warp.lane, 8), matrix = arith.div(warp.lane, 8);
  Value keyRow = arith.add(arith.mul(warp.number, 8), inMatrix);
  int64_t period = is8Bit ? 4 : 2;
  for (int64_t i = 0; i < period; ++i)
    keyAt.push_back(at(chunkAt(keyRow, arith.add(matrix, 4 * i))));
  Value valueRow = arith.add(inMatrix, arith.mul(arith.rem(matrix, 2), 8));
  for (int64_t pair = 0; pair < slice / 16; ++pair) {
    Value chunk = arith.add(
        arith.add(arith.mul(warp.number, slice / 8), arith.div(matrix, 2)),
        2 * pair);
    valueAt.push_back(at(chunkAt(valueRow, chunk)));
  }
}

Value SharedTile::at(Value byte, int64_t constant) {
  auto type = pointer.getType();
  Value place = LLVM::GEPOp::create(b, type, b.getI8Type(), pointer,
                                    ArrayRef<LLVM::GEPArg>{byte});
  if (constant == 0)
    return place;
  return LLVM::GEPOp::create(
      b, type, b.getI8Type(), place,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constant)});
}

Value SharedTile::chunkAt(Value row, Value chunk) {
  Arith arith(b);
  auto swizzle = [&](Value number, Value key) -> Value {
    return arith::XOrIOp::create(b, number, key);
  };
  Value inEight = arith.rem(row, 8);
  Value start = arith.mul(row, rowBytes);
  if (!is8Bit) {
    Value place = arith.add(arith.mul(arith.div(chunk, 8), 8),
                            swizzle(arith.rem(chunk, 8), inEight));
    return arith.add(start, arith.mul(place, chunkBytes));
  }
  // Rows of 36 pieces end in the middle of eight lanes: the rest of these go on
  // in the next row, whose key has another highest bit.
  Value key =
      arith.add(arith.mul(arith.rem(inEight, 2), 4), arith.div(inEight, 2));
  Value inGroup = arith.rem(chunk, 16);
  Value place = arith.add(arith.mul(arith.div(chunk, 16), 16),
                          arith.mul(arith.rem(inGroup, 2), 8));
  place = arith.add(place, swizzle(arith.div(inGroup, 2), key));
  return arith.add(start, arith.mul(place, chunkBytes));
}

void SharedTile::store(ValueRange words) {
  Words registers(b);
  for (Value place : pieceAt) {
    ValueRange piece = words.take_front(4);
    words = words.drop_front(4);
    if (!is8Bit) {
      LLVM::StoreOp::create(b, registers.vector(piece), place, chunkBytes);
      continue;
    }
    SmallVector<Value> numbers;
    for (Value word : piece)
      llvm::append_range(numbers, registers.decodeScaled(word, dtype));
    // A token's NaN ends in its score, wherever it is.
    numbers.back() = registers.restoreNaN(numbers.back(), numbers, dtype);
    for (int64_t i = 0; i < 2; ++i) {
      SmallVector<Value> chunk;
      for (int64_t pair = i; pair < 8; pair += 2)
        chunk.push_back(numbers[pair]);
      LLVM::StoreOp::create(b, registers.vector(chunk),
                            further(b, place, i * groupBytes / 2), chunkBytes);
    }
  }
}

Value SharedTile::pairAt(Value column, int64_t pair) {
  Arith arith(b);
  return hasNeighbours() ? arith.add(arith.mul(column, 4), 2 * pair)
                         : arith.add(arith.mul(column, 2), 8 * pair);
}

Value SharedTile::keyMatrix(int64_t pair) {
  int64_t period = keyAt.size();
  // A group is sixteen chunks of codes, eight of others.
  return further(b, keyAt[pair % period],
                 pair / period * 4 * period * chunkBytes);
}

Value SharedTile::valueMatrix(int64_t pair, int64_t half) {
  return further(b, valueAt[pair], half * 16 * rowBytes);
}
