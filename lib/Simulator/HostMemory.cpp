// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace ptxsim;

namespace {

/// One mapping, or with `isKnown` and no size that there is none.
struct Mapping {
  bool isKnown = false;
  uint64_t begin = 0, end = 0;
  bool readable = false, writable = false;
};

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

/// What the kernel says of `address` alone: its answer takes as long for a
/// thousand mappings as for one.
Mapping queryMapping(int maps, uint64_t address) {
  MappingQuery query;
  query.address = address;
  if (ioctl(maps, mappingQuery, &query))
    return {errno == ENOENT, 0, 0, false, false};
  return {true, query.begin, query.end, (query.access & 1) != 0,
          (query.access & 2) != 0};
}

/// The next line of the text, which comes by ascending addresses.
Mapping readMapping(FILE *maps, char *&line, size_t &room) {
  Mapping mapping;
  char read = '-', write = '-';
  while (!mapping.isKnown && getline(&line, &room, maps) > 0)
    mapping.isKnown =
        std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &mapping.begin,
                    &mapping.end, &read, &write) == 4;
  mapping.readable = read == 'r';
  mapping.writable = write == 'w';
  return mapping;
}

} // namespace

HostAccess ptxsim::hostAccess(uint64_t address, uint64_t bytes) {
  if (bytes == 0)
    return {};
  uint64_t at = address, last = address + bytes - 1;
  if (last < address)
    return {false, false};
  FILE *maps = std::fopen("/proc/self/maps", "re");
  if (!maps)
    return {};
  HostAccess access;
  char *line = nullptr;
  size_t room = 0;
  bool isCovered = false;
  bool hasQuery = queryMapping(fileno(maps), at).isKnown;
  while (!isCovered) {
    Mapping mapping = hasQuery ? queryMapping(fileno(maps), at)
                               : readMapping(maps, line, room);
    if (!hasQuery && mapping.isKnown && mapping.end <= at)
      continue;
    if (mapping.begin > at || mapping.end <= at)
      break;
    access.readable &= mapping.readable;
    access.writable &= mapping.writable;
    isCovered = mapping.end > last;
    at = mapping.end;
  }
  std::free(line);
  std::fclose(maps);
  return isCovered ? access : HostAccess{false, false};
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
