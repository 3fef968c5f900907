//===- Module.h - What the module's sources share ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_PYTHON_MODULE_H
#define KVCACHE_PYTHON_MODULE_H

#include "mlir/Bindings/Python/Diagnostics.h"
#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <string>

namespace nb = nanobind;
using mlir::python::CollectDiagnosticsToStringScope;

/// Raises ValueError with what the context said.
[[noreturn]] inline void refuse(CollectDiagnosticsToStringScope &scope,
                                const char *otherwise) {
  std::string message = scope.takeMessage();
  // There is no program whose place could be told.
  const std::string nowhere = "at loc(unknown): ";
  if (message.compare(0, nowhere.size(), nowhere) == 0)
    message.erase(0, nowhere.size());
  throw nb::value_error(message.empty() ? otherwise : message.c_str());
}

/// Adds the attributes of operations.
void defineAttributes(nb::module_ &m);

#endif // KVCACHE_PYTHON_MODULE_H
