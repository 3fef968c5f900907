// A vector that nothing proves aligned takes several instructions, and that is
// said.
// RUN: kvcache-opt %s --convert-kvcache-to-memref --split-input-file --verify-diagnostics -o /dev/null

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>
gpu.module @m {
  gpu.func @lookups(%k: !kvcache.cache<key, #kv>, %b: index, %t: index, %h: index, %d: index, %out: memref<16xi8>) kernel {
    %c16 = arith.constant 16 : index
    %d16 = arith.muli %d, %c16 : index
    // expected-remark @below {{accesses of 1 bytes to 16 side by side: layout, head and element prove no larger alignment; say 'alignment' where there is one}}
    %0 = kvcache.load_quantized %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> vector<16xf8E4M3FN>
    %1 = kvcache.load_quantized %k[%b, %t, %h, %d16] : !kvcache.cache<key, #kv> -> vector<16xf8E4M3FN>
    %2 = kvcache.load_quantized %k[%b, %t, %h, %d] {alignment = 16} : !kvcache.cache<key, #kv> -> vector<16xf8E4M3FN>
    %z = arith.constant 0 : index
    %i0 = arith.bitcast %0 : vector<16xf8E4M3FN> to vector<16xi8>
    %i1 = arith.bitcast %1 : vector<16xf8E4M3FN> to vector<16xi8>
    %i2 = arith.bitcast %2 : vector<16xf8E4M3FN> to vector<16xi8>
    vector.store %i0, %out[%z] : memref<16xi8>, vector<16xi8>
    vector.store %i1, %out[%z] : memref<16xi8>, vector<16xi8>
    vector.store %i2, %out[%z] : memref<16xi8>, vector<16xi8>
    gpu.return
  }
}
