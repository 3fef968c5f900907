# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from util import raises

from kvcache import ir
from kvcache.dialects import func, kvcache as kv
from kvcache.passmanager import PassManager


def layout_attr():
    return kv.LayoutAttr.get(ir.BF16Type.get(), num_heads=8, head_size=128, page_size=16)


def test_attributes_and_types():
    with ir.Context():
        layout = layout_attr()
        assert str(layout).startswith("#kvcache.layout<bf16")
        assert layout.parameters["head_size"] == 128 and layout.parameters["scale_dtype"] is None
        cache = kv.CacheType.get(1, layout)
        assert str(cache).startswith("!kvcache.cache<value") and cache.side == 1
        assert cache.layout == layout and isinstance(ir.Type.parse(str(cache)), kv.CacheType)
        with raises(ValueError, "expected page_size to be at least 1, got 0"):
            kv.LayoutAttr.get(ir.BF16Type.get(), num_heads=8, head_size=128, page_size=0)


def test_building_operations():
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        index, cache = ir.IndexType.get(), kv.CacheType.get(0, layout_attr())
        with ir.InsertionPoint(module.body):
            @func.FuncOp.from_py_func(cache, index)
            def length(cache, sequence):
                return kv.cache_length(cache, sequence)
        assert module.operation.verify()
        assert "kvcache.cache_length" in str(module)


def test_passes_and_errors():
    with ir.Context():
        module = ir.Module.parse(
            "func.func @f(%k: !kvcache.cache<key, #kvcache.layout<bf16, params = <num_heads = 1, "
            "head_size = 8>, page_size = 4>>, %b: index) -> index {\n"
            "  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kvcache.layout<bf16, params "
            "= <num_heads = 1, head_size = 8>, page_size = 4>>\n  return %n : index\n}")
        PassManager.parse("builtin.module(convert-kvcache-to-memref)").run(module.operation)
        assert "!kvcache." not in str(module) and "kvcache.table_read" in str(module)
        try:
            ir.Module.parse("func.func @f() {\n  kvcache.nothing\n}")
        except ir.MLIRError as error:
            assert ":2:3" in str(error.error_diagnostics[0].location)
        else:
            raise AssertionError("expected an error")


def test_two_contexts():
    with ir.Context() as one:
        first = layout_attr()
    with ir.Context() as two:
        second = layout_attr()
    assert first.context is not second.context and str(first) == str(second)
