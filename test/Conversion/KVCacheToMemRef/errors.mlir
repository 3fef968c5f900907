// RUN: kvcache-opt %s --convert-kvcache-to-memref --allow-unregistered-dialect --split-input-file --verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// expected-error @below {{cannot be lowered with a kvcache value inside type 'tuple<!kvcache.cache<key, <bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>>, i32>'; pass each collection, cache or operand as a value of its own}}
func.func private @tuple(tuple<!kvcache.cache<key, #kv>, i32>)

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func private @callee(!kvcache.cache<key, #kv>)

func.func @indirect(%k: !kvcache.cache<key, #kv>) {
  // expected-error @below {{cannot be lowered with a kvcache value inside type '(!kvcache.cache<key, <bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>>) -> ()'; pass each collection, cache or operand as a value of its own}}
  %f = func.constant @callee : (!kvcache.cache<key, #kv>) -> ()
  func.call_indirect %f(%k) : (!kvcache.cache<key, #kv>) -> ()
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @unknown() {
  // expected-error @below {{cannot be lowered with a kvcache value; pass it through func, gpu.launch_func, scf or cf operations, or look up what is needed before}}
  %k = ub.poison : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @unregistered(%k: !kvcache.cache<key, #kv>) {
  // expected-error @below {{cannot be lowered with a kvcache value; pass it through func, gpu.launch_func, scf or cf operations, or look up what is needed before}}
  "other.op"(%k) : (!kvcache.cache<key, #kv>) -> ()
  return
}
