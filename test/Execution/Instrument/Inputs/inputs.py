# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one operation on inputs that may not fit, with checks at run time; prints the
status and what was said.

usage: inputs.py FOLDER OPERATION [--unchecked] [LIST=VALUES...]
Four blocks of four tokens, two sequences of two pages; lists are JSON. With --unchecked
only those checks are made that the host always makes.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
from run_arrays import run_arrays  # noqa: E402

PROGRAM = """
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 32>, page_size = 4,
                      scales = <f32, granularity = 16>>
#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 32>, page_size = 4,
                       scales = <f32, granularity = 16, table = own>>
#keys = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 32, is_mla = true>, page_size = 4,
                        scales = <f32, granularity = 32>>
#inline = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 32>, page_size = 4,
                          scales = <f32, granularity = 16>, placement = inline>
#wide = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 32>, page_size = 4>
#heads = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 4>
func.func @main({arguments}) {{
{register}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x32xf8E4M3FN>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%scales : memref<?x2x?x4x2x2xf32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  %o = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x32xf8E4M3FN>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%zero : memref<1xi32>) max_cache(%zero : memref<1xi32>)
      scales(%scales : memref<?x2x?x4x2x2xf32>) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#own>
  %ok = kvcache.get_key_cache %o[%c0] : !kvcache.collection<#own>
  %keys_cache = kvcache.get_paged_cache blocks(%indexed : memref<?x1x?x4x1x32xf8E4M3FN>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%indexed_scales : memref<?x1x?x4x1x1xf32>) : !kvcache.collection<#keys>
  %ik = kvcache.get_key_cache %keys_cache[%c0] : !kvcache.collection<#keys>
  %plain = kvcache.get_paged_cache blocks(%pool : memref<?x2x?x4x2x32xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#wide>
  %wk = kvcache.get_key_cache %plain[%c0] : !kvcache.collection<#wide>
  %wv = kvcache.get_value_cache %plain[%c0] : !kvcache.collection<#wide>
  %view = memref.reinterpret_cast %pool to offset: [64], sizes: [6, 2, 32], strides: [64, 32, 1]
      : memref<?x2x?x4x2x32xbf16> to memref<6x2x32xbf16, strided<[64, 32, 1], offset: 64>>
  %rows = memref.subview %view[0, 0, 0] [3, 2, 32] [1, 1, 1]
      : memref<6x2x32xbf16, strided<[64, 32, 1], offset: 64>> to memref<3x2x32xbf16, strided<[64, 32, 1], offset: 64>>
  %left = memref.subview %fused[0, 0, 0] [3, 2, 32] [1, 1, 1]
      : memref<3x4x32xbf16> to memref<3x2x32xbf16, strided<[128, 32, 1]>>
  %middle = memref.subview %fused[0, 1, 0] [3, 2, 32] [1, 1, 1]
      : memref<3x4x32xbf16> to memref<3x2x32xbf16, strided<[128, 32, 1], offset: 32>>
  %right = memref.subview %fused[0, 2, 0] [3, 2, 32] [1, 1, 1]
      : memref<3x4x32xbf16> to memref<3x2x32xbf16, strided<[128, 32, 1], offset: 64>>
  %columns_left = memref.reinterpret_cast %columns to offset: [0], sizes: [3, 2, 32], strides: [64, 192, 1]
      : memref<2x3x64xbf16> to memref<3x2x32xbf16, strided<[64, 192, 1]>>
  %columns_middle = memref.reinterpret_cast %columns to offset: [16], sizes: [3, 2, 32], strides: [64, 192, 1]
      : memref<2x3x64xbf16> to memref<3x2x32xbf16, strided<[64, 192, 1], offset: 16>>
  %columns_right = memref.reinterpret_cast %columns to offset: [32], sizes: [3, 2, 32], strides: [64, 192, 1]
      : memref<2x3x64xbf16> to memref<3x2x32xbf16, strided<[64, 192, 1], offset: 32>>
  %shift_bytes = memref.load %shift[%c0] : memref<1xi64>
  %shift_by = arith.index_cast %shift_bytes : i64 to index
  %row_count64 = memref.load %row_count[%c0] : memref<1xi64>
  %row_number = arith.index_cast %row_count64 : i64 to index
  %shifted = memref.view %raw[%shift_by][%row_number] : memref<4096xi8> to memref<?x2x32xbf16>
  {operation}
  // What is not as it was: bf16 was zero.
  %codes8 = memref.reinterpret_cast %blocks to offset: [0], sizes: [2048], strides: [1]
      : memref<?x2x?x4x2x32xf8E4M3FN> to memref<2048xf8E4M3FN>
  %floats = memref.reinterpret_cast %pool to offset: [0], sizes: [2048], strides: [1]
      : memref<?x2x?x4x2x32xbf16> to memref<2048xbf16>
  %none = arith.constant 0 : index
  %all = arith.constant 2048 : index
  %changed = scf.for %at = %c0 to %all step %c1 iter_args(%count = %none) -> (index) {{
    %code = memref.load %codes8[%at] : memref<2048xf8E4M3FN>
    %was8 = memref.load %before[%at] : memref<2048xi8>
    %float = memref.load %floats[%at] : memref<2048xbf16>
    %is8 = arith.bitcast %code : f8E4M3FN to i8
    %bits8 = arith.xori %is8, %was8 : i8
    %bits16 = arith.bitcast %float : bf16 to i16
    %wide8 = arith.extui %bits8 : i8 to i16
    %either = arith.ori %wide8, %bits16 : i16
    %zero16 = arith.constant 0 : i16
    %is = arith.cmpi ne, %either, %zero16 : i16
    %more = arith.addi %count, %c1 : index
    %next = arith.select %is, %more, %count : index
    scf.yield %next : index
  }}
  vector.print str "changed "
  vector.print %changed : index
  return
}}
"""
CACHE, OWN = "!kvcache.cache<key, #kv>", "!kvcache.cache<key, #own>"
WIDE = "!kvcache.cache<key, #wide>"
COLLECTION = "!kvcache.collection<#kv>"
OWN_COLLECTION = "!kvcache.collection<#own>"
INDEXED = """queries(%queries, %weights : memref<?x8x32xf8E4M3FN>, memref<?x8xf32>)
      from(%ik : !kvcache.cache<key, #keys>) offsets(%offsets : memref<?xi32>)"""


