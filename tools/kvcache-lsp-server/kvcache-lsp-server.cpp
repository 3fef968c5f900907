//===- kvcache-lsp-server.cpp - Editors' language server ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../lib/Version.h"
#include "kvcache/InitAll.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  addVersion();
  mlir::DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  mlir::kvcache::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
