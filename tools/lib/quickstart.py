# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job, step by step: quickstart.py BUILD OUT [--no-ptxas]

Shows a program's kernel, compiles it to PTX, has ptxas judge that, runs the
program on the PTX simulator, and compares the scales it looked up with those
that the original system recorded.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "test/Examples/recorded-scales.mlir"
RECORDED = ROOT / "test/Execution/Oracle/Inputs/gqa_h2_d64_p4_g32_slut.json"
CHIP = "sm_90a"


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quickstart: {pathlib.Path(command[0]).name} ended with "
                 f"{done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout + done.stderr


def title(text):
    print(f"\n--- {text}")


def indent(lines):
    print("\n".join("    " + line for line in lines))


def show_kernel():
    title(f"the kernel, from {PROGRAM.relative_to(ROOT)}")
    text = PROGRAM.read_text()
    layout = re.search(r"^#kv = .*?>>$", text, re.S | re.M)[0]
    kernel = re.search(r"^    gpu\.func.*?^    }", text, re.S | re.M)[0]
    indent(layout.splitlines())
    indent(line[4:] for line in kernel.splitlines())


def show_ptx(build, out):
    """Compiles; prints the instructions of the loop; returns the PTX file."""
    run(build / "bin/kvcache-opt", PROGRAM, "-o", "/dev/null",
        f"--kvcache-to-ptx=chip={CHIP} output={out}")
    file = out / f"recorded_scales.{CHIP}.ptx"
    lines = [line.split("//")[0].rstrip() for line in
             file.read_text().splitlines()]
    # The loop is what lies between a label and the branch back to it.
    label = {line.rstrip(":"): n for n, line in enumerate(lines)
             if line.startswith("$") and line.endswith(":")}
    loops = [(label[m[1]], n) for n, line in enumerate(lines)
             if (m := re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line))
             and label.get(m[1], n) < n]
    begin, end = loops[0] if loops else (0, len(lines) - 1)
    title(f"its PTX for {CHIP}, {'the loop' if loops else 'all'} of it "
          f"({file})")
    indent(line.expandtabs(4) for line in lines[begin:end + 1] if line.strip())
    return file


def show_assembly(ptx, wanted):
    title("ptxas")
    ptxas = wanted and (shutil.which("ptxas")
                        or shutil.which("/usr/local/cuda/bin/ptxas"))
    if not ptxas:
        print("    assembling was skipped: no ptxas (it comes with the CUDA "
              "toolkit); nothing else needs it")
        return
    said = run(ptxas, "-v", f"-arch={CHIP}", ptx, "-o", ptx.with_suffix(".cubin"))
    use = re.search(r"Used (\d+) registers", said)
    spills = re.search(r"(\d+) bytes spill stores", said)
    print(f"    accepted for {CHIP}: {use[1]} registers, {spills[1]} bytes of "
          "spills" if use and spills else said)


def run_program(build, out, recorded):
    """Runs the program on the recorded tables and returns the scales."""
    elements = np.prod(recorded["scales_shape"])
    # The rule is the file's: (1 + i % 61) / 8 at flat element i.
    scales = ((1 + np.arange(elements) % 61) / 8).astype(np.float32)
    batch, pages = recorded["batch"], recorded["max_pages"]
    table = lambda key: np.array(recorded[key], np.uint32).reshape(batch, pages)
    arguments = {
        "blocks": np.zeros(recorded["blocks_shape"], np.uint8),
        "lengths": np.array(recorded["cache_lengths"], np.uint32),
        "table": table("lookup_table"),
        "max_prompt": np.array([recorded["max_prompt_length"]], np.uint32),
        "max_cache": np.array([recorded["max_cache_length"]], np.uint32),
        "scales": scales.reshape(recorded["scales_shape"]),
        "scales_table": table("scales_lookup_table"),
        "out": np.full((3, 2, 11, 2, 64), np.nan, np.float32),
    }
    command = [build / "bin/kvcache-run", PROGRAM, f"--chip={CHIP}",
               "--device=sim"]
    for name, array in arguments.items():
        np.save(out / f"{name}.npy", array)
        command.append(f"--arg={out / name}.npy")
    command.append(f"--out={len(arguments) - 1}={out}/result.npy")
    run(*command)
    return np.load(out / "result.npy")


def indices(order, recorded):
    """What the recorded axes run over, by the file's own words."""
    size = dict(zip(("kv", "layer", "head", "dim"),
                    np.array(recorded["blocks_shape"])[[1, 2, 4, 5]]))
    size["batch"] = recorded["batch"]
    for item in re.findall(r"\[([^\]]*)\]", order):
        name, _, some = item.partition(" in ")
        if name == "token":
            yield recorded["tokens"]
        elif some:
            yield [size[name] - 1 if n == "last" else int(n)
                   for n in some.split(",")]
        else:
            yield range(size[name])


def compare(ours, recorded):
    title("scales looked up on the simulator, beside the original system's "
          f"({RECORDED.name})")
    _, layers, batches, tokens, heads, dims = indices(recorded["order_elem"],
                                                     recorded)
    shape = (2, len(layers), len(batches), len(tokens), len(heads), len(dims))
    original = np.array(recorded["load_scale"], np.float32).reshape(shape)[0]
    ours = ours[np.ix_(layers, batches, tokens, heads, dims)]
    table = np.array(recorded["scales_lookup_table"]).reshape(
        recorded["batch"], recorded["max_pages"])
    print("    | layer | seq. | token | head | element | block | kvcache | original |")
    print("    |-------|------|-------|------|---------|-------|---------|----------|")
    shown = range(0, ours.size, max(ours.size // 11, 1))
    for at in map(lambda n: np.unravel_index(n, ours.shape), shown):
        layer, b, t, h, d = (axis[i] for axis, i in
                             zip((layers, batches, tokens, heads, dims), at))
        block = table[b, t // recorded["page_size"]]
        print(f"    | {layer:5} | {b:4} | {t:5} | {h:4} | {d:7} | {block:5} | "
              f"{ours[at]:7} | {original[at]:8} |")
    different = int((ours != original).sum())
    if different:
        print(f"{different} of {ours.size} recorded scales of keys differ")
        return 1
    print(f"all {ours.size} recorded scales of keys are the same")
    return 0


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    with open(RECORDED) as file:
        recorded = json.load(file)
    show_kernel()
    ptx = show_ptx(build, out)
    show_assembly(ptx, "--no-ptxas" not in sys.argv)
    return compare(run_program(build, out, recorded), recorded)


if __name__ == "__main__":
    sys.exit(main())
