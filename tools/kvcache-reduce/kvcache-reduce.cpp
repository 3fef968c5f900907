//===- kvcache-reduce.cpp - Make a failing program small ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../lib/Input.h"
#include "../lib/Version.h"
#include "kvcache/InitAll.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  addVersion();
  mlirRegisterAllPasses();
  mlir::kvcache::registerAllPasses();
  mlir::DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  mlir::kvcache::registerAllDialects(registry);
  // MLIR's main program reads the file itself: it is an argument.
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front())
    if (auto file = llvm::MemoryBuffer::getFile(argument);
        file && !mayRead(**file, registry))
      return 1;
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
