# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading

import ml_dtypes
import numpy as np
from reference import tokens
from util import raises

import kvcache

LAYOUT = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                        granularity=32)
TABLE, LENGTHS = np.array([[3, 1], [0, 2]], np.int32), np.array([11, 4], np.int32)


def filled(layout=LAYOUT, seed=0):
    pool = layout.allocate(num_blocks=4, layers=2)
    chance = np.random.default_rng(seed)
    pool.blocks[...] = chance.normal(size=pool.blocks.shape).astype(pool.blocks.dtype)
    if pool.scales is not None:
        pool.scales[...] = chance.uniform(0.5, 2, pool.scales.shape)
    return pool


def reference(pool, layer=1, side=0):
    values = np.float32(pool.blocks[:, side, layer])
    values *= np.repeat(pool.scales[:, side, layer], 32, axis=-1)
    return [values[row].reshape(-1, 2, 64)[:n] for row, n in zip(TABLE, LENGTHS)]


def test_gather():
    pool = filled()
    k = kvcache.compile("gather", LAYOUT, side="value")
    out = k(pool, lengths=LENGTHS, table=TABLE, layer=1, rows=12)
    assert out.shape == (2, 12, 2, 64) and np.any(out)
    for got, want in zip(out, reference(pool, side=1)):
        np.testing.assert_array_equal(got[:len(want)], want)
        assert not np.any(got[len(want):])


