// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed tables of live handles. Programs get numbers, never our pointers: a
// handle of another kind, a destroyed one or an invented one is told apart, and
// none is ever dereferenced.
#ifndef KVCACHE_RUNTIME_HANDLETABLE_H
#define KVCACHE_RUNTIME_HANDLETABLE_H

#include "Address.h"

#include "kvcache/Simulator/Status.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace kvrt {

enum class HandleKind : uint8_t { Device, Stream, Event, Module, Kernel };

/// With its article.
inline const char *handleKindName(HandleKind kind) {
  static const char *const names[] = {"a device", "a stream", "an event",
                                      "a module", "a kernel"};
  return names[static_cast<size_t>(kind)];
}

/// What a handle's bits say, true or not: prefix, kind, serial number. The
/// prefix makes it an address no process has, so that a program that
/// dereferences one faults at once.
class HandleBits {
public:
  static void *make(HandleKind kind, uint64_t serial) {
    return toPointer(prefix | uint64_t(kind) << 40 | serial);
  }
  explicit HandleBits(const void *handle) : bits(toAddress(handle)) {}
  bool plausible() const {
    return (bits >> 48) == (prefix >> 48) && ((bits >> 40) & 0xff) <= maxKind;
  }
  HandleKind kind() const { return HandleKind((bits >> 40) & 0xff); }
  uint64_t serial() const { return bits & ((uint64_t(1) << 40) - 1); }

private:
  static constexpr uint64_t prefix = uint64_t(0x6b76) << 48;
  static constexpr uint64_t maxKind = uint64_t(HandleKind::Kernel);
  uint64_t bits;
};

/// Entries of one kind; safe to use from several threads.
template <typename T> class HandleTable {
public:
  explicit HandleTable(HandleKind kind) : kind(kind) {}

  void *add(std::shared_ptr<T> object) {
    std::lock_guard<std::mutex> guard(lock);
    live.emplace(++lastSerial, std::move(object));
    return HandleBits::make(kind, lastSerial);
  }

  /// Null if `handle` is no live handle of this kind.
  std::shared_ptr<T> find(const void *handle) const {
    HandleBits bits(handle);
    if (!bits.plausible() || bits.kind() != kind)
      return nullptr;
    std::lock_guard<std::mutex> guard(lock);
    auto it = live.find(bits.serial());
    return it == live.end() ? nullptr : it->second;
  }

  /// The object is taken out; null as with `find`.
  std::shared_ptr<T> remove(const void *handle) {
    std::shared_ptr<T> object = find(handle);
    if (!object)
      return nullptr;
    std::lock_guard<std::mutex> guard(lock);
    return live.erase(HandleBits(handle).serial()) ? object : nullptr;
  }

  /// Takes out everything for which `predicate` holds.
  template <typename Predicate> void removeIf(Predicate predicate) {
    std::vector<std::shared_ptr<T>> removed; // destroyed without the lock
    std::lock_guard<std::mutex> guard(lock);
    for (auto it = live.begin(); it != live.end();) {
      if (!predicate(*it->second)) {
        ++it;
        continue;
      }
      removed.push_back(std::move(it->second));
      it = live.erase(it);
    }
  }

  /// Why `find` gave null: "expected a stream, got ...".
  ptxsim::Status explain(const void *handle) const {
    std::string text = std::string("expected the handle of ") +
                       handleKindName(kind) + ", got ";
    HandleBits bits(handle);
    if (!handle) {
      text += "null";
    } else if (!bits.plausible()) {
      char number[32];
      std::snprintf(number, sizeof(number), "0x%llx",
                    static_cast<unsigned long long>(toAddress(handle)));
      text += std::string(number) + ", which is no handle";
    } else if (bits.kind() != kind) {
      text += std::string("the handle of ") + handleKindName(bits.kind());
    } else {
      text += std::string("that of ") + handleKindName(kind) +
              " that has been destroyed";
    }
    return ptxsim::Status::error(std::move(text));
  }

private:
  const HandleKind kind;
  mutable std::mutex lock;
  uint64_t lastSerial = 0;
  std::unordered_map<uint64_t, std::shared_ptr<T>> live;
};

} // namespace kvrt

#endif // KVCACHE_RUNTIME_HANDLETABLE_H
