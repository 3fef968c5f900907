#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles kernels of attention and of the indexer for every chip, and checks what
ptxas says of them: registers and what is spilled. The last line says how many
kernels there were, and how many are wrong.

usage: check_registers.py PTXAS SCRATCH [--all]
Without `--all` there is one kernel of each form, and the time is checked, too.
"""
import argparse
import collections
import pathlib
import re
import resource
import subprocess
import sys

CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120")
# CPU seconds from IR to machine code for one chip.
MOST_SECONDS = 2
COLLECTION = "!kvcache.collection<#kv>"
LISTS = "%lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>"
FROM_LISTS = """lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)"""

# `registers` and `spilled` (bytes) are the most that are allowed.
Kernel = collections.namedtuple("Kernel", "name text registers spilled")


def program(dtype, heads, size, granularity, page, arguments, body, is_mla=False):
    """A function on a cache whose scales, where there are some, have a table of
    their own."""
    sides = 1 if is_mla else 2
    granules = -(-size // granularity) if granularity else 0

    def pool(inner, kind):
        pitch = page * heads * inner
        return (f"memref<?x{sides}x?x{page}x{heads}x{inner}x{kind}, "
                f"strided<[?, ?, {pitch}, {heads * inner}, {inner}, 1]>>")
    layout = (f"{dtype}, params = <num_heads = {heads}, head_size = {size}"
              f"{', is_mla = true' if is_mla else ''}>, page_size = {page}")
    blocks = pool(size, dtype)
    first, given = f"%blocks: {blocks}, {LISTS}", ""
    if granules:
        layout += f", scales = <f32, granularity = {granularity}, table = own>"
        scales = pool(granules, "f32")
        first += f", %scales: {scales}, %scales_table: memref<?x?xi32>"
        given = (f" scales(%scales : {scales})"
                 " scales_table(%scales_table : memref<?x?xi32>)")
    return f"""#kv = #kvcache.layout<{layout}>
