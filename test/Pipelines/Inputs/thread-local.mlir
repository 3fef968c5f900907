gpu.module @m {
  llvm.mlir.global internal thread_local @g() : i32
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %r = llvm.mlir.addressof @g : !llvm.ptr
    llvm.store %r, %x : !llvm.ptr, !llvm.ptr
    llvm.return
  }
}
