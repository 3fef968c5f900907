//===- MemRefRoots.h - The memory behind a memref ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_MEMREFROOTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_MEMREFROOTS_H

#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace mlir::kvcache {

/// Memory that is told apart from other memory: a value that views nothing
/// else (an allocation, a function's argument, the result of a call), the
/// operation that declares a global or, of a cache, what makes its collection.
using MemRefRoot = llvm::PointerUnion<Operation *, Value>;

/// Finds the memory a memref, a cache or a collection may speak of, through
/// views, casts, selects, branches and structured control flow. Different roots
/// are taken to be different memory: arguments that overlap are the caller's
/// affair.
class MemRefRoots {
public:
  explicit MemRefRoots(SymbolTableCollection &symbols) : symbols(symbols) {}

  /// The roots of `memref`, in the order in which they are found.
  ArrayRef<MemRefRoot> get(Value memref);

private:
  /// Appends the values that `value` may be, one step up; none for a root.
  void appendSources(Value value, SmallVectorImpl<Value> &sources);
  void appendForwarded(RegionBranchOpInterface op, Value input,
                       SmallVectorImpl<Value> &sources);

  SymbolTableCollection &symbols;
  DenseMap<Value, SmallVector<MemRefRoot, 1>> known;
  DenseMap<Operation *, RegionBranchInverseSuccessorMapping> forwarded;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_MEMREFROOTS_H
