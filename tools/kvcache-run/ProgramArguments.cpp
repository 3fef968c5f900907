//===- ProgramArguments.cpp - Values of a program's arguments -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramArguments.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using kvcache_run::ProgramArguments;
using kvcache_run::SparseArray;
using llvm::Error;
using llvm::StringRef;

namespace {

Error fail(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The dtypes of NumPy that hold an element type bit for bit, the natural one
/// first; empty if there is none.
std::vector<std::string> dtypesOf(Type type) {
  if (isa<IndexType>(type))
    return {"i8", "u8"};
  if (auto complex = dyn_cast<ComplexType>(type)) {
    unsigned bits = complex.getElementType().getIntOrFloatBitWidth();
    if (isa<Float32Type, Float64Type>(complex.getElementType()))
      return {"c" + std::to_string(2 * bits / 8)};
    return {};
  }
  if (!type.isIntOrFloat())
    return {};
  if (type.isInteger(1))
    return {"b1", "u1", "i1"};
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits % 8 || bits > 64)
    return {};
  std::string bytes = std::to_string(bits / 8);
  if (type.isSignedInteger())
    return {"i" + bytes};
  if (type.isUnsignedInteger())
    return {"u" + bytes};
  if (type.isInteger())
    return {"i" + bytes, "u" + bytes};
  if (isa<Float32Type, Float64Type>(type))
    return {"f" + bytes};
  if (isa<Float16Type>(type))
    return {"f2", "u2"};
  // NumPy has no such type: bit patterns, or ml_dtypes' own.
  return {"u" + bytes, "V" + bytes};
}

/// Whether a dense array of `shape` may stand for a memref of this layout; the
/// strides and offset that are static must be those of the array.
Error checkLayout(MemRefType type, llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return fail("the layout of " + spell(type) + " is not strided");
  if (!ShapedType::isDynamic(offset) && offset != 0)
    return fail(spell(type) + " has offset " + std::to_string(offset) +
                ", an array from a file has 0");
  int64_t dense = 1;
  for (size_t dim = shape.size(); dim-- > 0; dense *= shape[dim])
    if (!ShapedType::isDynamic(strides[dim]) && strides[dim] != dense &&
        shape[dim] > 1)
      return fail("dimension " + std::to_string(dim) + " of " + spell(type) +
                  " has stride " + std::to_string(strides[dim]) +
                  ", the array from the file has " + std::to_string(dense));
  return Error::success();
}

} // namespace

Error ProgramArguments::readMemRef(MemRefType type, Argument &argument) {
  if (type.getMemorySpace())
    return fail(spell(type) +
                " is in a memory space of its own; the entry takes host "
                "memrefs, register or copy them in the program");
  std::vector<std::string> dtypes = dtypesOf(type.getElementType());
  if (dtypes.empty())
    return fail("no .npy file can hold elements of " + spell(type));
  std::string error;
  if (!npy::read(argument.file, argument.array, error))
    return fail(error);
  const npy::Array &array = argument.array;
  std::string where = argument.file + ": ";
  if (!llvm::is_contained(dtypes, array.dtype()))
    return fail(where + "expected dtype " + llvm::join(dtypes, " or ") +
                " for " + spell(type) + ", got " + array.dtype());
  if (static_cast<int64_t>(array.shape.size()) != type.getRank())
    return fail(where + "expected rank " + std::to_string(type.getRank()) +
                " for " + spell(type) + ", got " +
                std::to_string(array.shape.size()));
  for (auto [dim, size] : llvm::enumerate(array.shape))
    if (!type.isDynamicDim(dim) && type.getDimSize(dim) != size)
      return fail(where + "expected size " +
                  std::to_string(type.getDimSize(dim)) + " in dimension " +
                  std::to_string(dim) + " for " + spell(type) + ", got " +
                  std::to_string(size));
  if (Error layout = checkLayout(type, array.shape))
    return layout;

  describe(argument, array.data.get(), array.shape);
  return Error::success();
}

