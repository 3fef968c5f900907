# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of torch, on CPU tensors. Pools of 8-bit floats are tensors of
bytes, as serving stacks have them: opcheck cannot compare torch's own 8-bit floats."""

import os
import pathlib
import re

import numpy as np
import torch
from reference import attention, tokens
from util import raises

import kvcache
import kvcache.torch

LAYOUT = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                        granularity=32)
TABLE = torch.tensor([[3, 1], [0, 2]], dtype=torch.int32)
LENGTHS = torch.tensor([11, 4], dtype=torch.int32)
OFFSETS = torch.tensor([0, 3, 4], dtype=torch.int32)


def integers(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def tensors(layout=LAYOUT, blocks=4):
    torch.manual_seed(0)
    values = torch.randn(layout.pool_shape(blocks, 2)).to(torch.float8_e4m3fn)
    scales = torch.rand(layout.pool_shape(blocks, 2, "scales")) + 0.5
    return values.view(torch.uint8), scales


def as_numpy(blocks, scales):
    import ml_dtypes
    return LAYOUT.wrap(blocks.numpy().view(ml_dtypes.float8_e4m3fn), scales.numpy())


def register(name, *arguments, **options):
    layout = arguments or ((LAYOUT,) if name not in ("topk", "rope") else ())
    return kvcache.torch.custom_op(kvcache.compile(name, *layout, **options), f"test::{name}")


def test_gather():
    gather = register("gather")
    blocks, scales = tensors()
    arguments = (blocks, scales, LENGTHS, TABLE, 1, 11)
    out = gather(*arguments[:4], rows=11, layer=1)
    assert out.dtype == torch.float32 and out.shape == (2, 11, 2, 64)
    pool = as_numpy(blocks, scales)
    np.testing.assert_array_equal(out[0].numpy(), tokens(pool, [3, 1], 11, 1))
    torch.library.opcheck(gather, arguments)
    schema = str(torch.ops.test.gather.default._schema)
    assert schema == ("test::gather(Tensor blocks, Tensor scales, Tensor lengths, Tensor table, "
                      "SymInt layer, SymInt rows) -> Tensor"), schema


def test_the_example_of_the_documentation_runs():
    page = (pathlib.Path(os.environ["KVCACHE_SOURCE"]) / "docs/python.md").read_text()
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.S)
                  if "kvcache.torch" in block]
    blocks, scales = tensors()
    names = dict(layout=LAYOUT, blocks=blocks, scales=scales, lengths=LENGTHS, table=TABLE)
    exec(example, names)
    assert names["keys"].shape == (2, 20, 2, 64)
    np.testing.assert_array_equal(names["keys"][0, :11].numpy(),
                                  tokens(as_numpy(blocks, scales), [3, 1], 11, 1))


def test_append():
    append = register("quantize_append")
    blocks, scales = tensors()
    rows = torch.randn(4, 2, 64, dtype=torch.bfloat16)
    arguments = (blocks, scales, integers(2, 4), TABLE, 0, OFFSETS, rows, -rows)
    torch.library.opcheck(append, arguments)
    schema = str(torch.ops.test.quantize_append.default._schema)
    assert "Tensor(a1!) blocks, Tensor(a2!) scales, Tensor lengths" in schema, schema
    assert append(*arguments) is None
    got = tokens(as_numpy(blocks, scales), [3, 1], 5)[2:]
    want = rows[:3].float().numpy()
    assert np.abs(got - want).max() <= np.abs(want).max() / 28


def test_attention():
    attend = register("paged_attention", query_heads=4, lse=True, parts=2)
    blocks, scales = tensors()
    queries = torch.randn(4, 4, 64, dtype=torch.bfloat16)
    arguments = (queries, blocks, scales, integers(6, 4), TABLE, 1, OFFSETS)
    torch.library.opcheck(attend, arguments)
    out, lse = attend(*arguments)
    assert out.dtype == torch.bfloat16 and lse.shape == (4, 4)
    pool = as_numpy(blocks, scales)
    keys, values = (tokens(pool, [3, 1], 7, 1, side) for side in (0, 1))
    want, _ = attention(queries[0].float().numpy(), keys, values, 0.125, 7)
    np.testing.assert_allclose(out[0].float().numpy(), want, atol=1e-2)
    # A graph of torch's, with other operators around.
    compiled = torch.compile(lambda q: attend(2 * q, *arguments[1:])[0] + 1, backend="aot_eager",
                             fullgraph=True)
    torch.testing.assert_close(compiled(queries), attend(2 * queries, *arguments[1:])[0] + 1)


