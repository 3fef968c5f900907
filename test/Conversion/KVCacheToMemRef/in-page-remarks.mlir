// What keeps an access in a page, as users write them, from 16 bytes or from 32-bit
// arithmetic.
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics --convert-kvcache-to-memref -o /dev/null

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 128>, page_size = 16>

func.func @narrow(%k: !kvcache.mha_operand<key, #kv>, %block: i32, %slot: index, %head: index, %dim: index) -> vector<8xbf16> {
  // expected-remark@+1 {{accesses of 2 bytes to 16 side by side: layout, head and element prove no larger alignment}}
  %x = kvcache.load_in_page %k[%block, %slot, %head, %dim] : !kvcache.mha_operand<key, #kv> -> vector<8xbf16>
  return %x : vector<8xbf16>
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 128>, page_size = 16>

func.func @wide(%k: !kvcache.mha_operand<key, #kv>, %block: i32, %slot: i32, %head: index, %dim: index, %x: vector<8xbf16>) {
  %s = arith.index_castui %slot : i32 to index
  kvcache.store_in_page %x, %k[%block, %s, %head, %dim] {alignment = 16} : vector<8xbf16>, !kvcache.mha_operand<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 128>, page_size = 16>

func.func @long(%k: !kvcache.mha_operand<key, #kv>, %block: i32, %token: index, %head: index, %x: vector<8xbf16>) {
  %c16 = arith.constant 16 : index
  %slot = arith.remui %token, %c16 : index
  %c0 = arith.constant 0 : index
  // expected-remark@+1 {{'slot' is computed in 64 bits: compute it as i32, and make the index by arith.index_castui}}
  kvcache.store_in_page %x, %k[%block, %slot, %head, %c0] : vector<8xbf16>, !kvcache.mha_operand<key, #kv>
  return
}
