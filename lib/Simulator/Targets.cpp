// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The targets that are known, and what each has.
#include "Targets.h"

#include <algorithm>

using namespace ptxsim;

bool ptxsim::isKnownTarget(unsigned number) {
  static constexpr unsigned known[] = {50, 52,  53,  60,  61,  62,  70,
                                       72, 75,  80,  86,  87,  88,  89,
                                       90, 100, 101, 103, 110, 120, 121};
  return std::find(std::begin(known), std::end(known), number) !=
         std::end(known);
}

namespace {

struct Need {
  std::string_view opcode;
  /// The instruction has it, if it is not empty.
  std::string_view modifier;
  unsigned number;
  /// Of one architecture: the target's name ends with a letter.
  bool isSpecific;
  /// Later architectures do not have it.
  bool isOnly = false;
};
constexpr Need needs[] = {
    {"wgmma", "", 90, true, true},      {"setmaxnreg", "", 90, true},
    {"cp", "bulk", 90, false},          {"cp", "reduce", 90, false},
    {"elect", "", 90, false},           {"mapa", "", 90, false},
    {"getctarank", "", 90, false},      {"barrier", "cluster", 90, false},
    {"stmatrix", "", 90, false},        {"griddepcontrol", "", 90, false},
    {"tensormap", "replace", 90, true}, {"tensormap", "", 90, false},
    {"st", "async", 90, false},         {"red", "async", 90, false},
    {"cp", "async", 80, false},         {"mbarrier", "", 80, false},
    {"redux", "", 80, false},           {"createpolicy", "", 80, false},
    {"ldmatrix", "", 75, false},        {"movmatrix", "", 75, false},
    {"cvt", "e4m3x2", 89, false},       {"cvt", "e5m2x2", 89, false},
    {"cvt", "e2m1x2", 100, true},       {"cvt", "e2m3x2", 100, true},
    {"cvt", "e3m2x2", 100, true},       {"cvt", "ue8m0x2", 100, true},
    {"cvt", "rs", 100, true},
};

bool has(const ast::Statement &statement, std::string_view modifier) {
  return modifier.empty() ||
         std::find(statement.modifiers.begin(), statement.modifiers.end(),
                   modifier) != statement.modifiers.end();
}

} // namespace

std::string ptxsim::missingTarget(const ModuleImpl &module,
                                  const ast::Statement &statement) {
  for (const Need &need : needs) {
    if (need.opcode != statement.opcode || !has(statement, need.modifier))
      continue;
    char last = module.target.back();
    bool isSpecific = last == 'a' || last == 'f';
    bool isNumber = need.isOnly ? module.targetNumber == need.number
                                : module.targetNumber >= need.number;
    if (isNumber && (isSpecific || !need.isSpecific))
      return {};
    std::string name(need.opcode);
    if (!need.modifier.empty())
      name += " with ." + std::string(need.modifier);
    return name + " needs .target sm_" + std::to_string(need.number) +
           (need.isSpecific ? "a" : "") + (need.isOnly ? "" : " or higher") +
           ", the module is for " + module.target;
  }
  return {};
}
