// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Arguments.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct ElementType {
  const char *name;
  /// NumPy's kind.
  char numpyKind;
  unsigned bytes;
  char kind;
};
constexpr ElementType elementTypes[] = {
    {"u8", 'u', 1, 'u'},  {"u16", 'u', 2, 'u'}, {"u32", 'u', 4, 'u'},
    {"u64", 'u', 8, 'u'}, {"s8", 'i', 1, 's'},  {"s16", 'i', 2, 's'},
    {"s32", 'i', 4, 's'}, {"s64", 'i', 8, 's'}, {"b8", 'u', 1, 'u'},
    {"b16", 'u', 2, 'u'}, {"b32", 'u', 4, 'u'}, {"b64", 'u', 8, 'u'},
    {"f16", 'f', 2, 'h'}, {"f32", 'f', 4, 'f'}, {"f64", 'f', 8, 'f'}};

const ElementType *findElementType(const std::string &name) {
  for (const ElementType &type : elementTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

bool fail(std::string &error, std::string message) {
  error = std::move(message);
  return false;
}

bool parseScalar(const ElementType &type, const std::string &text,
                 std::vector<char> &bytes, std::string &error) {
  char *end = nullptr;
  bytes.assign(type.bytes, 0);
  errno = 0;
  if (type.kind == 'f') {
    double value = strtod(text.c_str(), &end);
    float narrow = float(value);
    if (type.bytes == 4)
      memcpy(bytes.data(), &narrow, 4);
    else
      memcpy(bytes.data(), &value, 8);
  } else if (type.kind == 'h') {
    return fail(error, "a 16-bit float is given by its bits, as in b16:0x3c00");
  } else if (type.kind == 's') {
    long long value = strtoll(text.c_str(), &end, 0);
    unsigned shift = 64 - 8 * type.bytes;
    long long cut =
        static_cast<long long>(static_cast<unsigned long long>(value) << shift);
    if ((cut >> shift) != value || errno)
      return fail(error, text + " does not fit " + type.name);
    memcpy(bytes.data(), &value, type.bytes);
  } else {
    if (!text.empty() && text[0] == '-')
      return fail(error, text + " does not fit " + type.name);
    unsigned long long value = strtoull(text.c_str(), &end, 0);
    if ((type.bytes < 8 && value >> (8 * type.bytes)) || errno)
      return fail(error, text + " does not fit " + type.name);
    memcpy(bytes.data(), &value, type.bytes);
  }
  if (text.empty() || *end)
    return fail(error, "'" + text + "' is no number");
  return true;
}

/// "f32[4,8]"
bool parseShape(const std::string &text, npy::Array &array,
                std::string &error) {
  size_t open = text.find('[');
  const ElementType *type = findElementType(text.substr(0, open));
  if (open == std::string::npos || text.back() != ']' || !type)
    return fail(error, "'" + text + "' is no buffer type as in f32[4,8]");
  array.kind = type->numpyKind;
  array.itemBytes = type->bytes;
  uint64_t total = type->bytes;
  for (size_t begin = open + 1; begin < text.size() - 1;) {
    char *end = nullptr;
    uint64_t dim = strtoull(text.c_str() + begin, &end, 10);
    size_t stop = size_t(end - text.c_str());
    if (stop == begin || (text[stop] != ',' && text[stop] != ']') ||
        (dim && total > (uint64_t(1) << 44) / dim))
      return fail(error, "malformed shape in '" + text + "'");
    total *= dim;
    array.shape.push_back(int64_t(dim));
    begin = stop + 1;
  }
  return true;
}

bool startsWith(const std::string &text, const char *prefix) {
  return text.compare(0, strlen(prefix), prefix) == 0;
}

} // namespace

bool makeArgument(const std::string &text, const ptxsim::ParamInfo &param,
                  ptxsim::Device &device, Argument &argument,
                  std::string &error) {
  size_t colon = text.find(':');
  std::string head = text.substr(0, colon);
  if (text == "null") {
    argument.bytes.assign(8, 0);
  } else if (startsWith(text, "value:")) {
    if (!npy::read(text.substr(colon + 1), argument.array, error))
      return false;
    const char *data = argument.array.data.get();
    argument.bytes.assign(data, data + argument.array.numBytes());
  } else if (const ElementType *type =
                 colon == std::string::npos ? nullptr : findElementType(head)) {
    // Bits serve for every type, and either kind of integer for the other.
    const ElementType *declared = findElementType(param.type);
    auto isBits = [](const ElementType &of) { return of.name[0] == 'b'; };
    if (declared && type->bytes == declared->bytes && !isBits(*type) &&
        !isBits(*declared) &&
        (type->numpyKind == 'f') != (declared->numpyKind == 'f'))
      return fail(error, "'" + text + "' is of type ." + type->name +
                             ", parameter '" + param.name + "' of ." +
                             param.type);
    if (!parseScalar(*type, text.substr(colon + 1), argument.bytes, error))
      return false;
  } else {
    bool isOut = startsWith(text, "out:"), isZero = startsWith(text, "zero:");
    bool hasContents = false;
    if (isOut || isZero) {
      size_t equals = text.find('=');
      if (equals == std::string::npos)
        return fail(error, "'" + text +
                               "' lacks a type, as in "
                               "out:y.npy=f32[4,8]");
      argument.output = text.substr(colon + 1, equals - colon - 1);
      if (!parseShape(text.substr(equals + 1), argument.array, error))
        return false;
    } else if (startsWith(text, "buf:")) {
      if (!parseShape(text.substr(4), argument.array, error))
        return false;
    } else {
      size_t arrow = text.find("=>");
      if (arrow != std::string::npos)
        argument.output = text.substr(arrow + 2);
      if (!npy::read(text.substr(0, arrow), argument.array, error))
        return false;
      hasContents = true;
    }
    uint64_t bytes = argument.array.numBytes();
    ptxsim::Result<void *> buffer = device.allocate(bytes, param.name);
    if (!buffer.ok())
      return fail(error, buffer.message());
    argument.buffer = *buffer;
    ptxsim::Status status;
    if (hasContents)
      status = device.copy(*buffer, argument.array.data.get(), bytes);
    else if (isZero)
      status = device.set8(*buffer, 0, bytes);
    if (!status.ok())
      return fail(error, status.message());
    argument.bytes.resize(8);
    memcpy(argument.bytes.data(), static_cast<const void *>(&argument.buffer),
           8);
  }
  if (argument.bytes.size() != param.size)
    return fail(error, "'" + text + "' has " +
                           std::to_string(argument.bytes.size()) +
                           " bytes, parameter '" + param.name + "' (." +
                           param.type + ") has " + std::to_string(param.size));
  return true;
}

static void printElement(const ElementType &type, const char *bytes) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, type.bytes);
  if (type.kind == 'f') {
    float narrow;
    double wide;
    memcpy(&narrow, &bits, 4);
    memcpy(&wide, &bits, 8);
    printf(" %.9g", type.bytes == 4 ? double(narrow) : wide);
  } else if (type.kind == 's') {
    unsigned shift = 64 - 8 * type.bytes;
    printf(" %lld", static_cast<long long>(bits << shift) >> shift);
  } else if (type.kind == 'h') {
    printf(" 0x%04llx", static_cast<unsigned long long>(bits));
  } else {
    printf(" %llu", static_cast<unsigned long long>(bits));
  }
}

/// One line: the type, the shape and the elements.
static void printArray(const npy::Array &array) {
  for (const ElementType &type : elementTypes) {
    if (array.kind != type.numpyKind || array.itemBytes != type.bytes)
      continue;
    printf("%s[", type.name);
    for (size_t i = 0; i < array.shape.size(); ++i)
      printf("%s%llu", i ? "," : "",
             static_cast<unsigned long long>(array.shape[i]));
    printf("]:");
    for (size_t i = 0; i < array.numBytes(); i += type.bytes)
      printElement(type, array.data.get() + i);
    printf("\n");
    return;
  }
}

bool storeResult(Argument &argument, ptxsim::Device &device,
                 std::string &error) {
  if (argument.output.empty())
    return true;
  uint64_t bytes = argument.array.numBytes();
  argument.array.data = npy::allocate(bytes);
  if (!argument.array.data)
    return fail(error, "out of memory: " + std::to_string(bytes) + " bytes");
  ptxsim::Status status =
      device.copy(argument.array.data.get(), argument.buffer, bytes);
  if (!status.ok())
    return fail(error, status.message());
  if (argument.output == "-") {
    printArray(argument.array);
    return true;
  }
  return npy::write(argument.output, argument.array, error);
}
