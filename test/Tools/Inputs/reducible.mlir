#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @unrelated_1(%k: !kvcache.cache<key, #kv>, %b: index) -> index {
  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
  return %n : index
}
func.func @faulty(%k: !kvcache.cache<key, #kv>, %i: index) -> f32 {
  %x = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  return %x : f32
}
func.func @unrelated_2(%k: !kvcache.cache<key, #kv>, %b: index) -> index {
  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
  return %n : index
}
