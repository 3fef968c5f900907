# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs single PTX instructions over arrays in the simulator and compares the
results, bit for bit, with references computed elsewhere.

All cases of a group share their inputs and go into one kernel, so that a group
of hundreds of instructions costs one launch. Every group runs twice, with the
handlers of this machine and with those any machine can run.
"""
import os
import subprocess
import sys

import numpy as np

BLOCK = 256
REGISTER = {8: ("b16", "h"), 16: ("b16", "h"), 32: ("b32", "r"), 64: ("b64", "d")}
UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Case:
    """An instruction text with {d} for the result and {a} {b} {c} {e} for the
    inputs, and what it must give.

    `width` is the result's bits; `expected` an array of unsigned integers, or a
    function from the results to a boolean array where more than one result is
    right. `where` limits the comparison to some inputs. A text of several
    instructions may use the scratch registers `setup` declares."""

    def __init__(self, text, width, expected, where=None, setup=""):
        self.text, self.width, self.expected = text, width, expected
        self.where, self.setup = where, setup


def _kernel(inputs, cases, size, target, version, variables):
    lines = [
        f".version {version}", f".target {target}", ".address_size 64", variables,
        ".visible .entry conformance(",
    ]
    params = [f"  .param .u64 in{k}" for k in range(len(inputs))]
    lines.append(",\n".join(params + ["  .param .u64 out"]))
    lines += [
        ")", "{",
        "  .reg .b32 %i<4>;", "  .reg .b64 %p<32>, %index, %out, %address;",
        "  .reg .b16 %h<32>; .reg .b32 %r<32>; .reg .b64 %d<32>;",
        "  mov.u32 %i0, %tid.x;", "  mov.u32 %i1, %ctaid.x;",
        "  mov.u32 %i2, %ntid.x;", "  mad.lo.u32 %i3, %i1, %i2, %i0;",
        "  cvt.u64.u32 %index, %i3;", "  ld.param.u64 %out, [out];",
    ]
    names = {}
    for k, (name, data) in enumerate(inputs.items()):
        width = data.dtype.itemsize * 8
        kind, prefix = REGISTER[width]
        names[name] = f"%{prefix}{k}"
        load = "u8" if width == 8 else kind
        lines += [
            f"  ld.param.u64 %p{k}, [in{k}];",
            f"  mad.lo.u64 %p{k}, %index, {width // 8}, %p{k};",
            f"  ld.global.{load} %{prefix}{k}, [%p{k}];",
        ]
    offset = 0
    for case in cases:
        kind, prefix = REGISTER[case.width]
        step = case.width // 8
        store = "u8" if case.width == 8 else kind
        lines.append("  {")
        if case.setup:
            lines.append("    " + case.setup)
        text = case.text.format(d=f"%{prefix}31", **names)
        lines += ["    " + part.strip() + ";"
                  for part in text.rstrip("; ").split(";")]
        lines += [
            f"    mad.lo.u64 %address, %index, {step}, %out;",
            f"    st.global.{store} [%address+{offset}], %{prefix}31;", "  }",
        ]
        offset += size * step
    lines += ["  ret;", "}", ""]
    return "\n".join(lines), offset


def run_ptxsim(arguments, baseline=False):
    """Runs the simulator; gives the completed process."""
    environment = dict(os.environ, PTXSIM_BASELINE="1" if baseline else "0")
    return subprocess.run(["ptxsim", *arguments], capture_output=True,
                          text=True, env=environment)


class Suite:
    """A named collection of groups; `finish` prints the totals."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.failures = self.instructions = self.results = 0
        self.groups = 0

    def fail(self, message):
        self.failures += 1
        if self.failures <= 40:
            print(message)

    def group(self, name, inputs, cases, target="sm_90a", version="8.8",
              globals=""):
        """`inputs` maps the names used in the texts to unsigned arrays of one
        length, `globals` declares variables of the module."""
        length = len(next(iter(inputs.values())))
        size = -(-length // BLOCK) * BLOCK
        padded = {k: np.resize(v, size) for k, v in inputs.items()}
        text, total = _kernel(padded, cases, size, target, version, globals)
        base = os.path.join(self.directory, f"{self.groups:02}-{name}")
        self.groups += 1
        with open(base + ".ptx", "w") as file:
            file.write(text)
        arguments = [base + ".ptx", "--kernel", "conformance", "--grid",
                     str(size // BLOCK), "--block", str(BLOCK)]
        for key, data in padded.items():
            np.save(f"{base}-{key}.npy", data)
            arguments += ["--arg", f"{base}-{key}.npy"]
        arguments += ["--arg", f"out:{base}-out.npy=u8[{total}]"]
        for baseline in (False, True):
            done = run_ptxsim(arguments, baseline)
            if done.returncode or done.stderr:
                self.fail(f"{name}: ptxsim failed: {done.stderr}{done.stdout}")
                return
            out = np.load(base + "-out.npy")
            self._compare(name, inputs, cases, out, size, length, baseline)
        for key in [*padded, "out"]:
            os.remove(f"{base}-{key}.npy")

    def _compare(self, name, inputs, cases, out, size, length, baseline):
        offset = 0
        for case in cases:
            step = case.width // 8
            got = out[offset:offset + size * step].view(UINT[case.width])[:length]
            offset += size * step
            if callable(case.expected):
                same, want = case.expected(got), None
            else:
                want = np.asarray(case.expected)
                assert want.shape == (length,), (case.text, want.shape)
                want = want.astype(UINT[case.width], casting="unsafe")
                same = got == want
            where = np.ones(length, bool) if case.where is None else case.where
            assert where.any(), case.text
            self.instructions += not baseline
            self.results += int(where.sum())
            bad = np.flatnonzero(~same & where)
            for i in bad[:3]:
                given = ", ".join(f"{k}=0x{int(v[i]):x}" for k, v in inputs.items())
                expected = "" if want is None else f", expected 0x{int(want[i]):x}"
                self.fail(f"{name}: {case.text} with {given}: got "
                          f"0x{int(got[i]):x}{expected} ({len(bad)} of "
                          f"{int(where.sum())} wrong"
                          f"{', baseline' if baseline else ''})")

    def finish(self):
        if self.failures or not self.results:
            print(f"{self.failures} failures")
            sys.exit(1)
        print(f"{self.instructions} instructions, {self.results} results agree")
