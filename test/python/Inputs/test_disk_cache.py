# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk."""

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
from util import raises

import kvcache
from kvcache import diskcache

LAYOUT = kvcache.Layout("bf16", heads=1, head_size=32, page_size=4)


@contextlib.contextmanager
def environment(**variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def test_disk_cache(folder):
    """Many processes at once, a damaged entry, a folder that cannot be written."""
    script = ("import kvcache\nlayout = kvcache.Layout('bf16', heads=1, head_size=32, page_size=4)\n"
              "print(len(kvcache.compile('gather', layout).ptx))")

    def start(where):
        environment = dict(os.environ, KVCACHE_CACHE_DIR=str(where))
        return subprocess.Popen([sys.executable, "-c", script], env=environment,
                                stdout=subprocess.PIPE, text=True)

    processes = [start(folder) for _ in range(4)]
    sizes = {process.communicate()[0] for process in processes}
    assert len(sizes) == 1 and int(sizes.pop()) > 100
    entries = list(folder.iterdir())
    assert len(entries) == 1 and entries[0].suffix == ".json", entries
    entries[0].write_text(entries[0].read_text()[:-100])
    again = start(folder)
    assert int(again.communicate()[0]) > 100 and again.returncode == 0
    nowhere = start("/proc/none")
    assert int(nowhere.communicate()[0]) > 100 and nowhere.returncode == 0


def works():
    pool = LAYOUT.allocate(2, 1)
    pool.blocks[:] = 1
    out = kvcache.compile("gather", LAYOUT)(pool, lengths=[3], table=[[1]])
    assert out.shape == (1, 3, 1, 32) and np.all(out == 1)


def test_what_is_no_entry_is_compiled_again(folder):
    with environment(KVCACHE_CACHE_DIR=str(folder)):
        key = kvcache.compile("gather", LAYOUT).key
        entry = folder / f"{key}.json"

        def whole(body):
            return hashlib.sha256(body.encode()).hexdigest() + "\n" + body

        for text in ("", "\0" * 1000, whole("[1]"), whole('{"a": 1}'), whole("3"),
                     whole('{"gather.json": "no base64"}'), "\ud800".join("ab").encode(
                         "utf-8", "surrogatepass").decode("latin-1")):
            entry.write_text(text)
            works()
        entry.unlink()
        os.mkfifo(entry)
        works()
        entry.unlink(missing_ok=True)
        entry.mkdir()
        works()


def test_home(folder):
    folder.mkdir(parents=True)
    with environment(HOME=str(folder), KVCACHE_CACHE_DIR="~/kernels"):
        works()
    assert len(list((folder / "kernels").iterdir())) == 1


def test_the_folder_is_bounded(folder):
    """What was used longest ago goes first, and nothing that is somebody else's."""
    with environment(KVCACHE_CACHE_DIR=str(folder), KVCACHE_CACHE_MEGABYTES="1"):
        names = [diskcache.key(str(i)) for i in range(5)]
        for i, name in enumerate(names[:3]):
            diskcache.store(name, {"f": bytes(300_000)})
            os.utime(folder / f"{name}.json", (i + 1, i + 1))
        (folder / "notes.json").write_text("x" * 2_000_000)
        (folder / "old.tmp").write_text("x")
        os.utime(folder / "old.tmp", (1, 1))
        assert not (folder / f"{names[0]}.json").exists()  # 3 * 400 kB in base64.
        assert diskcache.load(names[1]) == {"f": bytes(300_000)}  # Now used last.
        diskcache.store(names[3], {"f": bytes(300_000)})
        left = {path.name for path in folder.iterdir()}
        assert left == {f"{names[1]}.json", f"{names[3]}.json", "notes.json"}, left
        # An entry that alone is too large is kept: it was asked for.
        diskcache.store(names[4], {"f": bytes(2_000_000)})
        assert diskcache.load(names[4]) and not diskcache.load(names[3])
    with environment(KVCACHE_CACHE_DIR=str(folder), KVCACHE_CACHE_MEGABYTES="many"):
        with raises(ValueError, "expected KVCACHE_CACHE_MEGABYTES to be an integer"):
            diskcache.store(names[0], {})
        assert not (folder / f"{names[0]}.json").exists()
    fresh = folder / "fresh"
    with environment(KVCACHE_CACHE_DIR=str(fresh), KVCACHE_CACHE_MEGABYTES="many"):
        with raises(ValueError, "expected KVCACHE_CACHE_MEGABYTES to be an integer"):
            kvcache.compile("clear_pages", LAYOUT)
        assert not fresh.exists()


def test_processes_that_trim_at_once(folder):
    script = ("import sys\nfrom kvcache import diskcache\n"
              "for i in range(60):\n"
              "    name = diskcache.key(sys.argv[1], str(i))\n"
              "    diskcache.store(name, {'f': bytes(100_000)})\n"
              "    assert diskcache.load(name) in (None, {'f': bytes(100_000)})\n")
    variables = dict(os.environ, KVCACHE_CACHE_DIR=str(folder), KVCACHE_CACHE_MEGABYTES="1")
    processes = [subprocess.Popen([sys.executable, "-c", script, str(i)], env=variables)
                 for i in range(3)]
    assert [process.wait() for process in processes] == [0] * 3
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000


def test_the_key_names_what_compiles():
    from kvcache import compiler

    version, llvm, libraries = json.loads(compiler._version())
    names = {name.split(".")[0] for name, _, _ in libraries}
    assert version == kvcache.__version__ and llvm.startswith("22."), (version, llvm)
    assert any(name.startswith("libLLVM") for name in names) and "libMLIR" in names, names
    assert "libKVCache" in names, names
    assert all(pathlib.Path(name).name == name for name, _, _ in libraries)
