# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes from process to process, and how one ends."""

import concurrent.futures
import copy
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
from util import raises

import kvcache

LAYOUT = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                        granularity=32)


def test_pickling():
    for layout in (LAYOUT, kvcache.Layout("bf16", 2, 64, 8, order="hnd", rope=None),
                   kvcache.Layout("f8E4M3FN", 1, 576, 64, mla=True, scales="f32", granularity=128,
                                  placement="inline", rope=("bf16", 64))):
        assert layout.text
        for other in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout), copy.copy(layout)):
            assert other == layout and other.text == layout.text and hash(other) == hash(layout)
    pool = LAYOUT.allocate(2, 1)
    pool.scales[:] = 3
    other = pickle.loads(pickle.dumps(pool))
    assert other.layout == LAYOUT and np.all(other.scales == 3)
    padded = kvcache.Layout("f8E4M3FN", 1, 80, 8, scales="f8E8M0FNU", granularity=32, mla=True,
                            placement="page_split", rope=("bf16", 16), footer=8, page_align=512)
    pool = padded.allocate(3, 1)
    pool.blocks[1] = 7
    bytes_ = padded.wrap(pool.blocks.view(np.uint8))
    for one in (pool, bytes_):
        for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert other.blocks.strides == one.blocks.strides
            assert other.blocks.dtype == one.blocks.dtype
            np.testing.assert_array_equal(other.blocks.view(np.uint8), pool.blocks.view(np.uint8))
            assert not np.shares_memory(other.blocks, one.blocks)
        assert copy.copy(one).blocks is one.blocks
    text = LAYOUT.explain(token=3, table=[[1]])
    assert pickle.loads(pickle.dumps(text)) == text
    assert pickle.loads(pickle.dumps(text)).svg() == text.svg()


def test_exceptions_pickle():
    note = kvcache.Diagnostic("note", "there", "a:1:2")
    error = kvcache.CompileError([kvcache.Diagnostic("error", "no", "a:3:4", (note,))])
    other = pickle.loads(pickle.dumps(error))
    assert str(other) == str(error) and other.diagnostics == error.diagnostics
    error = kvcache.CheckError("found", [{"kind": "race"}])
    other = pickle.loads(pickle.dumps(error))
    assert str(other) == "found" and other.reports == [{"kind": "race"}]
    assert str(pickle.loads(pickle.dumps(kvcache.ArgumentError("a")))) == "a"


def check():
    return kvcache.compile("clear_pages", LAYOUT)(LAYOUT.allocate(2, 1), pages=[10**6],
                                                  tool="memcheck")


def compilation():
    return kvcache.compile("paged_attention", LAYOUT, query_heads=3)


def test_exceptions_of_another_process():
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as workers:
        with raises(kvcache.CheckError, "out of bounds"):
            workers.submit(check).result(timeout=120)
        with raises(kvcache.CompileError, "<paged_attention>"):
            workers.submit(compilation).result(timeout=120)
        assert workers.submit(str, LAYOUT).result(timeout=120) == str(LAYOUT)


def test_the_end_while_threads_compile():
    """Daemon threads are no reason to end by a signal."""
    script = """
import atexit, threading, time, kvcache
layout = kvcache.Layout("bf16", heads=1, head_size=16, page_size=4)
atexit.register(lambda: print(len(kvcache.compile("clear_pages", layout, cache=False).ptx) > 100))
ready = threading.Semaphore(0)
def loop():
    while True:
        ready.release()
        kvcache.compile("clear_pages", layout, cache=False)
for _ in range(2):
    threading.Thread(target=loop, daemon=True).start()
for _ in range(3):
    ready.acquire()
"""
    for _ in range(3):
        done = run(script)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "True\n"), done


REFUSAL = "SystemExit: cannot compile: the interpreter is shutting down"


def test_threads_that_the_end_waits_for():
    """What was registered before this package runs after its own end, and may join."""
    done = run("""
import atexit, threading
stop, said = threading.Event(), []
def loop():
    try:
        while not stop.is_set():
            kvcache.compile("clear_pages", layout, cache=False)
    except SystemExit as error:
        said.append(f"SystemExit: {error}")
        raise
def compiles():
    kvcache.compile("clear_pages", layout, cache=False)
    print("compiled")
thread = threading.Thread(target=loop, daemon=True)
def join():
    thread.join()
    print(*said)
atexit.register(join)
atexit.register(compiles)
import kvcache
layout = kvcache.Layout("bf16", heads=1, head_size=16, page_size=4)
thread.start()
""")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"compiled\n{REFUSAL}\n"), done


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=300)
