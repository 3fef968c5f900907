# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counters of small kernels against numbers worked out by hand.

Shared memory has 32 banks of 4 bytes. A warp's access is split into requests of
128 bytes: all 32 lanes for up to 4 bytes a lane, 16 for 8 bytes, 8 for 16. A
request takes one pass (wavefront) for every different word of its fullest bank,
an atomic for every thread of it; passes beyond one a request are conflicts. Global memory moves in sectors of 32
bytes, each counted once an instruction."""
import json
import os
import subprocess
import sys

directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
checked = 0

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.file 1 "kernel.cu"
.visible .entry k(.param .u64 buffer)
{
  .shared .align 1024 .b8 memory[16384];
  .shared .align 8 .b64 bar;
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>, %v<4>; .reg .b64 %rd<8>, %w<4>;
  ld.param.u64 %rd1, [buffer];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, memory;
"""


def counters(name, body, threads=32, seed=0):
    path = f"{directory}/{name}.ptx"
    with open(path, "w") as file:
        file.write(HEAD + body + "\n  ret;\n}\n")
    done = subprocess.run(
        ["ptxsim", path, "--kernel", "k", "--grid", "1", "--block", str(threads), "--count",
         "--json", "--seed", str(seed), "--arg", "buf:u8[65536]"],
        capture_output=True, text=True)
    assert done.returncode == 0, (name, done.stderr)
    return json.loads(done.stdout)["counters"]


def expect(name, got, want):
    global checked
    assert got == want, f"{name}: got {got}, expected {want}"
    checked += 1


REGISTERS = {"u8": "%h1", "u16": "%h1", "u32": "%v0", "u64": "%w0",
             "v2.u32": "{%v0, %v1}", "v4.u32": "{%v0, %v1, %v2, %v3}",
             "v2.u64": "{%w0, %w1}"}


def shared(access, offset, passes, conflicts, lanes=32):
    """Loads and stores at byte offsets that PTX text computes in %r4 from the lane
    in %r1."""
    guard = f"  setp.lt.u32 %p1, %r1, {lanes};\n"
    place = guard + f"  {offset}\n  add.u32 %r4, %r4, %r2;\n"
    value = REGISTERS[access]
    for name, text in (("ld", f"@%p1 ld.shared.{access} {value}, [%r4];"),
                       ("st", f"@%p1 st.shared.{access} [%r4], {value};"),
                       ("generic", f"cvt.u64.u32 %rd2, %r4; cvta.shared.u64 %rd2, %rd2; "
                                   f"@%p1 ld.{access} {value}, [%rd2];")):
        c = counters("shared", place + "  " + text)
        expect(f"{name} {access} {offset}",
               (c["shared_wavefronts"], c["bank_conflicts"]), (passes, conflicts))


def stride(size):
    return f"mul.lo.u32 %r4, %r1, {size};"


shared("u32", stride(4), 1, 0)
shared("u32", stride(8), 2, 1)
shared("u32", stride(12), 1, 0)
shared("u32", stride(16), 4, 3)
shared("u32", stride(64), 16, 15)
shared("u32", stride(128), 32, 31)
shared("u32", stride(132), 1, 0)
shared("u32", stride(128), 16, 15, lanes=16)
# All lanes at one word, and half of them at another of the same bank.
shared("u32", stride(0), 1, 0)
shared("u32", "shr.u32 %r4, %r1, 4; shl.b32 %r4, %r4, 7;", 2, 1)
# In reverse, and exchanged by exclusive or: still a permutation of the banks.
shared("u32", "xor.b32 %r4, %r1, 31; shl.b32 %r4, %r4, 2;", 1, 0)
# Narrow elements share words.
shared("u8", stride(1), 1, 0)
shared("u16", stride(2), 1, 0)
shared("u16", stride(4), 1, 0)
shared("u16", stride(128), 32, 31)
# Two requests of 16 lanes.
for access in ("u64", "v2.u32"):
    shared(access, stride(8), 2, 0)
    shared(access, stride(16), 4, 2)
    shared(access, stride(32), 8, 6)
    shared(access, stride(128), 32, 30)
    shared(access, stride(8), 1, 0, lanes=16)
    shared(access, stride(0), 2, 0)
