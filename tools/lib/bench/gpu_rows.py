# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of W1 to W7 on a GPU, as ratios to a copy of the same bytes."""
import json
import os

import device
import kernel_rows
import program
import tools


def find_gpu(library):
    """What a GPU calls itself and its chip; else None and why there is none."""
    if os.environ.get("KVCACHE_DEVICE", "auto") == "sim":
        return None, "KVCACHE_DEVICE=sim"
    try:
        gpu = device.Device(library, KVCACHE_DEVICE="cuda")
        return (gpu.description(), gpu.chip()), ""
    except (device.Failed, OSError) as error:
        return None, str(error)


def measure(bench, kernels, may_fetch, quick):
    """Adds a row for each work. `kernels` has the peers'."""
    library = bench.build / "lib/libkvcache_runtime.so"
    gpu, why = find_gpu(library)
    if not gpu:
        bench.skipped.append(f"times on a GPU: {why}")
        return
    python, why = tools.python_with(bench.build, may_fetch, "numpy", "ml_dtypes")
    if not python:
        bench.skipped.append(f"times on a GPU: {why}")
        return
    description, chip = gpu
    form = "bin" if bench.ptxas else "isa"
    folder = bench.scratch / "gpu"
    bench.progress(f"W1 to W7 for {chip}")
    bench.compile(program.FILE, chips=[chip], out=folder, form=form)
    for work in kernel_rows.WORKS:
        bench.progress(f"{work.name} on {description}")
        job = {"library": str(library), "work": work.name.lower(),
               "folder": str(folder), "chip": chip, "full": not quick,
               "repeats": 5 if quick else 50,
               # More than any GPU's second-level cache holds.
               "flush": 1 << (20 if quick else 28), "nvcc": None, "triton": []}
        # Both peers' W5 is other work.
        if work.name != "W5":
            if bench.nvcc and work.peer:
                job["nvcc"] = str(kernels.nvcc_cubin(work, chip)[0])
            job["triton"] = [each for each in kernels.triton_jobs(chip)
                             if each["work"] == work.name]
        file = folder / f"{work.name}.job.json"
        file.write_text(json.dumps(job))
        try:
            text, _, _ = tools.run(python, kernel_rows.HERE / "gpu_times.py", file)
        except tools.Failed as error:
            bench.skipped.append(f"{work.name} on {description}: {error}")
            continue
        times = json.loads(text)
        ratio = lambda name: times[name] and times[name] / times["copy_ms"]
        bench.row(f"{work.name} {work.shape}, {chip}", ratio("ms"),
                  f"times a copy of {times['bytes'] / 1e6:.0f} MB "
                  f"({times['copy_ms'] * 1e3:.0f} us)",
                  ratio("nvcc_ms"), triton=ratio("triton_ms"),
                  kind="gpu", device=description, **times)
