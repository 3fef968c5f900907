# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the simulator runs, in CPU seconds of its own process.

Two kernels: straight-line f32 arithmetic, and a gather that reads e4m3 through a
table, multiplies by a scale and writes bf16. Each runs for two lengths, whose
difference leaves the start out.
"""
import array
import json
import os
import random
import resource
import subprocess
import time

import tools

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"


def straight():
    """64 fma a turn of a loop, eight chains."""
    body = "\n".join(f"  fma.rn.f32 %f{k % 8}, %f{k % 8}, 0f3f7fff00, 0f3a000000;"
                     for k in range(64))
    sums = "\n".join(f"  add.f32 %f0, %f0, %f{k};" for k in range(1, 8))
    first = "\n".join(f"  add.f32 %f{k}, %f0, 0f3f800000;" for k in range(1, 8))
    return HEAD + f"""
.visible .entry straight(.param .u64 out, .param .u32 turns)
{{
  .reg .pred %p; .reg .f32 %f<8>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.rn.f32.u32 %f0, %r3;
{first}
$loop:
{body}
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
{sums}
  mul.wide.u32 %rd1, %r4, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""


def gather():
    """A thread a token's 16 bytes: page from the table, place in the page."""
    lines = []
    for w in range(4):
        for h in range(2):
            pair = f"%h{2 * w + h}"
            lines.append(f"  cvt.rn.f16x2.e4m3x2 {pair}, %s{2 * w + h};")
            lines.append(f"  mov.b32 {{%t0, %t1}}, {pair};")
            lines += [f"  cvt.f32.f16 %g{k}, %t{k};" for k in range(2)]
            lines += [f"  mul.f32 %g{k}, %g{k}, %scale;" for k in range(2)]
            lines.append(f"  cvt.rn.bf16x2.f32 %o{2 * w + h}, %g1, %g0;")
    unpack = "\n".join(f"  mov.b32 {{%s{2 * w}, %s{2 * w + 1}}}, %w{w};"
                       for w in range(4))
    body = "\n".join(lines)
    return HEAD + f"""
.visible .entry gather(.param .u64 pool, .param .u64 table, .param .u64 scales,
                       .param .u64 out, .param .u32 turns)
{{
  .reg .pred %p; .reg .f32 %g<2>, %scale; .reg .b16 %s<8>, %t<2>;
  .reg .b32 %r<12>, %w<4>, %h<8>, %o<8>; .reg .b64 %rd<12>;
  ld.param.u64 %rd0, [pool];
  ld.param.u64 %rd1, [table];
  ld.param.u64 %rd2, [scales];
  ld.param.u64 %rd3, [out];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r2, 5;
  shr.u32 %r4, %r1, 3;
  add.u32 %r3, %r3, %r4;
  and.b32 %r5, %r1, 7;
  shl.b32 %r5, %r5, 4;
$loop:
  // The token's page and its place of 16; 8 threads of 16 bytes a token.
  shr.u32 %r6, %r3, 4;
  and.b32 %r6, %r6, 1023;
  mul.wide.u32 %rd4, %r6, 4;
  add.u64 %rd4, %rd4, %rd1;
  ld.global.u32 %r7, [%rd4];
  and.b32 %r8, %r3, 15;
  mad.lo.u32 %r9, %r7, 16, %r8;
  mul.wide.u32 %rd5, %r9, 4;
  add.u64 %rd5, %rd5, %rd2;
  ld.global.f32 %scale, [%rd5];
  mad.lo.u32 %r10, %r9, 128, %r5;
  cvt.u64.u32 %rd6, %r10;
  add.u64 %rd6, %rd6, %rd0;
  ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%rd6];
{unpack}
{body}
  and.b32 %r11, %r3, 16383;
  mad.lo.u32 %r10, %r11, 128, %r5;
  mul.wide.u32 %rd7, %r10, 2;
  add.u64 %rd7, %rd7, %rd3;
  st.global.v4.b32 [%rd7], {{%o0, %o1, %o2, %o3}};
  st.global.v4.b32 [%rd7+16], {{%o4, %o5, %o6, %o7}};
  add.u32 %r3, %r3, 4096;
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
  ret;
}}
"""


def save(path, kind, values):
    """A .npy file of one dimension; NumPy need not be there."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") +
                     header.encode() + values.tobytes())


class Simulator:
    """Measures `ptxsim` of a build tree."""

    BLOCKS, THREADS = 128, 256

    def __init__(self, build, scratch):
        self.command, self.scratch = build / "bin/ptxsim", scratch
        source = random.Random(1)
        pages = list(range(1024))
        source.shuffle(pages)
        save(scratch / "pool.npy", "|u1",
             array.array("B", bytes(k & 0x7e for k in source.randbytes(1024 * 16 * 128))))
        save(scratch / "table.npy", "<u4", array.array("I", pages))
        save(scratch / "scales.npy", "<f4",
             array.array("f", [source.gauss(0, 1) for _ in range(1024 * 16)]))
        (scratch / "straight.ptx").write_text(straight())
        (scratch / "gather.ptx").write_text(gather())
        threads = self.BLOCKS * self.THREADS
        self.arguments = {
            "straight": [f"buf:f32[{threads}]"],
            "gather": [scratch / "pool.npy", scratch / "table.npy",
                       scratch / "scales.npy", "buf:u16[2097152]"]}

    def command_line(self, kernel, turns, *options):
        command = [self.command, self.scratch / f"{kernel}.ptx", "--kernel", kernel,
                   "--grid", self.BLOCKS, "--block", self.THREADS, *options]
        for argument in [*self.arguments[kernel], f"u32:{turns}"]:
            command += ["--arg", argument]
        return [str(c) for c in command]

    def run(self, kernel, turns, *options):
        """Output, CPU seconds and wall-clock seconds of one process."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(self.command_line(kernel, turns, *options),
                              capture_output=True, text=True)
        wall = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise tools.Failed(f"ptxsim: {done.stderr[:500]}")
        cpu = sum(getattr(after, f) - getattr(before, f) for f in ("ru_utime", "ru_stime"))
        return done.stdout, cpu, wall

    def instructions(self, kernel, turns):
        """Thread instructions."""
        text = self.run(kernel, turns, "--count", "--json")[0]
        counters = json.loads(text[text.index('{"outcome"'):])["counters"]
        return counters["thread_instructions"]

    def seconds(self, kernel, turns, repeats, *options):
        """Of `turns` turns of the loop: three times as many, less one time."""
        # Alternating, so that both meet the same neighbours.
        samples = [(self.run(kernel, 3 * turns, *options)[1],
                    self.run(kernel, turns, *options)[1])
                   for _ in range(repeats)]
        return (min(s[0] for s in samples) - min(s[1] for s in samples)) / 2

    def together(self, kernel, turns):
        """Wall-clock seconds of two processes of one thread, side by side."""
        command = self.command_line(kernel, turns, "--threads", 1)
        begin = time.perf_counter()
        pair = [subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(2)]
        if any([process.wait() for process in pair]):
            raise tools.Failed("ptxsim: one of two processes failed")
        return time.perf_counter() - begin

    def scaling(self, kernel, turns, repeats):
        """Wall-clock seconds of the loop: on one core, on two, and in two
        processes that each do all of it on a core of their own."""
        ways = (lambda n: self.run(kernel, n, "--threads", 1)[2],
                lambda n: self.run(kernel, n, "--threads", 2)[2],
                lambda n: self.together(kernel, n))
        samples = [[(way(3 * turns), way(turns)) for way in ways]
                   for _ in range(repeats)]
        return [(min(long for long, _ in of) - min(short for _, short in of)) / 2
                for of in zip(*samples)]


def measure(row, build, scratch, progress, quick):
    """Adds the simulator's rows by `row(subject, figure, unit, goal=most)`."""
    simulator = Simulator(build, scratch)
    repeats = 1 if quick else 5
    # About half a second each, which no interruption of a process can spoil.
    for kernel, turns, words in (("straight", 800, "straight-line f32"),
                                 ("gather", 200, "gather of e4m3")):
        turns = turns // 10 if quick else turns
        progress(f"simulator: {words}")
        count = (simulator.instructions(kernel, 3 * turns) -
                 simulator.instructions(kernel, turns)) / 2
        plain = simulator.seconds(kernel, turns, repeats, "--threads", 1)
        row(f"simulator, {words}", count / plain / 1e6,
            "million thread instructions a CPU second")
        checked = simulator.seconds(kernel, turns, repeats, "--threads", 1,
                                    "--tool", "all")
        row(f"simulator, {words}: time with all checks", checked / plain, "times",
            goal=2.5)
        if len(os.sched_getaffinity(0)) > 1:
            one, two, pair = simulator.scaling(kernel, 2 * turns, repeats)
            row(f"simulator, {words}: time on two cores", two / one, "times", goal=0.55)
            # What the machine's two cores give: hardware threads share one.
            row(f"simulator, {words}: time on two cores to two processes for half "
                "the work", 2 * two / pair, "times", goal=1.1)