SLICE = "memref<3x2x32xbf16, strided<[128, 32, 1]"
COLUMNS = "memref<3x2x32xbf16, strided<[64, 192, 1]"


def rope(source, target, types):
    return f"""kvcache.rope %{source} into %{target} positions(%positions) tables(%cos, %cos) rotation(<>)
      : {types} by memref<3xi32>, memref<8x16xf32>, memref<8x16xf32>"""


def attention(window):
    return f"""%attended = kvcache.get_paged_cache blocks(%heads : memref<?x2x?x4x2x64xbf16>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>)
      max_cache(%max : memref<1xi32>) : !kvcache.collection<#heads>
  %ak = kvcache.get_key_cache %attended[%c0] : !kvcache.collection<#heads>
  %av = kvcache.get_value_cache %attended[%c0] : !kvcache.collection<#heads>
  kvcache.paged_attention queries(%asking : memref<?x4x64xbf16>)
      over(%ak, %av : !kvcache.cache<key, #heads>, !kvcache.cache<value, #heads>)
      into(%answers : memref<?x4x64xbf16>) ragged(%offsets : memref<?xi32>) {{window = {window} : i64}}"""


def in_kernel(text):
    return f"""gpu.launch blocks(%i, %j, %l) in (%u = %c1, %v = %c1, %w = %c1)
      threads(%m, %n, %q) in (%x1 = %c1, %y1 = %c1, %z1 = %c1) {{
    {text}
    gpu.terminator
  }}"""


