//===- ReachableAfter.h - What may run after an operation -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_REACHABLEAFTER_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_REACHABLEAFTER_H

#include "mlir/IR/Operation.h"

namespace mlir::kvcache {

/// The operations of one body (a function's, say) that may run after any of a
/// set of sources: later in the same block, in blocks that branches lead to, in
/// regions that structured control flow leads to, around loops, and behind each
/// enclosing operation. Takes time linear in the sources and in the blocks that
/// they reach.
class ReachableAfter {
public:
  /// `body` holds the regions that sources and queries lie in. Coming back to
  /// `definition` (null: nowhere) makes things anew: what is reached by way of
  /// it does not count.
  ReachableAfter(Operation *body, Block *definition)
      : body(body), definition(definition) {}

  void addSource(Operation *source);

  /// A source after which `op` may run; null where there is none.
  Operation *findSource(Operation *op) const;

private:
  /// What is reached of a block: all of it, or what follows `after`.
  struct Mark {
    Operation *after;
    Operation *source;
  };

  void markWhole(Block *block, Operation *source);
  void markSuccessors(Block *block, Operation *source);
  void markNextRegions(Region *region, Operation *source);

  Operation *body;
  Block *definition;
  DenseMap<Block *, Mark> marks;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_REACHABLEAFTER_H
