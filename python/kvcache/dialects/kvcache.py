# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations, types and attributes of the kvcache dialect."""

from ._kvcache_ops_gen import *
from ._kvcache_ops_gen import _Dialect
from ._kvcache_enum_gen import *
from .._mlir_libs._kvcache import (
    CacheType,
    CollectionType,
    LayoutAttr,
    MHAOperandType,
    ScalesMHAOperandType,
)
