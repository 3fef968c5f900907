# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of keys and of values into two collections, each of which has its own table,
so that a row is the last one of its slot in one and not in the other.

usage: two_collections.py FOLDER [POLICY]
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
from run_arrays import run_arrays  # noqa: E402

PROGRAM = """
#kv = #kvcache.layout<f32, params = <num_heads = 2, head_size = 8, is_mla = true>, page_size = 4>
func.func @main({arguments}) {{
{register}
  %layer = arith.constant 0 : index
  %a = kvcache.get_paged_cache blocks(%keys : memref<?x1x?x4x2x8xf32>) lengths(%lengths : memref<?xi32>)
      table(%keys_table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#kv>
  %b = kvcache.get_paged_cache blocks(%values : memref<?x1x?x4x2x8xf32>) lengths(%lengths : memref<?xi32>)
      table(%values_table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %a[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_key_cache %b[%layer] : !kvcache.collection<#kv>
  kvcache.append {policy} sources(%x, %y : memref<?x2x8xf32>, memref<?x2x8xf32>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<key, #kv>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>) workspace(%workspace : memref<?xi32>)
  return
}}
"""


def main(folder, policy="assume"):
    folder = pathlib.Path(folder)
    rng = np.random.default_rng(3)
    rows, shape = 100, (100, 2, 8)
    tables = {"keys": [[0, 1], [2, 1]], "values": [[3, 0], [1, 2]]}
    blocks = {"keys": 3, "values": 4}
    sequences, positions = rng.integers(0, 2, rows), rng.integers(0, 8, rows)
    sources = {"keys": rng.normal(size=shape), "values": rng.normal(size=shape)}
    pools = {name: np.zeros((count, 1, 1, 4, 2, 8), np.float32)
             for name, count in blocks.items()}
    arrays = {name: ("?x1x?x4x2x8xf32", pool) for name, pool in pools.items()}
    arrays |= {
        "lengths": ("?xi32", np.zeros(2, np.uint32)),
        "keys_table": ("?x?xi32", np.array(tables["keys"], np.uint32)),
        "values_table": ("?x?xi32", np.array(tables["values"], np.uint32)),
        "max": ("1xi32", np.full(1, 8, np.uint32)),
        "x": ("?x2x8xf32", sources["keys"].astype(np.float32)),
        "y": ("?x2x8xf32", sources["values"].astype(np.float32)),
        "sequences": ("?xi32", sequences.astype(np.uint32)),
        "positions": ("?xi32", positions.astype(np.uint32)),
        "workspace": ("?xi32", np.full(4 * sum(blocks.values()), 7, np.int32)),
    }
    results = [folder / f"{name}.out.npy" for name in pools]
    run_arrays(folder / "program.mlir", PROGRAM, arrays, "--device=sim", "--tool=all",
               *(f"--out={number}={at}" for number, at in enumerate(results)),
               policy=policy)
    for (name, pool), result in zip(pools.items(), results):
        for row, (sequence, position) in enumerate(zip(sequences, positions)):
            block = tables[name][sequence][position // 4]
            pool[block, 0, 0, position % 4] = sources[name][row]
        print(name, "as expected" if np.array_equal(pool, np.load(result)) else "differ")


main(*sys.argv[1:])
