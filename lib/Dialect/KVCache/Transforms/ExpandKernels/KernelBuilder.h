//===- KernelBuilder.h - A kernel and its launch -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELBUILDER_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELBUILDER_H

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// Threads of a warp.
constexpr int64_t warpSize = 32;

/// Bytes of shared memory that a block has without asking for more.
constexpr int64_t staticSharedBytes = 48 * 1024;

/// Bytes that a block may ask for: what the chip with the least gives.
constexpr int64_t dynamicSharedBytes = 99 * 1024;

/// Unsigned arithmetic that folds as it is written. What lies inside a page or
/// a row is `i32`; what may be as large as memory is `index`.
class Arith {
public:
  explicit Arith(ImplicitLocOpBuilder &b) : b(b) {}

  Value i32(int64_t number);
  Value index(int64_t number);
  /// A number of the type of `value`.
  Value like(Value value, int64_t number);
  Value toI32(Value value);
  Value toIndex(Value value);

  /// None of these wraps: neither signed nor unsigned.
  Value add(Value a, Value b);
  Value mul(Value a, Value b);
  Value add(Value a, int64_t n) { return add(a, like(a, n)); }
  Value mul(Value a, int64_t n) { return mul(a, like(a, n)); }
  /// `a - b`, where `a` is at least `b`.
  Value sub(Value a, Value b);
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value div(Value a, int64_t n);
  Value rem(Value a, int64_t n);
  Value ceilDiv(Value a, int64_t n);
  Value minimum(Value a, Value b);
  /// Unsigned comparisons.
  Value less(Value a, Value b);
  Value equal(Value a, Value b);
  /// Conjunction of conditions, of which null ones are true; null if all are.
  Value both(Value a, Value b);

private:
  ImplicitLocOpBuilder &b;
};

/// A tensor of the host as a kernel sees it: a pointer and strides. The last
/// dimension is packed.
struct Tensor {
  /// `memref<element>` in the kernel.
  Value base;
  Type elementType;
  /// Elements from one index of each leading dimension to the next, `index`
  /// values in the kernel.
  SmallVector<Value> strides;
  /// Bytes of an element.
  int64_t elementBytes() const {
    return elementType.getIntOrFloatBitWidth() / 8;
  }
  /// `memref<count x element>` from the element at `indices` (leading ones,
  /// `index`) on.
  Value row(ImplicitLocOpBuilder &b, ValueRange indices, int64_t count) const;
};

/// A gpu.func in a gpu.module of its own, and the gpu.launch_func that replaces
/// an operation of the host. The values that the kernel takes from the host
/// become its arguments in the order in which they are taken.
class KernelBuilder {
public:
  /// What a grid holds in its first dimension.
  static constexpr int64_t maxGrid = (int64_t(1) << 31) - 1;

  /// Blocks have `threads` threads, and a grid has `maxBlocks` of them at most
  /// in its first dimension. Insertion of `host` is where the launch goes; the
  /// body of the kernel is written by `body`.
  KernelBuilder(ImplicitLocOpBuilder &host, Operation *op, int64_t threads,
                int64_t blocksPerSM, int64_t maxBlocks = maxGrid);

  /// A thread has at most `count` registers; not together with `blocksPerSM`.
  void limitRegisters(int64_t count);

  ImplicitLocOpBuilder &body() { return kernel; }
  ImplicitLocOpBuilder &hostBuilder() { return host; }

  /// A number, collection, cache or operand of the host in the kernel;
  /// constants are made anew.
  Value take(Value value);
  /// A memref of the host; with `readOnly` nobody writes it while the kernel
  /// runs.
  Tensor takeTensor(Value memref, bool readOnly);
  /// The number that a `memref<f32>` of the host holds, which nobody writes
  /// while the kernel runs; null of null.
  Value takeNumber(Value memref);
  /// A list `memref<? x i32>` that nobody writes while the kernel runs, as the
  /// base of `kvcache.table_read`.
  Value takeList(Value memref);

  /// `count` elements that the threads of a block share, at a multiple of
  /// `alignment` bytes, at most 16. Where all of it together is more than
  /// `staticSharedBytes` the launch asks for it, as dynamic memory: there is
  /// room for `dynamicSharedBytes`.
  Value shareMemory(Type element, int64_t count, int64_t alignment);

  /// Memory that the threads of a block share, `memref<? x i8>`, as much as the
  /// launch says: there may be more than of the other kind.
  Value shareDynamicMemory();

  /// Emits `body` for the number (`index`) of a block. Where the first
  /// dimension of a grid does not hold all `blocks` (`index`, on the host), the
  /// second one counts on: a loop here would keep what is a constant of the
  /// block in registers.
  void forBlock(Value blocks, function_ref<void(Value block)> body);

  /// The same, where all that follows is the body.
  Value enterBlock(Value blocks);

  /// Launches `blocks` (`index`) blocks, unless there are none, and closes the
  /// kernel. One that was written by `forBlock` or `enterBlock` takes any
  /// number.
  void launch(Value blocks);
  /// The same, with so many bytes of dynamic memory.
  void launch(Value blocks, int64_t dynamicBytes);

private:
  Value addArgument(Value value, ArrayRef<StringRef> attributes);
  /// Moves what threads share to dynamic memory, where it does not fit static
  /// memory; returns the bytes there.
  int64_t moveToDynamicMemory();

  ImplicitLocOpBuilder &host;
  Operation *op;
  ImplicitLocOpBuilder kernel;
  int64_t threads, maxBlocks;
  bool countsOn = false;
  gpu::GPUFuncOp func;
  gpu::GPUModuleOp module;
  SmallVector<Value> operands;
  SmallVector<DictionaryAttr> argumentAttrs;
  llvm::DenseMap<Value, Value> taken;
  SmallVector<memref::GetGlobalOp> shared;
};

/// A memref of the host by its parts: the pointer to its first element as a
/// rank-0 memref, and its strides in elements.
struct HostTensor {
  Value base;
  SmallVector<OpFoldResult> strides;

  HostTensor(ImplicitLocOpBuilder &host, Value memref);
};

/// The size of a dimension of a memref of the host.
Value sizeOf(ImplicitLocOpBuilder &host, Value memref, int64_t dimension);

/// Whether rows of these memrefs, which are what the last `rowRank` dimensions
/// hold, start at multiples of `bytes`: true or false where it is known, else
/// unset.
std::optional<bool> areRowsAligned(ArrayRef<Value> memrefs, int64_t bytes,
                                   unsigned rowRank = 1);

/// The same, asked on the host.
Value emitAreRowsAligned(ImplicitLocOpBuilder &host, ArrayRef<Value> memrefs,
                         int64_t bytes, unsigned rowRank = 1);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_KERNELBUILDER_H
