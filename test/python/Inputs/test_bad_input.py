# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What nobody should do: an exception each, and everything goes on afterwards."""

import decimal
import fractions
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
from reference import filled, tokens
from util import raises

import kvcache
from kvcache import checks, compiler, ir

LAYOUT = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                        granularity=32)
TABLE, LENGTHS = np.array([[3, 1], [0, 2]], np.int32), np.array([11, 4], np.int32)
PLAIN = kvcache.Layout("bf16", heads=2, head_size=64, page_size=8)
GOOD = dict(lengths=LENGTHS, table=TABLE)


def works(k, pool):
    np.testing.assert_array_equal(k(pool, **GOOD)[0], tokens(pool, TABLE[0], 11))


def test_arrays():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)

    class Deleted:
        def __dlpack__(self, **options):
            raise RuntimeError("Array has been deleted")

    class Nothing:  # As an array of jax that was deleted.
        _parts = None

        def __dlpack__(self, **options):
            return len(self._parts)

    class Partial:
        __cuda_array_interface__ = {"shape": (2,)}

    class Swapped:
        __cuda_array_interface__ = dict(shape=(2,), typestr=">f4", data=(16, False), version=3)

    def cuda(**facts):
        interface = dict(shape=(2, 11, 2, 64), typestr="<f4", data=(4096, False), version=3)
        return type("OnGPU", (), {"__cuda_array_interface__": {**interface, **facts}})()

    out = np.zeros((2, 11, 2, 64), np.float32)
    odd = np.zeros(out.nbytes + 2, np.uint8)[2:].view(np.float32).reshape(out.shape)
    cases = [
        (dict(lengths=LENGTHS.astype(">i4")), "'lengths': expected numbers in the machine's byte "
                                              "order, got >i4"),
        (dict(out=out.astype(">f4")), "'out': expected numbers in the machine's byte order"),
        (dict(out=Swapped()), "'out': expected numbers in the machine's byte order, got >f4"),
        (dict(out=np.zeros(out.shape, object)), "'out': expected a numeric dtype, got object"),
        (dict(out=np.zeros(out.shape, [("a", "f4")])), "'out': expected a numeric dtype"),
        (dict(out=Deleted()), r"'out': .* \(RuntimeError: Array has been deleted\); was it deleted"),
        (dict(out=Nothing()), "'out': expected an array, got one of Nothing that does not say where "
                              r"it lies \(TypeError: .*NoneType.*\); was it deleted or freed\?"),
        (dict(out=Partial()), r"'out': .* \(KeyError: 'typestr'\)"),
        (dict(out=odd), "'out': expected an address that is a multiple of 4, got 0x"),
        (dict(out=np.broadcast_to(np.float32(0), out.shape)), "'out': expected stride"),
        (dict(lengths=None), "'lengths': expected an array .* got NoneType"),
        (dict(lengths="12"), "'lengths': expected an array .* got str"),
        (dict(table=[[1, 2], [3]]), "'table': .*inhomogeneous"),
        (dict(table=TABLE[:, ::-1]), "'table': expected stride 1 .* got -1"),
        (dict(layer=2), "'layer': expected 0 to 1, the pool's layers, got 2"),
        (dict(layer=-1), "'layer': expected 0 to 1"),
        (dict(rows=-1), "'rows': expected an integer from 0 to .*, got -1"),
        (dict(rows="a"), "'rows': expected an integer, got 'a'"),
        (dict(rows=True), "'rows': expected an integer, got True"),
        (dict(out=out, rows="a"), "'rows': expected an integer, got 'a'"),
        (dict(out=np.ma.zeros(out.shape, np.float32)), "'out': .* without a mask"),
        (dict(out=cuda(mask=np.ones(2))), "'out': .* without a mask"),
        (dict(out=cuda(strides=(5633, 512, 256, 4))), "'out': expected strides of whole elements of "
                                                      r"4 bytes, got \(5633, 512, 256, 4\) bytes"),
        (dict(out=cuda(stream=0)), "'out': expected a stream of at least 1 in "
                                   "__cuda_array_interface__, got 0"),
        (dict(out=cuda(shape=(2, -1, 2, 64))), "'out': expected an array inside of the address "
                                               "space"),
    ]
    for arguments, pattern in cases:
        with raises(kvcache.ArgumentError, pattern):
            k(pool, **{**GOOD, **arguments})
    for wrong in (pool.blocks[:, :, ::-1],
                  np.zeros((4, 2, 2, 8, 64, 2), pool.blocks.dtype).swapaxes(4, 5)):
        with raises(kvcache.ArgumentError, "'blocks': expected stride .* pass a contiguous array"):
            k(LAYOUT.wrap(wrong, pool.scales), **GOOD)
    with raises(kvcache.ArgumentError, "'layer': expected 0 to 1, the pool's layers, got 7"):
        kvcache.compile("clear_pages", LAYOUT, layers=[0, 7])(pool, pages=[0])
    works(k, pool)


