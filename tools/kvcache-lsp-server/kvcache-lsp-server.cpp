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
#include "llvm/Support/thread.h"

#include <optional>

int main(int argc, char **argv) {
  addVersion();
  mlir::DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  mlir::kvcache::registerAllDialects(registry);
  // Documents come in messages, where nobody can look at them first: there is
  // stack for brackets nested some 500,000 deep.
  constexpr std::optional<unsigned> stackBytes = 1u << 30;
  bool failed = true;
  llvm::thread server(stackBytes, [&] {
    failed = mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
  });
  server.join();
  return failed;
}
