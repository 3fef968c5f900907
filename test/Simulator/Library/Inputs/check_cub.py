# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_cub.py KERNELS.ptx DIRECTORY: runs the kernels of cub.cu with every check
and compares with NumPy."""
import os
import subprocess
import sys

import numpy as np

ptx, directory = sys.argv[1:3]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(7)


def run(kernel, grid, keys, *shapes):
    np.save(f"{directory}/in.npy", keys)
    command = ["ptxsim", ptx, "--kernel", kernel, "--grid", str(grid), "--block", "128",
               "--tool", "all", "--arg", f"{directory}/in.npy"]
    for k, shape in enumerate(shapes):
        command += ["--arg", f"out:{directory}/{k}.npy=s32[{shape}]"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "\n0 findings" in "\n" + done.stderr, done.stderr
    return [np.load(f"{directory}/{k}.npy") for k in range(len(shapes))]


keys = rng.integers(-1000, 1000, (3, 512)).astype(np.int32)
ordered, before, up_to, totals, counts = run("block", 3, keys, "3,512", "3,512", "3,512",
                                             "3,2", "3,16")
np.testing.assert_array_equal(ordered, np.sort(keys, 1))
np.testing.assert_array_equal(before, np.cumsum(keys, 1) - keys)
np.testing.assert_array_equal(up_to, np.cumsum(keys, 1))
np.testing.assert_array_equal(totals, np.stack([keys.sum(1), keys.max(1)], 1))
np.testing.assert_array_equal(counts, [np.bincount(k & 15, minlength=16) for k in keys])
halves, scanned = run("warp", 1, keys[0, :128], "8", "128")
np.testing.assert_array_equal(halves, keys[0, :128].reshape(8, 16).sum(1))
np.testing.assert_array_equal(scanned, np.cumsum(keys[0, :128].reshape(4, 32), 1).ravel())
