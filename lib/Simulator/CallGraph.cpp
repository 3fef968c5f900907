// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strongly connected components by Tarjan's algorithm, which finds callees
// before their callers. Without recursion: PTX may nest calls deeply.
#include "CallGraph.h"

#include <algorithm>

using namespace ptxsim;

bool ptxsim::splitCall(const ast::Statement &statement, CallParts &parts) {
  const std::vector<ast::Operand> &operands = statement.operands;
  size_t k = 0;
  if (k < operands.size() && operands[k].kind == ast::Operand::Vector)
    parts.results = &operands[k++];
  if (k < operands.size())
    parts.callee = &operands[k++];
  if (k < operands.size() && operands[k].kind == ast::Operand::Vector)
    parts.arguments = &operands[k++];
  if (k < operands.size())
    parts.prototype = &operands[k++];
  return parts.callee && k == operands.size();
}

static bool fits(const ast::Operand *list,
                 const std::vector<const ast::Variable *> &formal) {
  size_t given = list ? list->elements.size() : 0;
  if (given != formal.size())
    return false;
  for (size_t i = 0; i < given; ++i)
    if (list->elements[i].kind != ast::Operand::Variable ||
        list->elements[i].variable->size != formal[i]->size)
      return false;
  return true;
}

bool ptxsim::accepts(const ast::Function &function, const CallParts &parts) {
  return fits(parts.arguments, function.params) &&
         fits(parts.results, function.results);
}

static void findFunctions(const ModuleImpl &module, const ast::Operand &operand,
                          std::vector<const ast::Function *> &found) {
  if (operand.kind == ast::Operand::Name)
    if (const ast::Function *function = module.findFunction(operand.name))
      found.push_back(function);
  for (const ast::Operand &element : operand.elements)
    findFunctions(module, element, found);
}

std::vector<const ast::Function *>
ptxsim::addressedFunctions(const ModuleImpl &module) {
  std::vector<const ast::Function *> found, result;
  for (const ast::Variable &variable : module.variables)
    for (const ast::Relocation &relocation : variable.relocations)
      if (const ast::Function *f = module.findFunction(relocation.symbol))
        found.push_back(f);
  for (const ast::Function &function : module.functions)
    for (const ast::Statement &statement : function.statements)
      if (statement.opcode != "call")
        for (const ast::Operand &operand : statement.operands)
          findFunctions(module, operand, found);
  std::sort(found.begin(), found.end());
  for (const ast::Function &function : module.functions)
    if (function.hasBody && !function.isEntry &&
        std::binary_search(found.begin(), found.end(), &function))
      result.push_back(&function);
  return result;
}

std::vector<const ast::Function *>
CallGraph::callees(const ast::Function &function) {
  std::vector<const ast::Function *> result;
  auto add = [&](const ast::Function *callee) {
    if (callee && callee->hasBody && !callee->isEntry &&
        std::find(result.begin(), result.end(), callee) == result.end())
      result.push_back(callee);
  };
  for (const ast::Statement &statement : function.statements) {
    CallParts parts;
    if (statement.opcode != "call" || !splitCall(statement, parts))
      continue;
    if (parts.callee->kind == ast::Operand::Name)
      add(module.findFunction(parts.callee->name));
    if (parts.callee->kind == ast::Operand::Register)
      for (const ast::Function *candidate : byAddress)
        if (accepts(*candidate, parts))
          add(candidate);
  }
  return result;
}

CallGraph::CallGraph(const ModuleImpl &module, const ast::Function &kernel)
    : module(module), byAddress(addressedFunctions(module)) {
  struct Visit {
    const ast::Function *function;
    std::vector<const ast::Function *> callees;
    size_t next = 0;
  };
  struct Node {
    unsigned number, lowest;
    bool open = true;
  };
  std::unordered_map<const ast::Function *, Node> nodes;
  std::vector<const ast::Function *> open;
  std::vector<Visit> path;
  auto enter = [&](const ast::Function *function) {
    unsigned number = unsigned(nodes.size());
    nodes[function] = {number, number};
    open.push_back(function);
    path.push_back({function, callees(*function)});
  };
  enter(&kernel);
  while (!path.empty()) {
    Visit &visit = path.back();
    Node &node = nodes[visit.function];
    if (visit.next < visit.callees.size()) {
      const ast::Function *callee = visit.callees[visit.next++];
      auto it = nodes.find(callee);
      if (it == nodes.end())
        enter(callee);
      else if (it->second.open)
        node.lowest = std::min(node.lowest, it->second.number);
      continue;
    }
    if (node.lowest == node.number) {
      size_t first = open.size();
      while (open[--first] != visit.function)
        ;
      const std::vector<const ast::Function *> &own = visit.callees;
      isCycle.push_back(open.size() - first > 1 ||
                        std::find(own.begin(), own.end(), visit.function) !=
                            own.end());
      for (size_t i = open.size(); i-- > first;) {
        components[open[i]] = unsigned(isCycle.size() - 1);
        nodes[open[i]].open = false;
        sorted.push_back(open[i]);
      }
      open.resize(first);
    }
    unsigned lowest = node.lowest;
    path.pop_back();
    if (!path.empty()) {
      Node &caller = nodes[path.back().function];
      caller.lowest = std::min(caller.lowest, lowest);
    }
  }
}

bool CallGraph::inOneCycle(const ast::Function &a,
                           const ast::Function &b) const {
  auto first = components.find(&a), second = components.find(&b);
  return first != components.end() && second != components.end() &&
         first->second == second->second && isCycle[first->second];
}
