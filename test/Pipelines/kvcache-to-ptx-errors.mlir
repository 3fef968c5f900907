// RUN: kvcache-opt %s -split-input-file -verify-diagnostics -mlir-print-op-on-diagnostic=false --kvcache-to-ptx="chip=sm_80 toolkit=%t.no-toolkit"

// Each program is refused at the place that is to blame, and LLVM's fatal
// errors do not end the process.

gpu.module @libdevice {
  gpu.func @k(%x: f32, %o: memref<f32>) kernel {
    // expected-error @+1 {{needs '__nv_expf' of CUDA's libdevice, and no CUDA toolkit was found; set CUDA_ROOT, or use operations that the GPU has instructions for}}
    %y = math.exp %x : f32
    memref.store %y, %o[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @undefined_function {
  llvm.func @elsewhere(f32) -> f32
  gpu.func @k(%x: f32, %o: memref<f32>) kernel {
    // expected-error @+1 {{calls 'elsewhere', which nothing defines; define it in the gpu.module}}
    %y = llvm.call @elsewhere(%x) : (f32) -> f32
    memref.store %y, %o[] : memref<f32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{uses the variable 'elsewhere', which nothing defines; define it in the gpu.module}}
gpu.module @undefined_variable {
  llvm.mlir.global external @elsewhere() {addr_space = 1 : i32} : i32
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %p = llvm.mlir.addressof @elsewhere : !llvm.ptr<1>
    llvm.store %p, %x : !llvm.ptr<1>, !llvm.ptr
    llvm.return
  }
}

// -----

// Several operations lack an instruction: each is named.
gpu.module @chip {
  gpu.func @k(%p: !llvm.ptr<1>, %size: i32, %x: f32, %o: memref<i16>) kernel {
    // expected-error @+1 {{'nvvm.convert.f32x2.to.f8x2' needs sm_89 or later, but is compiled for sm_80}}
    %r = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)
    memref.store %r, %o[] : memref<i16>
    // expected-error @+1 {{'nvvm.cp.async.bulk.prefetch' needs sm_90 or later, but is compiled for sm_80}}
    nvvm.cp.async.bulk.prefetch %p, %size : !llvm.ptr<1>
    // expected-error @+1 {{'nvvm.wgmma.fence.aligned' needs sm_90a, but is compiled for sm_80}}
    nvvm.wgmma.fence.aligned
    gpu.return
  }
}

// -----

// A fatal error of the code generator.
// expected-error @+1 {{LLVM cannot generate code for sm_80: Cannot select: }}
gpu.module @thread_local {
  llvm.mlir.global internal thread_local @g() : i32
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %r = llvm.mlir.addressof @g : !llvm.ptr
    llvm.store %r, %x : !llvm.ptr, !llvm.ptr
    llvm.return
  }
}

// -----

// An error of the code generator that ends the process where nobody listens.
// expected-error @+1 {{LLVM: couldn't allocate output register for constraint 't'}}
gpu.module @inline_assembly {
  llvm.func @k(%x: i32) attributes {gpu.kernel, nvvm.kernel} {
    %r = llvm.inline_asm has_side_effects "foo $0, $1;", "=t,r" %x : (i32) -> i32
    llvm.return
  }
}

// -----

// expected-error @+1 {{LLVM refuses the translated module: Calling convention does not support varargs or perfect forwarding!}}
gpu.module @variadic {
  llvm.func @k(%x: !llvm.ptr, ...) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// -----

// Where operands are missing it ends the process whoever listens.
gpu.module @constraints {
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @+1 {{'llvm.inline_asm' op has constraints "r,r" for 1 operands and 0 results, of which LLVM says: number of input constraints does not match number of parameters}}
    llvm.inline_asm has_side_effects "foo $0, $1;", "r,r" %x : (!llvm.ptr) -> ()
    llvm.return
  }
}

// -----

gpu.module @result_constraint {
  llvm.func @k(%x: i32) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @+1 {{has constraints "=r,=r,r" for 1 operands and 1 results}}
    %r = llvm.inline_asm has_side_effects "foo $0, $1, $2;", "=r,=r,r" %x : (i32) -> i32
    llvm.return
  }
}

// -----

gpu.module @wide {
  llvm.func @k(%x: i100000, %p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @+1 {{has a value of type 'i100000', which no NVIDIA GPU has}}
    %y = llvm.mul %x, %x : i100000
    llvm.store %y, %p : i100000, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @type {
  gpu.func @k(%x: f128, %o: memref<f128>) kernel {
    // expected-error @+1 {{'llvm.fadd' op has a value of type 'f128', which no NVIDIA GPU has}}
    %y = arith.addf %x, %x : f128
    memref.store %y, %o[] : memref<f128>
    gpu.return
  }
}

// -----

gpu.module @not_lowered {
  gpu.func @k() kernel {
    // expected-error @+1 {{'amdgpu.lds_barrier' op cannot be lowered to PTX}}
    amdgpu.lds_barrier
    // expected-error @+1 {{'rocdl.barrier' op cannot be lowered to PTX}}
    rocdl.barrier
    gpu.return
  }
}

// -----

func.func @tensors(%x: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-error @+1 {{'kvcache.with_buffers' op works on tensors, kernels on buffers; run 'one-shot-bufferize{bufferize-function-boundaries}' first}}
  %y = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>):
    memref.store %v, %a[%i] : memref<8xf32>
  }
  return %y : tensor<8xf32>
}
