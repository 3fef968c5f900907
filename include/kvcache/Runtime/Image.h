// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms a compiled module comes in, told apart by their first bytes.
#ifndef KVCACHE_RUNTIME_IMAGE_H
#define KVCACHE_RUNTIME_IMAGE_H

#include "kvcache/Simulator/Status.h"

#include <cstddef>
#include <string>

namespace kvrt {

/// What a module image may be.
enum class ImageKind {
  /// Text.
  PTX,
  /// An ELF file for one chip.
  Cubin,
  /// Several of these, by NVIDIA's format.
  Fatbin,
  /// LLVM's, which no driver takes.
  Bitcode
};

/// `bytes` 0: NUL-terminated text, or a form that knows its own size. Whatever
/// has no known signature counts as PTX text.
ImageKind classifyImage(const void *image, size_t bytes);

/// The PTX text of an image: the text itself, or the newest PTX inside a fatbin
/// (plain or zstd-compressed). An error that names the remedy where there is
/// none.
ptxsim::Result<std::string> extractPTX(const void *image, size_t bytes);

} // namespace kvrt

#endif // KVCACHE_RUNTIME_IMAGE_H
