# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compilation says, from passes and from the verifier."""

import concurrent.futures
import threading

from util import raises

import kvcache
from kvcache import ir
from kvcache.dialects import func
from kvcache.dialects import kvcache as kv
from kvcache.passmanager import PassManager

FROZEN = """#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @main(%blocks: memref<?x2x?x16x8x128xbf16>, %lengths: memref<?xi32>,
                %table: memref<?x?xi32>, %max: memref<1xi32>, %out: memref<?x?x8x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x8x128xbf16>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  memref.store %c1, %lengths[%c0] : memref<?xi32>
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x8x128xf32>)
  return
}
"""


def test_diagnostics_with_notes_while_other_threads_run(tmp_path):
    """Passes report them without the interpreter's lock."""
    stop = threading.Event()

    def allocate():
        while not stop.is_set():
            [str(i) for i in range(1000)]

    def fail(dump):
        for _ in range(5):
            try:
                kvcache.compile(FROZEN, cache=False, dump=dump)
            except kvcache.CompileError as error:
                assert error.diagnostics[0].notes and "<program>:" in str(error.diagnostics[0])
            else:
                raise AssertionError("was compiled")

    other = threading.Thread(target=allocate)
    other.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            for result in [threads.submit(fail, dump) for dump in (None, None, tmp_path)]:
                result.result()
    finally:
        stop.set()
        other.join()


def test_unverified_programs_of_builders():
    """An operand of another type is the verifier's to find, before passes look at it."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            @func.FuncOp.from_py_func(ir.IndexType.get())
            def wrong(x):
                kv.load(ir.F32Type.get(), x, x, x, x, x)
        for name in ("convert-kvcache-to-memref", "kvcache-instrument", "kvcache-expand-kernels"):
            with raises(ir.MLIRError, "operand #0 must be"):
                PassManager.parse(f"builtin.module({name})").run(module.operation)
