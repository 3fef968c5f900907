# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one operation under the policy `trap`; prints the status and what was said.

usage: traps.py FOLDER OPERATION [OPTION...]
Three blocks of four tokens, two sequences of two pages, of which the second has a
block that is not there. OPTIONs are of kvcache-run.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
from run_arrays import run_arrays  # noqa: E402

PROGRAM = """
#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 8>, page_size = 4>
#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 16>, page_size = 4,
                     scales = <f32, granularity = 16, table = own>>
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 64, is_mla = true>, page_size = 4,
                       scales = <f32, granularity = 64, table = own>>
#hnd = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 8>, page_size = 4, order = hnd>
func.func @main({arguments}) {{
{register}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x8xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  %s = kvcache.get_page_pools blocks(%codes : memref<?x2x?x4x1x16xf8E4M3FN>)
      scales(%scales : memref<?x2x?x4x1x1xf32>) : !kvcache.collection<#q>
  %sk = kvcache.get_key_cache %s[%c0] : !kvcache.collection<#q>
  %small = kvcache.get_page_pools blocks(%few : memref<?x2x?x2x4x8xbf16>) : !kvcache.collection<#hnd>
  %lc = kvcache.get_paged_cache blocks(%latents : memref<?x1x?x4x1x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%latent_scales : memref<?x1x?x4x1x1xf32>) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#mla>
  %lk = kvcache.get_key_cache %lc[%c0] : !kvcache.collection<#mla>
  {operation}
  return
}}
"""
IN_KERNEL = """gpu.launch blocks(%i, %j, %l) in (%u = %c1, %v = %c1, %w = %c1)
      threads(%m, %n, %o) in (%x1 = %c1, %y1 = %c1, %z1 = %c1) {{
    {body}
    gpu.terminator
  }}"""
BF16, CACHE = "!kvcache.cache<key, #kv>", "!kvcache.collection<#kv>"
STORE = "memref.store %value, %rows[%c0, %c0, %c0] : memref<?x2x8xbf16>"


def lookup(text):
    return IN_KERNEL.format(body=text)


def latents(slots, scale_slots):
    return f"""kvcache.mla_decode trap queries(%q : memref<?x2x64xbf16>) over(%lk : !kvcache.cache<key, #mla>)
      into(%sums : memref<?x2x64xf32>) ragged(%offsets : memref<?xi32>) slots(%{slots}, %{scale_slots} : memref<?x?xi64>, memref<?x?xi64>)"""


OPERATIONS = {
    "load": lookup(f"""%t = arith.constant 7 : index
    %h = memref.dim %table, %c1 : memref<?x?xi32>
    %value = kvcache.load trap %k[%c1, %t, %h, %c0] : {BF16} -> bf16
    {STORE}"""),
    "block": lookup(f"""%t = arith.constant 7 : index
    %value = kvcache.load trap %k[%c1, %t, %c0, %c0] : {BF16} -> bf16
    {STORE}"""),
    "length": lookup("""%b = memref.dim %table, %c0 : memref<?x?xi32>
    %n0 = kvcache.cache_length trap %k[%b] : !kvcache.cache<key, #kv>
    %n1 = arith.index_cast %n0 : index to i64
    memref.store %n1, %found[%c0] : memref<1xi64>"""),
    "append": f"""kvcache.append trap sources(%rows : memref<?x2x8xbf16>) into(%k : {BF16})
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)""",
    "slots": """kvcache.quantize_append trap sources(%wide : memref<?x1x16xbf16>)
      into(%sk : !kvcache.cache<key, #q>) slots(%slots, %scale_slots : memref<?xi64>, memref<?xi64>) quant(<>)""",
    "latents": latents("listed", "inside"),
    "scales": latents("inside", "listed_scales"),
    "gather": f"kvcache.gather trap from(%k : {BF16}) into(%out : memref<?x?x2x8xbf16>)",
    "sequences": f"""kvcache.gather trap from(%k : {BF16}) into(%out : memref<?x?x2x8xbf16>)
      sequences(%chosen : memref<?xi32>)""",
    "copy_pages": f"""kvcache.copy_pages trap %c pairs(%pairs : memref<?x2xi64>)
      workspace(%workspace : memref<?xi32>) : {CACHE}""",
    "clear_pages": f"kvcache.clear_pages trap %c pages(%slots : memref<?xi64>) : {CACHE}",
    "move_tokens": f"""kvcache.move_tokens trap %c from(%slots : memref<?xi64>) to(%scale_slots : memref<?xi64>)
      disjoint : {CACHE}""",
    "compact": f"""kvcache.compact trap %c into(%new : memref<?x?xi32>)
      workspace(%workspace : memref<?xi32>) : {CACHE}""",
    "convert_layout": f"""kvcache.convert_layout trap %c into %small : {CACHE}
      into !kvcache.collection<#hnd>""",
    "rope": """kvcache.rope trap %turned into %turned_out positions(%positions) tables(%cos, %cos)
      rotation(<style = half, start = 0>) : memref<?x1x16xf32> into memref<?x1x16xf32>
      by memref<?xi32>, memref<?x8xf32>, memref<?x8xf32>""",
}