def test_lists_of_nothing():
    pool = filled(LAYOUT, 4)
    before = pool.blocks.copy()
    for name, lists in (("copy_pages", ["pairs"]), ("move_tokens", ["sources", "destinations"]),
                        ("clear_pages", ["pages"])):
        kvcache.compile(name, LAYOUT)(pool, **{one: [] for one in lists})
    np.testing.assert_array_equal(pool.blocks.view(np.uint8), before.view(np.uint8))
    with raises(kvcache.ArgumentError, "'pairs': expected 2 dimensions, got 1"):
        kvcache.compile("copy_pages", LAYOUT)(pool, pairs=[1])


def test_options_of_calls():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    for wrong in ("yes", 1, []):
        with raises(kvcache.ArgumentError, "expected count to be True or False, got"):
            k(pool, **GOOD, count=wrong)
    k(pool, **GOOD, count=np.bool_(True))
    assert k.counters


NAMES = """
func.func @main(%x: memref<?xi64> {kvcache.name = "self"}, %a: i64 {kvcache.name = "count"},
                %b: i64 {kvcache.name = "stream"}, %c: i64 {kvcache.name = "tool"},
                %d: i64 {kvcache.name = "pool"}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %e = arith.addi %a, %b : i64
  %f = arith.addi %c, %d : i64
  %v = arith.subi %e, %f : i64
  gpu.launch blocks(%i, %iy, %iz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%t, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %v, %x[%c0] : memref<?xi64>
    gpu.terminator
  }
  return
}
"""


def test_arguments_with_names_of_options():
    k, x = kvcache.compile(NAMES), np.zeros(1, np.int64)
    k(self=x, count=1000, stream=200, tool=30, pool=4)
    assert x[0] == 1166
    with raises(kvcache.ArgumentError, "missing argument 'count'"):
        k(self=x, stream=200, tool=30, pool=4)


