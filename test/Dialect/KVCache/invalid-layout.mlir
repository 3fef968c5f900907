// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected num_heads to be at least 1, got 0}}
#kv = #kvcache.params<num_heads = 0, head_size = 128>


// -----

// expected-error @+1 {{expected num_heads to be at least 1, got -1}}
#kv = #kvcache.params<num_heads = -1, head_size = 128>


// -----

// expected-error @+1 {{expected head_size to be at least 1, got 0}}
#kv = #kvcache.params<num_heads = 8, head_size = 0>


// -----

// expected-error @+1 {{expected a scale dtype of f32, f16, bf16, f8E8M0FNU or f8E4M3FN, got 'f64'}}
#kv = #kvcache.scales<f64, granularity = 128>


// -----

// expected-error @+1 {{expected a scale dtype of f32, f16, bf16, f8E8M0FNU or f8E4M3FN, got 'f8E5M2'}}
#kv = #kvcache.scales<f8E5M2, granularity = 128>


// -----

// expected-error @+1 {{expected granularity to be at least 1, got 0}}
#kv = #kvcache.scales<f32, granularity = 0>


// -----

// expected-error @+1 {{expected granularity to be at least 1, got -128}}
#kv = #kvcache.scales<f32, granularity = -128>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'f64'}}
#kv = #kvcache.layout<f64, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'i32'}}
#kv = #kvcache.layout<i32, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'si8'}}
#kv = #kvcache.layout<si8, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'ui8'}}
#kv = #kvcache.layout<ui8, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'i4'}}
#kv = #kvcache.layout<i4, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'f8E8M0FNU'}}
#kv = #kvcache.layout<f8E8M0FNU, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'vector<2xf32>'}}
#kv = #kvcache.layout<vector<2xf32>, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected a dtype of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN, got 'index'}}
#kv = #kvcache.layout<index, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>


// -----

// expected-error @+1 {{expected page_size to be at least 1, got 0}}
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 0>


// -----

// expected-error @+1 {{expected page_size to be at least 1, got -16}}
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = -16>


// -----

// expected-error @+1 {{expected scales for dtype 'i8', got none; add 'scales = <f32, granularity = 128>'}}
#kv = #kvcache.layout<i8, params = <num_heads = 8, head_size = 128>, page_size = 16>


// -----

// expected-error @+1 {{expected scales for dtype 'f4E2M1FN', got none; add 'scales = <f32, granularity = 128>'}}
#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 8, head_size = 128>, page_size = 16>


// -----

// expected-error @+1 {{expected an even head_size for dtype 'f4E2M1FN', which stores two elements a byte, got 127}}
#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 8, head_size = 127>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>


// -----

// expected-error @+1 {{expected one side of a page to take less than 4294967296 bytes, got page_size 4194304 * num_heads 8 * head_size 128 * 1 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 4194304>


// -----

// expected-error @+1 {{expected one side of a page to take less than 4294967296 bytes, got page_size 9223372036854775807 * num_heads 9223372036854775807 * head_size 9223372036854775807 * 4 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f32, params = <num_heads = 9223372036854775807, head_size = 9223372036854775807>, page_size = 9223372036854775807>


// -----

// expected-error @+1 {{expected one side of a page to take less than 4294967296 bytes, got page_size 1048576 * num_heads 8 * scales a head 128 * 4 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 1048576, scales = <f32, granularity = 1>>


// -----

// expected-error @+2 {{integer value too large}}
// expected-error @+1 {{failed to parse KVCache_LayoutAttr parameter 'page_size' which is to be a `int64_t`}}
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 9223372036854775808>


// -----

// expected-error @+2 {{expected one of [shared, own] for the table through which scales are found, got: mine}}
// expected-error @+1 {{failed to parse KVCache_ScalesAttr parameter 'table' which is to be a `::mlir::kvcache::TableKind`}}
#kv = #kvcache.scales<f32, granularity = 128, table = mine>


// -----

// expected-error @+1 {{unknown attribute `pages` in dialect `kvcache`}}
#kv = #kvcache.pages<16>


// -----

// expected-error @+1 {{struct is missing required parameter: page_size}}
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>>


// -----

// expected-error @+2 {{expected granularity to be at least 1, got 0}}
// expected-error @+1 {{failed to parse KVCache_LayoutAttr parameter 'scales' which is to be a `::mlir::kvcache::ScalesAttr`}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 0>>


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16>
// expected-error @+1 {{expected side 'key', got 'value': an MLA layout has no value cache; read the values from its keys}}
func.func private @f(!kvcache.cache<value, #kv>)


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16>
// expected-error @+1 {{expected side 'key', got 'value': an MLA layout has no value cache; read the values from its keys}}
func.func private @f(!kvcache.mha_operand<value, #kv>)


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16, scales = <f32, granularity = 128>>
// expected-error @+1 {{expected side 'key', got 'value': an MLA layout has no value cache; read the values from its keys}}
func.func private @f(!kvcache.scales_mha_operand<value, #kv>)


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// expected-error @+1 {{expected a layout with scales, got one without; add 'scales = <...>' or use a plain mha_operand}}
func.func private @f(!kvcache.scales_mha_operand<key, #kv>)


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// expected-error @+2 {{expected ::mlir::kvcache::Side to be one of: key, value}}
// expected-error @+1 {{failed to parse KVCache_CacheType parameter 'side' which is to be a `::mlir::kvcache::Side`}}
func.func private @f(!kvcache.cache<query, #kv>)


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// expected-error @+1 {{unknown  type `page` in dialect `kvcache`}}
func.func private @f(!kvcache.page<#kv>)


// -----

#kv = #kvcache.params<num_heads = 8, head_size = 128>
// expected-error @+2 {{invalid kind of attribute specified}}
// expected-error @+1 {{failed to parse KVCache_CollectionType parameter 'layout' which is to be a `::mlir::kvcache::LayoutAttr`}}
func.func private @f(!kvcache.collection<#kv>)
