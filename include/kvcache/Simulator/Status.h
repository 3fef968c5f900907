// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors as values. The simulator throws nothing, prints nothing and never
// ends the process.
#ifndef KVCACHE_SIMULATOR_STATUS_H
#define KVCACHE_SIMULATOR_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace ptxsim {

/// Success, or a message that says what is wrong and what would be right.
/// Messages begin in lower case and carry no final period.
class [[nodiscard]] Status {
public:
  Status() = default;
  /// A failure; its message says what is wrong.
  static Status error(std::string message) {
    Status status;
    status.text = std::move(message);
    status.failed = true;
    return status;
  }
  /// Whether it is a success.
  bool ok() const { return !failed; }
  /// Empty on success.
  const std::string &message() const { return text; }

private:
  std::string text;
  bool failed = false;
};

/// A value or the Status that explains its absence.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a Result needs a value or an error");
  }
  /// Whether there is a value; its absence is what the status tells.
  bool ok() const { return held.has_value(); }
  const Status &status() const { return failure; }
  const std::string &message() const { return failure.message(); }
  T &operator*() {
    assert(ok());
    return *held;
  }
  const T &operator*() const {
    assert(ok());
    return *held;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

private:
  std::optional<T> held;
  Status failure;
};

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_STATUS_H