def test_traps_say_what_is_wrong():
    k, pool = kvcache.compile("gather", LAYOUT, policy="trap"), filled(LAYOUT, 4)
    finding = (r"trap instruction executed: <gather>:\d+:\d+: error: 'kvcache.gather' op is out of "
               "range: block 9 of 4")
    with raises(kvcache.LaunchError, finding):
        k(pool, lengths=LENGTHS, table=[[3, 9], [0, 2]])
    with raises(kvcache.CheckError, finding):
        k(pool, lengths=LENGTHS, table=[[3, 9], [0, 2]], tool="memcheck")
    k = kvcache.compile("gather", LAYOUT, sequences=True, instrument=True)
    with raises(kvcache.LaunchError, r"failed: assertion .*: error: .* \(NB\), got 9 and 4"):
        k(pool, lengths=LENGTHS, table=[[3, 9], [0, 2]], sequences=[0])
    program = f"""
import kvcache
layout = kvcache.{LAYOUT!r}
k = kvcache.compile("gather", layout, policy="trap")
try:
    k(layout.allocate(4, 1), lengths=[11], table=[[3, 9]])
except kvcache.LaunchError:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout + done.stderr).count("out of range") == 1, done


def test_settings_of_the_environment_give_way():
    program = "import kvcache.runtime as r; r.Simulator().close()"

    def run(**variables):
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={**os.environ, **variables})

    done = run(KVCACHE_DEVICE="gpu")
    assert done.returncode == 0, done.stderr
    assert "KVCACHE_SIM_SEED: expected a number" in run(KVCACHE_SIM_SEED="a").stderr


def test_folders_for_dumps(scratch):
    scratch.mkdir(parents=True)
    (scratch / "file").touch()
    for wrong in (scratch / "file", scratch / "file/below"):
        with raises(kvcache.Error, f"'dump': expected a folder that can be written, got {wrong}"):
            kvcache.compile("gather", LAYOUT, dump=wrong)


def test_numbers_are_not_rounded():
    for value in (decimal.Decimal(2**53 + 1) + decimal.Decimal("0.5"), 0.5, float("nan"), "3", 1j):
        with raises(kvcache.ArgumentError, "'n': expected an integer, got"):
            checks.integer("n", value)
    for value in (decimal.Decimal(2**53 + 1), fractions.Fraction(2**53 + 1), 2**53 + 1):
        assert checks.integer("n", value) == 2**53 + 1
    assert checks.integer("n", 2.0) == checks.integer("n", np.array(2)) == 2


def test_streams():
    class Index:
        def __index__(self):
            return 7

    class Int:
        def __int__(self):
            return 7

    class Torch:
        cuda_stream = 7

    for stream in (7, np.int64(7), Index(), Int(), Torch()):
        assert compiler._handle(stream) == 7
    for stream in (True, "7", 7.0, -1, 2**64, object()):
        with raises(kvcache.ArgumentError, "'stream': expected a CUstream as a number"):
            compiler._handle(stream)


HOST_LIST = """
func.func @main(%x: memref<?xi32> {kvcache.name = "x"},
                %list: memref<2xindex> {kvcache.name = "list", kvcache.host_array}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 5 : i32
  %n = memref.load %list[%c0] : memref<2xindex>
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%t, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %v, %x[%b] : memref<?xi32>
    gpu.terminator
  }
  return
}
"""


def test_lists_in_host_memory():
    k, x = kvcache.compile(HOST_LIST), np.zeros(4, np.int32)
    k(x=x, list=[3, 0])
    assert x.tolist() == [5, 5, 5, 0]
    for wrong in ([[1], [2, 3]], ["a", 1], [1.5, 2]):
        with raises(kvcache.ArgumentError, "'list': expected "):
            k(x=x, list=wrong)


def test_nothing_to_do():
    k = kvcache.compile("gather", LAYOUT)
    assert k(filled(LAYOUT, 4), lengths=[], table=np.zeros((0, 3), np.int32)).shape[0] == 0
    assert k(LAYOUT.allocate(0, 1), lengths=[0], table=[[9]]).shape == (1, 0, 2, 64)


def test_options():
    cases = [
        (dict(heads="2"), "expected heads to be an integer, got '2'"),
        (dict(heads=2**70), "expected heads to be an integer of 64 bits"),
        (dict(head_size=2**40), "expected one side of a page to take less than 4294967296 bytes"),
        (dict(page_size=8.5), "expected page_size to be an integer, got 8.5"),
        (dict(rope=3), "expected rope to be a pair of dtype and elements, got 3"),
        (dict(dtype=None), "expected dtype to be an element type .*, got None"),
        (dict(mla="no"), "expected mla to be True or False, got 'no'"),
        (dict(kv_inner=1), "expected kv_inner to be True or False, got 1"),
        (dict(order=[]), r"expected order to be one of nhd, hnd, got \[\]"),
        (dict(scales_table="own"), "expected scales with scales_table='own', got none; add scales"),
        (dict(dtype="tensor<2xf32>"), "^expected a dtype of f32, .*got 'tensor<2xf32>'"),
    ]
    for parameters, pattern in cases:
        with raises(ValueError, pattern):
            kvcache.Layout(**{**dict(dtype="bf16", heads=2, head_size=64, page_size=8),
                              **parameters})
    assert kvcache.Layout("bf16", np.int64(2), np.int32(64), 8).heads == 2
    assert LAYOUT.allocate(4, 1, scales_blocks=np.int64(3)).scales.shape[0] == 3
    one = kvcache.compile("clear_pages", LAYOUT, opt_level=np.int64(1))
    assert one.key == kvcache.compile("clear_pages", LAYOUT, opt_level=1).key
    with raises(ValueError, "expected num_blocks to be an integer, got '4'"):
        LAYOUT.allocate("4", 1)
    with raises(ValueError, "expected a batch of 0 to 0, the rows of table, got 9"):
        LAYOUT.explain(batch=9, token=0, table=[[1]])
    plain = kvcache.Layout("bf16", heads=2, head_size=64, page_size=8)
    cases = [
        (lambda: LAYOUT.page_bytes("a"), "expected layers to be an integer, got 'a'"),
        (lambda: LAYOUT.page_bytes(1, "foo"), "expected a pool to be one of values, scales, got"),
        (lambda: LAYOUT.pool_dtype(3), "expected a pool to be one of values, scales, got 3"),
        (lambda: plain.pool_dtype("scales"), "the layout has no pool of scales"),
        (lambda: LAYOUT.token_bytes(None), "expected layers to be an integer, got None"),
        (lambda: LAYOUT.place(layers=1, block=0, slot=0, head=0, dim=0, side=[]),
         r"expected side to be one of key, value, got \[\]"),
        (lambda: LAYOUT.allocate(4, 1, scales_blocks="x"), "expected scales_blocks to be an integer"),
        (lambda: LAYOUT.allocate(4, 1, scales_blocks=-1), "scales_blocks of at least 0, got -1"),
        (lambda: LAYOUT.allocate(4, 1, scales_blocks=2.5), "scales_blocks to be an integer, got 2.5"),
        (lambda: LAYOUT.allocate(2**60, 2), r"expected a pool of \w+ of less than 2\^62 bytes, got"),
        (lambda: plain.allocate(4, 1, scales_blocks=3), "expected no scales_blocks"),
        (lambda: LAYOUT.explain(batch=3), "expected a token with batch and tables, got none"),
        (lambda: LAYOUT.explain(token="1", table=[[1]]), "expected token to be an integer, got '1'"),
        (lambda: LAYOUT.explain(token=0, batch="a", table=[[1]]), "expected batch to be an integer"),
        (lambda: LAYOUT.explain(token=0, table=[1, 2]), "expected table to be rows of block ids"),
        (lambda: LAYOUT.explain(token=0, table=[[1], [2, 3]]), "expected table to be rows of block"),
        (lambda: LAYOUT.explain(token=0, table=[["a"]]), "expected table to be rows of block ids"),
        (lambda: LAYOUT.explain("x"), "expected layers to be an integer, got 'x'"),
    ]
    for call, pattern in cases:
        with raises(ValueError, pattern):
            call()
    with raises(ValueError, "expected block to be an integer of 64 bits"):
        LAYOUT.place(layers=1, block=2**70, slot=0, head=0, dim=0)
    cases = [
        (("gather", LAYOUT), dict(chip=90), "expected one chip, such as sm_90a, got 90"),
        (("gather", LAYOUT), dict(chip="sm_80,sm_90a"), "expected one chip, .* got 'sm_80,sm_90a'; "
                                                        "compile once for each chip"),
        (("gather", LAYOUT), dict(chip="sm_90a output=/x"), "expected one chip, such as sm_90a, got"),
        (("gather", LAYOUT), dict(instrument="no"), "expected instrument to be True or False, got"),
        (("gather", LAYOUT), dict(side=[]), r"expected side to be one of key, value, got \[\]"),
        (("gather", LAYOUT), dict(ragged=1), "kernel 'gather': expected ragged to be True or False"),
        (("gather", PLAIN), dict(out_scales=True), "expected a layout with scales for out_scales"),
        (("append", PLAIN), dict(scales=True), "expected a layout with scales for scales=True"),
        (("paged_attention", PLAIN), dict(query_heads=4, scale="a"),
         "expected scale to be a number, got 'a'"),
        (("paged_attention", PLAIN), dict(query_heads=4, window=0.5),
         "expected window to be an integer of at least 1, got 0.5"),
        (("quantize_append", LAYOUT), dict(floor="x"), "expected floor to be a number, got 'x'"),
        (("rms_norm",), dict(heads=1, head_size=64, norm_size=0),
         "expected norm_size to be an integer of at least 1, got 0"),
        (("gather", LAYOUT), dict(opt_level=9), "expected an opt_level of 0 to 3, got 9"),
        (("gather", LAYOUT), dict(opt_level=2.0), "expected an opt_level of 0 to 3, got 2.0"),
        (("gather", LAYOUT), dict(opt_level="x"), "expected an opt_level of 0 to 3, got 'x'"),
        (("gather", LAYOUT), dict(out=3), "expected an element type as MLIR spells it"),
        (("clear_pages", LAYOUT), dict(layers=3), "expected layers to be a list of integers"),
        (("clear_pages", LAYOUT), dict(layers=["a"]), "expected a layer to be an integer"),
        (("rope",), dict(heads=1, head_size=64, columns=-3), "a size of cos .* at least 1, got -3"),
        (("rms_norm",), dict(heads=1, head_size=64, eps=float("nan")), "expected an eps of at least 0"),
        ((None,), {}, "expected a kernel's name, the text of a program or a module, got NoneType"),
    ]
    for arguments, options, pattern in cases:
        with raises(ValueError, pattern):
            kvcache.compile(*arguments, cache=False, **options)


def test_programs_that_the_parser_would_not_survive():
    for text in ("(" * 100000, "\n#a = affine_map<(d0) -> (" + "-" * 100000 + "d0)>"):
        with raises(kvcache.CompileError, "but at most 256 are read|more than 1000 operators"):
            kvcache.compile(text, cache=False)


def fault(pool):
    """A fault of a kernel, which nothing sees before the launch."""
    with raises(kvcache.LaunchError, "clear_pages.*of global memory out of bounds"):
        kvcache.compile("clear_pages", LAYOUT)(pool, pages=[10**6])


def test_pages_that_a_pool_lacks():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    for id in (4, 10**6, -1):
        with raises(kvcache.ArgumentError, f"'table': expected pages of 0 to 3, which the pool has, "
                                           f"got {id} as page 0 of sequence 1; allocate more"):
            k(pool, lengths=LENGTHS, table=[[3, 1], [id, 2]])
    # No token lies there.
    got = k(pool, lengths=LENGTHS, table=[[3, 1], [0, -1]])
    np.testing.assert_array_equal(got[0, :11], tokens(pool, TABLE[0], 11))
    k(pool, lengths=[0, 0], table=[[-1, -1], [-1, -1]])
    # An append looks at the pages of new tokens only.
    append = kvcache.compile("append", LAYOUT, side="key")
    rows = np.ones((1, 2, 64), pool.blocks.dtype)
    append(pool, lengths=[8], table=[[-1, 1]], offsets=[0, 1], key_rows=rows)
    assert np.all(pool.blocks[1, 0, 0, 0] == rows)
    with raises(kvcache.ArgumentError, "got 7 as page 1 of sequence 0"):
        append(pool, lengths=[8], table=[[0, 7]], offsets=[0, 1], key_rows=rows)
    # Policies have the say.
    kvcache.compile("gather", LAYOUT, policy="skip")(pool, lengths=LENGTHS, table=TABLE + 4)
    with raises(kvcache.LaunchError, "trap"):
        kvcache.compile("gather", LAYOUT, policy="trap")(pool, lengths=LENGTHS, table=TABLE + 4)
    scaled = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                            granularity=32, scales_table="own")
    with raises(kvcache.ArgumentError, "'scales_table': expected pages of 0 to 3.*got 4"):
        kvcache.compile("gather", scaled)(scaled.allocate(4, 1), lengths=LENGTHS, table=TABLE,
                                          layer=0, scales_table=TABLE + 1)


def test_negative_numbers_are_shown_as_such():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    with raises(kvcache.ArgumentError, "'lengths': expected numbers of at least 0, got -5"):
        k(pool, lengths=[-5, 3], table=TABLE)
    with raises(kvcache.ArgumentError, r"'offsets': .* do not descend, got \[-1, 0, 1\]"):
        kvcache.compile("append", LAYOUT, side="key")(
            pool, **GOOD, offsets=[-1, 0, 1], key_rows=np.ones((1, 2, 64), pool.blocks.dtype))


def test_faults_concern_one_call():
    """A fault stops the device for good, as on a GPU; the next call has another one."""
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    for _ in range(2):
        fault(pool)
        works(k, pool)
    with raises(kvcache.LaunchError, "trap"):
        kvcache.compile("clear_pages", LAYOUT, policy="trap")(pool, pages=[99])
    works(k, pool)


def test_faults_in_threads():
    """Those of one thread do not reach the others."""
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    wrong = []

    def run(faulty):
        for _ in range(5):
            try:
                if faulty:
                    fault(pool)
                else:
                    works(k, pool)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=run, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_compiling_in_threads():
    texts, wrong = [], []

    def run(head_size):
        try:
            layout = kvcache.Layout("bf16", heads=1, head_size=head_size, page_size=4)
            texts.append(kvcache.compile("gather", layout, cache=False).ptx)
            with raises(kvcache.CompileError, "expected 'out' of"):
                kvcache.compile("gather", layout, out="i32", cache=False)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(size,)) for size in (16, 32, 48, 64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(set(texts)) == 4, wrong


def in_child(queue):
    try:
        pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT, cache=False)
        fault(pool)
        works(k, pool)
        queue.put("works")
    except BaseException as error:
        queue.put(repr(error))


def test_forked_processes_compile_and_fail_by_themselves():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT, cache=False)
    works(k, pool)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=in_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    assert [queue.get(timeout=120) for _ in children] == ["works"] * 2
    for child in children:
        child.join()
        assert child.exitcode == 0
    works(k, pool)


def test_two_contexts():
    """A module of any context is compiled, also where another one is current."""
    text = kvcache.compile("clear_pages", LAYOUT).ir
    with ir.Context() as one:
        module = ir.Module.parse(text)
    with ir.Context() as two:
        assert one is not two
        k = kvcache.compile(module)
        pool = filled(LAYOUT, 4)
        k(pool, pages=np.array([2]))
        works(kvcache.compile("gather", LAYOUT), pool)
    assert not np.any(np.float32(pool.blocks[2])) and np.any(np.float32(pool.blocks[1]))


def test_without_shared_libraries(folder):
    """A package of LLVM that is missing, or of another version."""
    package = pathlib.Path(kvcache.__file__).parent
    folder.mkdir(parents=True)
    (folder / "kvcache").mkdir()
    for path in package.iterdir():
        if path.name != "_mlir_libs":
            (folder / "kvcache" / path.name).symlink_to(path)
    libs = folder / "kvcache" / "_mlir_libs"
    libs.mkdir()
    for path in (package / "_mlir_libs").iterdir():
        if not path.name.startswith("libKVCache."):
            # The loader looks beside what is a file of its own.
            libs.joinpath(path.name).write_bytes(path.read_bytes()) if path.is_file() else None
    done = subprocess.run(
        [sys.executable, "-c", "import kvcache"], text=True, capture_output=True,
        env=dict(os.environ, PYTHONPATH=str(folder)))
    assert done.returncode == 1, done
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: libKVCache.so"), last
    assert "install Debian's package libmlir-22" in last, last


def test_pools_keep_their_arrays():
    pool = LAYOUT.allocate(2, 1)
    with raises(AttributeError, "blocks"):
        pool.blocks = np.zeros(1)
