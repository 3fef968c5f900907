//===- Instrument.h - Checks at run time ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_INSTRUMENT_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_INSTRUMENT_H

#include "mlir/IR/Operation.h"

namespace mlir::kvcache {

/// Puts the checks of one lookup, access or collection before it.
void emitRuntimeChecks(Operation *op);

/// Puts checks before every lookup and access in `root`, and with `checkNaN`
/// around every access of scales.
void instrumentLookups(Operation *root, bool checkNaN = true);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_INSTRUMENT_H
