//===- Image.cpp - PTX, cubin and fatbin images ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA does not document the fatbin container; the fields used here were
// measured on the output of CUDA 13's fatbinary:
//
//   header  u32 magic 0xBA55ED50, u16 version 1, u16 bytes of this header,
//           u64 bytes of all entries
//   entry   u16 kind (1 PTX, 2 ELF), u16 version, u32 bytes of this header,
//           u64 bytes of the payload (padded), u32 bytes of the compressed
//           payload, ... u32 architecture (80 for sm_80) at 28, u64 flags at 40
//           (0x2000 LZ4, 0x8000 zstd), u64 bytes when decompressed at 56
//
//===----------------------------------------------------------------------===//

#include "kvcache/Runtime/Image.h"
#include "LZ4.h"

#include <cstdint>
#include <cstring>
#include <zstd.h>

using namespace kvrt;
using ptxsim::Result;
using ptxsim::Status;

namespace {

constexpr uint32_t fatbinMagic = 0xBA55ED50;
constexpr uint64_t flagLZ4 = 0x2000, flagZstd = 0x8000;
constexpr size_t fatbinHeaderBytes = 16, entryHeaderBytes = 64;
/// No PTX is larger; a corrupt size must not exhaust the memory.
constexpr uint64_t maxPTXBytes = uint64_t(1) << 30;

template <typename T> T readAt(const char *data, size_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof(T));
  return value;
}

/// Whether the image begins with these bytes; stops at the first difference, so
/// that it never reads behind the NUL of a text of unknown size.
bool startsWith(const char *data, size_t bytes, const char *magic,
                size_t magicBytes) {
  for (size_t i = 0; i < magicBytes; ++i)
    if ((bytes && i >= bytes) || data[i] != magic[i])
      return false;
  return true;
}

Result<std::string> decompressZstd(const char *payload,
                                   uint64_t compressedBytes,
                                   uint64_t textBytes) {
  // Two witnesses of the size, before it costs memory.
  unsigned long long frameBytes =
      ZSTD_getFrameContentSize(payload, compressedBytes);
  if (frameBytes != textBytes && frameBytes != ZSTD_CONTENTSIZE_UNKNOWN)
    return Status::error("corrupt fatbin: an entry promises " +
                         std::to_string(textBytes) +
                         " bytes of PTX, its compressed data do not");
  std::string text(textBytes, '\0');
  size_t got = ZSTD_decompress(&text[0], text.size(), payload, compressedBytes);
  if (ZSTD_isError(got))
    return Status::error(
        std::string("the PTX inside the fatbin does not decompress: ") +
        ZSTD_getErrorName(got));
  text.resize(got);
  return text;
}

Result<std::string> unpackLZ4(const char *payload, uint64_t compressedBytes,
                              uint64_t textBytes) {
  // A byte of the block adds 255 to a length at most.
  std::string text;
  if (textBytes / 256 <= compressedBytes) {
    text.resize(textBytes);
    if (decompressLZ4(payload, compressedBytes, text))
      return text;
  }
  return Status::error("the PTX inside the fatbin does not decompress: " +
                       std::to_string(compressedBytes) +
                       " bytes are no LZ4 block of " +
                       std::to_string(textBytes));
}

struct PTXEntry {
  uint32_t arch = 0;
  const char *payload = nullptr;
  uint64_t payloadBytes = 0, compressedBytes = 0, textBytes = 0, flags = 0;
};

Result<std::string> readEntry(const PTXEntry &entry) {
  std::string text;
  if (entry.flags & (flagLZ4 | flagZstd)) {
    if (entry.compressedBytes > entry.payloadBytes ||
        entry.textBytes > maxPTXBytes)
      return Status::error(
          "corrupt fatbin: an entry of " + std::to_string(entry.payloadBytes) +
          " bytes claims " + std::to_string(entry.compressedBytes) +
          " compressed bytes that hold " + std::to_string(entry.textBytes));
    Result<std::string> unpacked =
        (entry.flags & flagLZ4 ? unpackLZ4 : decompressZstd)(
            entry.payload, entry.compressedBytes, entry.textBytes);
    if (!unpacked.ok())
      return unpacked;
    text = std::move(*unpacked);
  } else {
    text.assign(entry.payload, entry.payloadBytes);
  }
  text.resize(std::strlen(text.c_str())); // the payload is padded with NULs
  return text;
}