# Four requests of 8 lanes.
for access in ("v4.u32", "v2.u64"):
    shared(access, stride(16), 4, 0)
    shared(access, stride(32), 8, 4)
    shared(access, stride(64), 16, 12)
    shared(access, stride(128), 32, 28)
    shared(access, stride(144), 4, 0)
    shared(access, stride(0), 4, 0)
    shared(access, stride(16), 1, 0, lanes=8)


def atomics(access, text, offset, passes, conflicts, lanes=32):
    """One thread of a bank a pass, be it at the word of another or not."""
    place = f"  setp.lt.u32 %p1, %r1, {lanes};\n  {offset}\n  add.u32 %r4, %r4, %r2;\n"
    for form in (f"@%p1 atom.shared.{access} {text};",
                 f"@%p1 red.shared.{access} {text.split(', ', 1)[1]};"):
        if "cas" in form and "red" in form:
            continue
        c = counters("atomic", place + "  " + form)
        expect(f"{form} {offset}", (c["shared_wavefronts"], c["bank_conflicts"]),
               (passes, conflicts))


ADD = "%v0, [%r4], %r1"
atomics("add.u32", ADD, stride(4), 1, 0)
atomics("add.u32", ADD, stride(0), 32, 31)
atomics("add.u32", ADD, stride(0), 8, 7, lanes=8)
atomics("add.u32", ADD, stride(128), 32, 31)
atomics("add.u32", ADD, stride(8), 2, 1)
# Four threads at each of eight words, in banks of their own.
atomics("add.u32", ADD, "and.b32 %r4, %r1, 7; shl.b32 %r4, %r4, 2;", 4, 3)
# Half of them at a word, the other half at another of its bank.
atomics("add.u32", ADD, "shr.u32 %r4, %r1, 4; shl.b32 %r4, %r4, 7;", 32, 31)
atomics("cas.b32", "%v0, [%r4], %r1, %r2", stride(4), 1, 0)
# Two requests of 16 lanes.
atomics("add.u64", "%w0, [%r4], %rd1", stride(8), 2, 0)
atomics("add.u64", "%w0, [%r4], %rd1", stride(0), 32, 30)


def matrices(count, pitch, passes, conflicts):
    """Eight rows of 16 bytes are one request."""
    registers = "{" + ", ".join(f"%v{k}" for k in range(count)) + "}"
    for text in (f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {registers}, [%r4];",
                 f"stmatrix.sync.aligned.m8n8.x{count}.shared.b16 [%r4], {registers};"):
        c = counters("matrix", f"  mad.lo.u32 %r4, %r1, {pitch}, %r2;\n  {text}")
        expect(f"{text} {pitch}", (c["shared_wavefronts"], c["bank_conflicts"]),
               (passes, conflicts))


matrices(4, 16, 4, 0)
matrices(4, 128, 32, 28)
matrices(4, 144, 4, 0)
matrices(2, 64, 8, 6)
matrices(1, 32, 2, 1)


def sectors(access, offset, size, count, lanes=32):
    place = (f"  setp.lt.u32 %p1, %r1, {lanes};\n  {offset}\n  cvt.u64.u32 %rd2, %r4;\n"
             "  add.u64 %rd2, %rd2, %rd1;\n")
    value = REGISTERS[access]
    for key, text in (("global_load", f"@%p1 ld.global.{access} {value}, [%rd2];"),
                      ("global_store", f"@%p1 st.global.{access} [%rd2], {value};"),
                      ("global_load", f"@%p1 ld.global.nc.{access} {value}, [%rd2];")):
        c = counters("global", place + "  " + text)
        expect(f"{text} {offset}", c[key],
               {"instructions": 1, "bytes": size * lanes, "sectors": count})


sectors("u32", stride(4), 4, 4)
sectors("u32", "mad.lo.u32 %r4, %r1, 4, 4;", 4, 5)
sectors("u32", stride(8), 4, 8)
sectors("u32", stride(32), 4, 32)
sectors("u32", stride(0), 4, 1)
sectors("u32", stride(4), 4, 1, lanes=8)
sectors("u8", stride(1), 1, 1)
sectors("u16", stride(2), 2, 2)
sectors("u64", stride(8), 8, 8)
sectors("v4.u32", stride(16), 16, 16)
sectors("v4.u32", "mad.lo.u32 %r4, %r1, 32, 16;", 16, 32)

