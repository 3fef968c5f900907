# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the reference with the host code of NVIDIA's headers.

ml_dtypes has no saturation, no upward f8E8M0FNU and no say in what NaN gives;
NVIDIA's code has. Only NaN in f8 is left out: the headers keep its sign and
payload where the instruction gives 0x7F.
"""

import subprocess
import sys

import numpy as np
import reference

NAMES = ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f8E8M0FNU", "f8E8M0FNU"]


def main():
    values = np.concatenate(
        [reference.inputs_to_encode(name, "f32") for name in reference.NARROW]
    )
    result = subprocess.run(
        sys.argv[1], input=values.tobytes(), capture_output=True, check=True
    )
    theirs = np.frombuffer(result.stdout, np.uint8).reshape(-1, len(NAMES))
    failures = 0
    for column, name in enumerate(NAMES):
        rounding = "toward_zero" if column == 4 else ""
        ours = reference.encode(name, values, rounding)
        differs = ours != theirs[:, column]
        if name in ("f8E4M3FN", "f8E5M2"):
            differs &= ~np.isnan(values)
        failures += bool(differs.any())
        print("FAIL" if differs.any() else "PASS", name, rounding, len(values))
        if differs.any():
            at = int(np.argmax(differs))
            print(f"  {values[at]!r}: reference {ours[at]}, NVIDIA {theirs[at, column]}")
    print(f"{len(NAMES) - failures} of {len(NAMES)} formats agree")


main()
