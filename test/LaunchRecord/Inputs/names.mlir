module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%x: memref<?xf32>, %y: f32, %z: i32, %h: bf16, %c: f8E4M3FN, %i: index) kernel {
      %zero = arith.constant 0 : index
      memref.store %y, %x[%zero] : memref<?xf32>
      gpu.return
    }
  }
  func.func @"a b"(%x: memref<?xf32>, %y: f32, %z: i32, %h: bf16, %c: f8E4M3FN, %i: index) {
    gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i)
        args(%x : memref<?xf32>, %y : f32, %z : i32, %h : bf16, %c : f8E4M3FN, %i : index)
    return
  }
  func.func @a.b(%x: memref<?xf32>, %y: f32, %z: i32, %h: bf16, %c: f8E4M3FN, %i: index) {
    gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i)
        args(%x : memref<?xf32>, %y : f32, %z : i32, %h : bf16, %c : f8E4M3FN, %i : index)
    return
  }
  func.func @int(%x: memref<?xf32>, %y: f32, %z: i32, %h: bf16, %c: f8E4M3FN, %i: index) {
    gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i)
        args(%x : memref<?xf32>, %y : f32, %z : i32, %h : bf16, %c : f8E4M3FN, %i : index)
    return
  }
  func.func @"1*/\"st"(%x: memref<?xf32>, %y: f32, %z: i32 {kvcache.name = "arg1"}, %h: bf16 loc("for"),
                       %c: f8E4M3FN loc("?weird"), %i: index loc("!weird")) {
    gpu.launch_func @m::@k blocks in (%i, %i, %i) threads in (%i, %i, %i)
        args(%x : memref<?xf32>, %y : f32, %z : i32, %h : bf16, %c : f8E4M3FN, %i : index)
    return
  }
}