def main(folder, name, *options):
    arrays = {
        "blocks": ("?x2x?x4x2x8xbf16", np.zeros((3, 2, 1, 4, 2, 8), np.uint16)),
        "codes": ("?x2x?x4x1x16xf8E4M3FN", np.zeros((3, 2, 1, 4, 1, 16), np.uint8)),
        "scales": ("?x2x?x4x1x1xf32", np.zeros((5, 2, 1, 4, 1, 1), np.float32)),
        "few": ("?x2x?x2x4x8xbf16", np.zeros((2, 2, 1, 2, 4, 8), np.uint16)),
        "lengths": ("?xi32", np.array([4, 7], np.uint32)),
        "table": ("?x?xi32", np.array([[0, 1], [2, 9]], np.uint32)),
        "new": ("?x?xi32", np.zeros((2, 2), np.uint32)),
        "max": ("1xi32", np.array([8], np.uint32)),
        "rows": ("?x2x8xbf16", np.ones((3, 2, 8), np.uint16)),
        "wide": ("?x1x16xbf16", np.ones((3, 1, 16), np.uint16)),
        "out": ("?x?x2x8xbf16", np.ones((2, 8, 2, 8), np.uint16)),
        "found": ("1xi64", np.zeros(1, np.int64)),
        "sequences": ("?xi32", np.array([0, 2, 1], np.uint32)),
        "chosen": ("?xi32", np.array([0, 2], np.uint32)),
        "positions": ("?xi32", np.array([5, 9, 1], np.uint32)),
        # The first slots are of 64 bits: the low ones alone would be in range.
        "slots": ("?xi64", np.array([1, (1 << 34) + 2, -1], np.int64)),
        "scale_slots": ("?xi64", np.array([0, 3, 12], np.int64)),
        "latents": ("?x1x?x4x1x64xf8E4M3FN", np.zeros((3, 1, 1, 4, 1, 64), np.uint8)),
        "latent_scales": ("?x1x?x4x1x1xf32", np.ones((2, 1, 1, 4, 1, 1), np.float32)),
        "q": ("?x2x64xbf16", np.zeros((1, 2, 64), np.uint16)),
        "sums": ("?x2x64xf32", np.zeros((1, 2, 64), np.float32)),
        "offsets": ("?xi32", np.array([0, 1, 1], np.uint32)),
        "listed": ("?x?xi64", np.array([[1, (1 << 34) + 2, -1]], np.int64)),
        "inside": ("?x?xi64", np.array([[1, 3, 2]], np.int64)),
        "listed_scales": ("?x?xi64", np.array([[1, -1, 8]], np.int64)),
        "pairs": ("?x2xi64", np.array([[0, 1], [2, 7]], np.int64)),
        "workspace": ("?xi32", np.zeros(128, np.int32)),
        "cos": ("?x8xf32", np.ones((6, 8), np.float32)),
        "turned": ("?x1x16xf32", np.ones((3, 1, 16), np.float32)),
        "turned_out": ("?x1x16xf32", np.ones((3, 1, 16), np.float32)),
    }
    run_arrays(pathlib.Path(folder) / "traps.mlir", PROGRAM, arrays, *options,
               operation=OPERATIONS[name])


main(*sys.argv[1:])
