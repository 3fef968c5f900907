//===- SharedMemory.cpp - Shared memory of compiled kernels ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// All that `function` names, and what that names in turn.
static llvm::SetVector<Operation *> getReferenced(LLVM::LLVMFuncOp function,
                                                  SymbolTable &symbols) {
  llvm::SetVector<Operation *> found;
  found.insert(function);
  for (unsigned next = 0; next < found.size(); ++next)
    if (auto uses = SymbolTable::getSymbolUses(found[next]))
      for (SymbolTable::SymbolUse use : *uses)
        if (Operation *symbol =
                symbols.lookup(use.getSymbolRef().getRootReference()))
          found.insert(symbol);
  return found;
}

DictionaryAttr kvcache::getSharedBytes(gpu::GPUModuleOp module) {
  SymbolTable symbols(module);
  DataLayout layout = DataLayout::closest(module);
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> bytes;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      continue;
    int64_t total = 0;
    for (Operation *symbol : getReferenced(function, symbols)) {
      auto global = dyn_cast<LLVM::GlobalOp>(symbol);
      if (!global || global.getAddrSpace() !=
                         static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        continue;
      uint64_t alignment =
          std::max(global.getAlignment().value_or(1),
                   layout.getTypeABIAlignment(global.getGlobalType()));
      total = llvm::alignTo(total, alignment) +
              layout.getTypeSize(global.getGlobalType()).getFixedValue();
    }
    bytes.push_back(builder.getNamedAttr(function.getSymName(),
                                         builder.getI64IntegerAttr(total)));
  }
  return builder.getDictionaryAttr(bytes);
}
