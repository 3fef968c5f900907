# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of W1 to W7, for any number of sequences and tokens: pools of two layers
whose pages lie in random order, the last one of a sequence partial."""
import numpy as np

LAYERS = 2


def pools(sides, page, row, scales_a_token, sequences, tokens):
    """Pools of random codes and scales, and tables with random pages."""
    random = np.random.default_rng(0)
    columns = -(-tokens // page)
    blocks = sequences * columns + 3
    table = lambda: random.permutation(blocks)[:sequences * columns].reshape(
        sequences, columns).astype(np.uint32)
    arrays = {"lengths": np.full(sequences, tokens, np.uint32),
              "table": table(), "max": np.full(1, tokens, np.uint32)}
    codes = random.integers(0, 120, (blocks, sides, LAYERS, page, row), np.uint8)
    if scales_a_token:
        arrays["scales_table"] = table()
        arrays["scales"] = random.random(
            (blocks, sides, LAYERS, page, scales_a_token), np.float32)
    return codes, arrays


def rows(count, heads, size):
    """New rows in bf16, each for a token of its own; thousands differ."""
    random = np.random.default_rng(1)
    x = random.standard_normal((min(count, 4096), heads, size), np.float32)
    return np.resize((x.view(np.uint32) >> 16).astype(np.uint16),
                     (count, heads, size))


def instance(work, sequences, tokens, workspace=16):
    """Arguments by name, and the bytes that have to be moved. `workspace`: f32
    values that attention has for parts of its keys."""
    if work in ("w1", "w2", "w2b"):
        return gather(work, sequences, tokens)
    if work in ("w6", "w6b", "w6m"):
        return attention(work, sequences, tokens, workspace)
    if work in ("w7", "w7k"):
        return indexer(work, sequences, tokens)
    return append(work, sequences, tokens)


def gather(work, sequences, tokens):
    mla = work == "w1"
    heads, size, page = (1, 576, 64) if mla else (8, 128, 16)
    groups = 4 if work == "w2b" else 1
    codes, arrays = pools(1 if mla else 2, page, heads * size, heads * groups,
                          sequences, tokens)
    arrays["blocks"] = codes.reshape(*codes.shape[:4], heads, size)
    arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], heads, groups)
    arrays["out"] = np.zeros((sequences, tokens, heads, size), np.uint16)
    return arrays, sequences * tokens * heads * (size + 4 * groups + 2 * size)


def append(work, sequences, tokens):
    count = sequences * tokens
    # A row is named by its sequence and position.
    named = 8
    where = {"sequences": np.repeat(np.arange(sequences, dtype=np.uint32), tokens),
             "positions": np.tile(np.arange(tokens, dtype=np.uint32), sequences)}
    if work == "w3":
        codes, arrays = pools(2, 16, 2048, 0, sequences, tokens)
        arrays["blocks"] = codes.view(np.uint16).reshape(*codes.shape[:4], 8, 128)
        arrays |= where | {"keys": rows(count, 8, 128), "values": rows(count, 8, 128)}
        return arrays, count * (2 * 2 * 2048 + named)
    if work == "w4":
        codes, arrays = pools(2, 16, 1024, 8, sequences, tokens)
        arrays["blocks"] = codes.reshape(*codes.shape[:4], 8, 128)
        arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], 8, 1)
        arrays |= where | {"keys": rows(count, 8, 128)}
        return arrays, count * (2048 + 1024 + 32 + named)
    codes, arrays = pools(1, 64, 656, 0, sequences, tokens)
    arrays["blocks"] = codes.reshape(*codes.shape[:3], 64 * 656)
    arrays |= where | {"keys": rows(count, 1, 576)}
    return arrays, count * (1152 + 656 + named)


def attention(work, sequences, tokens, workspace):
    """One new token for each sequence; the keys and values of all that it sees."""
    mla, narrow = work == "w6m", work != "w6"
    heads, size, page = (1, 576, 64) if mla else (8, 128, 16)
    sides, queries = (1, 16) if mla else (2, 32)
    bytes_ = 1 if narrow else 2
    codes, arrays = pools(sides, page, heads * size * bytes_, heads * narrow,
                          sequences, tokens)
    shape = (*codes.shape[:4], heads, size)
    arrays["blocks"] = codes.view(np.uint8 if narrow else np.uint16).reshape(shape)
    if narrow:
        arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], heads, 1)
    else:
        arrays["blocks"] &= 0x3fff  # Below 2, so that products are finite.
    arrays["lengths"] = np.full(sequences, tokens - 1, np.uint32)
    arrays["q"] = rows(sequences, queries, size)
    arrays["out"] = np.zeros((sequences, queries, 512 if mla else size), np.uint16)
    arrays["offsets"] = np.arange(sequences + 1, dtype=np.uint32)
    arrays["workspace"] = np.zeros(workspace, np.float32)
    needed = sequences * tokens * sides * heads * (size * bytes_ + 4 * narrow)
    return arrays, needed + 2 * arrays["q"].size + 2 * arrays["out"].size


def indexer(work, sequences, tokens, heads=64):
    """One new token for each sequence: the scores of all that it sees, or the best
    2048."""
    best = 2048 if work == "w7k" else 0
    codes, arrays = pools(1, 64, 128, 1, sequences, tokens)
    arrays["blocks"] = codes.reshape(*codes.shape[:4], 1, 128)
    arrays["scales"] = arrays["scales"].reshape(*codes.shape[:4], 1, 1)
    random = np.random.default_rng(1)
    arrays |= {"lengths": np.full(sequences, tokens - 1, np.uint32),
               "queries": random.integers(0, 120, (sequences, heads, 128), np.uint8),
               "weights": random.random((sequences, heads), np.float32),
               "offsets": np.arange(sequences + 1, dtype=np.uint32),
               "scores": np.zeros((sequences, tokens), np.float32),
               "best": np.zeros((sequences, best), np.int32)}
    # Each block of 1024 tokens needs the queries of its row, or one has all.
    blocks = sequences * (1 if best else -(-tokens // 1024))
    written = 4 * best or 4 * tokens
    needed = (sequences * (tokens * (128 + 4) + written)
              + blocks * heads * (128 + 4))
    return arrays, needed
