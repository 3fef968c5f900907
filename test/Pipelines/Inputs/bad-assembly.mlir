gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    llvm.inline_asm has_side_effects "foo;", "" : () -> ()
    llvm.return
  }
}
