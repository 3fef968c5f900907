# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run_all.py SCRATCH [FILE ...]: runs every function `test_*` of these files, or of all
files `test_*.py` beside this one, in one process."""

import importlib
import pathlib
import sys
import traceback

folder = pathlib.Path(__file__).parent
scratch = pathlib.Path(sys.argv[1])
count, failed = 0, []
files = [folder / name for name in sys.argv[2:]] or sorted(folder.glob("test_*.py"))
for path in files:
    module = importlib.import_module(path.stem)
    for name, test in vars(module).copy().items():
        if not name.startswith("test_") or not callable(test):
            continue
        count += 1
        try:
            test(*([scratch / f"{path.stem}-{name}"] if test.__code__.co_argcount else []))
        except Exception:
            failed.append(f"{path.stem}.{name}")
            traceback.print_exc()
print(f"{count} tests, {len(failed)} failed: {' '.join(failed)}")
sys.exit(bool(failed) or count < 2 * len(files))
