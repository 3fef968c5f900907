# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what installed headers include of kvcache is installed."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
headers = [path for path in root.rglob("*") if path.suffix in (".h", ".inc", ".td")]
missing = [
    f"{path.relative_to(root)}: {name}"
    for path in headers
    for name in re.findall(r'^#?\s*include "(kvcache[^"]*)"', path.read_text(), re.M)
    if not (root / name).exists()
]
print("\n".join(missing))
if missing or len(headers) < 40:
    sys.exit(f"{len(missing)} of {len(headers)} headers' includes are missing")