func.func @f({first}, %layer: index, %offsets: memref<?xi32>, {arguments}) {{
  %c = kvcache.get_paged_cache blocks(%blocks : {blocks}) {FROM_LISTS}{given} : {COLLECTION}
  %k = kvcache.get_key_cache %c[%layer] : {COLLECTION}
  {body}
  return
}}
"""


def paged(dtype, size, granularity=None, group=4, policy="", workspace=True,
          registers=255, spilled=0, attributes="", heads=8, options=False):
    query = "f16" if dtype == "f16" else "bf16"
    q = f"memref<?x{heads * group}x{size}x{query}>"
    out = f"memref<?x{heads * group}x{size}xbf16>"
    sinks, lse = f"memref<{heads * group}xf32>", f"memref<?x{heads * group}xf32>"
    words = f" sinks(%sinks : {sinks}) lse(%lse : {lse})" if options else ""
    words += " workspace(%workspace : memref<?xf32>)" if workspace else ""
    if options:
        attributes = " {softcap = 30.0 : f32, window = 512 : i64}"
    body = f"""%v = kvcache.get_value_cache %c[%layer] : {COLLECTION}
  kvcache.paged_attention {policy} queries(%q : {q})
      over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : {out}) ragged(%offsets : memref<?xi32>){words}{attributes}"""
    arguments = (f"%q: {q}, %out: {out}, %workspace: memref<?xf32>, "
                 f"%sinks: {sinks}, %lse: {lse}")
    name = (f"paged_attention {dtype} H{heads} D{size} g{granularity} group {group} "
            f"{policy}{'' if workspace else ' without workspace'}"
            f"{' sinks lse' if options else ''}{attributes}")
    return Kernel(name, program(dtype, heads, size, granularity, 16, arguments, body),
                  registers, spilled)


def latent(dtype, page=64, policy="", listed=False, heads=16, registers=255,
           spilled=0):
    granularity = 576 if dtype != "bf16" else None
    q, out = f"memref<?x{heads}x576xbf16>", f"memref<?x{heads}x512xbf16>"
    words = " slots(%slots, %slots : memref<?x?xi32>, memref<?x?xi32>)"
    if not granularity:
        words = " slots(%slots : memref<?x?xi32>)"
    body = f"""kvcache.mla_decode {policy} queries(%q : {q})
      over(%k : !kvcache.cache<key, #kv>) into(%out : {out})
      ragged(%offsets : memref<?xi32>){words if listed else ""}
      workspace(%workspace : memref<?xf32>)"""
    arguments = (f"%q: {q}, %out: {out}, %workspace: memref<?xf32>, "
                 "%slots: memref<?x?xi32>")
    name = (f"mla_decode {dtype} P{page} {heads} heads {policy}"
            f"{' of slots' if listed else ''}")
    return Kernel(name, program(dtype, 1, 576, granularity, page, arguments, body,
                                is_mla=True), registers, spilled)


def indexer(heads, policy="", fused=False, spilled=0):
    q, w = f"memref<?x{heads}x128xf8E4M3FN>", f"memref<?x{heads}xf32>"
    into = "memref<?x2048xi32>" if fused else "memref<?x?xf32>"
    op = "indexer_topk" if fused else "indexer_scores"
    body = f"""kvcache.{op} {policy} causal queries(%q, %w : {q}, {w})
      from(%k : !kvcache.cache<key, #kv>) offsets(%offsets : memref<?xi32>)
      into(%into : {into})"""
    return Kernel(f"{op} {heads} heads {policy}",
                  program("f8E4M3FN", 1, 128, 128, 64,
                          f"%q: {q}, %w: {w}, %into: {into}", body, is_mla=True),
                  255, spilled)


# One of each form: those that have a goal of their own first.
FORMS = (
    paged("bf16", 128, registers=168),
    paged("f16", 128, registers=168),
    paged("f8E4M3FN", 128, 128, registers=168),
    latent("f8E4M3FN", registers=241),
    paged("bf16", 128, group=1, policy="trap"),
    paged("f8E4M3FN", 128, 32),
    paged("f8E4M3FN", 96, 16, group=16),
    paged("i8", 80, 64, group=16),
    paged("i8", 128, 1),
    paged("bf16", 192, group=16, options=True),
    paged("f8E4M3FN", 192, 64, group=16),
    paged("f8E4M3FN", 256, 24, heads=2),
    latent("bf16", policy="trap"),
    latent("bf16", listed=True, registers=241),
    latent("bf16", page=1, policy="trap"),
    latent("bf16", listed=True, policy="trap"),
    latent("f8E4M3FN", page=16, policy="trap", heads=128),
    indexer(64, policy="trap"),
    # Three blocks of a multiprocessor are worth them on sm_80.
    indexer(64, fused=True, spilled=8),
)


def grid():
    """All dtypes, head sizes and kinds of granularities."""
    for dtype in ("bf16", "f16"):
        for size in (64, 80, 96, 128, 192, 256):
            for group in (1, 8, 16):
                yield paged(dtype, size, group=group)
            yield paged(dtype, size, group=16, options=True)
        for group in (1, 4):
            yield paged(dtype, 128, group=group, workspace=False)
            yield paged(dtype, 128, group=group, policy="trap")
        yield paged(dtype, 128, attributes=" {softcap = 30.0 : f32, window = 512 : i64}")
    for dtype in ("f8E4M3FN", "i8"):
        for size in (64, 80, 96, 128, 192, 256):
            for granularity in sorted({size, 128, 64, 32, 16, 24, 12, 1}):
                if granularity > size:
                    continue
                for group in (4, 16):
                    yield paged(dtype, size, granularity, group,
                                spilled=most_spilled(size, granularity))
        yield paged(dtype, 128, 128, workspace=False)
        for size, granularity in ((128, 128), (128, 32), (128, 16), (256, 256),
                                  (256, 24), (256, 1), (64, 3)):
            for group in (4, 16):
                yield paged(dtype, size, granularity, group, policy="trap",
                            spilled=most_spilled(size, granularity))
    for dtype in ("bf16", "f8E4M3FN", "i8"):
        for policy in ("", "trap"):
            for heads in (16, 17, 128):
                yield latent(dtype, policy=policy, heads=heads)
                yield latent(dtype, policy=policy, heads=heads, listed=True)
                for page in (1, 16):
                    yield latent(dtype, page=page, policy=policy, heads=heads)
    for heads in (1, 4, 32, 64, 128):
        for fused in (False, True):
            for policy in ("", "skip", "trap"):
                # A few bytes on sm_80.
                yield indexer(heads, policy, fused, spilled=16)


def most_spilled(size, granularity):
    """Bytes that are known to spill on some chip: large heads of more scales than
    registers."""
    if size != 256:
        return 0
    return 144 if granularity < 16 else 32 if granularity % 16 else 0


def check(kernel, ptxas, folder):
    """What is wrong with it, a line each; CPU seconds for each chip."""
    source = folder / "kernel.mlir"
    source.write_text(kernel.text)
    for old in folder.glob("*.ptx"):
        old.unlink()
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        ["kvcache-opt", source, "-o", "/dev/null",
         f"--kvcache-to-ptx=chip={','.join(CHIPS)} output={folder}"],
        capture_output=True, text=True)
    if run.returncode:
        return [run.stderr], 0
    wrong = []
    files = sorted(folder.glob("*.ptx"))
    if len(files) < len(CHIPS):
        wrong.append(f"{len(files)} files of PTX for {len(CHIPS)} chips")
    for file in files:
        chip = file.name.split(".")[-2]
        run = subprocess.run([ptxas, "-v", f"-arch={chip}", file, "-o",
                              folder / "kernel.cubin"], capture_output=True, text=True)
        if run.returncode:
            wrong.append(f"{chip}: {run.stderr}")
            continue
        registers = max(map(int, re.findall(r"Used (\d+) registers", run.stderr)))
        spilled = max(map(int, re.findall(r"(\d+) bytes spill stores", run.stderr)))
        if registers > kernel.registers or spilled > kernel.spilled:
            wrong.append(f"{chip}: {registers} registers, {spilled} bytes spilled, "
                         f"expected {kernel.registers} and {kernel.spilled} at most")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
    return wrong, seconds / len(CHIPS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptxas")
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    count = failures = 0
    for kernel in grid() if options.all else FORMS:
        wrong, seconds = check(kernel, options.ptxas, options.scratch)
        if not options.all and seconds > MOST_SECONDS:
            wrong.append(f"took {seconds:.1f} s for each chip, expected "
                         f"{MOST_SECONDS} s at most")
        count, failures = count + 1, failures + bool(wrong)
        for line in wrong:
            print(f"{kernel.name} on {line}", flush=True)
    print(f"{count} kernels, {failures} wrong")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
