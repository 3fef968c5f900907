// RUN: kvcache-opt %s --kvcache-expand-kernel-memrefs -split-input-file -verify-diagnostics

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op argument #1 is of type 'memref<*xf32>', whose rank a kernel cannot know; cast it to a ranked memref before the launch}}
  gpu.func @unranked(%x: f32, %a: memref<*xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op argument #0 is of type 'tensor<4xf32>', which has no place in memory; pass a memref or scalars}}
  gpu.func @tensor(%a: tensor<4xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op argument #0 is of type 'memref<8x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>', whose layout is not strided; normalize it or pass a memref with strides}}
  gpu.func @tiled(%a: memref<8x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>) kernel {
    gpu.return
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @launch(%a: memref<4xmemref<f32>, strided<[1], offset: ?>>, %n: index) {
    // expected-error @+1 {{'gpu.launch_func' op passes 'memref<4xmemref<f32>, strided<[1], offset: ?>>', whose run-time offset has no known size in bytes; pass a memref with a constant offset or of other elements}}
    gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<4xmemref<f32>, strided<[1], offset: ?>>)
    return
  }
  gpu.module @m {
    gpu.func @k(%a: memref<4xmemref<f32>, strided<[1], offset: ?>>) kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @launch(%a: memref<4xf32, strided<[1], offset: ?>, 1>, %n: index) {
    // expected-error @+1 {{'gpu.launch_func' op passes 'memref<4xf32, strided<[1], offset: ?>, 1>', whose run-time offset cannot be applied in this memory space; cast it to the default one or make the offset constant}}
    gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<4xf32, strided<[1], offset: ?>, 1>)
    return
  }
  gpu.module @m {
    gpu.func @k(%a: memref<4xf32, strided<[1], offset: ?>, 1>) kernel {
      gpu.return
    }
  }
}

// -----

gpu.module @m {
  // expected-error @below {{argument #0 is of type 'f4E2M1FN' of 4 bits, which PTX cannot pass; pass an integer of 8, 16, 32 or 64 bits}}
  gpu.func @narrow(%x: f4E2M1FN) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{argument #1 is of type 'i24' of 24 bits, which PTX cannot pass; pass an integer of 8, 16, 32 or 64 bits}}
  gpu.func @odd(%ok: i1, %x: i24) kernel {
    gpu.return
  }
}