void ProgramArguments::describe(Argument &argument, char *begin,
                                llvm::ArrayRef<int64_t> shape) {
  size_t rank = shape.size();
  int64_t data = reinterpret_cast<intptr_t>(begin);
  argument.words.assign(3 + 2 * rank, 0);
  argument.words[0] = argument.words[1] = data;
  int64_t stride = 1;
  for (size_t dim = rank; dim-- > 0; stride *= shape[dim]) {
    argument.words[3 + dim] = shape[dim];
    argument.words[3 + rank + dim] = stride;
  }
  argument.isMemRef = true;
}

Error ProgramArguments::readSparse(MemRefType type, Argument &argument) {
  if (type.getMemorySpace() || type.getRank() != 1 ||
      dtypesOf(type.getElementType()).empty())
    return fail("a sparse array cannot be " + spell(type) +
                "; use a memref of rank 1 in the default memory space");
  auto sparse = SparseArray::read(argument.file);
  if (!sparse)
    return sparse.takeError();
  argument.sparse = std::move(*sparse);
  // The dtype's name ends in its size.
  uint64_t itemBytes = 1;
  StringRef(dtypesOf(type.getElementType()).front())
      .drop_front()
      .getAsInteger(10, itemBytes);
  uint64_t bytes = argument.sparse->numBytes();
  int64_t count = static_cast<int64_t>(bytes / itemBytes);
  if (bytes % itemBytes ||
      (!type.isDynamicDim(0) && type.getDimSize(0) != count))
    return fail("a sparse array of " + std::to_string(bytes) +
                " bytes does not fill " + spell(type));
  if (Error layout = checkLayout(type, count))
    return layout;
  describe(argument, argument.sparse->data(), count);
  return Error::success();
}

Error ProgramArguments::readScalar(Type type, StringRef text,
                                   Argument &argument) {
  auto [given, value] = text.split(':');
  std::string wanted = spell(type);
  if (given != wanted)
    return fail("expected a value of type " + wanted + ", such as '" + wanted +
                ":1', got '" + text + "'");
  argument.words.assign(1, 0);
  unsigned bits = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
  llvm::APInt pattern(bits, 0);
  if (auto floating = dyn_cast<FloatType>(type)) {
    llvm::APFloat number(floating.getFloatSemantics());
    auto status =
        number.convertFromString(value, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return fail("'" + value + "' is no number");
    }
    pattern = number.bitcastToAPInt();
  } else {
    StringRef digits = value;
    bool negative = digits.consume_front("-");
    llvm::APInt number;
    if (digits.empty() || digits.getAsInteger(10, number))
      return fail("'" + value + "' is no whole number");
    number = number.zext(std::max(number.getBitWidth(), 64u) + 1);
    if (negative)
      number.negate();
    if (negative ? !number.isSignedIntN(bits) : !number.isIntN(bits))
      return fail("'" + value + "' does not fit into " + wanted);
    pattern = number.trunc(bits);
  }
  uint64_t word = pattern.getZExtValue();
  std::memcpy(argument.words.data(), &word, sizeof(word));
  return Error::success();
}

