//===- LZ4.cpp - Blocks compressed by LZ4 ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LZ4.h"

#include <cstdint>

namespace {

/// Bytes to read, in order.
class Input {
public:
  Input(const char *data, size_t bytes) : at(data), end(data + bytes) {}
  size_t left() const { return size_t(end - at); }
  const char *take(size_t bytes) {
    const char *begin = at;
    at += bytes;
    return begin;
  }
  /// A length of which a token had these four bits; they go on where all are
  /// set. False at the end of the data.
  bool readLength(unsigned bits, size_t &length) {
    length = bits;
    for (uint8_t more = bits == 15 ? 255 : 0; more == 255; length += more) {
      if (!left())
        return false;
      more = uint8_t(*take(1));
    }
    return true;
  }

private:
  const char *at, *end;
};

} // namespace

bool kvrt::decompressLZ4(const char *block, size_t bytes, std::string &text) {
  Input input(block, bytes);
  size_t size = 0;
  while (input.left()) {
    uint8_t token = uint8_t(*input.take(1));
    size_t literals, match;
    if (!input.readLength(token >> 4, literals) || literals > input.left() ||
        literals > text.size() - size)
      return false;
    text.replace(size, literals, input.take(literals), literals);
    size += literals;
    // The last sequence has literals only.
    if (!input.left())
      break;
    if (input.left() < 2)
      return false;
    const char *two = input.take(2);
    size_t distance = uint8_t(two[0]) | size_t(uint8_t(two[1])) << 8;
    if (!input.readLength(token & 15, match))
      return false;
    match += 4;
    if (distance == 0 || distance > size || match > text.size() - size)
      return false;
    // It may overlap what it writes.
    for (; match; --match, ++size)
      text[size] = text[size - distance];
  }
  return size == text.size();
}
