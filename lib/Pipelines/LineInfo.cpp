//===- LineInfo.cpp - Source lines for device code ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LineInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace {

/// Debug scopes of one module, one per file and function.
class Scopes {
public:
  explicit Scopes(MLIRContext *context) : context(context) {}

  LLVM::DIFileAttr getFile(StringAttr path) {
    StringRef text = path.getValue();
    return LLVM::DIFileAttr::get(context, llvm::sys::path::filename(text),
                                 llvm::sys::path::parent_path(text));
  }

  LLVM::DISubprogramAttr getSubprogram(LLVM::LLVMFuncOp function,
                                       FileLineColLoc location) {
    LLVM::DIFileAttr file = getFile(location.getFilename());
    LLVM::DICompileUnitAttr &unit = units[location.getFilename()];
    if (!unit)
      unit = LLVM::DICompileUnitAttr::get(
          newId(), llvm::dwarf::DW_LANG_C, file,
          StringAttr::get(context, "kvcache"), /*isOptimized=*/true,
          LLVM::DIEmissionKind::DebugDirectivesOnly);
    auto type =
        LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    auto flags = LLVM::DISubprogramFlags::Definition |
                 LLVM::DISubprogramFlags::Optimized;
    StringAttr name = function.getNameAttr();
    return LLVM::DISubprogramAttr::get(
        context, newId(), unit, file, name, name, file, location.getLine(),
        location.getLine(), flags, type,
        /*retainedNodes=*/ArrayRef<LLVM::DINodeAttr>(),
        /*annotations=*/ArrayRef<LLVM::DINodeAttr>());
  }

private:
  DistinctAttr newId() { return DistinctAttr::create(UnitAttr::get(context)); }

  MLIRContext *context;
  llvm::DenseMap<StringAttr, LLVM::DICompileUnitAttr> units;
};

FileLineColLoc findFileLocation(Location location) {
  if (auto found = location->findInstanceOf<FileLineColLoc>())
    return found;
  return FileLineColLoc::get(location.getContext(), "<unknown>", 0, 0);
}

} // namespace

void kvcache::attachLineInfo(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  Scopes scopes(context);
  module.walk([&](LLVM::LLVMFuncOp function) {
    if (function.isExternal())
      return;
    FileLineColLoc start = findFileLocation(function.getLoc());
    LLVM::DISubprogramAttr subprogram = scopes.getSubprogram(function, start);
    function->setLoc(FusedLoc::get(context, {start}, subprogram));
    function.getBody().walk([&](Operation *op) {
      // Of several locations the first: a line beats none.
      FileLineColLoc location = findFileLocation(op->getLoc());
      if (location.getFilename() == start.getFilename())
        return op->setLoc(location);
      auto block = LLVM::DILexicalBlockFileAttr::get(
          subprogram, scopes.getFile(location.getFilename()),
          /*discriminator=*/0);
      op->setLoc(FusedLoc::get(context, {location}, block));
    });
  });
}
