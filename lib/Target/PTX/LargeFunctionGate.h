//===- LargeFunctionGate.h - Keep code generation linear --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_TARGET_PTX_LARGEFUNCTIONGATE_H
#define KVCACHE_LIB_TARGET_PTX_LARGEFUNCTIONGATE_H

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"

namespace mlir::kvcache {

/// Two passes of LLVM's NVPTX pipeline take time that is quadratic in the
/// accesses of a function: straight-line strength reduction, of their
/// addresses, and the load/store vectoriser (95 % of the time at 500 table
/// lookups in one block). This gate skips them for functions with more accesses
/// than `limit`; what they would find in those, common addresses and
/// neighbouring accesses, the passes on lookups have shared and widened before.
class LargeFunctionGate : public llvm::OptPassGate {
public:
  /// Half a second of both passes on one core of 2020.
  static constexpr int limit = 640;

  explicit LargeFunctionGate(const llvm::Module &module) {
    for (const llvm::Function &function : module) {
      auto accesses =
          llvm::count_if(llvm::instructions(function), [](const auto &access) {
            return llvm::getLoadStorePointerOperand(&access) != nullptr;
          });
      if (accesses > limit)
        large.insert(("function (" + function.getName() + ")").str());
    }
  }

  bool isEnabled() const override { return !large.empty(); }
  bool shouldRunPass(llvm::StringRef pass,
                     llvm::StringRef unit) const override {
    return !large.contains(unit) ||
           (pass != "slsr" && pass != "load-store-vectorizer");
  }

private:
  /// As passes describe them.
  llvm::StringSet<> large;
};

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_TARGET_PTX_LARGEFUNCTIONGATE_H
