# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same work in Triton, compiled without a GPU.

usage: triton_kernels.py FOLDER CHIP [WORK]
Prints a JSON list of {work, chip, name, cubin, seconds of CPU time, and what a launch
needs: entry, threads, shared, parameters}; a kernel that Triton refuses (e4m3 on
sm_80) is left out.
"""
import json
import os
import pathlib
import re
import sys

# Kernels of earlier runs would be taken from there.
os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path(sys.argv[1], "cache").resolve())

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def gather_dequant(k, s, lut, slut, lens, out, page_stride, s_page_stride, lut_stride, max_tokens,
                   P: tl.constexpr, H: tl.constexpr, D: tl.constexpr, G: tl.constexpr, BT: tl.constexpr, HDP: tl.constexpr):
    HD: tl.constexpr = H * D
    HDG: tl.constexpr = (D + G - 1) // G
    pg = tl.program_id(0)
    b = tl.program_id(1)
    n = tl.load(lens + b)
    first = pg * P
    if first < n:
        nt = tl.minimum(n - first, P)
        pid = tl.load(lut + b * lut_stride + pg).to(tl.int64)
        sid = tl.load(slut + b * lut_stride + pg).to(tl.int64)
        kp = k + pid * page_stride
        sp = s + sid * s_page_stride
        op = out + (b * max_tokens + first).to(tl.int64) * HD
        e = tl.arange(0, HDP)
        for t0 in range(0, P, BT):
            t = t0 + tl.arange(0, BT)
            m = (t[:, None] < nt) & (e[None, :] < HD)
            x = tl.load(kp + t[:, None] * HD + e[None, :], mask=m)
            if H * HDG == 1:
                sc = tl.load(sp + t, mask=t < nt)[:, None]
            else:
                sc = tl.load(sp + t[:, None] * (H * HDG) + (e[None, :] // D) * HDG + (e[None, :] % D) // G, mask=m)
            y = x.to(tl.float32) * sc
            tl.store(op + t[:, None] * HD + e[None, :], y.to(tl.bfloat16), mask=m)


@triton.jit
def gather_dequant3(k, s, lut, slut, lens, out, page_stride, s_page_stride, lut_stride, max_tokens,
                   P: tl.constexpr, H: tl.constexpr, D: tl.constexpr, G: tl.constexpr, BT: tl.constexpr):
    # reshaped: rows = (token, group) so that a scale is one value a row
    NG: tl.constexpr = H * D // G
    pg = tl.program_id(0)
    b = tl.program_id(1)
    n = tl.load(lens + b)
    first = pg * P
    if first < n:
        nt = tl.minimum(n - first, P)
        pid = tl.load(lut + b * lut_stride + pg).to(tl.int64)
        sid = tl.load(slut + b * lut_stride + pg).to(tl.int64)
        kp = k + pid * page_stride
        sp = s + sid * s_page_stride
        op = out + (b * max_tokens + first).to(tl.int64) * (NG * G)
        e = tl.arange(0, G)
        for t0 in range(0, P * NG, BT):
            r = t0 + tl.arange(0, BT)
            m = r < nt * NG
            x = tl.load(kp + r[:, None] * G + e[None, :], mask=m[:, None])
            sc = tl.load(sp + r, mask=m)
            tl.store(op + r[:, None] * G + e[None, :], (x.to(tl.float32) * sc[:, None]).to(tl.bfloat16), mask=m[:, None])


@triton.jit
def gather_mla_split(k, s, lut, slut, lens, out, page_stride, s_page_stride, lut_stride, max_tokens,
                   P: tl.constexpr, BT: tl.constexpr):
    HD: tl.constexpr = 576
    pg = tl.program_id(0)
    b = tl.program_id(1)
    n = tl.load(lens + b)
    first = pg * P
    if first < n:
        nt = tl.minimum(n - first, P)
        pid = tl.load(lut + b * lut_stride + pg).to(tl.int64)
        sid = tl.load(slut + b * lut_stride + pg).to(tl.int64)
        kp = k + pid * page_stride
        sp = s + sid * s_page_stride
        op = out + (b * max_tokens + first).to(tl.int64) * HD
        e = tl.arange(0, 512)
        e2 = 512 + tl.arange(0, 64)
        for t0 in range(0, P, BT):
            t = t0 + tl.arange(0, BT)
            m = (t < nt)[:, None]
            x = tl.load(kp + t[:, None] * HD + e[None, :], mask=m)
            x2 = tl.load(kp + t[:, None] * HD + e2[None, :], mask=m)
            sc = tl.load(sp + t, mask=t < nt)[:, None]
            tl.store(op + t[:, None] * HD + e[None, :], (x.to(tl.float32) * sc).to(tl.bfloat16), mask=m)
            tl.store(op + t[:, None] * HD + e2[None, :], (x2.to(tl.float32) * sc).to(tl.bfloat16), mask=m)


@triton.jit
def append_bf16(kc, vc, lut, bi, pos, k, v, page_stride, lut_stride, P: tl.constexpr, HD: tl.constexpr):
    t = tl.program_id(0)
    p = tl.load(pos + t)
    pid = tl.load(lut + tl.load(bi + t) * lut_stride + p // P).to(tl.int64)
    e = tl.arange(0, HD)
    dst = pid * page_stride + (p % P) * HD + e
    src = t.to(tl.int64) * HD + e
    tl.store(kc + dst, tl.load(k + src))
    tl.store(vc + dst, tl.load(v + src))


@triton.jit
def append_quant(kc, sc, lut, slut, bi, pos, k, page_stride, s_page_stride, lut_stride, P: tl.constexpr, NG: tl.constexpr, G: tl.constexpr):
    t = tl.program_id(0)
    p = tl.load(pos + t)
    row = tl.load(bi + t) * lut_stride + p // P
    pid = tl.load(lut + row).to(tl.int64)
    sid = tl.load(slut + row).to(tl.int64)
    g = tl.arange(0, NG)
    e = tl.arange(0, G)
    x = tl.load(k + t.to(tl.int64) * (NG * G) + g[:, None] * G + e[None, :]).to(tl.float32)
    m = tl.max(tl.abs(x), axis=1)
    s = tl.maximum(m, 1e-4) * (1.0 / 448.0)
    y = (x * (1.0 / s)[:, None]).to(tl.float8e4nv)
    tl.store(kc + pid * page_stride + (p % P) * (NG * G) + g[:, None] * G + e[None, :], y)
    tl.store(sc + sid * s_page_stride + (p % P) * NG + g, s)

_TABLES = {"lut": "*i32", "slut": "*i32", "page_stride": "i64",
           "s_page_stride": "i64", "lut_stride": "i32"}
GATHER = {"k": "*fp8e4nv", "s": "*fp32", "lens": "*i32", "out": "*bf16",
          "max_tokens": "i32", **_TABLES}
APPEND = {"kc": "*bf16", "vc": "*bf16", "bi": "*i32", "pos": "*i32", "k": "*bf16",
          "v": "*bf16", **_TABLES}
QUANTISE = {"kc": "*fp8e4nv", "sc": "*fp32", "bi": "*i32", "pos": "*i32",
            "k": "*bf16", **_TABLES}
# work, kernel, signature, constants, warps
JOBS = (
    ("W1", gather_dequant, GATHER, dict(P=64, H=1, D=576, G=576, BT=4, HDP=1024), 4),
    ("W1", gather_mla_split, GATHER, dict(P=64, BT=8), 4),
    ("W2", gather_dequant, GATHER, dict(P=16, H=8, D=128, G=128, BT=4, HDP=1024), 4),
    ("W2", gather_dequant3, GATHER, dict(P=16, H=8, D=128, G=128, BT=32), 4),
    ("W2b", gather_dequant3, GATHER, dict(P=16, H=8, D=128, G=32, BT=128), 4),
    ("W3", append_bf16, APPEND, dict(P=16, HD=1024), 4),
    ("W4", append_quant, QUANTISE, dict(P=16, NG=8, G=128), 4),
    ("W5", append_quant, QUANTISE, dict(P=64, NG=4, G=128), 2),
)


def compile_job(kernel, signature, constants, warps, chip):
    names = list(kernel.arg_names)
    types = {name: signature.get(name, "constexpr") for name in names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names)
               if types[name].startswith("*") or name.endswith("_stride")}
    return triton.compile(ASTSource(kernel, types, dict(constants), aligned),
                          target=GPUTarget("cuda", chip, 32),
                          options={"num_warps": warps})


def cpu_seconds():
    """Of this process and of those it has waited for: Triton runs ptxas."""
    return sum(os.times()[:4])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    name, wanted = sys.argv[2], sys.argv[3:]
    chip = int(re.search(r"\d+", name)[0])
    for number, (work, kernel, signature, constants, warps) in enumerate(JOBS):
        if wanted and work not in wanted:
            continue
        begin = cpu_seconds()
        try:
            compiled = compile_job(kernel, signature, constants, warps, chip)
        except Exception:  # Triton's errors have no common type.
            continue
        seconds = cpu_seconds() - begin
        cubin = folder / f"{work}.{number}.{name}.cubin"
        cubin.write_bytes(compiled.asm["cubin"])
        head = compiled.asm["ptx"].split(".entry", 1)[1].split("{", 1)[0]
        done.append({"work": work, "chip": name, "name": kernel.__name__,
                     "cubin": str(cubin), "seconds": seconds,
                     "entry": compiled.metadata.name, "threads": 32 * warps,
                     "shared": compiled.metadata.shared,
                     "parameters": head.count(".param")})
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
