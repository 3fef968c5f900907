//===- SparseArray.cpp - Arrays that are mostly zero ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SparseArray.h"

#include "kvcache/Support/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using kvcache_run::SparseArray;
using llvm::Error;
using llvm::StringRef;

static Error fail(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

Error SparseArray::map(uint64_t size) {
  // A file in memory, so that the system can say which pages were touched.
  file = memfd_create("sparse", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
    return fail("cannot make an array of " + llvm::Twine(size) +
                " bytes: " + std::strerror(errno));
  bytes = size;
  if (size == 0)
    return Error::success();
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, file, 0);
  if (mapped == MAP_FAILED)
    return fail("cannot map an array of " + llvm::Twine(size) +
                " bytes: " + std::strerror(errno));
  memory = static_cast<char *>(mapped);
  return Error::success();
}

SparseArray::~SparseArray() {
  if (memory)
    munmap(memory, bytes);
  if (file >= 0)
    close(file);
}

llvm::Expected<std::unique_ptr<SparseArray>> SparseArray::read(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.drop_front(prefix.size()).split(parts, ':');
  uint64_t size;
  if (parts.size() != 3 || parts[0].getAsInteger(10, size))
    return fail("expected sparse:BYTES:OFFSETS.npy:SEGMENTS.npy, got '" + text +
                "'");
  if (size > uint64_t(1) << 46)
    return fail(llvm::Twine(size) + " bytes exceed the address space");
  npy::Array offsets, segments;
  std::string error;
  if (!npy::read(parts[1].str(), offsets, error) ||
      !npy::read(parts[2].str(), segments, error))
    return fail(error);
  if (offsets.dtype() != "i8" || offsets.shape.size() != 1)
    return fail(parts[1] + ": expected offsets of dtype i8 and rank 1, got " +
                offsets.dtype() + " and rank " +
                llvm::Twine(offsets.shape.size()));
  if (segments.dtype() != "u1" || segments.shape.size() != 2)
    return fail(parts[2] + ": expected segments of dtype u1 and rank 2, got " +
                segments.dtype() + " and rank " +
                llvm::Twine(segments.shape.size()));
  if (offsets.shape[0] != segments.shape[0])
    return fail("expected a segment an offset, got " +
                llvm::Twine(segments.shape[0]) + " segments and " +
                llvm::Twine(offsets.shape[0]) + " offsets");

  std::unique_ptr<SparseArray> array(new SparseArray());
  if (Error wrong = array->map(size))
    return wrong;
  auto length = static_cast<uint64_t>(segments.shape[1]);
  for (int64_t i = 0; i < offsets.shape[0]; ++i) {
    int64_t at;
    std::memcpy(&at, offsets.data.get() + i * sizeof(at), sizeof(at));
    if (at < 0 || length > size || static_cast<uint64_t>(at) > size - length)
      return fail("segment " + llvm::Twine(i) + " of " + llvm::Twine(length) +
                  " bytes at " + llvm::Twine(at) + " leaves the array of " +
                  llvm::Twine(size));
    if (length)
      std::memcpy(array->memory + at, segments.data.get() + i * length, length);
  }
  return array;
}

Error SparseArray::write(const std::string &offsetsFile,
                         const std::string &segmentsFile) const {
  std::vector<int64_t> found;
  off_t end = static_cast<off_t>(bytes);
  for (off_t at = 0; at < end;) {
    off_t begin = lseek(file, at, SEEK_DATA);
    if (begin < 0)
      break; // Nothing but holes.
    off_t hole = std::min(lseek(file, begin, SEEK_HOLE), end);
    for (begin -= begin % off_t(pageBytes); begin < hole;
         begin += off_t(pageBytes)) {
      off_t stop = std::min(begin + off_t(pageBytes), end);
      if (std::any_of(memory + begin, memory + stop,
                      [](char byte) { return byte != 0; }))
        found.push_back(begin);
    }
    at = begin;
  }

  npy::Array offsets, segments;
  offsets.kind = 'i';
  offsets.itemBytes = sizeof(int64_t);
  offsets.shape = {static_cast<int64_t>(found.size())};
  segments.shape = {offsets.shape[0], static_cast<int64_t>(pageBytes)};
  offsets.data = npy::allocate(offsets.numBytes());
  segments.data = npy::allocate(segments.numBytes());
  if (!offsets.data || !segments.data)
    return fail("out of memory: " + llvm::Twine(segments.numBytes()) +
                " bytes of a sparse array are not zero");
  for (auto [i, at] : llvm::enumerate(found)) {
    std::memcpy(offsets.data.get() + i * sizeof(at), &at, sizeof(at));
    std::memcpy(segments.data.get() + i * pageBytes, memory + at,
                std::min(pageBytes, bytes - static_cast<uint64_t>(at)));
  }
  std::string error;
  if (!npy::write(offsetsFile, offsets, error) ||
      !npy::write(segmentsFile, segments, error))
    return fail(error);
  return Error::success();
}