def test_gather_ragged_into_bf16():
    pool = filled()
    k = kvcache.compile("gather", LAYOUT, ragged=True, out="bf16", out_scales=True)
    out, scales = k(pool, lengths=LENGTHS, table=TABLE, layer=1, offsets=[0, 11, 15])
    want = np.concatenate(reference(pool)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(scales[:8], pool.scales[3, 0, 1])


def test_append_and_gather():
    pool = LAYOUT.allocate(num_blocks=4, layers=2)
    chance = np.random.default_rng(3)
    rows = {f"{side}_rows": chance.normal(size=(5, 2, 64)).astype(ml_dtypes.bfloat16)
            for side in ("key", "value")}
    append = kvcache.compile("quantize_append", LAYOUT)
    lengths = np.array([6, 0], np.int32)
    append(pool, lengths=lengths, table=TABLE, layer=1, offsets=[0, 3, 5], **rows)
    gather = kvcache.compile("gather", LAYOUT)
    out = gather(pool, lengths=lengths + [3, 2], table=TABLE, layer=1)
    for got, want in ((out[0, 6:9], rows["key_rows"][:3]), (out[1, :2], rows["key_rows"][3:])):
        want = np.float32(want)
        # Half a step of e4m3, of the granule's largest.
        limit = np.abs(want).reshape(-1, 2, 2, 32).max(-1).repeat(32, -1).reshape(want.shape) / 16
        assert np.all(np.abs(got - want) <= limit) and np.any(got)
    assert not np.any(out[0, :6]) and not np.any(np.float32(pool.blocks[:, :, 0]))


def test_whole_pages():
    pool = filled()
    before = pool.blocks.copy(), pool.scales.copy()
    kvcache.compile("copy_pages", LAYOUT)(pool, pairs=[(0, 1), (1, 0)])
    for now, was in zip((pool.blocks, pool.scales), before):
        np.testing.assert_array_equal(now.view(np.uint8), was[[1, 0, 2, 3]].view(np.uint8))
    kvcache.compile("clear_pages", LAYOUT)(pool, pages=[2])
    assert not np.any(np.float32(pool.blocks[2])) and np.any(np.float32(pool.blocks[3]))


def test_what_a_kernel_says():
    k = kvcache.compile("gather", LAYOUT, chip="sm_80")
    assert ".target sm_80" in k.ptx and ".extern" not in k.ptx
    assert k.record["function"] == "gather" and json.dumps(k.record)
    assert "gather_launch" in k.header and "kvcache.gather" in k.ir


def test_own_program():
    text = '''
    func.func @double(%x: memref<?xf32> {kvcache.name = "x"}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
        %v = memref.load %x[%bx] : memref<?xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %x[%bx] : memref<?xf32>
        gpu.terminator
      }
      return
    }'''
    x = np.arange(5, dtype=np.float32)
    kvcache.compile(text)(x=x)
    np.testing.assert_array_equal(x, np.arange(5) * 2)


def test_compile_errors():
    text = ("func.func @f(%k: !kvcache.cache<value, #kvcache.layout<bf16, params = <num_heads = 1, "
            "head_size = 8, is_mla = true>, page_size = 4>>) {\n  return\n}")
    try:
        kvcache.compile(text)
    except kvcache.CompileError as error:
        assert error.diagnostics[0].severity == "error" and "1:" in error.diagnostics[0].location
        assert "MLA" in str(error), error
    else:
        raise AssertionError("expected an error")
    with raises(kvcache.CompileError, "unknown chip 'sm_1'"):
        kvcache.compile("gather", LAYOUT, chip="sm_1", cache=False)
    with raises(ValueError, "unknown kernel 'gathr'; expected append"):
        kvcache.compile("gathr", LAYOUT)
    with raises(ValueError, "got an unexpected keyword argument 'sid'"):
        kvcache.compile("gather", LAYOUT, sid="key")
    with raises(ValueError, "expected a layout for kernel 'gather', got None"):
        kvcache.compile("gather")


def test_argument_errors():
    pool = filled()
    k = kvcache.compile("gather", LAYOUT)
    good = dict(lengths=LENGTHS, table=TABLE)
    out = np.zeros((2, 11, 2, 64), np.float32)
    cases = [
        ({**good, "tables": TABLE}, "unknown argument 'tables'"),
        (dict(lengths=LENGTHS), "missing argument 'table'"),
        ({**good, "table": TABLE[:1]}, "'table': expected 2 rows, one for each length, got 1"),
        ({**good, "table": TABLE[:, :1].copy()}, "expected at least 2 pages for 11 tokens, got 1"),
        ({**good, "out": np.float64(out)}, "'out': expected elements of f32, got f64"),
        ({**good, "out": out[..., ::2]}, "'out': expected size 64 of dimension 3, got 32"),
        ({**good, "out": out.reshape(11, 2, 2, 64).transpose(1, 0, 2, 3)}, "'out': expected stride .* contiguous"),
        ({**good, "out": out[0]}, "'out': expected 4 dimensions, got 3"),
        ({**good, "layer": "a"}, "'layer': expected an integer, got 'a'"),
        ({**good, "layer": 0.5}, "'layer': expected an integer, got 0.5"),
        ({**good, "out": object()}, "'out': expected an array"),
        ({**good, "out": np.zeros((3, 11, 2, 64), np.float32)},
         "'out': expected size 2 of dimension 0, got 3"),
        ({**good, "stream": "abc"}, "'stream': expected a CUstream as a number, .* got 'abc'"),
        ({**good, "stream": object()}, "'stream': expected a CUstream"),
        ({**good, "stream": -1}, "'stream': expected a CUstream"),
        ({**good, "rows": 2**62}, "'out': expected an array of less than 2\\^63 bytes, got shape"),
        ({**good, "tool": ""}, "expected tools of memcheck, .*, got ''"),
        ({**good, "tool": 3}, "expected tools as a string, got int"),
    ]
    for arguments, pattern in cases:
        with raises(kvcache.ArgumentError, pattern):
            k(pool, **arguments)
    out.flags.writeable = False
    with raises(kvcache.ArgumentError, "'out': .*read-only"):
        k(pool, **good, out=out)
    with raises(kvcache.ArgumentError, "expected a pool as the first argument"):
        k(pool.blocks, **good)
    with raises(kvcache.ArgumentError, "got one of another layout"):
        k(filled(kvcache.Layout("bf16", 2, 64, 8)), **good)
    with raises(kvcache.ArgumentError, "expected tools of memcheck"):
        k(pool, **good, tool="valgrind")
    k(pool, **good, tool=" memcheck, racecheck")


def test_no_layer_escapes_the_check():
    """Whatever is taken for a number is compared with the pool's layers."""
    pool, k = filled(), kvcache.compile("gather", LAYOUT)
    before = pool.blocks.copy()
    append = kvcache.compile("append", LAYOUT)
    rows = np.ones((1, 2, 64), pool.blocks.dtype)
    for layer in (2, 2.0, np.array(2), np.float32(3), np.int8(2), -1.0):
        with raises(kvcache.ArgumentError, "'layer': expected 0 to 1, the pool's layers, got"):
            k(pool, lengths=LENGTHS, table=TABLE, layer=layer)
        with raises(kvcache.ArgumentError, "'layer': expected 0 to 1, the pool's layers, got"):
            append(pool, lengths=[0], table=[[0]], offsets=[0, 1], key_rows=rows, value_rows=rows,
                   layer=layer)
    for layer in ("1", b"1", True, np.True_, np.array(True), None, 1j, [0], np.array([0]), 0.5,
                  np.float32(0.5), float("nan"), float("inf"), 1e30, 2**70):
        with raises(kvcache.ArgumentError, "'layer': expected an integer"):
            k(pool, lengths=LENGTHS, table=TABLE, layer=layer)
    assert np.array_equal(before.view(np.uint8), pool.blocks.view(np.uint8))
    for layer in (1, 1.0, np.array(1), np.float32(1), np.uint8(1)):
        np.testing.assert_array_equal(k(pool, lengths=LENGTHS, table=TABLE, layer=layer)[0],
                                      reference(pool)[0])


def test_rows_for_all_tokens():
    """Offsets that end beyond the rows would leave tokens unwritten."""
    pool = filled()
    rows = np.ones((3, 2, 64), np.float32)
    for name, options in (("append", dict(rows="f8E4M3FN")), ("quantize_append", dict(rows="f32"))):
        k = kvcache.compile(name, LAYOUT, side="key", **options)
        mine = rows.astype(pool.blocks.dtype) if name == "append" else rows
        with raises(kvcache.ArgumentError,
                    "'key_rows': expected at least 5 rows, as 'offsets' says, got 3"):
            k(pool, lengths=[0, 0], table=TABLE, offsets=[0, 2, 5], key_rows=mine)
        k(pool, lengths=[0, 0], table=TABLE, offsets=[0, 1, 2], key_rows=mine)
    k = kvcache.compile("quantize_append", LAYOUT, side="key", form="padded", rows="f32")
    with raises(kvcache.ArgumentError,
                "'key_rows': expected at least 4 rows a sequence, as 'new_lengths' says, got 3"):
        k(pool, lengths=[0, 0], table=TABLE, new_lengths=[4, 0], key_rows=np.stack([rows, rows]))
    layout = kvcache.Layout("bf16", heads=2, head_size=64, page_size=8)
    k = kvcache.compile("paged_attention", layout, query_heads=4)
    with raises(kvcache.ArgumentError, "'queries': expected at least 4 rows"):
        k(layout.allocate(4, 1), lengths=[3, 3], table=TABLE, offsets=[0, 2, 4],
          queries=np.zeros((3, 4, 64), layout.allocate(1, 1).blocks.dtype))


def test_instrumented_kernels_can_be_called():
    pool = filled()
    k = kvcache.compile("gather", LAYOUT, instrument=True)
    np.testing.assert_array_equal(k(pool, lengths=LENGTHS, table=TABLE, layer=1)[0],
                                  reference(pool)[0])
    for missing in ("lengths", "table"):
        given = {"lengths": LENGTHS, "table": TABLE, "out": np.zeros((2, 11, 2, 64), np.float32)}
        del given[missing]
        with raises(kvcache.ArgumentError, f"missing argument '{missing}'"):
            k(pool, **given)
    # What the table has no room for is left out.
    k_skip = kvcache.compile("gather", LAYOUT, policy="skip", instrument=True)
    got = k_skip(pool, lengths=[20, 4], table=TABLE, rows=20)
    np.testing.assert_array_equal(got[0, :16], tokens(pool, TABLE[0], 16))
    assert not np.any(got[0, 16:])
    # Offsets that count rows of the result say nothing of the cache's lengths.
    k_ragged = kvcache.compile("gather", LAYOUT, ragged=True, instrument=True)
    got = k_ragged(pool, lengths=[16, 4], table=TABLE, offsets=[0, 16, 20])
    np.testing.assert_array_equal(got[:16], tokens(pool, TABLE[0], 16))
    k_chosen = kvcache.compile("gather", LAYOUT, ragged=True, sequences=True, instrument=True)
    got = k_chosen(pool, lengths=LENGTHS, table=TABLE, sequences=[1, 0, 1], offsets=[0, 4, 15, 19])
    for first, last in ((0, 4), (15, 19)):
        np.testing.assert_array_equal(got[first:last], tokens(pool, TABLE[1], 4))
    append = kvcache.compile("append", LAYOUT, side="key", instrument=True)
    rows = np.ones((1, 2, 64), pool.blocks.dtype)
    append(pool, lengths=[3], table=[[0]], offsets=[0, 1], key_rows=rows)
    assert np.all(pool.blocks[0, 0, 0, 3] == rows)
    with raises(kvcache.LaunchError, ""):
        k_chosen(pool, lengths=[3], table=[[99]], sequences=[0], offsets=[0, 3])


def test_places_in_errors():
    """A module's operations keep the places that they come from; a generated program has
    a name."""
    from kvcache import ir

    with ir.Context():
        with ir.Location.file("serve.py", 42, 7):
            other = ir.Module.create()
            with ir.InsertionPoint(other.body):
                from kvcache.dialects import func
                kind = ir.FunctionType.get([ir.MemRefType.get([4], ir.F32Type.get())], [])
                function = func.FuncOp("f", kind)
                with ir.InsertionPoint(function.add_entry_block()):
                    ir.Operation.create("gpu.barrier")
                    func.ReturnOp([])
                function.attributes["kvcache.name"] = ir.StringAttr.get("f")
    try:
        kvcache.compile(other)
    except kvcache.CompileError as error:
        assert "serve.py:42:7" in error.diagnostics[0].location, error
    else:
        raise AssertionError("expected an error")
    with raises(kvcache.CompileError, r"^<paged_attention>:\d+:\d+: error: "):
        kvcache.compile("paged_attention", kvcache.Layout("bf16", 2, 64, 8), query_heads=3)
    with raises(kvcache.CompileError, r"^<program>:2:3: error: "):
        kvcache.compile("func.func @f() {\n  kvcache.nothing\n}")


def test_checks_and_counters():
    pool = filled()
    k = kvcache.compile("gather", LAYOUT)
    k(pool, lengths=LENGTHS, table=TABLE, tool="all", count=True)
    assert k.counters[0]["launches"] == 1 and k.counters[0]["kernel"].startswith("gather")
    # A table that names a block far outside of the pool.
    chosen = kvcache.compile("gather", LAYOUT, sequences=True)
    try:
        chosen(pool, lengths=LENGTHS, table=TABLE + 10**6, sequences=[1], tool="memcheck")
    except kvcache.CheckError as error:
        assert error.reports and "read" in str(error), error
    else:
        raise AssertionError("expected a report")
    # The next call is not concerned.
    k(pool, lengths=LENGTHS, table=TABLE, tool="memcheck")


def test_dump(folder):
    """A folder for each kernel, and the same files as without."""
    kernels = [kvcache.compile(name, LAYOUT, dump=folder) for name in ("clear_pages", "gather")]
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{k.name}-{k.key[:12]}" for k in kernels]
    for k in kernels:
        files = list((folder / f"{k.name}-{k.key[:12]}").rglob("*.mlir"))
        assert len(files) > 8 and any("gpu.launch" in path.read_text() for path in files), files
    assert kernels[1].files == kvcache.compile("gather", LAYOUT, cache=False).files
    # Names are no part of any option's text.
    odd = folder / "a b,c{d}"
    odd.mkdir()
    before = tempfile.tempdir
    try:
        tempfile.tempdir = str(odd)
        k = kvcache.compile("gather", LAYOUT, dump=odd / "d e")
    finally:
        tempfile.tempdir = before
    assert k.files == kernels[1].files
    with raises(kvcache.CompileError, "query"):
        kvcache.compile("paged_attention", LAYOUT, query_heads=3, dump=folder)
    with raises(ValueError, "expected dump to be a folder's path, got 3"):
        kvcache.compile("gather", LAYOUT, dump=3)


def test_other_arrays():
    pool = filled()

    class Foreign:
        """An array of a library that only speaks DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    out = np.zeros((2, 11, 2, 64), np.float32)
    k = kvcache.compile("gather", LAYOUT)
    k(pool, lengths=LENGTHS, table=TABLE, layer=1, out=Foreign(out))
    np.testing.assert_array_equal(out[0], reference(pool)[0])

    class ByInterface:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__

    other = np.zeros_like(out)
    k(pool, lengths=ByInterface(LENGTHS), table=ByInterface(TABLE), layer=1, out=ByInterface(other))
    np.testing.assert_array_equal(other, out)

    class OnGPU:
        __cuda_array_interface__ = dict(shape=(2, 11, 2, 64), typestr="<f4", data=(4096, False),
                                        version=3, strides=None)

    with raises(kvcache.ArgumentError, "expected all arrays on one device"):
        k(pool, lengths=LENGTHS, table=TABLE, out=OnGPU())


def gather_once(seed, queue=None):
    pool = filled(seed=seed)
    out = kvcache.compile("gather", LAYOUT)(pool, lengths=LENGTHS, table=TABLE, layer=1)
    same = bool(np.array_equal(out[0], reference(pool)[0]))
    if queue is not None:
        queue.put(same)
    return same


def test_threads():
    good = []
    threads = [threading.Thread(target=lambda i=i: good.append(gather_once(i))) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert good == [True] * 6


def test_forked():
    assert gather_once(1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=gather_once, args=(2, queue))
    child.start()
    assert queue.get(timeout=60)
    child.join()
    assert child.exitcode == 0 and gather_once(3)
