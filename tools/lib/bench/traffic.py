# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that W1 to W7 move, by the simulator's counters.

usage: traffic.py FOLDER KVCACHE_RUN PROGRAM WORK [CHIP]
Prints JSON: bytes that the sectors moved hold, bytes that the work needs, bank
conflicts, and instructions that warps execute. Pages lie in random order, the last
one of a sequence is partial.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np

# As in the full-size works, few pages are partial.
SEQUENCES, TOKENS, LAYERS = 2, 1500, 2


def pools(sides, page, row, scales_a_token, tokens=TOKENS):
    """Pools of random codes and scales, and tables with random pages."""
    random = np.random.default_rng(0)
    columns = -(-tokens // page)
    blocks = SEQUENCES * columns + 3
    table = lambda: random.permutation(blocks)[:SEQUENCES * columns].reshape(
        SEQUENCES, columns).astype(np.uint32)
    arrays = {"lengths": np.full(SEQUENCES, tokens, np.uint32),
              "table": table(), "max": np.full(1, tokens, np.uint32)}
    codes = random.integers(0, 120, (blocks, sides, LAYERS, page, row), np.uint8)
    if scales_a_token:
        arrays["scales_table"] = table()
        arrays["scales"] = random.random(
            (blocks, sides, LAYERS, page, scales_a_token), np.float32)
    return codes, arrays


def rows(count, heads, size):
    """New rows in bf16, each for a token of its own."""
    random = np.random.default_rng(1)
    x = random.standard_normal((count, heads, size), np.float32)
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def instance(work):
    """Arguments by name, and the bytes that have to be moved."""
    tokens = SEQUENCES * TOKENS
    # A row that is appended is named by its sequence and position.
    named = 8
    where = {"sequences": np.repeat(np.arange(SEQUENCES, dtype=np.uint32), TOKENS),
             "positions": np.tile(np.arange(TOKENS, dtype=np.uint32), SEQUENCES)}
    if work in ("w1", "w2", "w2b"):
        mla = work == "w1"
        heads, size, page = (1, 576, 64) if mla else (8, 128, 16)
        groups = 4 if work == "w2b" else 1
        codes, arrays = pools(1 if mla else 2, page, heads * size, heads * groups)
        arrays["blocks"] = codes.reshape(*codes.shape[:4], heads, size)
        arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], heads, groups)
        arrays["out"] = np.zeros((SEQUENCES, TOKENS, heads, size), np.uint16)
        needed = tokens * heads * (size + 4 * groups + 2 * size)
    elif work == "w3":
        codes, arrays = pools(2, 16, 2048, 0)
        arrays["blocks"] = codes.view(np.uint16).reshape(*codes.shape[:4], 8, 128)
        arrays |= where | {"keys": rows(tokens, 8, 128),
                           "values": rows(tokens, 8, 128)}
        needed = tokens * (2 * 2 * 2048 + named)
    elif work == "w4":
        codes, arrays = pools(2, 16, 1024, 8)
        arrays["blocks"] = codes.reshape(*codes.shape[:4], 8, 128)
        arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], 8, 1)
        arrays |= where | {"keys": rows(tokens, 8, 128)}
        needed = tokens * (2048 + 1024 + 32 + named)
    elif work in ("w6", "w6b", "w6m"):
        return attention(work)
    elif work in ("w7", "w7k"):
        return indexer(work)
    else:
        codes, arrays = pools(1, 64, 656, 0)
        arrays["blocks"] = codes.reshape(*codes.shape[:3], 64 * 656)
        arrays |= where | {"keys": rows(tokens, 1, 576)}
        needed = tokens * (1152 + 656 + named)
    return arrays, needed


def attention(work):
    """One new token for each sequence; the keys and values of all that it sees."""
    mla, narrow = work == "w6m", work != "w6"
    heads, size, page = (1, 576, 64) if mla else (8, 128, 16)
    sides, queries = (1, 16) if mla else (2, 32)
    bytes_ = 1 if narrow else 2
    codes, arrays = pools(sides, page, heads * size * bytes_, heads * narrow)
    shape = (*codes.shape[:4], heads, size)
    arrays["blocks"] = codes.view(np.uint8 if narrow else np.uint16).reshape(shape)
    if narrow:
        arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], heads, 1)
    arrays["lengths"] = np.full(SEQUENCES, TOKENS - 1, np.uint32)
    arrays["q"] = rows(SEQUENCES, queries, size)
    arrays["out"] = np.zeros((SEQUENCES, queries, 512 if mla else size), np.uint16)
    arrays["offsets"] = np.arange(SEQUENCES + 1, dtype=np.uint32)
    arrays["workspace"] = np.zeros(16, np.float32)
    needed = SEQUENCES * TOKENS * sides * heads * (size * bytes_ + 4 * narrow)
    return arrays, needed + 2 * arrays["q"].size + 2 * arrays["out"].size


