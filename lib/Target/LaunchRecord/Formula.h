//===- Formula.h - Expressions as text --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_TARGET_LAUNCHRECORD_FORMULA_H
#define KVCACHE_LIB_TARGET_LAUNCHRECORD_FORMULA_H

#include "kvcache/Target/LaunchRecord/LaunchRecord.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::kvcache {

/// All that `roots` are made of, operands first.
std::vector<const Expr *> getPostOrder(ArrayRef<const Expr *> roots);

/// All expressions of a record: guards, conditions, geometry, arguments.
std::vector<const Expr *> getRoots(const LaunchRecord &record);
/// Those of one step, but for its guards.
std::vector<const Expr *> getRoots(const LaunchStep &step);

/// The operands of the comparison, or of the remainder that should be 0, by
/// which `condition` does not hold where it is 0: of the last one of several of
/// which one would do. Null where there is none.
std::pair<const Expr *, const Expr *> getCompared(const Expr *condition);

/// Writes expressions in the notation of docs/launch-record.md, which is also
/// Python's. Long ones that are used more than once have a name.
class FormulaWriter {
public:
  explicit FormulaWriter(const LaunchRecord &record);

  std::string write(const Expr *expr) const;
  /// For messages: without names, unless it would be long.
  std::string describe(const Expr *expr) const;

  /// Names and what they stand for, each made of those before.
  ArrayRef<std::pair<std::string, const Expr *>> getNamed() const {
    return named;
  }
  /// The definition of a named expression.
  std::string writeDefinition(const Expr *expr) const;

private:
  std::string print(const Expr *expr, int outer, bool useNames,
                    bool isRoot) const;
  std::string printLeaf(const Expr *expr) const;

  const LaunchRecord &record;
  std::vector<std::pair<std::string, const Expr *>> named;
  llvm::DenseMap<const Expr *, std::string> names;
  /// Operations of the expression when written out in full.
  llvm::DenseMap<const Expr *, unsigned> fullSize;
};

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_TARGET_LAUNCHRECORD_FORMULA_H
