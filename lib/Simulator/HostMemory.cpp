// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace ptxsim;

namespace {

/// `struct procmap_query` of linux/fs.h from Linux 6.11 on, which headers of
/// older ones lack.
struct MappingQuery {
  uint64_t size = sizeof(MappingQuery);
  uint64_t flags = 0, address = 0;
  uint64_t begin = 0, end = 0, access = 0;
  uint64_t pageSize = 0, offset = 0, inode = 0;
  uint32_t major = 0, minor = 0;
  uint32_t nameBytes = 0, buildIDBytes = 0;
  uint64_t name = 0, buildID = 0;
};
static_assert(sizeof(MappingQuery) == 104, "as the kernel has it");
constexpr unsigned long mappingQuery = _IOWR('f', 17, MappingQuery);

} // namespace

HostMappings::~HostMappings() {
  if (file >= 0)
    close(file);
}

void HostMappings::open() {
  isOpen = true;
  file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return;
  MappingQuery query;
  query.address = reinterpret_cast<uint64_t>(this);
  if (!ioctl(file, mappingQuery, &query))
    return;
  FILE *text = fdopen(file, "r");
  if (!text)
    close(file);
  file = -1;
  if (!text)
    return;
  char *line = nullptr;
  size_t room = 0;
  // "begin-end rwxp ...", addresses in hexadecimal.
  while (getline(&line, &room, text) > 0) {
    char *end = nullptr;
    Mapping mapping;
    mapping.begin = std::strtoull(line, &end, 16);
    if (*end != '-')
      continue;
    mapping.end = std::strtoull(end + 1, &end, 16);
    if (end[0] != ' ' || !end[1])
      continue;
    mapping.access = {end[1] == 'r', end[2] == 'w'};
    listed.push_back(mapping);
  }
  std::free(line);
  std::fclose(text);
}

HostMappings::Mapping HostMappings::find(uint64_t address) const {
  if (file >= 0) {
    MappingQuery query;
    query.address = address;
    if (ioctl(file, mappingQuery, &query))
      return {};
    return {query.begin,
            query.end,
            {(query.access & 1) != 0, (query.access & 2) != 0}};
  }
  auto after = std::upper_bound(
      listed.begin(), listed.end(), address,
      [](uint64_t a, const Mapping &mapping) { return a < mapping.begin; });
  if (after == listed.begin() || std::prev(after)->end <= address)
    return {};
  return *std::prev(after);
}

HostAccess HostMappings::access(uint64_t address, uint64_t bytes) {
  if (bytes == 0)
    return {};
  uint64_t last = address + bytes - 1;
  if (last < address)
    return {false, false};
  if (!isOpen)
    open();
  if (file < 0 && listed.empty())
    return {};
  HostAccess all;
  for (uint64_t at = address;;) {
    Mapping mapping = find(at);
    if (mapping.end <= at)
      return {false, false};
    all.readable &= mapping.access.readable;
    all.writable &= mapping.access.writable;
    // A file that was cut short no longer has the pages at its end.
    uint64_t end = std::min(mapping.end - 1, last);
    if (all.readable && !isReadable(reinterpret_cast<const void *>(end), 1))
      return {false, false};
    if (end == last)
      return all;
    at = mapping.end;
  }
}

bool ptxsim::isReadable(const void *address, size_t bytes) {
  char buffer[4096];
  const char *from = static_cast<const char *>(address);
  while (bytes) {
    size_t now = std::min(bytes, sizeof buffer);
    iovec to{buffer, now}, source{const_cast<char *>(from), now};
    ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
    if (got < 0)
      return errno != EFAULT;
    if (static_cast<size_t>(got) != now)
      return false;
    from += now;
    bytes -= now;
  }
  return true;
}
