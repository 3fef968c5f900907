//===- Partials.h - Sums over a part of the keys -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row's sums over a part of the keys, as of a SoftmaxState: what is called
// its maximum is the reference that they are relative to. Parts without a key
// have the maximum `noMaximum` and sums of 0, so that all combine alike.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PARTIALS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PARTIALS_H

#include "../KernelBuilder.h"

namespace mlir::kvcache {

/// Elements of a row that lie side by side, from element `first` (`i32`) on.
struct RowRun {
  Value first;
  SmallVector<Value> elements;
};

/// Where rows end up. A row is a token and a query head.
class RowResults {
public:
  /// On the host: `out` `[T, Hq, size]`; `sinks`, `lse` and `workspace` may be
  /// null.
  RowResults(Value out, Value sinks, Value lse, Value workspace,
             int64_t queryHeads, int64_t size);

  /// On the host: into how many parts the keys of a row are cut, where
  /// `blocks` blocks have the rows of one part and a row has at most `tokens`
  /// keys.
  Value parts(ImplicitLocOpBuilder &host, Value blocks, Value tokens) const;

  /// Takes what the kernel needs; `parts` are the host's.
  void enter(KernelBuilder &builder, Value parts);
  /// The number of parts (`index`), null where there is always one.
  Value partCountInKernel() const { return partCount; }
  /// Of the tiles of keys from `first` to before `stop` (`i32`) those of part
  /// `part` (`index`), all where that is null.
  std::pair<Value, Value> tilesOfPart(ImplicitLocOpBuilder &b, Value part,
                                      Value first, Value stop) const;

  /// The sums of part `part` (`index`) of row (`token`, `head`), those of
  /// `runs` among the elements, to where they belong: what the row becomes
  /// where there is one part, else the workspace. The lane that has `isFirst`
  /// (`i1`) stores what a row has once.
  void store(ImplicitLocOpBuilder &b, Value token, Value head, Value part,
             Value maximum, Value sum, ArrayRef<RowRun> runs, Value isFirst);

  /// Launches the kernel that combines parts, where there are several, of the
  /// rows that the list `offsets` (see RowOffsets) gives to sequences.
  void combine(ImplicitLocOpBuilder &host, Operation *op, Value offsets,
               Value parts, int64_t maxBlocks) const;

private:
  void finish(ImplicitLocOpBuilder &b, Value token, Value head, Value maximum,
              Value sum, ArrayRef<RowRun> runs, Value isFirst);
  Value workspaceView(ImplicitLocOpBuilder &b, Value number, int64_t count);

  Value hostOut, hostSinks, hostLse, hostWorkspace;
  int64_t queryHeads, size;
  /// In the kernel.
  Tensor out, sinks, lse, workspace;
  Value partCount, rows;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PARTIALS_H