OPERATIONS = {
    "ragged": f"""kvcache.quantize_append sources(%x : memref<?x2x32xbf16>) into(%k : {CACHE})
      ragged(%offsets : memref<?xi32>) quant(<>)""",
    "padded": f"""kvcache.quantize_append skip sources(%padded : memref<?x?x2x32xbf16>) into(%k : {CACHE})
      padded(%counts : memref<?xi32>) quant(<>)""",
    "gather": f"""kvcache.gather skip from(%k : {CACHE}) into(%out : memref<?x2x32xbf16>)
      offsets(%offsets : memref<?xi32>)""",
    "gather_some": f"""kvcache.gather skip from(%k : {CACHE}) into(%out : memref<?x2x32xbf16>)
      sequences(%ids : memref<?xi32>) offsets(%offsets : memref<?xi32>)""",
    "gather_padded": f"""kvcache.gather from(%k : {CACHE}) into(%gathered : memref<?x?x2x32xbf16>)""",
    "gather_fewer": f"""%first = memref.subview %gathered[0, 0, 0, 0] [1, 3, 2, 32] [1, 1, 1, 1]
      : memref<?x?x2x32xbf16> to memref<1x3x2x32xbf16, strided<[?, 64, 32, 1]>>
    kvcache.gather from(%k : {CACHE}) into(%first : memref<1x3x2x32xbf16, strided<[?, 64, 32, 1]>>)""",
    "gather_more": f"""kvcache.gather skip from(%k : {CACHE}) into(%padded_out : memref<?x?x2x32xbf16>)""",
    "append_shifted": f"""kvcache.append sources(%shifted : memref<?x2x32xbf16>) into(%wk : {WIDE})
      slots(%slots : memref<?xi64>)""",
    "quantize_shifted": f"""kvcache.quantize_append sources(%shifted : memref<?x2x32xbf16>) into(%k : {CACHE})
      slots(%slots : memref<?xi64>) quant(<>)""",
    "gather_shifted": f"""kvcache.gather skip from(%k : {CACHE}) into(%shifted : memref<?x2x32xbf16>)
      offsets(%offsets : memref<?xi32>)""",
    "slots": f"""kvcache.quantize_append sources(%x : memref<?x2x32xbf16>) into(%ok : {OWN})
      slots(%slots, %scale_slots : memref<?xi64>, memref<?xi64>) quant(<>)""",
    "codes": f"""kvcache.append sources(%codes : memref<?x2x32xf8E4M3FN>) into(%ok : {OWN})
      slots(%slots : memref<?xi64>)""",
    "append_scales": f"""kvcache.append_scales scales(%x_scales : memref<?x2x2xf32>) into(%ok : {OWN})
      slots(%scale_slots : memref<?xi64>)""",
    "copy": f"kvcache.copy_pages %c pairs(%pairs : memref<?x2xi64>) disjoint : {COLLECTION}",
    "copy_in_order": f"""kvcache.copy_pages %c pairs(%pairs : memref<?x2xi64>) workspace(%workspace : memref<?xi32>)
      : {COLLECTION}""",
    "copy_own": f"""kvcache.copy_pages %o pairs(%pairs, %scale_pairs : memref<?x2xi64>, memref<?x2xi64>) disjoint
      : {OWN_COLLECTION}""",
    "clear": f"kvcache.clear_pages %c pages(%cleared : memref<?xi64>) : {COLLECTION}",
    "clear_own": f"kvcache.clear_pages %o pages(%cleared, %scale_cleared : memref<?xi64>, memref<?xi64>) : {OWN_COLLECTION}",
    "move_own": f"""kvcache.move_tokens %o from(%slots, %scale_slots : memref<?xi64>, memref<?xi64>)
      to(%to, %scale_to : memref<?xi64>, memref<?xi64>) workspace(%workspace : memref<?xi32>) : {OWN_COLLECTION}""",
    "move": f"""kvcache.move_tokens %c from(%slots : memref<?xi64>) to(%scale_slots : memref<?xi64>)
      disjoint : {COLLECTION}""",
    "indexer_scores": f"kvcache.indexer_scores causal {INDEXED} into(%scored : memref<?x?xf32>)",
    "indexer_topk": f"kvcache.indexer_topk causal {INDEXED} into(%best : memref<?x4xi32>)",
    "remap_indices": """kvcache.remap_indices indices(%best : memref<?x4xi32>)
      from(%ik : !kvcache.cache<key, #keys>) into(%found_slots : memref<?x4xi64>) offsets(%offsets : memref<?xi32>)""",
    "attention": attention(8),
    "attention_far": attention(9),
    "gather_into_pool": f"""kvcache.gather skip from(%wk : {WIDE})
      into(%view : memref<6x2x32xbf16, strided<[64, 32, 1], offset: 64>>) offsets(%offsets : memref<?xi32>)""",
    "append_from_pool": f"""kvcache.append
      sources(%rows : memref<3x2x32xbf16, strided<[64, 32, 1], offset: 64>>) into(%wk : {WIDE})
      ragged(%offsets : memref<?xi32>)""",
    "convert_in_place": """%again = kvcache.get_page_pools blocks(%pool : memref<?x2x?x4x2x32xbf16>)
      : !kvcache.collection<#wide>
    kvcache.convert_layout %plain into %again : !kvcache.collection<#wide> into !kvcache.collection<#wide>""",
    "compact_own_table": """kvcache.compact %plain into(%table : memref<?x?xi32>) workspace(%workspace : memref<?xi32>)
      : !kvcache.collection<#wide>""",
    "compact": """kvcache.compact %plain into(%new_table : memref<?x?xi32>) workspace(%workspace : memref<?xi32>)
      : !kvcache.collection<#wide>""",
    "compact_own": f"""kvcache.compact %o into(%new_table, %new_scales_table : memref<?x?xi32>, memref<?x?xi32>)
      workspace(%workspace : memref<?xi32>) : {OWN_COLLECTION}""",
    "clear_within": f"""%codes_within = memref.view %raw[%c0][%c3] : memref<4096xi8> to memref<?x2x1x4x2x32xf8E4M3FN>
    %scales_within = memref.view %raw[%shift_by][%c3] : memref<4096xi8> to memref<?x2x1x4x2x2xf32>
    %within = kvcache.get_page_pools blocks(%codes_within : memref<?x2x1x4x2x32xf8E4M3FN>)
      scales(%scales_within : memref<?x2x1x4x2x2xf32>) : {COLLECTION}
    kvcache.clear_pages %within pages(%cleared : memref<?xi64>) : {COLLECTION}""",
    "one_layer_twice": f"""%layer = memref.load %zero[%c0] : memref<1xi32>
    %l = arith.index_cast %layer : i32 to index
    %again = kvcache.get_key_cache %plain[%l] : !kvcache.collection<#wide>
    kvcache.append sources(%left, %right : {SLICE}>>, {SLICE}, offset: 64>>)
      into(%wk, %again : {WIDE}, {WIDE}) ragged(%offsets : memref<?xi32>)""",
    "rope": rope("left", "right", f"{SLICE}>> into {SLICE}, offset: 64>>"),
    "rope_overlapping": rope("left", "middle", f"{SLICE}>> into {SLICE}, offset: 32>>"),
    "rope_columns": rope("columns_left", "columns_right", f"{COLUMNS}>> into {COLUMNS}, offset: 32>>"),
    "rope_columns_overlapping": rope("columns_left", "columns_middle", f"{COLUMNS}>> into {COLUMNS}, offset: 16>>"),
    "rope_append": f"""kvcache.rope_quantize_append sources(%left : {SLICE}>>) into(%wk : {WIDE})
      ragged(%offsets : memref<?xi32>) rope(%cos, %cos : memref<8x16xf32>, memref<8x16xf32>)
      rope_positions(%positions : memref<3xi32>) rotation(<>)""",
    "rope_slots_skip": f"""kvcache.rope_quantize_append skip sources(%x : memref<?x2x32xbf16>) into(%wk : {WIDE})
      slots(%slots : memref<?xi64>) rope(%tables, %tables : memref<?x16xf32>, memref<?x16xf32>)
      rope_positions(%positions : memref<3xi32>) rotation(<>)""",
    "rope_slots": f"""kvcache.rope_quantize_append sources(%x : memref<?x2x32xbf16>) into(%wk : {WIDE})
      slots(%slots : memref<?xi64>) rope(%tables, %tables : memref<?x16xf32>, memref<?x16xf32>)
      rope_positions(%positions : memref<3xi32>) rotation(<>)""",
    "inline_scales": """%inline = kvcache.get_page_pools blocks(%bytes : memref<?x2x?x320xi8>) : !kvcache.collection<#inline>
    %inline_keys = kvcache.get_key_cache %inline[%c0] : !kvcache.collection<#inline>
    kvcache.append_scales scales(%x_scales : memref<?x2x2xf32>) into(%inline_keys : !kvcache.cache<key, #inline>)
      slots(%slots : memref<?xi64>)""",
    "append_from_pages": """%pages = kvcache.get_page_pools blocks(%pool : memref<?x2x?x4x2x32xbf16>)
      : !kvcache.collection<#wide>
    %page_keys = kvcache.get_key_cache %pages[%c0] : !kvcache.collection<#wide>
    kvcache.append sources(%rows : memref<3x2x32xbf16, strided<[64, 32, 1], offset: 64>>)
      into(%page_keys : !kvcache.cache<key, #wide>) slots(%slots : memref<?xi64>)""",
    "rope_rows": """kvcache.rope %x into %out positions(%offsets) tables(%tables, %tables) rotation(<>)
      : memref<?x2x32xbf16> into memref<?x2x32xbf16> by memref<?xi32>, memref<?x16xf32>, memref<?x16xf32>""",
    "rope_positions": """kvcache.rope %x into %turned positions(%offsets) tables(%tables, %tables) rotation(<>)
      : memref<?x2x32xbf16> into memref<?x2x32xbf16> by memref<?xi32>, memref<?x16xf32>, memref<?x16xf32>""",
    "rope_tables": """kvcache.rope %x into %turned positions(%offsets) tables(%tables, %short) rotation(<>)
      : memref<?x2x32xbf16> into memref<?x2x32xbf16> by memref<?xi32>, memref<?x16xf32>, memref<?x16xf32>""",
    "norm_rows": """kvcache.rms_norm %x into %out weight(%weight) norm(<>)
      : memref<?x2x32xbf16> into memref<?x2x32xbf16> by memref<32xf32>""",
    "rope_append_positions": f"""kvcache.rope_quantize_append sources(%x : memref<?x2x32xbf16>) into(%wk : {WIDE})
      ragged(%offsets : memref<?xi32>) rope(%tables, %tables : memref<?x16xf32>, memref<?x16xf32>)
      rope_positions(%ids : memref<?xi32>) rotation(<>)""",
    "two_sources": f"""kvcache.append sources(%x, %out : memref<?x2x32xbf16>, memref<?x2x32xbf16>)
      into(%wk, %wv : {WIDE}, !kvcache.cache<value, #wide>) ragged(%offsets : memref<?xi32>)""",
    "load_scale": in_kernel(f"""%s = kvcache.load_scale %k[%c1, %c3, %c1, %c0] : {CACHE} -> vector<2xf32>
    vector.store %s, %found[%c0] : memref<2xf32>, vector<2xf32>"""),
    "load": in_kernel(f"""%s = kvcache.load %k[%c1, %c3, %c1, %c0] : {CACHE} -> vector<32xf32>
    vector.store %s, %found32[%c0] : memref<32xf32>, vector<32xf32>"""),
}


