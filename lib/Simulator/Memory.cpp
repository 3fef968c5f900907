// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "kvcache/Simulator/HostMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

using namespace ptxsim;

static constexpr size_t pageBytes = 4096;

static uint64_t roundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

std::string ptxsim::hex(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void *ptxsim::mapMemory(size_t bytes, bool accessible) {
  void *p =
      mmap(nullptr, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void ptxsim::unmapMemory(void *pointer, size_t bytes) {
  if (pointer)
    munmap(pointer, bytes);
}

void ptxsim::clearMemory(void *pointer, size_t bytes) {
  // Pages given back are zero when they come again.
  if (madvise(pointer, bytes, MADV_DONTNEED) != 0)
    memset(pointer, 0, bytes);
}

// AllocationTable
// ---------------------------------------------------------------

const Allocation *AllocationTable::find(uint64_t address) const {
  auto it = live.upper_bound(address);
  if (it == live.begin())
    return nullptr;
  const Allocation &candidate = std::prev(it)->second;
  return address < candidate.end ? &candidate : nullptr;
}

bool AllocationTable::maps(uint64_t address) const {
  for (const auto *map : {&live, &freed}) {
    auto it = map->upper_bound(address);
    const Allocation *near[2] = {it == map->end() ? nullptr : &it->second,
                                 it == map->begin() ? nullptr
                                                    : &std::prev(it)->second};
    for (const Allocation *a : near)
      if (a && a->mapping && address - uint64_t(a->mapping) < a->mappingBytes)
        return true;
  }
  return false;
}

std::string AllocationTable::describe(uint64_t address) const {
  if (address < 4096)
    return "a null pointer plus " + std::to_string(address) + " bytes";
  const Allocation *best = nullptr;
  uint64_t bestDistance = ~uint64_t(0);
  bool bestFreed = false;
  auto consider = [&](const Allocation &allocation, bool isFreed) {
    uint64_t distance = address < allocation.begin ? allocation.begin - address
                        : address >= allocation.end
                            ? address - allocation.end + 1
                            : 0;
    if (distance < bestDistance) {
      best = &allocation;
      bestDistance = distance;
      bestFreed = isFreed;
    }
  };
  for (auto [map, isFreed] :
       {std::make_pair(&live, false), std::make_pair(&freed, true)}) {
    auto it = map->upper_bound(address);
    if (it != map->end())
      consider(it->second, isFreed);
    if (it != map->begin())
      consider(std::prev(it)->second, isFreed);
  }
  if (!best)
    return "no memory has been allocated";
  std::string place;
  uint64_t size = best->end - best->begin;
  if (address < best->begin)
    place = std::to_string(best->begin - address) + " bytes before ";
  else if (address >= best->end)
    place = std::to_string(address - best->end) + " bytes past the end of ";
  else
    place = "at byte " + std::to_string(address - best->begin) + " of ";
  return place + (bestFreed ? "freed " : "") + "'" + best->name + "' (" +
         std::to_string(size) + " bytes at " + hex(best->begin) + ")";
}

// MemoryManager
// -----------------------------------------------------------------

MemoryManager::~MemoryManager() {
  for (auto *map : {&table.live, &table.freed})
    for (auto &entry : *map) {
      Allocation &a = entry.second;
      if (a.kind == AllocationKind::Heap)
        continue;
      unmapMemory(a.mapping, a.mappingBytes);
      unmapMemory(a.shadow,
                  roundUp(std::max<uint64_t>(a.end - a.begin, 1), pageBytes));
    }
  unmapMemory(heap, options.heapBytes);
  unmapMemory(heapShadow, options.heapBytes);
}

Result<void *> MemoryManager::allocate(uint64_t bytes, std::string_view name,
                                       AllocationKind kind, bool tracked) {
  if (bytes > (uint64_t(1) << 46))
    return Status::error("out of memory: " + std::to_string(bytes) +
                         " bytes asked for, the address space has " +
                         std::to_string(uint64_t(1) << 46));
  if (options.memoryLimit &&
      (bytes > options.memoryLimit || allocated > options.memoryLimit - bytes))
    return Status::error(
        "out of memory: " + std::to_string(bytes) + " bytes asked for, " +
        std::to_string(options.memoryLimit -
                       std::min(allocated, options.memoryLimit)) +
        " of " + std::to_string(options.memoryLimit) + " are free");
  // The end of the allocation touches the red zone up to its alignment.
  uint64_t zone =
      roundUp(std::max<uint64_t>(options.redZoneBytes, pageBytes), pageBytes);
  uint64_t room = roundUp(std::max<uint64_t>(bytes, 1), pageBytes);
  size_t total = size_t(room + 2 * zone);
  char *mapping = static_cast<char *>(mapMemory(total, /*accessible=*/false));
  if (!mapping)
    return Status::error("out of memory: cannot map " + std::to_string(total) +
                         " bytes");
  char *begin = mapping + zone;
  if (mprotect(begin, size_t(room), PROT_READ | PROT_WRITE) != 0) {
    unmapMemory(mapping, total);
    return Status::error("out of memory: cannot map " + std::to_string(room) +
                         " bytes");
  }
  Allocation a;
  a.begin = uint64_t(begin);
  a.end = a.begin + bytes;
  a.kind = kind;
  a.readOnly = kind == AllocationKind::Constant;
  ++numbered;
  a.name = name.empty() ? "allocation #" + std::to_string(numbered)
                        : std::string(name);
  a.mapping = mapping;
  a.mappingBytes = total;
  if (tracked) {
    a.shadow = static_cast<uint8_t *>(mapMemory(size_t(room)));
    if (!a.shadow) {
      unmapMemory(mapping, total);
      return Status::error("out of memory: cannot map the shadow of " +
                           std::to_string(bytes) + " bytes");
    }
  }
  allocated += bytes;
  if (options.hostUnreadable && kind == AllocationKind::Device)
    mprotect(begin, size_t(room), PROT_NONE);
  table.live[a.begin] = std::move(a);
  return static_cast<void *>(begin);
}

Status MemoryManager::free(void *pointer) {
  if (!pointer)
    return {};
  uint64_t address = uint64_t(pointer);
  auto it = table.live.find(address);
  if (it == table.live.end() ||
      (it->second.kind != AllocationKind::Device &&
       it->second.kind != AllocationKind::HostShared)) {
    if (table.freed.count(address))
      return Status::error("double free of " + hex(address) + ", " +
                           table.describe(address));
    return Status::error("free of " + hex(address) +
                         ", which allocate did not return; it is " +
                         table.describe(address));
  }
  Allocation a = std::move(it->second);
  table.live.erase(it);
  uint64_t bytes = a.end - a.begin;
  allocated -= bytes;
  uint64_t room = roundUp(std::max<uint64_t>(bytes, 1), pageBytes);
  unmapMemory(a.shadow, size_t(room));
  a.shadow = nullptr;
  // Give the pages back but keep the addresses.
  mprotect(reinterpret_cast<void *>(a.begin), size_t(room),
           PROT_READ | PROT_WRITE);
  madvise(reinterpret_cast<void *>(a.begin), size_t(room), MADV_DONTNEED);
  mprotect(reinterpret_cast<void *>(a.begin), size_t(room), PROT_NONE);
  quarantined += a.mappingBytes;
  quarantine.push_back(a.begin);
  table.freed[a.begin] = std::move(a);
  while (quarantined > options.quarantineBytes) {
    auto oldest = table.freed.find(quarantine.front());
    quarantine.pop_front();
    quarantined -= oldest->second.mappingBytes;
    unmapMemory(oldest->second.mapping, oldest->second.mappingBytes);
    table.freed.erase(oldest);
  }
  return {};
}

/// Between blocks of the heap, so that overruns are seen.
static constexpr uint64_t heapGap = 16;

uint64_t MemoryManager::heapRoom(uint64_t bytes) const {
  uint64_t begin = uint64_t(heap), end = begin + options.heapBytes;
  uint64_t need = roundUp(bytes, 16) + heapGap;
  if (need > options.heapBytes)
    return 0;
  // Addresses are used again as late as possible.
  if (need <= end - heapTop)
    return heapTop;
  uint64_t place = begin;
  for (auto it = table.live.lower_bound(begin);
       it != table.live.end() && it->first < end; ++it) {
    if (it->first - place >= need)
      return place;
    place = roundUp(it->second.end, 16) + heapGap;
  }
  return place <= end && end - place >= need ? place : 0;
}

uint64_t MemoryManager::heapAllocate(uint64_t bytes, bool tracked) {
  if (bytes == 0 || bytes > options.heapBytes)
    return 0;
  if (!heap) {
    heap = static_cast<char *>(mapMemory(options.heapBytes));
    heapTop = uint64_t(heap);
    if (heap && tracked)
      heapShadow = static_cast<uint8_t *>(mapMemory(options.heapBytes));
    if (!heap || (tracked && !heapShadow))
      return 0;
  }
  uint64_t place = heapRoom(bytes);
  if (!place)
    return 0;
  heapTop = std::max(heapTop, place + roundUp(bytes, 16) + heapGap);
  // What was freed here is forgotten.
  auto old = table.freed.lower_bound(place);
  if (old != table.freed.begin() && std::prev(old)->second.end > place)
    --old;
  while (old != table.freed.end() && old->first < place + bytes)
    old = table.freed.erase(old);
  Allocation a;
  a.begin = place;
  a.end = place + bytes;
  a.kind = AllocationKind::Heap;
  a.name = "heap block #" + std::to_string(++numHeapBlocks);
  if (heapShadow) {
    a.shadow = heapShadow + (place - uint64_t(heap));
    memset(a.shadow, 0, bytes);
  }
  table.live[place] = std::move(a);
  return place;
}

bool MemoryManager::heapFree(uint64_t address) {
  auto it = table.live.find(address);
  if (it == table.live.end() || it->second.kind != AllocationKind::Heap)
    return false;
  Allocation a = std::move(it->second);
  table.live.erase(it);
  a.shadow = nullptr;
  table.freed[address] = std::move(a);
  return true;
}

void MemoryManager::release(uint64_t address) {
  auto it = table.live.find(address);
  if (it == table.live.end())
    return;
  allocated -= it->second.end - it->second.begin;
  unmapMemory(it->second.mapping, it->second.mappingBytes);
  table.live.erase(it);
}

Status MemoryManager::registerHost(void *pointer, uint64_t bytes,
                                   std::string_view name) {
  if (bytes == 0)
    return {};
  uint64_t begin = uint64_t(pointer), end = begin + bytes;
  auto notMapped = [&] {
    return Status::error("expected " + std::to_string(bytes) +
                         " bytes of host memory at " + hex(begin) +
                         ", got some that is not mapped; was it freed?");
  };
  if (!pointer || end < begin)
    return notMapped();
  if (Allocation *inside = table.find(begin)) {
    if (end <= inside->end) {
      ++inside->references;
      return {};
    }
    if (inside->kind != AllocationKind::Host)
      return Status::error("registration of " + std::to_string(bytes) +
                           " bytes at " + hex(begin) + " runs past " +
                           table.describe(begin));
  }
  if (!HostMappings().access(begin, bytes).readable)
    return notMapped();
  // Views of one buffer overlap; they become one range.
  Allocation a;
  a.begin = begin;
  a.end = end;
  a.kind = AllocationKind::Host;
  ++numbered;
  a.name = name.empty() ? "host memory #" + std::to_string(numbered)
                        : std::string(name);
  auto it = table.live.lower_bound(begin);
  if (it != table.live.begin() && std::prev(it)->second.end > begin)
    --it;
  while (it != table.live.end() && it->second.begin < end) {
    if (it->second.kind != AllocationKind::Host)
      return Status::error("registration of " + std::to_string(bytes) +
                           " bytes at " + hex(begin) +
                           " overlaps device memory '" + it->second.name + "'");
    a.begin = std::min(a.begin, it->second.begin);
    a.end = std::max(a.end, it->second.end);
    a.references += it->second.references;
    it = table.live.erase(it);
  }
  table.live[a.begin] = std::move(a);
  return {};
}

Status MemoryManager::unregisterHost(void *pointer) {
  uint64_t address = uint64_t(pointer);
  Allocation *a = table.find(address);
  if (!a)
    return Status::error("host memory at " + hex(address) +
                         " is not registered");
  if (--a->references == 0 && a->kind == AllocationKind::Host)
    table.live.erase(a->begin);
  return {};
}

void MemoryManager::reviseHostMemory() {
  HostMappings mappings;
  for (auto it = table.live.begin(); it != table.live.end();) {
    Allocation &a = it->second;
    HostAccess access;
    if (a.kind == AllocationKind::Host) {
      access = mappings.access(a.begin, a.end - a.begin);
      a.readOnly = !access.writable;
    }
    if (access.readable) {
      ++it;
      continue;
    }
    table.freed[a.begin] = std::move(a);
    it = table.live.erase(it);
  }
}

Status MemoryManager::checkRange(const void *pointer, uint64_t bytes,
                                 const char *what, bool isWritten,
                                 const Allocation **allocation) const {
  uint64_t begin = uint64_t(pointer);
  const Allocation *a = table.find(begin);
  *allocation = a;
  if (bytes == 0)
    return {};
  if (!pointer)
    return Status::error(std::string(what) + " is a null pointer");
  if (a && bytes > a->end - begin)
    return Status::error(std::string(what) + " of " + std::to_string(bytes) +
                         " bytes at " + hex(begin) + " runs past the end of '" +
                         a->name + "', which has " +
                         std::to_string(a->end - begin) + " bytes from there");
  auto checkAccess = [&]() -> Status {
    HostAccess access = HostMappings().access(begin, bytes);
    if (isWritten ? access.writable : access.readable)
      return {};
    return Status::error(std::string(what) + " of " + std::to_string(bytes) +
                         " bytes at " + hex(begin) +
                         " is memory that the host cannot " +
                         (isWritten ? "write" : "read"));
  };
  if (a)
    return a->kind == AllocationKind::Host ? checkAccess() : Status();
  // Outside of all allocations is the host's own memory, unless it reaches one
  // or lies in what this device has freed or keeps as a red zone.
  auto next = table.live.upper_bound(begin);
  if (next != table.live.end() && begin + bytes > next->second.begin)
    return Status::error(std::string(what) + " of " + std::to_string(bytes) +
                         " bytes at " + hex(begin) + " begins " +
                         table.describe(begin));
  for (const auto *map : {&table.live, &table.freed}) {
    auto it = map->upper_bound(begin);
    const Allocation *near[2] = {it == map->end() ? nullptr : &it->second,
                                 it == map->begin() ? nullptr
                                                    : &std::prev(it)->second};
    for (const Allocation *n : near)
      if (n && n->mapping) {
        uint64_t first = uint64_t(n->mapping), last = first + n->mappingBytes;
        if (begin < last && begin + bytes > first)
          return Status::error(std::string(what) + " of " +
                               std::to_string(bytes) + " bytes at " +
                               hex(begin) + " is " + table.describe(begin));
      }
  }
  return checkAccess();
}

Status MemoryManager::copy(void *dst, const void *src, uint64_t bytes) {
  const Allocation *to = nullptr, *from = nullptr;
  Status status = checkRange(dst, bytes, "destination", true, &to);
  if (!status.ok())
    return status;
  status = checkRange(src, bytes, "source", false, &from);
  if (!status.ok() || bytes == 0)
    return status;
  setHostAccess(true);
  memmove(dst, src, size_t(bytes));
  if (to && to->shadow) {
    uint8_t *shadow = to->shadow + (uint64_t(dst) - to->begin);
    if (from && from->shadow)
      memmove(shadow, from->shadow + (uint64_t(src) - from->begin),
              size_t(bytes));
    else
      memset(shadow, 1, size_t(bytes));
  }
  setHostAccess(false);
  return {};
}

Status MemoryManager::fill(void *dst, uint32_t value, unsigned size,
                           uint64_t count) {
  if (count > (uint64_t(1) << 46))
    return Status::error("fill of " + std::to_string(count) +
                         " elements is larger than the address space");
  uint64_t bytes = count * size;
  const Allocation *to = nullptr;
  Status status = checkRange(dst, bytes, "destination", true, &to);
  if (!status.ok() || bytes == 0)
    return status;
  if (uint64_t(dst) % size)
    return Status::error("fill of " + std::to_string(size) +
                         "-byte elements at " + hex(uint64_t(dst)) +
                         ", which is not a multiple of " +
                         std::to_string(size));
  setHostAccess(true);
  char *p = static_cast<char *>(dst);
  if (size == 1)
    memset(p, int(value & 0xff), size_t(bytes));
  else
    for (uint64_t i = 0; i < count; ++i)
      memcpy(p + i * size, &value, size);
  setWritten(uint64_t(dst), bytes);
  setHostAccess(false);
  return {};
}

void MemoryManager::setWritten(uint64_t address, uint64_t bytes) {
  const Allocation *a = table.find(address);
  if (a && a->shadow)
    memset(a->shadow + (address - a->begin), 1,
           size_t(std::min(bytes, a->end - address)));
}

void MemoryManager::setHostAccess(bool open) {
  if (!options.hostUnreadable)
    return;
  for (auto &entry : table.live) {
    Allocation &a = entry.second;
    if (a.kind == AllocationKind::Device)
      mprotect(
          reinterpret_cast<void *>(a.begin),
          size_t(roundUp(std::max<uint64_t>(a.end - a.begin, 1), pageBytes)),
          open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}
