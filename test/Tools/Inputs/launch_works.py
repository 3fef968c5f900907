# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches what the benchmark times on a GPU on the simulator, whose memcheck sees
wrong arguments: each of W1 to W7 and, of W1 to W4, the CUDA kernel beside it, which
has to write the same. Gathers are compared with NumPy's. usage: launch_works.py SOURCE_TREE RUNTIME_LIBRARY FOLDER
[NVCC]; FOLDER has the program compiled to PTX for sm_90a."""
import ctypes
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools/lib/bench"))
import device  # noqa: E402
import gpu_times  # noqa: E402
import kernel_rows  # noqa: E402
import tools  # noqa: E402

LIBRARY, FOLDER, NVCC = sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4:]
RESULTS = {"W1": ["out"], "W2": ["out"], "W2b": ["out"], "W3": ["blocks"],
           "W4": ["blocks", "scales"], "W5": ["blocks"], "W6": ["out"],
           "W6b": ["out"], "W6m": ["out"], "W7": ["scores"], "W7k": ["best"]}


class Peers:
    """What kernel_rows needs of the benchmark to run nvcc."""

    scratch, nvcc = FOLDER, NVCC and NVCC[0]


def results(work, way, launch):
    """What `launch` leaves in the memory of a device of its own."""
    on = device.Device(LIBRARY, KVCACHE_DEVICE="sim", KVCACHE_SIM_TOOL="memcheck")
    job = gpu_times.Work(on, {"work": work.name.lower(), "folder": FOLDER,
                              "chip": "sm_90a", "full": False,
                              "nvcc": FOLDER / f"{work.name}.sm_90a.nvcc.ptx"})
    launch(job)()
    on.synchronize()
    found = ctypes.c_uint64()
    on("DeviceGetNumFindings", on.handle, ctypes.byref(found))
    after = {name: job.download(name) for name in RESULTS[work.name]}
    written = all((job.values[name] != array).any() for name, array in after.items())
    print(f"{work.name} {way}: {found.value} findings, "
          f"{'written' if written else 'not written'}")
    if work.name in ("W1", "W2", "W2b"):
        same = (after["out"].view(ml_dtypes.bfloat16) == gathered(job.values)).all()
        print(f"  NumPy: {'same' if same else 'different'}")
    return after


def gathered(values):
    """Keys of layer 1, dequantised to bf16."""
    codes, scales, out = (values[name] for name in ("blocks", "scales", "out"))
    sequences, tokens = out.shape[:2]
    page, slot = np.divmod(np.arange(tokens), codes.shape[3])
    rows = lambda pool, table: pool[values[table][:, page], 0, 1, slot[None]]
    numbers = rows(codes.view(ml_dtypes.float8_e4m3fn), "table").astype(np.float32)
    factors = rows(scales, "scales_table")
    factors = np.repeat(factors, codes.shape[-1] // scales.shape[-1], axis=-1)
    return (numbers * factors).astype(ml_dtypes.bfloat16)


def compare(ours, theirs):
    """W4's peer has a floor and a reciprocal of its own: codes may differ by one
    step, scales in the last bits."""
    for name, array in ours.items():
        if name == "scales":
            same = np.allclose(array, theirs[name], rtol=1e-6)
        elif "scales" in ours:
            step = np.abs(array.astype(int) - theirs[name].astype(int))
            same = step.max() <= 1 and (step != 0).mean() < 0.01
        else:
            same = (array == theirs[name]).all()
        print(f"  {name}: {'same' if same else 'different'}")


for work in kernel_rows.WORKS:
    ours = results(work, "kvcache", lambda job: job.launch())
    if NVCC and work.peer and work.name != "W5":
        kernels = kernel_rows.KernelRows(Peers, may_fetch=False)
        source = kernels.nvcc_source(work, "sm_90a")
        tools.run(*kernels.nvcc_command("sm_90a"), "-ptx", "-o",
                  FOLDER / f"{work.name}.sm_90a.nvcc.ptx", source)
        compare(ours, results(work, "nvcc", lambda job: job.nvcc()))
