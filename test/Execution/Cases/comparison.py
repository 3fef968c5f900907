# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what came out with what a case expects."""
import numpy as np

from element_types import ELEMENT_TYPES, decode
from verdicts import Differs

SPARSE_PAGE = 4096
WIDE = ("f32", "bf16", "f16")
# What converts numbers on their way into a pool.
CONVERTING = ("append", "quantize_append", "rope_quantize_append")


def _place(index, shape):
    return "[" + ", ".join(map(str, np.unravel_index(index, shape))) + "]"


def _show(value, dtype):
    if dtype == "u8":
        return f"0x{int(value):02x}"
    if dtype in ("bf16", "f16"):
        return f"{decode(value.reshape(1), dtype)[0]:.9g} (0x{int(value):04x})"
    if dtype.startswith(("f8", "f4")):
        return f"0x{int(value):02x}"
    return f"{value:.17g}" if dtype == "f64" else (
        f"{value:.9g}" if dtype == "f32" else str(value))


def written_nans(case, name, got, want):
    """A mask of the bytes of a pool that belong to numbers of 16 and 32 bits which
    both say to be written, and to be NaN: no conversion says which NaN."""
    same, layout, before = np.zeros(got.shape, bool), case.layout, case.inputs[name]
    if case.op not in CONVERTING or (
            case.op == "append" and case.dtypes["x"] == layout.dtype):
        return same
    scales_pool = name == "scales"
    parts = [("scales", layout.scale_dtype)] if layout.has_scales_pool == scales_pool else []
    if not scales_pool:
        parts += [("codes", layout.dtype), ("tail", layout.rope_dtype)]
    every = np.ix_(*map(range, (case.nbs if scales_pool else case.nb, layout.KD,
                                layout.L, layout.P, layout.H)))
    for part, dtype in parts:
        if dtype not in WIDE:
            continue
        places = layout.places(part, *every)
        storage = ELEMENT_TYPES[dtype].storage
        numbers, others, old = (pool[places].view(storage)
                                for pool in (got, want, before))
        bits = f"u{np.dtype(storage).itemsize}"
        both = np.isnan(decode(numbers, dtype)) & np.isnan(decode(others, dtype))
        for one in (numbers, others):
            both &= one.view(bits) != old.view(bits)
        same[places] = np.repeat(both, np.dtype(storage).itemsize, axis=-1)
    return same


def compare(name, got, want, dtype, how, page_bytes=0, defined=None, nans=None):
    """Raises Differs. `page_bytes` is the pitch of a pool; `defined` masks bytes
    that count; `nans(got, want)` masks those of one NaN and another."""
    if got.shape != want.shape:
        raise Differs(f"{name} has shape {list(got.shape)}, want "
                      f"{list(want.shape)}")
    if how == "bytes":
        items = f"u{want.dtype.itemsize}"
        wrong = (np.ascontiguousarray(got).view(items)
                 != np.ascontiguousarray(want).view(items))
        if dtype in WIDE:
            wrong &= ~(np.isnan(decode(got, dtype)) & np.isnan(decode(want, dtype)))
        if nans and wrong.any():
            wrong &= ~nans(got, want)
    else:
        got_number, want_number = decode(got, dtype), decode(want, dtype)
        with np.errstate(invalid="ignore"):
            near = (np.abs(got_number - want_number)
                    <= how["atol"] + how["rtol"] * np.abs(want_number))
        same = (got_number == want_number) | (
            np.isnan(got_number) & np.isnan(want_number))
        wrong = ~(near & np.isfinite(want_number) | same)
    if defined is not None:
        wrong &= defined
    wrong = wrong.reshape(-1)
    if not wrong.any():
        return
    first = int(wrong.argmax())
    where = (f" (page {first // page_bytes}, byte {first % page_bytes})"
             if page_bytes else "")
    raise Differs(
        f"{name}{_place(first, want.shape)}{where}: got "
        f"{_show(got.reshape(-1)[first], dtype)}, want "
        f"{_show(want.reshape(-1)[first], dtype)} "
        f"({int(wrong.sum())} of {wrong.size} differ)")


def sparse_pages(offsets, segments):
    """Segments as a dictionary: number of a page of 4 KiB to its bytes. What lies
    in no segment is zero; pages of zeros are left out."""
    pages = {}
    for at, data in zip(map(int, offsets), segments):
        done = 0
        while done < len(data):
            page, byte = divmod(at + done, SPARSE_PAGE)
            count = min(len(data) - done, SPARSE_PAGE - byte)
            whole = pages.setdefault(page, np.zeros(SPARSE_PAGE, np.uint8))
            whole[byte:byte + count] = data[done:done + count]
            done += count
    return {page: data for page, data in pages.items() if data.any()}


def compare_sparse(name, got, want, page_bytes):
    """Raises Differs. Both are dictionaries as sparse_pages gives them."""
    zeros = np.zeros(SPARSE_PAGE, np.uint8)
    first, count = None, 0
    for page in sorted(got.keys() | want.keys()):
        a, b = got.get(page, zeros), want.get(page, zeros)
        wrong = a != b
        if wrong.any() and first is None:
            byte = int(wrong.argmax())
            first = page * SPARSE_PAGE + byte, a[byte], b[byte]
        count += int(wrong.sum())
    if first:
        at, a, b = first
        raise Differs(f"{name}[{at}] (page {at // page_bytes}, byte "
                      f"{at % page_bytes}): got 0x{a:02x}, want 0x{b:02x} "
                      f"({count} bytes differ)")
