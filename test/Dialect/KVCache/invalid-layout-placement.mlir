// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected a rope dtype of f32, f16 or bf16, got 'f8E4M3FN'}}
#kv = #kvcache.rope<f8E4M3FN, size = 64>

// -----

// expected-error @+1 {{expected a rope size of at least 1, got 0}}
#kv = #kvcache.rope<bf16, size = 0>

// -----

// expected-error @+1 {{expected a rope size of at least 1, got -64}}
#kv = #kvcache.rope<bf16, size = -64>

// -----

// expected-error @+1 {{expected scales with 'rope', the part of a head that is not quantised, got none; add 'scales' or drop 'rope'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, placement = inline, rope = <bf16, size = 64>>

// -----

// expected-error @+1 {{expected 'placement' inline or page_split with 'rope', got pool, whose rows are of one dtype}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, rope = <bf16, size = 64>>

// -----

// expected-error @+1 {{expected a rope size of less than head_size 128, got 128; a head that is not quantised at all needs no scales}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, rope = <bf16, size = 128>>

// -----

// expected-error @+1 {{expected a rope size of less than head_size 128, got 9223372036854775807; a head that is not quantised at all needs no scales}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, rope = <bf16, size = 9223372036854775807>>

// -----

// expected-error @+1 {{expected 'table = shared' with placement inline, whose scales lie in the pages of the values, got own; drop it or use 'placement = pool'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32, table = own>, placement = inline>

// -----

// expected-error @+1 {{expected 'table = shared' with placement page_split, whose scales lie in the pages of the values, got own; drop it or use 'placement = pool'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32, table = own>, placement = page_split>

// -----

// expected-error @+1 {{expected 'placement = inline' with 'kv_inner', got pool; only rows can lie side by side}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, kv_inner = true>

// -----

// expected-error @+1 {{expected 'placement = inline' with 'kv_inner', got page_split; only rows can lie side by side}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, kv_inner = true>

// -----

// expected-error @+1 {{expected keys and values with 'kv_inner', got an MLA layout, which has keys only; drop 'kv_inner'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, kv_inner = true>

// -----

// expected-error @+1 {{expected 'placement = page_split' with 'footer', got pool; drop 'footer'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, footer = 16>

// -----

// expected-error @+1 {{expected 'placement = page_split' with 'footer', got inline; drop 'footer'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, footer = 16>

// -----

// expected-error @+1 {{expected scales with 'footer', which holds them, got none; drop 'footer'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, placement = page_split, footer = 16>

// -----

// expected-error @+1 {{expected a footer of at least 16 bytes, which 4 scales take, got 15}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, footer = 15>

// -----

// expected-error @+1 {{expected a footer of at least 16 bytes, which 4 scales take, got -1}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, footer = -1>

// -----

// expected-error @+1 {{expected page_align to be at least 0, got -1}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, page_align = -1>

// -----

// expected-error @+1 {{expected no 'page_align' with placement pool, got 64; stride 0 of a pool says how its pages are padded}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, page_align = 64>

// -----

// expected-error @+1 {{expected scales with 'swizzle', which interleaves them, got none; drop 'swizzle'}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, swizzle = kv>

// -----

// expected-error @+1 {{expected page_size to be a multiple of 4 with 'swizzle', which interleaves four tokens, got 18}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 18, scales = <f32, granularity = 32>, swizzle = kv>

// -----

// expected-error @+1 {{expected 'swizzle' none or kv, got v: an MLA layout has no value cache}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16, scales = <f32, granularity = 32>, swizzle = v>

// -----

// expected-error @+1 {{expected an even head_size for dtype 'f4E2M1FN', which stores two elements a byte, less the rope size, got 125}}
#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, rope = <bf16, size = 3>>

// -----

// expected-error @+1 {{expected one layer of a page to take less than 4294967296 bytes, got page_size 16 * num_heads 2 * 134217728 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, footer = 134217600>

// -----

// expected-error @+1 {{expected one layer of a page to take less than 4294967296 bytes, got page_size 16 * num_heads 2 * 9223372036854775807 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, footer = 9223372036854775807>

// -----

// expected-error @+1 {{expected one layer of a page to take less than 4294967296 bytes, got page_size 1048576 * num_heads 16 * 288 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 16, head_size = 128>, page_size = 1048576, scales = <f32, granularity = 32>, placement = inline, kv_inner = true>

// -----

// expected-error @+1 {{expected one side of a page to take less than 4294967296 bytes, got page_size 16777216 * num_heads 2 * head_size 128 * 1 bytes; use a smaller page_size}}
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 128>, page_size = 16777216, scales = <f32, granularity = 32>, placement = inline>
