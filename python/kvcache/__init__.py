# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged key-value caches: layouts, pools, kernels compiled for them, and MLIR's own
bindings with the `kvcache` dialect (`kvcache.ir`, `kvcache.dialects`,
`kvcache.passmanager`).

    layout = kvcache.Layout("f8E4M3FN", heads=8, head_size=128, page_size=16,
                            scales="f32", granularity=128)
    pool = layout.allocate(num_blocks=4, layers=2)
    gather = kvcache.compile("gather", layout, chip="sm_90a")
    keys = gather(pool, lengths=[20, 3], table=[[1, 0], [3, 2]], layer=1)
"""

try:
    from . import ir  # MLIR's own bindings, and with them its shared library.
except ImportError as error:
    raise ImportError(
        f"{error}; kvcache needs the shared library of LLVM/MLIR 22 that it was built with: "
        "install Debian's package libmlir-22 (docs/getting-started.md), or install kvcache again"
    ) from error

from .compiler import Kernel, compile
from .errors import (ArgumentError, CheckError, CompileError, Diagnostic, Error, LaunchError)
from .layout import Layout, Place, Pool

__all__ = ["ArgumentError", "CheckError", "CompileError", "Diagnostic", "Error", "Kernel",
           "LaunchError", "Layout", "Place", "Pool", "__version__", "compile", "ir"]
__version__ = "0.1.0"