def main(folder, name, *lists):
    scales = np.ones((4, 2, 1, 4, 2, 2), np.float32)
    # Sequence 1, token 3, head 1, the second scale.
    scales[2, 0, 0, 3, 1, 1] = np.nan
    codes = np.arange(2048).astype(np.uint8).reshape(4, 2, 1, 4, 2, 32)
    # Pages differ, and are not zero.
    codes = codes % 64 + 1 + np.arange(4, dtype=np.uint8).reshape(4, 1, 1, 1, 1, 1)
    arrays = {
        "blocks": ("?x2x?x4x2x32xf8E4M3FN", codes),
        "before": ("2048xi8", codes.reshape(-1).view(np.int8)),
        "scales": ("?x2x?x4x2x2xf32", scales),
        "lengths": ("?xi32", np.array([4, 2], np.uint32)),
        "table": ("?x?xi32", np.array([[0, 1], [2, 3]], np.uint32)),
        "scales_table": ("?x?xi32", np.array([[0, 1], [2, 3]], np.uint32)),
        "max": ("1xi32", np.array([8], np.uint32)),
        "zero": ("1xi32", np.array([0], np.uint32)),
        "x": ("?x2x32xbf16", np.full((3, 2, 32), 0x3F80, np.uint16)),
        "codes": ("?x2x32xf8E4M3FN", np.ones((3, 2, 32), np.uint8)),
        "x_scales": ("?x2x2xf32", np.ones((3, 2, 2), np.float32)),
        "padded": ("?x?x2x32xbf16", np.full((2, 2, 2, 32), 0x3F80, np.uint16)),
        "out": ("?x2x32xbf16", np.ones((6, 2, 32), np.uint16)),
        "indexed": ("?x1x?x4x1x32xf8E4M3FN", np.zeros((4, 1, 1, 4, 1, 32), np.uint8)),
        "indexed_scales": ("?x1x?x4x1x1xf32", np.ones((4, 1, 1, 4, 1, 1), np.float32)),
        "queries": ("?x8x32xf8E4M3FN", np.ones((3, 8, 32), np.uint8)),
        "weights": ("?x8xf32", np.ones((3, 8), np.float32)),
        "scored": ("?x?xf32", np.zeros((3, 8), np.float32)),
        "best": ("?x4xi32", np.zeros((3, 4), np.int32)),
        "found_slots": ("?x4xi64", np.zeros((3, 4), np.int64)),
        "heads": ("?x2x?x4x2x64xbf16", np.zeros((4, 2, 1, 4, 2, 64), np.uint16)),
        "asking": ("?x4x64xbf16", np.zeros((3, 4, 64), np.uint16)),
        "answers": ("?x4x64xbf16", np.zeros((3, 4, 64), np.uint16)),
        "found": ("2xf32", np.zeros(2, np.float32)),
        "found32": ("32xf32", np.zeros(32, np.float32)),
        "offsets": ("?xi32", np.array([0, 2, 3], np.uint32)),
        "ids": ("?xi32", np.array([1, 0], np.uint32)),
        "counts": ("?xi32", np.array([2, 1], np.uint32)),
        "slots": ("?xi64", np.array([0, 5, -1], np.int64)),
        "scale_slots": ("?xi64", np.array([3, 1, 2], np.int64)),
        "pool": ("?x2x?x4x2x32xbf16", np.zeros((4, 2, 1, 4, 2, 32), np.uint16)),
        "fused": ("3x4x32xbf16", np.ones((3, 4, 32), np.uint16)),
        "bytes": ("?x2x?x320xi8", np.zeros((4, 2, 1, 320), np.uint8)),
        "turned": ("?x2x32xbf16", np.ones((3, 2, 32), np.uint16)),
        "tables": ("?x16xf32", np.ones((8, 16), np.float32)),
        "short": ("?x16xf32", np.ones((7, 16), np.float32)),
        "columns": ("2x3x64xbf16", np.ones((2, 3, 64), np.uint16)),
        "shift": ("1xi64", np.zeros(1, np.int64)),
        "row_count": ("1xi64", np.array([3], np.int64)),
        "raw": ("4096xi8", np.ones(4096, np.uint8)),
        "padded_out": ("?x?x2x32xbf16", np.ones((3, 3, 2, 32), np.uint16)),
        "gathered": ("?x?x2x32xbf16", np.ones((2, 3, 2, 32), np.uint16)),
        "weight": ("32xf32", np.ones(32, np.float32)),
        "positions": ("3xi32", np.array([0, 7, 3], np.uint32)),
        "cos": ("8x16xf32", np.ones((8, 16), np.float32)),
        "new_table": ("?x?xi32", np.zeros((2, 2), np.uint32)),
        "new_scales_table": ("?x?xi32", np.zeros((2, 2), np.uint32)),
        "workspace": ("?xi32", np.zeros(88, np.int32)),
        "pairs": ("?x2xi64", np.array([[0, 1], [2, 3]], np.int64)),
        "scale_pairs": ("?x2xi64", np.array([[1, 0]], np.int64)),
        "cleared": ("?xi64", np.array([1, 3], np.int64)),
        "scale_cleared": ("?xi64", np.array([0], np.int64)),
        "to": ("?xi64", np.array([9, 10, 11], np.int64)),
        "scale_to": ("?xi64", np.array([9, 10, 11], np.int64)),
    }
    options = ["--instrument"]
    for given in lists:
        if given == "--unchecked":
            options = []
            continue
        key, values = given.split("=")
        shape, array = arrays[key]
        new = np.array(json.loads(values), array.dtype)
        # A list without rows does not say how long they are.
        arrays[key] = shape, new if new.size else np.zeros((0, *array.shape[1:]), array.dtype)
    run_arrays(pathlib.Path(folder) / "inputs.mlir", PROGRAM, arrays, *options,
               operation=OPERATIONS[name])


main(*sys.argv[1:])
