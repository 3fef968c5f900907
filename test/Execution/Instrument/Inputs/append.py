# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Appends rows with checks at run time; prints the status and what was said.

usage: append.py FOLDER TABLE SEQUENCES POSITIONS [POLICY [WORKSPACE]]
TABLE is JSON, the other two are lists; the pool has three blocks of four tokens.
WORKSPACE are the entries of one; without it rows have no slot in common.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
from run_arrays import run_arrays  # noqa: E402

PROGRAM = """
#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 8>, page_size = 4>
func.func @main({arguments}) {{
{register}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x8xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#kv>
  %layer = arith.constant 0 : index
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.append {policy} sources(%x : memref<?x2x8xbf16>) into(%k : !kvcache.cache<key, #kv>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>) {workspace} loc("append.mlir":7:3)
  return
}}
"""


def main(folder, table, sequences, positions, policy="assume", workspace=""):
    sequences, positions = json.loads(sequences), json.loads(positions)
    arrays = {
        "blocks": ("?x2x?x4x2x8xbf16", np.zeros((3, 2, 1, 4, 2, 8), np.uint16)),
        "lengths": ("?xi32", np.zeros(2, np.uint32)),
        "table": ("?x?xi32", np.array(json.loads(table), np.uint32)),
        "max": ("1xi32", np.ones(1, np.uint32)),
        "x": ("?x2x8xbf16", np.ones((len(sequences), 2, 8), np.uint16)),
        "sequences": ("?xi32", np.array(sequences, np.uint32)),
        "positions": ("?xi32", np.array(positions, np.uint32)),
    }
    text = ""
    if workspace:
        arrays["workspace"] = "?xi32", np.full(int(workspace), -1, np.int32)
        text = "workspace(%workspace : memref<?xi32>)"
    run_arrays(pathlib.Path(folder) / "append.mlir", PROGRAM, arrays, "--instrument",
               policy=policy, workspace=text)


main(*sys.argv[1:])