def indexer(work, heads=64):
    """One new token for each sequence: the scores of all that it sees, or the best
    2048, of so many that candidates have to be selected."""
    tokens, best = (TOKENS, 0) if work == "w7" else (4 * TOKENS, 2048)
    codes, arrays = pools(1, 64, 128, 1, tokens)
    arrays["blocks"] = codes.reshape(*codes.shape[:4], 1, 128)
    arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], 1, 1)
    random = np.random.default_rng(1)
    arrays |= {"lengths": np.full(SEQUENCES, tokens - 1, np.uint32),
               "queries": random.integers(0, 120, (SEQUENCES, heads, 128), np.uint8),
               "weights": random.random((SEQUENCES, heads), np.float32),
               "offsets": np.arange(SEQUENCES + 1, dtype=np.uint32),
               "scores": np.zeros((SEQUENCES, tokens), np.float32),
               "best": np.zeros((SEQUENCES, best), np.int32)}
    # Each block of 1024 tokens needs the queries of its row, or one has all.
    blocks = SEQUENCES * (1 if best else -(-tokens // 1024))
    written = 4 * best or 4 * tokens
    needed = (SEQUENCES * (tokens * (128 + 4) + written)
              + blocks * heads * (128 + 4))
    return arrays, needed


def with_main(program, work):
    """The program with an entry that registers its memory and calls the work."""
    header = re.search(rf"func\.func @{work}\((.*?)\) {{", program, re.S)[1]
    arguments = re.findall(r"%(\w+): ([^,<]+(?:<[^>]*(?:<[^>]*>[^>]*)*>)?)", header)
    aliases = dict(re.findall(r"^(!\w+) = (.*)$", program, re.M))
    lines = []
    for name, kind in arguments:
        element = re.search(r"x([a-z]\w*)[,>]", aliases.get(kind, kind))
        if element:
            lines += [f"  %{name}_any = memref.cast %{name} : {kind} to "
                      f"memref<*x{element[1]}>",
                      f"  gpu.host_register %{name}_any : memref<*x{element[1]}>"]
    names = ", ".join(f"%{name}" for name, _ in arguments)
    types = ", ".join(kind for _, kind in arguments)
    typed = ", ".join(f"%{name}: {kind}" for name, kind in arguments)
    return [name for name, _ in arguments], "\n".join([
        program, f"func.func @main({typed}) {{", *lines,
        f"  call @{work}({names}) : ({types}) -> ()", "  return", "}", ""])


def count(folder, run, program, work, arrays, chip):
    """The counters of a work, whose program is a text."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names, text = with_main(program, work)
    source = folder / f"{work}.mlir"
    source.write_text(text)
    command = [run, source, "--device=sim", f"--chip={chip}", "--count"]
    for name in names:
        if name == "layer":
            command.append("--arg=index:1")
        else:
            np.save(folder / f"{name}.npy", arrays[name])
            command.append(f"--arg={folder / name}.npy")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[:2000])
    # Totals of the kernel come before those of its lines.
    total = done.stderr.split("\nmemory\n", 1)[1].split(" barriers", 1)[0]
    sectors = sum(map(int, re.findall(r"global (?:load|store).*?(\d+) sectors",
                                      total)))
    # Kernels that do not use shared memory have no such line.
    shared = re.search(r"shared .*", total)
    conflicts = 0
    if shared:
        conflicts = int(re.search(r"(\d+) of them bank conflicts", shared[0])[1])
    executed = int(re.search(r"^(\d+) warp instructions", done.stderr, re.M)[1])
    return {"moved": 32 * sectors, "conflicts": conflicts, "executed": executed}


def main(folder, run, program, work, chip="sm_90a"):
    arrays, needed = instance(work)
    text = pathlib.Path(program).read_text()
    return count(folder, run, text, work, arrays, chip) | {"needed": needed}


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
