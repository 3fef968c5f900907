//===- kvcache-opt.cpp - The kvcache optimiser driver ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../lib/Version.h"
#include "kvcache/InitAll.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  addVersion();
  mlirRegisterAllPasses();
  mlir::kvcache::registerAllPasses();
  mlir::DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  mlir::kvcache::registerAllDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "kvcache optimiser driver\n", registry));
}
