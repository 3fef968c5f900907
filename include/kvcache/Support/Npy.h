// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files, versions 1 to 3, little-endian and in C order; see
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Plain
// C++17 without dependencies.
#ifndef KVCACHE_SUPPORT_NPY_H
#define KVCACHE_SUPPORT_NPY_H

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace npy {

/// A dense array in C order.
struct Array {
  /// NumPy's kind: 'f' float, 'i' signed, 'u' unsigned, 'b' bool, 'c' complex,
  /// 'V' raw bytes (what ml_dtypes' bfloat16 and float8 types are saved as).
  char kind = 'u';
  uint64_t itemBytes = 1;
  std::vector<int64_t> shape;
  /// Aligned to 256 bytes, as device allocations are; never null.
  std::shared_ptr<char> data;

  /// The product of the shape.
  uint64_t numElements() const {
    uint64_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<uint64_t>(size);
    return count;
  }
  /// Bytes of the data.
  uint64_t numBytes() const { return numElements() * itemBytes; }
  /// Spelt as NumPy does without the byte order: "f4", "u1".
  std::string dtype() const { return kind + std::to_string(itemBytes); }
};

/// Memory for `bytes` bytes, all zero; null where there is none.
inline std::shared_ptr<char> allocate(uint64_t bytes) {
  const uint64_t align = 256;
  if (bytes > std::numeric_limits<uint64_t>::max() - align)
    return nullptr;
  uint64_t rounded = (bytes / align + 1) * align;
  char *memory = static_cast<char *>(std::aligned_alloc(align, rounded));
  if (memory)
    std::memset(memory, 0, rounded);
  return std::shared_ptr<char>(memory, std::free);
}

namespace detail {

/// Reads the header's Python dictionary: exactly the form NumPy writes, with
/// any order and spacing.
class HeaderParser {
public:
  HeaderParser(const std::string &text, std::string &error)
      : text(text), error(error) {}

  bool parse(Array &array) {
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!expect('{'))
      return false;
    while (!accept('}')) {
      std::string key;
      if (!parseString(key) || !expect(':'))
        return false;
      bool good = false;
      if (key == "descr")
        good = hasDescr = parseDescr(array);
      else if (key == "fortran_order")
        good = hasOrder = parseOrder();
      else if (key == "shape")
        good = hasShape = parseShape(array);
      else
        return fail("unknown header key '" + key + "'");
      if (!good)
        return false;
      if (!accept(',') && peek() != '}')
        return fail("malformed header");
    }
    if (!hasDescr || !hasOrder || !hasShape)
      return fail("the header lacks 'descr', 'fortran_order' or 'shape'");
    return checkSize(array);
  }

private:
  bool fail(std::string message) {
    if (error.empty())
      error = std::move(message);
    return false;
  }
  char peek() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || c == '\0')
      return false;
    ++at;
    return true;
  }
  bool expect(char c) {
    return accept(c) ||
           fail(std::string("malformed header: expected '") + c + "'");
  }
  bool acceptWord(const char *word) {
    peek();
    if (text.compare(at, std::strlen(word), word) != 0)
      return false;
    at += std::strlen(word);
    return true;
  }
  bool parseString(std::string &out) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return fail("malformed header: expected a string");
    size_t end = text.find(quote, at + 1);
    if (end == std::string::npos)
      return fail("malformed header: a string does not end");
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool parseNumber(uint64_t &value) {
    if (peek() < '0' || peek() > '9')
      return fail("malformed header: expected a number");
    errno = 0;
    char *end = nullptr;
    value = std::strtoull(text.c_str() + at, &end, 10);
    at = static_cast<size_t>(end - text.c_str());
    if (errno ||
        value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return fail("a number in the header is too large");
    return true;
  }
  bool parseDescr(Array &array) {
    if (peek() == '[')
      return fail("structured arrays are not supported; save one field");
    std::string descr;
    if (!parseString(descr))
      return false;
    size_t digits = 0;
    char order = '|';
    if (!descr.empty() && std::strchr("<>|=", descr[0]))
      order = descr[digits++];
    array.kind = digits < descr.size() ? descr[digits++] : '\0';
    if (array.kind == 'O')
      return fail("arrays of Python objects are not supported");
    std::string bytes = descr.substr(digits);
    if (!std::strchr("fiubcV", array.kind) || array.kind == '\0' ||
        bytes.empty() || bytes.size() > 4 ||
        bytes.find_first_not_of("0123456789") != std::string::npos ||
        bytes.find_first_not_of('0') == std::string::npos)
      return fail("dtype '" + descr + "' is not supported");
    array.itemBytes = std::strtoull(bytes.c_str(), nullptr, 10);
    if (order == '>' && array.itemBytes > 1)
      return fail("dtype '" + descr +
                  "' is big-endian; save the array as little-endian");
    return true;
  }
  bool parseOrder() {
    if (acceptWord("False"))
      return true;
    if (acceptWord("True"))
      return fail("the array is in Fortran order; save "
                  "numpy.ascontiguousarray(array)");
    return fail("malformed header: expected True or False");
  }
  bool parseShape(Array &array) {
    if (!expect('('))
      return false;
    array.shape.clear();
    while (!accept(')')) {
      uint64_t size = 0;
      if (!parseNumber(size))
        return false;
      array.shape.push_back(static_cast<int64_t>(size));
      if (!accept(',') && peek() != ')')
        return fail("malformed header: expected ',' or ')'");
    }
    return true;
  }
  bool checkSize(const Array &array) {
    // Not above what a signed byte count holds, empty dimensions left out.
    uint64_t bytes = array.itemBytes;
    for (int64_t size : array.shape)
      if (size > 0) {
        if (bytes > (uint64_t(1) << 62) / static_cast<uint64_t>(size))
          return fail("the array's shape exceeds the address space");
        bytes *= static_cast<uint64_t>(size);
      }
    return true;
  }

  const std::string &text;
  std::string &error;
  size_t at = 0;
};

struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

inline bool readBytes(std::FILE *file, void *out, size_t bytes) {
  return std::fread(out, 1, bytes, file) == bytes;
}

/// The error text without the file's name; empty on success.
inline std::string readFile(std::FILE *file, Array &array) {
  unsigned char prefix[8];
  if (!readBytes(file, prefix, sizeof(prefix)) ||
      std::memcmp(prefix, "\x93NUMPY", 6) != 0)
    return "not a .npy file";
  unsigned version = prefix[6];
  if (version < 1 || version > 3)
    return ".npy version " + std::to_string(version) +
           " is not supported, 1 to 3 are";
  unsigned char length[4] = {};
  if (!readBytes(file, length, version == 1 ? 2 : 4))
    return "the file ends in its header";
  uint64_t headerBytes =
      length[0] | length[1] << 8 | length[2] << 16 | uint64_t(length[3]) << 24;
  if (headerBytes > (1u << 20))
    return "a header of " + std::to_string(headerBytes) + " bytes";
  std::string header(headerBytes, '\0');
  if (!readBytes(file, &header[0], headerBytes))
    return "the file ends in its header";
  std::string error;
  if (!HeaderParser(header, error).parse(array))
    return error;
  // The file's size before any allocation: a wrong header must not cost memory.
  long begin = std::ftell(file);
  if (begin < 0 || std::fseek(file, 0, SEEK_END) != 0)
    return std::string("cannot seek: ") + std::strerror(errno);
  uint64_t present = static_cast<uint64_t>(std::ftell(file) - begin);
  if (present != array.numBytes())
    return "the header promises " + std::to_string(array.numBytes()) +
           " bytes of data, the file holds " + std::to_string(present);
  std::fseek(file, begin, SEEK_SET);
  array.data = allocate(array.numBytes());
  if (!array.data)
    return "out of memory: " + std::to_string(array.numBytes()) + " bytes";
  if (!readBytes(file, array.data.get(), array.numBytes()))
    return std::string("cannot read: ") + std::strerror(errno);
  return "";
}

inline std::string makeHeader(const Array &array) {
  std::string shape;
  for (int64_t size : array.shape)
    shape += std::to_string(size) + (array.shape.size() == 1 ? "," : ", ");
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  std::string text = std::string("{'descr': '") +
                     (array.itemBytes == 1 ? '|' : '<') + array.dtype() +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data begins at a multiple of 64.
  const size_t prefixBytes = 10;
  while ((prefixBytes + text.size() + 1) % 64)
    text += ' ';
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

} // namespace detail

/// Reads a file. On failure `error` names the file and says what is wrong.
inline bool read(const std::string &path, Array &array, std::string &error) {
  detail::File file(std::fopen(path.c_str(), "rb"));
  std::string what;
  if (!file)
    what = std::string("cannot open: ") + std::strerror(errno);
  else
    what = detail::readFile(file.get(), array);
  if (what.empty())
    return true;
  error = path + ": " + what;
  return false;
}

/// Writes a file, whole or not at all. What is no regular file, such as a
/// device or a pipe, is written to and never replaced.
inline bool write(const std::string &path, const Array &array,
                  std::string &error) {
  struct stat status;
  bool replace = stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  std::string temporary =
      replace ? path + ".tmp" + std::to_string(getpid()) : path;
  auto fail = [&](const char *what) {
    error = path + ": " + what + ": " + std::strerror(errno);
    if (replace)
      std::remove(temporary.c_str());
    return false;
  };
  detail::File file(std::fopen(temporary.c_str(), "wb"));
  if (!file)
    return fail("cannot create");
  std::string header = detail::makeHeader(array);
  if (std::fwrite(header.data(), 1, header.size(), file.get()) !=
          header.size() ||
      std::fwrite(array.data.get(), 1, array.numBytes(), file.get()) !=
          array.numBytes() ||
      std::fflush(file.get()) != 0)
    return fail("cannot write");
  file.reset();
  if (replace && std::rename(temporary.c_str(), path.c_str()) != 0)
    return fail("cannot create");
  return true;
}

} // namespace npy

#endif // KVCACHE_SUPPORT_NPY_H
