# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations, types and attributes of the kvcache dialect. Where an operation takes a
member of an enumeration, as `policy`, it takes its name, too. A function is called as
its operation is, and says what that does; the operation's verifier raises MLIRError."""

import enum as _enum

from ._kvcache_ops_gen import *
from ._kvcache_ops_gen import _Dialect
from ._kvcache_enum_gen import *
from . import _kvcache_enum_gen, _kvcache_ops_gen
from .. import ir as _ir
from ..checks import member as _member
from .._mlir_libs._kvcache import (
    CacheType,
    CollectionType,
    LayoutAttr,
    MHAOperandType,
    NormAttr,
    QuantizationAttr,
    RotationAttr,
    ScalesMHAOperandType,
    TuningAttr,
)


def _register(kind):
    def build(value, context):
        number = int(_member(kind.__name__, kind, value))
        return _ir.IntegerAttr.get(_ir.IntegerType.get_signless(32, context), number)

    _ir.register_attribute_builder(f"KVCache_{kind.__name__}", replace=True)(build)


# What mlir-tblgen makes takes any number, and an operation that holds one that is no
# member cannot be printed.
for _kind in vars(_kvcache_enum_gen).copy().values():
    if isinstance(_kind, type) and issubclass(_kind, _enum.IntEnum) and \
            _kind.__module__ == _kvcache_enum_gen.__name__:
        _register(_kind)
del _kind


# The functions that make operations say what these do: shapes, constraints, policies.
for _kind in vars(_kvcache_ops_gen).copy().values():
    if isinstance(_kind, type) and hasattr(_kind, "OPERATION_NAME"):
        _name = _kind.OPERATION_NAME.partition(".")[2]
        globals().get(_name, globals().get(f"{_name}_")).__doc__ = _kind.__doc__
del _kind, _name
