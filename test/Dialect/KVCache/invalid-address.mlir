// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

func.func @f(%t: memref<i32, 1>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op expected 'table' of type 'memref<i32>', got 'memref<i32, 1>'}}
  %e = kvcache.table_read %t[%i] : memref<i32, 1> -> i32
  return
}


// -----

func.func @f(%t: memref<i32, strided<[], offset: ?>>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op expected 'table' of type 'memref<i32>', got 'memref<i32, strided<[], offset: ?>>'}}
  %e = kvcache.table_read %t[%i] : memref<i32, strided<[], offset: ?>> -> i32
  return
}


// -----

func.func @f(%t: memref<4xi32>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op operand #0 must be 0D memref of 32-bit signless integer values, but got 'memref<4xi32>'}}
  %e = kvcache.table_read %t[%i] : memref<4xi32> -> i32
  return
}


// -----

func.func @f(%t: memref<f32>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op operand #0 must be 0D memref of 32-bit signless integer values, but got 'memref<f32>'}}
  %e = kvcache.table_read %t[%i] : memref<f32> -> i32
  return
}


// -----

func.func @f(%t: memref<i32>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op expected a vector of fixed length, got 'vector<[4]xi32>'}}
  %e = kvcache.table_read %t[%i] : memref<i32> -> vector<[4]xi32>
  return
}


// -----

func.func @f(%t: memref<i32>, %i: i32) {
  // expected-error @+1 {{'kvcache.table_read' op expected 'alignment' to be a power of two of at least 4 bytes, got 1}}
  %e = kvcache.table_read %t[%i] {alignment = 1 : i64} : memref<i32> -> i32
  return
}


// -----

func.func @f(%b: memref<f32, 1>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op expected 'base' of type 'memref<f32>', got 'memref<f32, 1>'}}
  %v = kvcache.byte_view %b[%i] : memref<f32, 1> to memref<4xf32>
  return
}


// -----

func.func @f(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op expected 'view' of 'f32', got 'f16'}}
  %v = kvcache.byte_view %b[%i] : memref<f32> to memref<4xf16>
  return
}


// -----

func.func @f(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op expected 'view' of static shape and identity layout in the default memory space, got 'memref<?xf32>'}}
  %v = kvcache.byte_view %b[%i] : memref<f32> to memref<?xf32>
  return
}


// -----

func.func @f(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op expected 'view' of static shape and identity layout in the default memory space, got 'memref<4xf32, strided<[2]>>'}}
  %v = kvcache.byte_view %b[%i] : memref<f32> to memref<4xf32, strided<[2]>>
  return
}


// -----

func.func @f(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op expected 'view' of static shape and identity layout in the default memory space, got 'memref<4xf32, 3>'}}
  %v = kvcache.byte_view %b[%i] : memref<f32> to memref<4xf32, 3>
  return
}


// -----

func.func @f(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{custom op 'kvcache.byte_view' invalid kind of type specified: expected builtin.memref, but found 'memref<*xf32>'}}
  %v = kvcache.byte_view %b[%i] : memref<f32> to memref<*xf32>
  return
}
