// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_TARGETS_H
#define KVCACHE_LIB_SIMULATOR_TARGETS_H

#include "Ast.h"

namespace ptxsim {

/// The number in `.target sm_90a`.
bool isKnownTarget(unsigned number);
/// What is wrong if the module's target lacks an instruction; else nothing.
std::string missingTarget(const ModuleImpl &module,
                          const ast::Statement &statement);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_TARGETS_H
