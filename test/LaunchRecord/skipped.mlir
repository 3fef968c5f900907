// A function of which a record cannot say all gets none, and a remark says why.
// RUN: rm -rf %t
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics --kvcache-to-ptx=output=%t -o /dev/null
// RUN: ls %t | FileCheck %s
// CHECK:     known.h
// CHECK-NEXT: known.json
// CHECK-NOT: .h

// expected-remark@+1 {{no launch record for 'result': it returns 1 values, which a launcher does not}}
func.func @result(%x: memref<4xf32>) -> index {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m0) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return %c1 : index
}

// -----

func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'loop': 'scf.for' is neither a launch nor arithmetic on the arguments}}
  scf.for %at = %c0 to %n step %c1 {
    gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
        module(@m1) function(@k) {
      gpu.barrier
      gpu.terminator
    }
  }
  return
}

// -----

func.func private @other()
func.func @call() {
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'call': 'func.call' is neither a launch nor arithmetic on the arguments}}
  call @other() : () -> ()
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m2) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

// What matters for no launch is no matter.
func.func @known(%n: index, %y: f32) {
  %c1 = arith.constant 1 : index
  %z = math.exp %y : f32
  %w = arith.fptosi %z : f32 to i64
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m3) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

func.func @float(%y: f32) {
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'float': 'math.exp' cannot be expressed over the sizes, strides and scalars of the arguments}}
  %z = math.exp %y : f32
  %w = arith.fptosi %z : f32 to i64
  %n = arith.index_cast %w : i64 to index
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m4) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

func.func @branch(%n: index, %x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'branch': 'memref.load' cannot be expressed over the sizes, strides and scalars of the arguments}}
  %v = memref.load %x[%n] : memref<?xi32>
  %zero = arith.constant 0 : i32
  %some = arith.cmpi ne, %v, %zero : i32
  scf.if %some {
    gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
        module(@m5) function(@k) {
      gpu.barrier
      gpu.terminator
    }
  }
  return
}

// -----

// expected-remark@+1 {{no launch record for 'blocks': its body has 3 blocks; use scf.if instead of branches}}
func.func @blocks(%some: i1) {
  %c1 = arith.constant 1 : index
  cf.cond_br %some, ^yes, ^no
^yes:
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m6) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  cf.br ^no
^no:
  return
}

// -----

// expected-remark@+1 {{no launch record for 'unranked': argument #0 is of type memref<*xf32>, which is no scalar of up to 64 bits, pointer or memref of strided layout}}
func.func @unranked(%x: memref<*xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m7) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

func.func @clusters(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'clusters': it launches clusters of a size of its own}}
  gpu.launch clusters(%p, %q, %r) in (%s = %c1, %t = %c1, %u = %c1) blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m8) function(@k) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

// expected-remark@+1 {{no launch record for 'both': argument 'x' is read by the host and by a kernel; pass host and device memory as two arguments}}
func.func @both(%x: memref<2xi32> {kvcache.name = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c0] : memref<2xi32>
  %n = arith.index_cast %v : i32 to index
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m9) function(@k) {
    %zero = arith.constant 0 : i32
    memref.store %zero, %x[%c1] : memref<2xi32>
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

func.func @shared(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{no launch record for 'shared': 'gpu.alloc' of this kind is no part of a workspace; allocate packed device memory}}
  %x = gpu.alloc host_shared (%n) : memref<?xi32>
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@m10) function(@k) {
    %zero = arith.constant 0 : i32
    memref.store %zero, %x[%a] : memref<?xi32>
    gpu.barrier
    gpu.terminator
  }
  return
}

// -----

func.func @sometimes(%n: index, %some: i1) {
  %c1 = arith.constant 1 : index
  scf.if %some {
    // expected-remark@+1 {{no launch record for 'sometimes': 'gpu.alloc' below a condition is no part of a workspace; allocate at the function's top level}}
    %x = gpu.alloc (%n) : memref<?xi32>
    gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
        module(@m11) function(@k) {
      %zero = arith.constant 0 : i32
      memref.store %zero, %x[%a] : memref<?xi32>
      gpu.barrier
      gpu.terminator
    }
  }
  return
}
