// Options of one-shot bufferization that would copy a pool.
// RUN: not kvcache-opt %s --one-shot-bufferize="bufferize-function-boundaries copy-before-write" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNANALYZED
// RUN: not kvcache-opt %s --one-shot-bufferize="bufferize-function-boundaries no-analysis-func-filter=reshaped" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNANALYZED
// UNANALYZED: :[[#@LINE+7]]:10: error: 'kvcache.with_buffers' op cannot be bufferized without an analysis, which would copy what it writes; leave 'copy-before-write' and 'no-analysis-func-filter' out

// RUN: not kvcache-opt %s --one-shot-bufferize="bufferize-function-boundaries" 2>&1 | FileCheck %s --check-prefix=RESHAPED
// RESHAPED: :[[#@LINE+3]]:11: error: 'tensor.collapse_shape' op operand #0 of type 'tensor<4x8xf32>' would be copied, but 'kvcache.with_buffers' needs it in place; give functions identity layouts (function-boundary-type-conversion=identity-layout-map)

func.func @reshaped(%pool: tensor<4x8xf32>, %v: f32, %i: index) -> tensor<32xf32> {
  %rows = tensor.collapse_shape %pool [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %new = kvcache.with_buffers writes(%rows : tensor<32xf32>) {
  ^bb0(%b: memref<32xf32>):
    memref.store %v, %b[%i] : memref<32xf32>
  }
  return %new : tensor<32xf32>
}