Error ProgramArguments::read(func::FuncOp entry,
                             const std::vector<std::string> &texts) {
  std::string name = "'" + entry.getName().str() + "'";
  FunctionType type = entry.getFunctionType();
  if (type.getNumInputs() != texts.size())
    return fail(name + " takes " + std::to_string(type.getNumInputs()) +
                " arguments, got " + std::to_string(texts.size()) +
                "; give one --arg each");
  if (type.getNumResults() > 1)
    return fail(name + " has " + std::to_string(type.getNumResults()) +
                " results, at most one is supported; give further ones by "
                "memref arguments");
  arguments.resize(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    Type input = type.getInput(i);
    Argument &argument = arguments[i];
    Error error = Error::success();
    if (auto memref = dyn_cast<MemRefType>(input)) {
      argument.file = texts[i];
      error = StringRef(argument.file).starts_with(SparseArray::prefix)
                  ? readSparse(memref, argument)
                  : readMemRef(memref, argument);
    } else if (isa<IndexType>(input) ||
               (input.isIntOrFloat() && input.getIntOrFloatBitWidth() <= 64)) {
      error = readScalar(input, texts[i], argument);
    } else {
      error = fail("arguments of type " + spell(input) +
                   " are not supported; use ranked memrefs and scalars");
    }
    if (error)
      return fail("argument " + std::to_string(i) + " of " + name + ": " +
                  llvm::toString(std::move(error)));
  }
  if (type.getNumResults() == 1) {
    resultType = type.getResult(0);
    if (!isa<IndexType, Float32Type, Float64Type>(resultType) &&
        !(resultType.isInteger() && resultType.getIntOrFloatBitWidth() <= 64))
      return fail("the result of " + name + " is " + spell(resultType) +
                  "; supported are integers, index, f32 and f64");
  }
  // The C interface takes a memref as the address of its descriptor.
  for (Argument &argument : arguments) {
    argument.descriptor = argument.words.data();
    pointers.push_back(argument.isMemRef
                           ? static_cast<void *>(&argument.descriptor)
                           : argument.descriptor);
  }
  pointers.push_back(&result);
  return Error::success();
}

Error ProgramArguments::checkOutputFile(StringRef text, StringRef file) {
  // Nothing is written unless everything can be.
  StringRef folder = llvm::sys::path::parent_path(file);
  if (std::error_code wrong = llvm::sys::fs::access(
          folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write))
    return fail("--out " + text + ": cannot write to folder '" +
                (folder.empty() ? "." : folder) + "': " + wrong.message());
  for (const Output &output : outputs)
    if (output.file == file || output.segmentsFile == file)
      return fail("--out " + text + ": argument " +
                  std::to_string(output.argument) +
                  " is written to that file already");
  return Error::success();
}

Error ProgramArguments::addOutput(StringRef text) {
  auto [number, file] = text.split('=');
  size_t index;
  if (number.getAsInteger(10, index) || file.empty())
    return fail("expected --out N=file.npy, got '" + text + "'");
  if (index >= arguments.size())
    return fail("--out " + text + ": there is no argument " + number +
                " among " + std::to_string(arguments.size()));
  if (!arguments[index].isMemRef)
    return fail("--out " + text + ": argument " + number + " is no memref");
  StringRef segments;
  if (arguments[index].sparse) {
    std::tie(file, segments) = file.split(':');
    if (file.empty() || segments.empty() || file == segments)
      return fail("--out " + text + ": argument " + number +
                  " is sparse; expected --out N=OFFSETS.npy:SEGMENTS.npy");
    if (Error wrong = checkOutputFile(text, segments))
      return wrong;
  }
  if (Error wrong = checkOutputFile(text, file))
    return wrong;
  outputs.push_back({index, file.str(), segments.str()});
  return Error::success();
}

Error ProgramArguments::writeOutputs() const {
  std::string error;
  for (const Output &output : outputs) {
    const Argument &argument = arguments[output.argument];
    if (argument.sparse) {
      if (Error wrong =
              argument.sparse->write(output.file, output.segmentsFile))
        return wrong;
    } else if (!npy::write(output.file, argument.array, error)) {
      return fail(error);
    }
  }
  return Error::success();
}

std::string ProgramArguments::resultText() const {
  if (!resultType)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isa<Float32Type>(resultType)) {
    float value;
    std::memcpy(&value, &result, sizeof(value));
    os << llvm::format("%.9g", static_cast<double>(value));
  } else if (isa<Float64Type>(resultType)) {
    double value;
    std::memcpy(&value, &result, sizeof(value));
    os << llvm::format("%.17g", value);
  } else {
    unsigned bits =
        isa<IndexType>(resultType) ? 64 : resultType.getIntOrFloatBitWidth();
    llvm::APInt value(64, result);
    value.trunc(bits).print(os, /*isSigned=*/!resultType.isUnsignedInteger() &&
                                    bits > 1);
  }
  return text;
}
