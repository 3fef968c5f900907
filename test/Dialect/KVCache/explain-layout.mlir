// RUN: kvcache-opt --kvcache-explain-layout="layers=6 token=70 table=9,2 scales-table=4,7" %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not kvcache-opt --kvcache-explain-layout="layers=0" %s 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not kvcache-opt --kvcache-explain-layout="token=130 table=9,2 scales-table=4,7" %s 2>&1 | FileCheck %s --check-prefix=TOKEN
// RUN: not kvcache-opt --kvcache-explain-layout="blocks-pitch=12" %s 2>&1 | FileCheck %s --check-prefix=PITCH

// LAYERS: error: expected at least 1 layer, got 0
// TOKEN: error: expected a table of more than 2 pages for token 130, got 2
// PITCH: error: expected a pitch of the blocks of at least 8192 bytes, a page, and a multiple of 128, got 12

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64,
    scales = <f32, granularity = 64, table = own>>
#row656 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64,
    scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
#model1 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64,
    scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
#nvfp4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 32>, page_size = 64,
    scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>

// One layout counts once.
func.func private @a(!kvcache.collection<#own>, !kvcache.cache<key, #own>)
// CHECK: #kvcache.layout<f8E4M3FN
// CHECK-NEXT: 6 layers, 1 side (keys), 816 bytes a token
// CHECK: page of blocks: 49152 bytes, from block to block 49152
// CHECK-NEXT: 0 .. 8192 8192 keys of layer 0: 64 tokens, 1 head
// CHECK-NEXT: 8192 .. 16384
// CHECK-NEXT: ...
// CHECK-NEXT: 40960 .. 49152 8192 keys of layer 5
// CHECK-NEXT: page of scales: 3072 bytes
// CHECK: values at 0, 128 bytes: 128 x f8E4M3FN; next token +128, next head +128
// CHECK-NEXT: scales at 0, 8 bytes: 2 x f32; next token +8, next head +8
// CHECK-NEXT: scale dim / 64 of 2 belongs to element dim
// CHECK: token 70: page 1, slot 6, block 2, block of scales 7
// 2 * 49152 + 5 * 8192 + 6 * 128, and 7 * 3072 + 5 * 512 + 6 * 8
// CHECK: key, layer 5, head 0: values at 140032, scales at 24112 24116
// CHECK-NOT: table = own

func.func private @b(!kvcache.collection<#row656>)
// CHECK: 6 layers, 1 side (keys), 3936 bytes a token
// CHECK: values at 0, 512 bytes: 512 x f8E4M3FN; next token +656
// CHECK-NEXT: scales at 512, 16 bytes: 4 x f32; next token +656
// CHECK-NEXT: tail at 528, 128 bytes: 64 x bf16; next token +656
// 2 * 6 * 41984 + 6 * 656
// CHECK: key, layer 0, head 0: values at 507744, tail at 508272, scales at 508256 508260 508264 508268

func.func private @c(!kvcache.collection<#model1>)
// CHECK: page of blocks: 224640 bytes
// CHECK: 224256 .. 224640 384 padding
// CHECK: 1 bytes after the scales of a (token, head) are unused

func.func private @d(!kvcache.collection<#nvfp4>)
// CHECK: two elements a byte, the even one in the low half
// CHECK: scales of values are interleaved: of tokens 4 i to 4 i + 3, scale j of token t lies where scale f % 2 of token 4 i + f / 2 would, f = 4 j + t % 4
