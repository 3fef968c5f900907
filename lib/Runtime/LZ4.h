// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_RUNTIME_LZ4_H
#define KVCACHE_LIB_RUNTIME_LZ4_H

#include <cstddef>
#include <string>

namespace kvrt {

/// Decompresses one LZ4 block, as lz4_Block_format.md describes it, that fills
/// `text` exactly. False if it does not; any input is allowed.
bool decompressLZ4(const char *block, size_t bytes, std::string &text);

} // namespace kvrt

#endif // KVCACHE_LIB_RUNTIME_LZ4_H
