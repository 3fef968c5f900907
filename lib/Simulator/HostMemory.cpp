// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kvcache/Simulator/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sys/uio.h>
#include <unistd.h>

using namespace ptxsim;

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
  // By ascending addresses.
  while (!isCovered && getline(&line, &room, maps) > 0) {
    uint64_t begin = 0, end = 0;
    char read = '-', write = '-';
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &begin, &end, &read,
                    &write) != 4 ||
        end <= at)
      continue;
    if (begin > at)
      break;
    access.readable &= read == 'r';
    access.writable &= write == 'w';
    isCovered = end > last;
    at = end;
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
