# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes every Context know the dialect; loads the dialects that programs for
kernels are made of, and leaves others until they are asked for."""

from . import append_load_on_create_dialect
from ._kvcacheCompiler import register_dialects

disable_load_all_available_dialects = True
for _dialect in ("arith", "cf", "func", "gpu", "kvcache", "math", "memref",
                 "nvvm", "scf", "vector"):
    append_load_on_create_dialect(_dialect)
