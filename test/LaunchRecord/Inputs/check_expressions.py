#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares records of random host code with what MLIR's own lowering computes.

usage: check_expressions.py [--programs N] [--calls N] [--seed S]
           --cc "COMMAND" --folder DIR

Each program is a function of a tensor, a few scalars and an array in host memory
that launches a kernel with the results of random arithmetic, one a parameter. Each
call runs it by kvcache-run, where MLIR lowers the host code and the kernel stores
its parameters, and evaluates both the C header (through ctypes) and the JSON record
(in Python) for the same arguments. All three must agree, but where the header says
that 64 bits do not hold a number.
"""

import argparse
import ctypes
import os
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import record as records

WIDTHS = {"index": 64, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}
C_TYPES = {"index": ctypes.c_int64, "i64": ctypes.c_int64, "i32": ctypes.c_int32,
           "i16": ctypes.c_int16, "i8": ctypes.c_int8, "i1": ctypes.c_uint8,
           "f32": ctypes.c_float}
SCALARS = ["index", "i64", "i32", "i32", "i16", "i8", "i1", "index"]
RANK = 3


class Program:
    """The text of a function with random arithmetic."""

    def __init__(self, rng, parameters):
        self.rng = rng
        self.lines = []
        self.values = {kind: [] for kind in WIDTHS}
        self.count = 0
        self.begin()
        for _ in range(4 * parameters):
            self.operation()
        self.choice()
        pool = [(kind, value) for kind, values in self.values.items()
                for value in values if kind != "i1"]
        self.results = pool[-1:] + rng.sample(pool, parameters - 1)

    def define(self, text):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def add(self, kind, text):
        name = self.define(text)
        self.values[kind].append(name)
        return name

    def constant(self, kind, value):
        # No operand by itself: too much would fold.
        return self.define(f"arith.constant {value} : {kind}")

    def pick(self, kind):
        return self.rng.choice(self.values[kind][-12:])

    def begin(self):
        for dim in range(RANK):
            c = self.constant("index", dim)
            self.add("index", f"memref.dim %x, {c} : {self.tensor}")
        self.lines.append(
            f"%base, %offset, %sizes:{RANK}, %strides:{RANK} = "
            f"memref.extract_strided_metadata %x : {self.tensor} -> memref<f32>, "
            + ", ".join(["index"] * (1 + 2 * RANK)))
        self.values["index"] += [f"%strides#{i}" for i in range(RANK)]
        for place in range(2):
            c = self.constant("index", place)
            self.add("i32", f"memref.load %host[{c}] : memref<2xi32>")
        for i, kind in enumerate(SCALARS):
            self.values[kind].append(f"%s{i}")

    tensor = f"memref<{'x'.join('?' * RANK)}xf32, strided<[{', '.join('?' * RANK)}], offset: ?>>"

    def operation(self):
        rng = self.rng
        kind = rng.choice(["index", "index", "i64", "i32", "i32", "i16", "i8", "i1"])
        if kind == "i1":
            other = rng.choice(["index", "i64", "i32", "i8", "i1"])
            predicate = rng.choice("eq ne slt sle sgt sge ult ule ugt uge".split())
            if rng.random() < 0.2:
                op = rng.choice(["andi", "ori", "xori"])
                self.add("i1", f"arith.{op} {self.pick('i1')}, {self.pick('i1')} : i1")
            else:
                self.add("i1", f"arith.cmpi {predicate}, {self.pick(other)}, "
                               f"{self.pick(other)} : {other}")
            return
        a, b = self.pick(kind), self.pick(kind)
        form = rng.random()
        if form < 0.35:
            op = rng.choice("addi subi muli andi ori xori minsi maxsi minui maxui".split())
            if rng.random() < 0.3:
                b = self.constant(kind, rng.choice([-7, -1, 1, 2, 8, 15, 100]))
            self.add(kind, f"arith.{op} {a}, {b} : {kind}")
        elif form < 0.55:
            op = rng.choice("divsi divui remsi remui ceildivsi ceildivui floordivsi".split())
            divisor = rng.choice([2, 3, 7, 8, 16, 100, 127] + ([-3, -8] if op[-2:] == "si" else []))
            c = self.constant(kind, divisor)
            if rng.random() < 0.4:
                # Never 0.
                c = self.define(f"arith.maxsi {b}, {self.constant(kind, 1)} : {kind}")
            self.add(kind, f"arith.{op} {a}, {c} : {kind}")
        elif form < 0.65:
            op = rng.choice("shli shrsi shrui".split())
            c = self.constant(kind, rng.randrange(WIDTHS[kind]))
            self.add(kind, f"arith.{op} {a}, {c} : {kind}")
        elif form < 0.8:
            self.add(kind, f"arith.select {self.pick('i1')}, {a}, {b} : {kind}")
        elif kind == "index":
            other = rng.choice(["i64", "i32", "i8", "i1"])
            op = rng.choice(["index_cast", "index_castui"])
            self.add(kind, f"arith.{op} {self.pick(other)} : {other} to index")
        else:
            wider = [k for k in ("i64", "i32", "i16", "i8") if WIDTHS[k] > WIDTHS[kind]]
            narrower = [k for k in ("i32", "i16", "i8", "i1") if WIDTHS[k] < WIDTHS[kind]]
            if wider and rng.random() < 0.4:
                other = rng.choice(wider)
                self.add(kind, f"arith.trunci {self.pick(other)} : {other} to {kind}")
            elif kind == "i64" and rng.random() < 0.4:
                self.add(kind, f"arith.index_cast {self.pick('index')} : index to i64")
            else:
                other = rng.choice(narrower)
                op = rng.choice(["extsi", "extui"])
                self.add(kind, f"arith.{op} {self.pick(other)} : {other} to {kind}")

    def choice(self):
        """A result of scf.if."""
        a, b, c = self.pick("index"), self.pick("index"), self.pick("i1")
        self.lines.append(f"%chosen = scf.if {c} -> index {{\n"
                          f"      %d = arith.subi {a}, {b} : index\n"
                          f"      scf.yield %d : index\n    }} else {{\n"
                          f"      scf.yield {b} : index\n    }}")
        self.values["index"].append("%chosen")

    def text(self):
        scalars = ", ".join(f'%s{i}: {kind}' for i, kind in enumerate(SCALARS))
        named = ", ".join(f'%s{i}: {kind} {{kvcache.name = "s{i}"}}'
                          for i, kind in enumerate(SCALARS))
        kinds = [kind for kind, _ in self.results]
        out = f"memref<{len(kinds)}xi64>"
        stores = []
        for i, kind in enumerate(kinds):
            wide = f"%p{i}"
            if kind == "index":
                stores.append(f"%w{i} = arith.index_cast %p{i} : index to i64")
                wide = f"%w{i}"
            elif kind != "i64":
                stores.append(f"%w{i} = arith.extsi %p{i} : {kind} to i64")
                wide = f"%w{i}"
            stores.append(f"%i{i} = arith.constant {i} : index")
            stores.append(f"memref.store {wide}, %out[%i{i}] : {out}")
        parameters = "".join(f", %p{i}: {kind}" for i, kind in enumerate(kinds))
        arguments = "".join(f", {value} : {kind}" for kind, value in self.results)
        newline = "\n    "
        return f"""module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    gpu.func @k(%out: {out}{parameters}) kernel {{
      {newline.join(stores)}
      gpu.return
    }}
  }}
  func.func @f(%out: {out} {{kvcache.name = "out"}},
               %x: {self.tensor} {{kvcache.name = "x"}},
               %host: memref<2xi32> {{kvcache.name = "host"}}, {named}) {{
    %one = arith.constant 1 : index
    {newline.join(self.lines)}
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%one, %one, %one)
        args(%out : {out}{arguments})
    return
  }}
  func.func @main(%out: {out}, %host: memref<2xi32>, {scalars},
                  {", ".join(f"%d{i}: index" for i in range(2 * RANK))}) {{
    %any = memref.cast %out : {out} to memref<*xi64>
    gpu.host_register %any : memref<*xi64>
    %small = memref.alloc() : memref<f32>
    %zero = arith.constant 0 : index
    %x = memref.reinterpret_cast %small to offset: [%zero],
        sizes: [{", ".join(f"%d{i}" for i in range(RANK))}],
        strides: [{", ".join(f"%d{i}" for i in range(RANK, 2 * RANK))}]
        : memref<f32> to {self.tensor}
    call @f(%out, %x, %host, {", ".join(f"%s{i}" for i in range(len(SCALARS)))})
        : ({out}, {self.tensor}, memref<2xi32>, {", ".join(SCALARS)}) -> ()
    return
  }}
}}
"""


def random_number(rng, kind):
    bits = WIDTHS[kind]
    if bits == 1:
        return rng.randrange(2)
    edge = [0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits // 2)]
    if rng.random() < (0.1 if bits == 64 else 0.3):
        return rng.choice(edge)
    return records.signed(rng.randrange(-300, 1000), bits)


class Header:
    """The header as a library, by ctypes."""

    def __init__(self, cc, folder, kinds):
        source = os.path.join(folder, "wrapper.c")
        with open(source, "w") as file:
            file.write('#include "f.h"\n'
                       "int prepare(const f_arguments *a, f_plan *plan, char *message,\n"
                       "            size_t bytes);\n"
                       "int prepare(const f_arguments *a, f_plan *plan, char *message,\n"
                       "            size_t bytes) {\n"
                       "  return f_prepare(a, plan, message, bytes);\n}\n")
        library = os.path.join(folder, "wrapper.so")
        # Nothing may be undefined whatever the arguments are.
        subprocess.run([*cc.split(), "-shared", "-fPIC", "-fsanitize=undefined",
                        "-fno-sanitize-recover=all", "-fsanitize-trap=all", "-I", folder,
                        source, "-o", library], check=True)
        tensor = lambda rank: type("Tensor", (ctypes.Structure,), {"_fields_": [
            ("data", ctypes.c_uint64), ("size", ctypes.c_int64 * rank),
            ("stride", ctypes.c_int64 * rank)]})
        self.Arguments = type("Arguments", (ctypes.Structure,), {"_fields_": [
            ("out", tensor(1)), ("x", tensor(RANK)), ("host", ctypes.POINTER(ctypes.c_int32)),
            *[(f"s{i}", C_TYPES[kind]) for i, kind in enumerate(SCALARS)],
            ("workspace", ctypes.c_uint64), ("workspace_bytes", ctypes.c_int64)]})
        launch = type("Launch", (ctypes.Structure,), {"_fields_": [
            ("run", ctypes.c_int), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
            ("shared", ctypes.c_uint), ("out", ctypes.c_uint64),
            *[(f"p{i}", C_TYPES[kind]) for i, kind in enumerate(kinds)]]})
        self.Plan = type("Plan", (ctypes.Structure,), {"_fields_": [
            ("workspace_bytes", ctypes.c_int64), ("launch", launch)]})
        self.prepare = ctypes.CDLL(library).prepare

    def evaluate(self, numbers, host, sizes, strides, count):
        arguments = self.Arguments()
        arguments.out.data, arguments.out.size[0], arguments.out.stride[0] = 256, count, 1
        arguments.x.data = 256
        for i in range(RANK):
            arguments.x.size[i], arguments.x.stride[i] = sizes[i], strides[i]
        arguments.host = (ctypes.c_int32 * 2)(*host)
        for i, number in enumerate(numbers):
            setattr(arguments, f"s{i}", number)
        plan, message = self.Plan(), ctypes.create_string_buffer(512)
        status = self.prepare(ctypes.byref(arguments), ctypes.byref(plan), message,
                              ctypes.c_size_t(len(message)))
        if status:
            return status, message.value.decode()
        return 0, [getattr(plan.launch, f"p{i}") for i in range(count)]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or result.stderr:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=6)
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--parameters", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    compared = refused = 0
    for number in range(options.programs):
        rng = random.Random(options.seed * 1000 + number)
        folder = os.path.join(options.folder, str(number))
        os.makedirs(folder, exist_ok=True)
        program = Program(rng, options.parameters)
        source = os.path.join(folder, "program.mlir")
        with open(source, "w") as file:
            file.write(program.text())
        run(["kvcache-opt", source, f"--kvcache-to-ptx=output={folder}", "-o", "/dev/null"])
        kinds = [kind for kind, _ in program.results]
        header = Header(options.cc, folder, kinds)
        for _ in range(options.calls):
            numbers = [random_number(rng, kind) for kind in SCALARS]
            host = [random_number(rng, "i32") for _ in range(2)]
            sizes = [rng.choice([1, 2, 3, 64, 1000]) for _ in range(RANK)]
            strides = [rng.choice([0, 1, 2, 48, 4096]) for _ in range(RANK)]
            status, values = header.evaluate(numbers, host, sizes, strides, len(kinds))
            if status:
                # Of all statuses only the one for numbers that do not fit.
                if status != 5:
                    sys.exit(f"{source}: status {status}: {values}")
                refused += 1
                continue
            record = records.Record(os.path.join(folder, "f.json"), {
                "x": records.Tensor(256, sizes, strides), "out": records.Tensor(256),
                "host": host, **{f"s{i}": value for i, value in enumerate(numbers)}})
            launch = record.json["steps"][-1]
            text = [argument["expression"] for argument in launch["arguments"][1:]]
            out = os.path.join(folder, "out.npy")
            np.save(out, np.zeros(len(kinds), np.int64))
            np.save(os.path.join(folder, "host.npy"), np.array(host, np.int32))
            run(["kvcache-run", source, f"--arg={out}", f"--arg={folder}/host.npy",
                 *[f"--arg={kind}:{value}" for kind, value in zip(SCALARS, numbers)],
                 *[f"--arg=index:{value}" for value in sizes + strides], f"--out=0={out}"])
            ran = np.load(out).tolist()
            for i, kind in enumerate(kinds):
                # A parameter holds the low bits.
                by_json = records.signed(record.evaluate(text[i]), WIDTHS[kind])
                if not ran[i] == values[i] == by_json:
                    sys.exit(f"{source}: parameter {i} ({text[i]}) for scalars {numbers}, "
                             f"host {host}, sizes {sizes}, strides {strides}: the program has "
                             f"{ran[i]}, the header {values[i]}, the record {by_json}")
                compared += 1
    print(f"{compared} values agree, {refused} calls were refused")
    if compared < options.programs * options.calls * options.parameters / 2:
        sys.exit("too many calls were refused")


if __name__ == "__main__":
    main()