Result<std::string> extractFromFatbin(const char *data, size_t bytes) {
  if (bytes && bytes < fatbinHeaderBytes)
    return Status::error("truncated fatbin: " + std::to_string(bytes) +
                         " bytes");
  uint64_t headerBytes = readAt<uint16_t>(data, 6);
  uint64_t entriesBytes = readAt<uint64_t>(data, 8);
  if (headerBytes < fatbinHeaderBytes ||
      (bytes && (headerBytes > bytes || entriesBytes > bytes - headerBytes)))
    return Status::error("truncated fatbin: its header speaks of " +
                         std::to_string(headerBytes) + " + " +
                         std::to_string(entriesBytes) + " bytes, there are " +
                         std::to_string(bytes));
  const char *entry = data + headerBytes;
  PTXEntry best;
  bool hasCubin = false;
  for (uint64_t left = entriesBytes; left > 0;) {
    if (left < entryHeaderBytes)
      return Status::error("corrupt fatbin: " + std::to_string(left) +
                           " bytes are left for an entry's header of " +
                           std::to_string(entryHeaderBytes));
    uint64_t header = readAt<uint32_t>(entry, 4);
    uint64_t payload = readAt<uint64_t>(entry, 8);
    if (header < entryHeaderBytes || header > left || payload > left - header)
      return Status::error("corrupt fatbin: an entry of " +
                           std::to_string(header) + " + " +
                           std::to_string(payload) + " bytes, " +
                           std::to_string(left) + " are left");
    uint16_t kind = readAt<uint16_t>(entry, 0);
    uint32_t arch = readAt<uint32_t>(entry, 28);
    hasCubin |= kind == 2;
    if (kind == 1 && (!best.payload || arch > best.arch)) {
      best.arch = arch;
      best.payload = entry + header;
      best.payloadBytes = payload;
      best.compressedBytes = readAt<uint32_t>(entry, 16);
      best.flags = readAt<uint64_t>(entry, 40);
      best.textBytes = readAt<uint64_t>(entry, 56);
    }
    entry += header + payload;
    left -= header + payload;
  }
  if (best.payload)
    return readEntry(best);
  return Status::error(
      std::string("the fatbin holds ") +
      (hasCubin ? "only cubins" : "nothing") +
      ", the simulator needs PTX; add PTX to it "
      "(--image3=kind=ptx,sm=..,file=..) or compile to format=isa");
}

} // namespace

ImageKind kvrt::classifyImage(const void *image, size_t bytes) {
  const char *data = static_cast<const char *>(image);
  if (startsWith(data, bytes, "\x7f\x45LF", 4))
    return ImageKind::Cubin;
  char magic[sizeof(fatbinMagic)];
  std::memcpy(magic, &fatbinMagic, sizeof(magic));
  if (startsWith(data, bytes, magic, sizeof(magic)))
    return ImageKind::Fatbin;
  if (startsWith(data, bytes, "BC\xC0\xDE", 4))
    return ImageKind::Bitcode;
  return ImageKind::PTX;
}

Result<std::string> kvrt::extractPTX(const void *image, size_t bytes) {
  const char *data = static_cast<const char *>(image);
  switch (classifyImage(image, bytes)) {
  case ImageKind::PTX:
    return std::string(data, bytes ? strnlen(data, bytes) : std::strlen(data));
  case ImageKind::Cubin:
    return Status::error("a cubin runs on a GPU only, the simulator needs PTX; "
                         "compile to format=isa or format=fatbin, or choose "
                         "KVCACHE_DEVICE=cuda");
  case ImageKind::Bitcode:
    return Status::error("the module is LLVM bitcode, no device code; compile "
                         "to format=isa, bin or fatbin");
  case ImageKind::Fatbin:
    return extractFromFatbin(data, bytes);
  }
  return Status::error("unknown kind of image");
}
