// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_JSON_H
#define KVCACHE_LIB_SIMULATOR_JSON_H

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ptxsim {

inline std::string jsonString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (uint8_t(c) < 0x20 || uint8_t(c) >= 0x7f) {
        char escaped[8];
        snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(uint8_t(c)));
        out += escaped;
      } else {
        out += c;
      }
    }
  }
  return out + '"';
}

/// Objects and arrays, written in order.
class JsonObject {
public:
  JsonObject &field(std::string_view key, std::string_view text) {
    return raw(key, jsonString(text));
  }
  JsonObject &field(std::string_view key, uint64_t number) {
    return raw(key, std::to_string(number));
  }
  JsonObject &raw(std::string_view key, std::string_view value) {
    out += out.empty() ? "" : ", ";
    out += jsonString(key);
    out += ": ";
    out += value;
    return *this;
  }
  std::string str() const { return "{" + out + "}"; }

private:
  std::string out;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_JSON_H
