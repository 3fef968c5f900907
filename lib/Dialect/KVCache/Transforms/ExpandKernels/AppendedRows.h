//===- AppendedRows.h - The rows that an operation appends ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_APPENDEDROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_APPENDEDROWS_H

#include "ExpandKernels.h"
#include "RopeNorm.h"

namespace mlir::kvcache {

/// The rows that an operation appends.
struct AppendedRows {
  static AppendedRows of(AppendOp op);
  static AppendedRows of(AppendScalesOp op);
  static AppendedRows of(QuantizeAppendOp op);
  static AppendedRows of(RopeQuantizeAppendOp op);

  Operation *op;
  OutOfRange policy;
  OperandRange targets;
  RowForm form;
  OperandRange lists;
  /// A tensor of as many rows, and its dimensions that count them.
  Value source;
  unsigned leadingRank;
  /// The pools that are written.
  bool values, scales;
  /// By what rows turn.
  RopeNormRequest ropeNorm;
  /// Null where no two rows go to one slot.
  Value workspace;

  /// Sizes that count the rows (`index` on the host), one or two.
  SmallVector<Value> lead(ImplicitLocOpBuilder &host) const;
  /// Their product.
  static Value count(ImplicitLocOpBuilder &host, ArrayRef<Value> lead);
  /// By which positions rows turn, without their norm: what leaves rows out.
  RopeNormRequest turns() const;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_APPENDEDROWS_H