def test_other_kernels():
    blocks, scales = tensors()
    torch.library.opcheck(register("topk", k=4, values=True),
                          (torch.randn(3, 20), integers(20, 2, 7)))
    torch.library.opcheck(register("copy_pages"),
                          (blocks, scales, torch.tensor([[0, 1], [1, 2]])))
    torch.library.opcheck(register("compact"), (blocks, scales, LENGTHS, TABLE))
    torch.library.opcheck(register("rope", heads=1, head_size=32), (
        torch.randn(2, 1, 32, dtype=torch.bfloat16), integers(3, 0), torch.rand(9, 16),
        torch.rand(9, 16)))
    target = kvcache.Layout("f8E4M3FN", 2, 64, 8, scales="f32", granularity=32, order="hnd")
    convert = register("convert_layout", LAYOUT, target=target)
    torch.library.opcheck(convert, (blocks, scales, *tensors(target)))


def test_own_program():
    text = '''
    func.func @scale(%x: memref<?xf32> {kvcache.name = "x"}, %by: f32 {kvcache.name = "by"}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      gpu.launch blocks(%bx, %by_, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
        %v = memref.load %x[%bx] : memref<?xf32>
        %w = arith.mulf %v, %by : f32
        memref.store %w, %x[%bx] : memref<?xf32>
        gpu.terminator
      }
      return
    }'''
    scale = kvcache.torch.custom_op(kvcache.compile(text), "test::scale")
    x = torch.arange(5, dtype=torch.float32)
    torch.library.opcheck(scale, (x.clone(), 3.0))
    scale(x, 3.0)
    torch.testing.assert_close(x, 3.0 * torch.arange(5))


def test_names_and_refusals():
    k = kvcache.compile("gather", LAYOUT)
    assert kvcache.torch.custom_op(k) is kvcache.torch.custom_op(k)
    with raises(ValueError, "'test::gather' is the name of another kernel already"):
        kvcache.torch.custom_op(kvcache.compile("gather", LAYOUT, side="value"), "test::gather")
    with raises(ValueError, "expected a name of the form namespace::name, got 'gather'"):
        kvcache.torch.custom_op(k, "gather")
    blocks, scales = tensors()
    gather = kvcache.torch.custom_op(k)
    with raises(kvcache.ArgumentError, "'lengths': expected elements of i32, got i64"):
        gather(blocks, scales, LENGTHS.long(), TABLE, 1, 11)
    with raises(kvcache.ArgumentError, r"'blocks': expected a shape of \(\?, 2, \?, 8, 2, 64\)"):
        gather(blocks[..., :32], scales, LENGTHS, TABLE, 1, 11)
    with raises(kvcache.ArgumentError, "expected at least 2 pages for 11 tokens, got 1"):
        gather(blocks, scales, LENGTHS, TABLE[:, :1].contiguous(), 1, 11)


def test_arrays():
    """What pools and kernels say of tensors."""
    blocks, scales = tensors()
    k = kvcache.compile("gather", LAYOUT)
    pool = LAYOUT.wrap(blocks, scales)
    out = torch.zeros(2, 11, 2, 64)
    assert k(pool, lengths=LENGTHS, table=TABLE, layer=1, out=out) is out
    np.testing.assert_array_equal(out[1, :4].numpy(),
                                  tokens(as_numpy(blocks, scales), [0], 4, 1))
    freed = torch.zeros(2, 11, 2, 64)
    freed.untyped_storage().resize_(0)
    cases = [
        (torch.zeros(2, 11, 64, 2).transpose(2, 3), "'out': expected stride 64 .* contiguous"),
        (torch.zeros(2, 11, 2, 64, device="meta"), "expected a tensor on cpu or cuda, got .* meta"),
        (torch.zeros(2, 11, 2, 64).to_sparse(), "'out': "),
        (freed, "'out': expected memory of 11264 bytes, got 0"),
        (torch.zeros(2, 11, 2, 64, dtype=torch.complex64), "'out': expected a numeric dtype"),
    ]
    for wrong, pattern in cases:
        with raises(kvcache.ArgumentError, pattern):
            k(pool, lengths=LENGTHS, table=TABLE, out=wrong)
    with raises(kvcache.ArgumentError, "'blocks': expected a tensor on cpu or cuda, got .* meta"):
        LAYOUT.wrap(blocks.to("meta"), scales)


def test_refusals():
    gather = register("gather")
    blocks, scales = tensors()
    with raises(kvcache.ArgumentError, "'rows': expected an integer from 0 to .*, got -1"):
        gather(blocks, scales, LENGTHS, TABLE, 0, -1)
    for wrong in (5, "gather", None):
        with raises(kvcache.ArgumentError, "expected a kernel, as kvcache.compile gives one, got"):
            kvcache.torch.custom_op(wrong)
    plain = kvcache.Layout("f32", heads=2, head_size=64, page_size=8)
    wrong = torch._neg_view(torch.ones(plain.pool_shape(4, 2)))
    with raises(kvcache.ArgumentError, r"'blocks': .* is_neg\(\); use tensor.resolve_neg\(\)"):
        plain.wrap(wrong)
    plain.wrap(wrong.resolve_neg())
    wrong = torch.ones(2, dtype=torch.complex64).conj()
    with raises(kvcache.ArgumentError, r"'x': .* use tensor.resolve_conj\(\)"):
        kvcache.arrays.view(wrong, "x")
