//===- GatherPages.h - The pages that kvcache.gather reads ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERPAGES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERPAGES_H

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "PageCut.h"

namespace mlir::kvcache {

/// A page of a sequence, for one thread of the group that has it.
struct GatherPage {
  /// `i32`: the thread in its group, and the slice that is the group's (null
  /// for 0).
  Value lane, slice;
  /// Leading indices (`index`) of the tensors' row that is the page's first.
  SmallVector<Value> lead;
  /// `i32`: rows that the page has in the tensors; of these, rows that hold
  /// tokens. Both are at most a page's.
  Value rows, copied;
  /// `i32`: where the page lies; 0 where nothing is copied.
  Value block, scalesBlock;
};

/// The work of a gather: all pages that its sequences have rows for.
class GatherPages {
public:
  GatherPages(KernelBuilder &builder, GatherOp op, const PageCut &cut);

  /// Blocks to launch, on the host.
  Value blocks();

  /// Emits `body` for the page of a thread, where there is one. `cache` is a
  /// cache in the kernel.
  void forPage(Value cache, bool needScales,
               function_ref<void(const GatherPage &)> body);

private:
  /// Where a page stands: the sequence in the order of the tensors and the page
  /// in it, numbers of one type; and `index`: the first row of the sequence in
  /// a ragged tensor, null in a padded one, and the rows that it has there.
  struct Place {
    Value sequence, page, start, rows;
  };
  Place placeOf(Value item);
  /// Emits `body` for what is a thread's of a block's pages.
  void ofBlock(Value item, Value thread, Value cache, bool needScales,
               function_ref<void(const GatherPage &)> body);
  Value entry(Value list, Value index);
  /// The sequence in the collection (`index`) and its length (`index`), 0 where
  /// there is no such sequence.
  std::pair<Value, Value> lengthOf(Value cache, const Place &place);
  void lookUp(Value cache, bool needScales, Value batch, Value page,
              GatherPage &result);

  KernelBuilder &builder;
  ImplicitLocOpBuilder &host;
  ImplicitLocOpBuilder &b;
  GatherOp op;
  const PageCut &cut;
  int64_t pageSize;
  /// On the host: pages of all sequences.
  Value hostItems;
  /// In the kernel, `index`: that number, pages of a sequence (padded), rows of
  /// a sequence (padded) or of all (ragged), sequences (ragged).
  Value items, perSequence, rows, count;
  /// In the kernel: lists.
  Value sequences, offsets;
  /// In the kernel, `index`: the size of `sequences`.
  Value listed;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERPAGES_H
