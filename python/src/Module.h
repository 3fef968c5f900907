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
#include <variant>

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

/// A member of an enumeration, by number or name.
using Member = std::variant<int, std::string>;

/// The number of a member of an enumeration of the dialect, named as the text
/// of programs does. Raises ValueError for a name that is none; of numbers the
/// C API says so.
inline int toNumber(const Member &given, const char *option,
                    const char *enumeration) {
  if (const int *number = std::get_if<int>(&given))
    return *number;
  const std::string &text = std::get<std::string>(given);
  // What is generated of the dialect's definitions knows the names.
  nb::module_ enumerations = nb::module_::import_(
      MAKE_MLIR_PYTHON_QUALNAME("dialects._kvcache_enum_gen"));
  std::string known;
  for (nb::handle member : enumerations.attr(enumeration)) {
    std::string name = nb::str(member).c_str();
    if (text == name)
      return nb::cast<int>(member);
    known += (known.empty() ? "" : ", ") + name;
  }
  throw nb::value_error(("expected " + std::string(option) + " to be one of " +
                         known + ", got '" + text + "'")
                            .c_str());
}

inline int toSide(const Member &given) {
  return toNumber(given, "side", "Side");
}

/// A class of attributes, with what is said of it.
inline mlir::python::nanobind_adaptors::mlir_attribute_subclass
attributeClass(nb::module_ &m, const char *name, const char *about,
               bool (*isA)(MlirAttribute), MlirTypeID (*id)()) {
  mlir::python::nanobind_adaptors::mlir_attribute_subclass result(m, name, isA,
                                                                  id);
  result.get_class().attr("__doc__") = about;
  return result;
}

/// A class of types, with what is said of it.
inline mlir::python::nanobind_adaptors::mlir_type_subclass
typeClass(nb::module_ &m, const char *name, const char *about,
          bool (*isA)(MlirType), MlirTypeID (*id)()) {
  mlir::python::nanobind_adaptors::mlir_type_subclass result(m, name, isA, id);
  result.get_class().attr("__doc__") = about;
  return result;
}

/// Adds the attributes of operations.
void defineAttributes(nb::module_ &m);

#endif // KVCACHE_PYTHON_MODULE_H
