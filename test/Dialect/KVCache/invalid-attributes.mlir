// RUN: kvcache-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{argument #0: expected 'kvcache.name' to be a string that C takes as a name, no word of C or C++ and not 'workspace', got 3 : i64}}
func.func private @number(memref<?xf32> {kvcache.name = 3})

// -----

// expected-error@+1 {{argument #1: expected 'kvcache.name' to be a string that C takes as a name, no word of C or C++ and not 'workspace', got "a b"}}
func.func private @space(i32, i32 {kvcache.name = "a b"})

// -----

// expected-error@+1 {{got ""}}
func.func private @empty(i32 {kvcache.name = ""})

// -----

// expected-error@+1 {{got "1st"}}
func.func private @digit(i32 {kvcache.name = "1st"})

// -----

// expected-error@+1 {{got "template"}}
func.func private @word(i32 {kvcache.name = "template"})

// -----

// expected-error@+1 {{got "workspace"}}
func.func private @own(i32 {kvcache.name = "workspace"})

// -----

// expected-error@+1 {{arguments #0 and #2 are both named 'x'; rename one}}
func.func private @twice(i32 {kvcache.name = "x"}, i32, i32 {kvcache.name = "x"})

// -----

// expected-error@+1 {{has 'kvcache.name', which is for arguments; write it behind an argument's type}}
func.func private @function() attributes {kvcache.name = "x"}

// -----

// expected-error@+1 {{has unknown attribute 'kvcache.nmae'; drop it, or give it a prefix of your own}}
func.func private @misspelt() attributes {kvcache.nmae = "x"}

// -----

// expected-error@+1 {{result #1 has 'kvcache.name', but results have no attributes of this dialect; drop it}}
func.func private @result() -> (i32, i32 {kvcache.name = "x"})

// -----

gpu.module @m {
  // expected-error@+1 {{argument #0 has 'kvcache.name', which is for arguments of host functions; drop it}}
  gpu.func @k(%x: i32 {kvcache.name = "x"}) kernel {
    gpu.return
  }
}

// -----

// expected-error@+1 {{argument #0: 'kvcache.host_array' has no value and marks memrefs of static shape and strides, got unit on 'memref<?xi32>'}}
func.func private @dynamic(memref<?xi32> {kvcache.host_array})

// -----

// expected-error@+1 {{argument #0: 'kvcache.host_array' has no value and marks memrefs of static shape and strides, got 1 : i64 on 'memref<2xi32>'}}
func.func private @value(memref<2xi32> {kvcache.host_array = 1})

// -----

// expected-error@+1 {{argument #1 has unknown attribute 'kvcache.names'; expected 'kvcache.name' or 'kvcache.host_array'}}
func.func private @mistyped(i32 {kvcache.name = "x"}, i32 {kvcache.names = "y"})
