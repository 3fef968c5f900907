//===- HostEvaluator.h - Host code to expressions ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_TARGET_LAUNCHRECORD_HOSTEVALUATOR_H
#define KVCACHE_LIB_TARGET_LAUNCHRECORD_HOSTEVALUATOR_H

#include "kvcache/Target/LaunchRecord/LaunchRecord.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::kvcache {

/// A memref as expressions; the pointer is the one that a kernel is passed.
struct MemRefExpr {
  const Expr *base = nullptr;
  const Expr *offset = nullptr;
  SmallVector<const Expr *> sizes, strides;
};

/// Walks a host function once, in order. A value that cannot be expressed is
/// none until something needs it.
class HostEvaluator {
public:
  HostEvaluator(func::FuncOp function, StaticSharedLookup staticShared)
      : function(function), staticShared(staticShared) {
    record.expressions = std::make_unique<Expressions>();
    record.workspaceBytes = exprs().constant(0);
  }

  FailureOr<LaunchRecord> run();

private:
  Expressions &exprs() { return *record.expressions; }

  /// Says at `location` why there is no record.
  LogicalResult refuse(Location location, const Twine &why);

  LogicalResult addArguments();
  LogicalResult addArgument(BlockArgument argument, std::string name);

  LogicalResult evaluate(Block &block);
  LogicalResult evaluate(Operation *op);
  LogicalResult evaluateIf(scf::IfOp op);
  LogicalResult evaluateLaunch(gpu::LaunchFuncOp op);
  LogicalResult evaluateAlloc(gpu::AllocOp op);
  /// Operations whose results only matter where they are needed.
  void evaluateMemRef(Operation *op);
  void evaluateLoad(memref::LoadOp op);
  const Expr *evaluateInteger(Operation *op);
  const Expr *evaluateArith(ExprKind kind, Operation *op, bool isUnsigned,
                            unsigned bits);
  const Expr *evaluateCompare(arith::CmpIOp op);

  /// The value, or null where it cannot be expressed.
  const Expr *find(Value value) { return integers.lookup(value); }
  const MemRefExpr *findMemRef(Value value);
  /// The value; where it cannot be expressed, says so.
  FailureOr<const Expr *> need(Value value);
  LogicalResult explain(Value value);
  /// A memref that is where `a` is or where `b` is.
  std::optional<MemRefExpr> select(const Expr *condition, const MemRefExpr *a,
                                   const MemRefExpr *b);
  void addRequirement(const Expr *condition, const Twine &message);

  func::FuncOp function;
  StaticSharedLookup staticShared;
  LaunchRecord record;
  llvm::DenseMap<Value, const Expr *> integers;
  llvm::DenseMap<Value, MemRefExpr> memrefs;
  SmallVector<const Expr *> guards;
  SymbolTableCollection symbols;
};

/// What a kernel does to the memory of its argument.
MemoryAccess getKernelAccess(FunctionOpInterface kernel, unsigned argument);
/// What happens to memory that both happens to.
MemoryAccess join(MemoryAccess a, MemoryAccess b);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_TARGET_LAUNCHRECORD_HOSTEVALUATOR_H