# Copies: of each lane, and of one range that begins in the middle of a sector.
c = counters("cp", f"  {stride(16)}\n  cvt.u64.u32 %rd2, %r4; add.u64 %rd2, %rd2, %rd1;\n"
             "  add.u32 %r4, %r4, %r2; cp.async.cg.shared.global [%r4], [%rd2], 16;\n"
             "  cp.async.wait_all;")
expect("cp.async", c["global_load"], {"instructions": 1, "bytes": 512, "sectors": 16})
BULK = """  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r5, bar;
  @%p1 bra $end;
  add.u64 %rd2, %rd1, 16;
  mbarrier.init.shared::cta.b64 [%r5], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 256, [%r5];
$wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
  @!%p2 bra $wait;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
$end:"""
c = counters("bulk", BULK)
expect("bulk load", c["global_load"], {"instructions": 1, "bytes": 256, "sectors": 9})
expect("bulk store", c["global_store"], {"instructions": 1, "bytes": 128, "sectors": 4})


def divergence(name, body, branches, divergent, threads=32):
    for seed in (0, 3):
        c = counters(name, body, threads, seed)
        expect(name, (c["branches"], c["divergent_branches"]), (branches, divergent))


HALVES = "  setp.lt.u32 %p1, {what}, {n};\n  @%p1 bra $end;\n  add.u32 %r3, %r1, 1;\n$end:"
divergence("halves", HALVES.format(what="%r1", n=16), 1, 1)
divergence("uniform", HALVES.format(what="%r1", n=99), 1, 0)
# Warps that differ do not diverge.
divergence("warps", HALVES.format(what="%r1", n=64), 4, 0, threads=128)
divergence("one warp of four", HALVES.format(what="%r1", n=80), 4, 1, threads=128)
# Lanes run 1 to 4 rounds: in all but the last some leave and some stay.
divergence("loop", """  and.b32 %r3, %r1, 3;
$again:
  setp.eq.u32 %p1, %r3, 0;
  sub.u32 %r3, %r3, 1;
  @!%p1 bra $again;""", 4, 3)
# Both sides of a branch are executed, each by its own lanes.
c = counters("sides", """  setp.lt.u32 %p1, %r1, 8;
  @%p1 bra $low;
  ld.global.u32 %v0, [%rd1];
  bra.uni $end;
$low:
  st.global.u32 [%rd1], %r1;
$end:""")
expect("loads of a side", c["global_load"], {"instructions": 1, "bytes": 96, "sectors": 1})
expect("stores of a side", c["global_store"], {"instructions": 1, "bytes": 32, "sectors": 1})
expect("thread instructions", c["thread_instructions_by_class"]["load"], 24 + 32)

# By source line: two loads at line 10, of 4 and 32 sectors; a store at 20; and
# conflicts at 30.
c = counters("lines", """  .loc 1 10 3
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %v0, [%rd3];
  mul.wide.u32 %rd2, %r1, 32;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %v1, [%rd3];
  .loc 1 20 5
  st.global.v2.u32 [%rd3], {%v0, %v1};
  .loc 1 30 7
  mad.lo.u32 %r4, %r1, 8, %r2;
  st.shared.u32 [%r4], %v0;""")
lines = {(v["file"], v["line"], v["column"]): v for v in c["lines"] if "file" in v}
expect("line 10", lines["kernel.cu", 10, 3]["global_load"],
       {"instructions": 2, "bytes": 256, "sectors": 36})
expect("line 10", lines["kernel.cu", 10, 3]["warp_instructions"], 6)
expect("line 20", lines["kernel.cu", 20, 5]["global_store"],
       {"instructions": 1, "bytes": 256, "sectors": 32})
expect("line 20", lines["kernel.cu", 20, 5]["global_load"]["instructions"], 0)
expect("line 30", lines["kernel.cu", 30, 7]["bank_conflicts"], 1)
print(f"{checked} counts agree")
