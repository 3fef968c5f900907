// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions a kernel may call, and which of them may run several times at
// once in a thread.
#ifndef KVCACHE_LIB_SIMULATOR_CALLGRAPH_H
#define KVCACHE_LIB_SIMULATOR_CALLGRAPH_H

#include "Ast.h"

#include <unordered_map>
#include <vector>

namespace ptxsim {

/// `call (result), callee, (arguments), prototype` with any part but the callee
/// left out.
struct CallParts {
  const ast::Operand *results = nullptr, *callee = nullptr,
                     *arguments = nullptr, *prototype = nullptr;
};
/// False if the statement is no such call.
bool splitCall(const ast::Statement &statement, CallParts &parts);
/// Whether the parameters and results of a call have the function's sizes.
bool accepts(const ast::Function &function, const CallParts &parts);

/// Functions whose address the module takes, in its order.
std::vector<const ast::Function *> addressedFunctions(const ModuleImpl &module);

class CallGraph {
public:
  CallGraph(const ModuleImpl &module, const ast::Function &kernel);

  /// Functions with bodies that the kernel may call, and itself: callees before
  /// their callers, but where they call each other.
  const std::vector<const ast::Function *> &order() const { return sorted; }
  /// Both may be running at once because each can reach the other.
  bool inOneCycle(const ast::Function &a, const ast::Function &b) const;
  /// Functions that a call by address may reach.
  const std::vector<const ast::Function *> &addressed() const {
    return byAddress;
  }

private:
  std::vector<const ast::Function *> callees(const ast::Function &function);

  const ModuleImpl &module;
  std::vector<const ast::Function *> sorted, byAddress;
  /// Number of the strongly connected component.
  std::unordered_map<const ast::Function *, unsigned> components;
  /// Whether it is a cycle: of several functions or of one that calls itself.
  std::vector<bool> isCycle;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CALLGRAPH_H
