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


def test_members_by_name():
    """As programs spell them."""
    with ir.Context():
        bf16, f32, f8 = ir.BF16Type.get(), ir.F32Type.get(), ir.Float8E4M3FNType.get()
        layout = kv.LayoutAttr.get(f8, 1, 128, 4, scale_dtype=f32, granularity=32,
                                   placement="inline", order="hnd", swizzle="none")
        assert layout == kv.LayoutAttr.get(f8, 1, 128, 4, scale_dtype=f32, granularity=32,
                                           placement=kv.Placement.inlined, order=1)
        assert "placement = inline" in str(layout) and "order = hnd" in str(layout)
        for kind in (kv.CacheType, kv.MHAOperandType, kv.ScalesMHAOperandType):
            assert kind.get("value", layout) == kind.get(kv.Side.value, layout) != \
                kind.get("key", layout)
        assert layout.place(1, False, 0, "value", 0, 0, 0, 0) == \
            layout.place(1, False, 0, 1, 0, 0, 0, 0)
        assert layout.token_map(1, "key", 0, 0) == layout.token_map(1, 0, 0, 0)
        assert kv.QuantizationAttr.get(contract="power_of_two", floor=1.0, floor_on="amax",
                                       apply="divide") == kv.QuantizationAttr.get(1, 1.0, 1, 1)
        assert kv.RotationAttr.get(style="half") == kv.RotationAttr.get(kv.RotationStyle.half)
        with raises(ValueError, "expected side to be one of key, value, got 'keys'"):
            kv.CacheType.get("keys", layout)
        with raises(ValueError, "expected placement to be one of pool, inline, page_split, got"):
            kv.LayoutAttr.get(bf16, 1, 128, 4, placement="inlined")
        with raises(ValueError, "expected the side of keys .0. or of values .1., got 2"):
            kv.CacheType.get(2, layout)
        with raises(TypeError, "incompatible"):
            kv.CacheType.get(None, layout)


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


def test_parts_of_one_context():
    with ir.Context() as other:
        foreign = ir.F32Type.get()
    with ir.Context() as one:
        assert one is not other
        for options in (dict(scale_dtype=foreign, granularity=64),
                        dict(rope_dtype=foreign, rope_size=8)):
            with raises(ValueError, "expected element types of the layout's own context"):
                kv.LayoutAttr.get(ir.BF16Type.get(), 1, 64, 8, **options)


def test_attributes_of_operations():
    with ir.Context():
        tuning = kv.TuningAttr.get(threads=128, chunks=8)
        assert str(tuning) == "#kvcache.tuning<threads = 128, chunks = 8>"
        assert (tuning.threads, tuning.chunks, tuning.blocks_per_sm) == (128, 8, 0)
        quantization = kv.QuantizationAttr.get(kv.ScaleContract.power_of_two, 0.5,
                                               apply=kv.ApplyScale.divide)
        assert isinstance(ir.Attribute.parse(str(quantization)), kv.QuantizationAttr)
        assert (quantization.contract, quantization.floor, quantization.floor_on,
                quantization.apply) == (1, 0.5, 0, 1)
        rotation = kv.RotationAttr.get(kv.RotationStyle.half, 64)
        assert str(rotation) == "#kvcache.rotation<style = half, start = 64>"
        assert (rotation.style, rotation.start) == (1, 64)
        norm = kv.NormAttr.get(weight_offset=1)
        assert (norm.eps, norm.weight_offset) == (1e-6, 1)
        for make, pattern in (
                (lambda: kv.TuningAttr.get(threads=33), "threads .* multiple of 32"),
                (lambda: kv.QuantizationAttr.get(contract=9), "expected a contract of scales"),
                (lambda: kv.QuantizationAttr.get(floor=-1), "floor"),
                (lambda: kv.RotationAttr.get(style=-1), "expected a style of rotation to be one of "
                                                        r"interleaved \(0\), half \(1\), got -1"),
                (lambda: kv.RotationAttr.get(start=-1), "start"),
                (lambda: kv.NormAttr.get(eps=float("nan")), "eps")):
            with raises(ValueError, pattern):
                make()


def test_members_of_enumerations():
    """Of operations: a member, its number or its name, and nothing else."""
    with ir.Context(), ir.Location.unknown():
        module, free = ir.Module.create(), ir.ShapedType.get_dynamic_size()
        out = ir.MemRefType.get([free, free, 8, 128], ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ([kv.CacheType.get(0, layout_attr()), out], []))
        with ir.InsertionPoint(function.add_entry_block()):
            cache, result = function.arguments
            for policy in ("skip", 1, kv.OutOfRange.skip):
                assert kv.gather(cache, result, policy=policy).policy.value == 1
            for policy in ("skipp", 77, -1, kv.RowForm.padded, True, 1.5, [1]):
                with raises(ValueError, r"expected OutOfRange to be one of assume( \(0\))?, "
                                        r"skip( \(1\))?, trap( \(2\))?, got "):
                    kv.gather(cache, result, policy=policy)
            with raises(ValueError, "expected RowForm to be one of ragged .* got 9"):
                kv.append([], [], 9, [], [])
            func.ReturnOp([])
        assert str(module).count("policy = skip") == 3 or str(module).count("skip") == 3
        assert module.operation.verify()
