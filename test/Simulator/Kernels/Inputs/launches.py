# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each kernel is launched, and what NumPy says it must give."""
import ml_dtypes
import numpy as np

rng = np.random.default_rng(11)


class Out:
    """An output buffer of a type such as "f32[4,8]"."""

    def __init__(self, type, zero=False):
        self.type, self.zero = type, zero


class Launch:
    def __init__(self, grid, block, arguments, check, uninitialised=(), cluster="1"):
        self.grid, self.block, self.arguments = grid, block, arguments
        self.check, self.uninitialised, self.cluster = check, uninitialised, cluster


def same(want, tolerance=0.0):
    """Checks the last output."""
    def check(text, *results):
        np.testing.assert_allclose(results[-1].ravel(), np.ravel(want),
                                   rtol=tolerance, atol=tolerance)
    return check


def integers(low, high, *shape):
    return rng.integers(low, high, shape).astype(np.int32)


def whole_floats(low, high, *shape):
    """Floats whose sums are exact in any order."""
    return rng.integers(low, high, shape).astype(np.float32)


LAUNCHES = {}

x = whole_floats(-50, 50, 1000)
LAUNCHES["reduce_shared"] = Launch(
    "4", "256", [x, Out("f32[4]"), "s32:1000"],
    same(np.resize(np.append(x, np.zeros(24, np.float32)), (4, 256)).sum(1)))

x = integers(-1000, 1000, 3, 128)
LAUNCHES["reduce_warp"] = Launch("3", "128", [x, Out("s32[3]")], same(x.sum(1)))

a, b = whole_floats(-9, 9, 700), whole_floats(-9, 9, 700)
LAUNCHES["dot"] = Launch("3", "64", [a, b, Out("f32[1]", zero=True), "s32:700"],
                         same([np.dot(a, b)]), uninitialised=("dot_no_init",))

x = integers(-1000, 1000, 6, 64)
LAUNCHES["last_block"] = Launch(
    "6", "64", [x, Out("s32[6]"), Out("s32[1]", zero=True), Out("s32[1]")],
    same([x.sum()]))

x = rng.permutation(3000).reshape(3, 1000).astype(np.float32)
x[:, 900] = x[:, 3]
LAUNCHES["argmax"] = Launch("3", "256", [x, Out("s32[3]"), "s32:1000"],
                            same(x.argmax(1)))

x = integers(-1000, 1000, 2, 256)
LAUNCHES["scan_block"] = Launch("2", "256", [x, Out("s32[2,256]")],
                                same(np.cumsum(x, 1)))
x = integers(-1000, 1000, 8, 32)
LAUNCHES["scan_warp"] = Launch("2", "128", [x, Out("s32[8,32]")],
                               same(np.cumsum(x, 1)))

x = integers(-100, 100, 500)
kept = np.sort(x[x > 0])


def check_compact(text, out, count):
    assert count[0] == len(kept), count
    np.testing.assert_array_equal(np.sort(out), kept)


LAUNCHES["compact"] = Launch(
    "4", "128", [x, Out(f"s32[{len(kept)}]"), Out("s32[1]", zero=True), "s32:500"],
    check_compact)

x = rng.integers(0, 1 << 32, 256).astype(np.uint32)
LAUNCHES["radix_pass"] = Launch(
    "1", "256", [x, Out("u32[256]"), "s32:6"],
    same(x[np.argsort(x >> 6 & 3, kind="stable")]))

x = integers(-1000, 1000, 2, 256)
LAUNCHES["bitonic"] = Launch("2", "256", [x, Out("s32[2,256]")], same(np.sort(x, 1)))

x = whole_floats(0, 1000, 50, 71)
LAUNCHES["transpose"] = Launch(
    "3,2", "32,8", [x, Out("f32[71,50]"), "s32:50", "s32:71"], same(x.T))

m, v = whole_floats(-9, 9, 6, 256), whole_floats(-9, 9, 256)
LAUNCHES["matvec"] = Launch(
    "2", "128", [m, v, Out("f32[6]"), "s32:6", "s32:256"], same(m @ v))

a, b = whole_floats(-9, 9, 48, 48), whole_floats(-9, 9, 48, 48)
LAUNCHES["matmul_tiled"] = Launch("3,3", "16,16", [a, b, Out("f32[48,48]"), "s32:48"],
                                  same(a @ b))

a = rng.integers(-8, 9, (32, 64)).astype(np.float16)
b = rng.integers(-8, 9, (64, 24)).astype(np.float16)
LAUNCHES["matmul_tensor"] = Launch(
    "3,2", "32", [a.view(np.int16), b.view(np.int16), Out("f32[32,24]"), "s32:24",
                  "s32:64"], same(a.astype(np.float32) @ b.astype(np.float32)))

x = rng.normal(0, 3, (3, 200)).astype(np.float32)
e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
LAUNCHES["softmax"] = Launch("3", "128", [x, Out("f32[3,200]"), "s32:200"],
                             same(e / e.sum(1, keepdims=True), 3e-6))

x = rng.normal(1, 2, (3, 200)).astype(np.float32)
gamma, beta = (rng.normal(0, 1, 200).astype(np.float32) for _ in range(2))
d = x.astype(np.float64)
mean, variance = d.mean(1, keepdims=True), d.var(1, keepdims=True)
LAUNCHES["layernorm"] = Launch(
    "3", "128", [x, gamma, beta, Out("f32[3,200]"), "s32:200"],
    same((d - mean) / np.sqrt(variance + 1e-5) * gamma + beta, 2e-5))

x = (rng.normal(0, 1, (16, 128)) * 2.0 ** rng.integers(-8, 12, (16, 1))).astype(np.float32)


def check_quantise(text, codes, scales, x=x):
    largest = np.abs(x).max(1) * scales
    assert ((largest <= 448) & (largest >= 224)).all(), largest
    assert (np.log2(scales) % 1 == 0).all(), scales
    want = (x * scales[:, None]).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    np.testing.assert_array_equal(codes, want)


LAUNCHES["quantise"] = Launch("16", "32", [x, Out("u8[16,128]"), Out("f32[16]")],
                              check_quantise)

x = rng.integers(0, 256, 1500).astype(np.uint8)
LAUNCHES["histogram"] = Launch(
    "3", "128", [x, Out("s32[64]", zero=True), "s32:1500"],
    same(np.bincount(x % 64, minlength=64)))
LAUNCHES["spin_lock"] = Launch(
    "3", "64", [Out("s32[1]", zero=True), Out("s32[1]", zero=True)], same([192]))

table, index = whole_floats(0, 99, 20, 70), integers(0, 19, 9)
index[5] = 19
LAUNCHES["gather"] = Launch("9", "32", [table, index, Out("f32[9,70]"), "s32:70"],
                            same(table[index]))

x, order = integers(0, 1000, 300), rng.permutation(300).astype(np.int32)
scattered = np.empty_like(x)
scattered[order] = x
LAUNCHES["scatter"] = Launch("3", "128", [x, order, Out("s32[300]"), "s32:300"],
                             same(scattered))

x = integers(-100, 100, 300)
padded = np.pad(x, 3, mode="edge")
LAUNCHES["stencil"] = Launch(
    "3", "128", [x, Out("s32[300]"), "s32:300"],
    same(np.lib.stride_tricks.sliding_window_view(padded, 7).sum(1)))

x = integers(-100, 100, 2, 5, 256)
mixed = np.zeros(64, np.int64)
for k in range(4):
    mixed += x.sum((0, 1))[(np.arange(64) + 64 * k + 17) % 256]
LAUNCHES["double_buffer"] = Launch(
    "2", "64", [x, Out("s32[64]", zero=True), "s32:5"], same(mixed))

x = integers(-100, 100, 32)
total = np.zeros(32, np.int64)
for k in reversed(range(8)):
    total = 3 * total + (x.astype(np.int64) * (k + 1) ^ x[k])
LAUNCHES["local_stack"] = Launch("1", "32", [x, Out("s32[32]"), "s32:8"],
                                 same(total.astype(np.int32)))

x = integers(-100, 100, 64)
groups = x.reshape(8, 8)
LAUNCHES["exchange"] = Launch(
    "1", "64", [x, Out("s32[64]")],
    same(sum(w * np.roll(groups, -k, 1) for k, w in enumerate((1, -2, 3, -4)))))

x = integers(-100, 100, 2, 32)


def check_say(text, x=x):
    for block in (0, 1):
        for thread in (0, 16):
            value = x[block, thread]
            line = f"block {block} thread {thread} has {value}, half {value / 2:g} done"
            assert text.count(line + "\n") == 1, text


LAUNCHES["say"] = Launch("2", "32", [x], check_say)

x = integers(-100, 100, 32)
for name in ("hand_over", "wait_one", "flag", "exits", "announced_copies"):
    LAUNCHES[name] = Launch("1", "64", [x, Out("s32[32]")], same(x[::-1]))
LAUNCHES["own_copies"] = Launch("1", "32", [x, Out("s32[32]")], same(x[::-1]))
LAUNCHES["readers"] = Launch("1", "96", [Out("s32[3]")], same([5, 0, 5]))
LAUNCHES["far_flag"] = Launch("1", "64", [x, Out("s32[1]", zero=True), Out("s32[32]")],
                              same(x[::-1]))
x = integers(-100, 100, 3, 32)
LAUNCHES["refill"] = Launch("1", "64", [x, Out("s32[3,32]")], same(x[:, ::-1]))
x = integers(-100, 100, 4, 2, 16)
LAUNCHES["halves"] = Launch("1", "32", [x, Out("s32[32]")], same(x.sum(0)[:, ::-1]))
LAUNCHES["announce"] = Launch(
    "2", "64", [Out("s32[64]"), Out("s32[1]", zero=True), Out("s32[64]")],
    same(3 * np.arange(64)[::-1]))
LAUNCHES["chain"] = Launch(
    "5", "32", [Out("s32[5]"), Out("s32[5]", zero=True)],
    lambda text, sums, flags: same(np.cumsum(np.arange(1, 6)))(text, sums))
x = integers(-100, 100, 3, 64)
LAUNCHES["tally"] = Launch("3", "64", [x, Out("s32[1]", zero=True)], same(x.sum()))
LAUNCHES["turns"] = Launch(
    "3", "32", [Out("s32[1]", zero=True), Out("s32[1]", zero=True), Out("s32[3]")],
    lambda text, turn, *rest: same([sum(range(90)), 87, 88, 89])(
        text, np.concatenate(rest)))

LAUNCHES["relay"] = Launch(
    "4", "64", [Out("s32[64]"), Out("s32[1]", zero=True), Out("s32[64]")],
    same(5 * np.arange(64)[::-1]), cluster="2")
LAUNCHES["two_flags"] = Launch(
    "2", "32", [Out("s32[32]"), Out("s32[2]", zero=True), Out("s32[32]")],
    same(7 * np.arange(32)[::-1]))
LAUNCHES["own_block"] = Launch(
    "2", "64", [Out("s32[64]"), Out("s32[1]", zero=True), Out("s32[64]")],
    same(np.arange(64, 0, -1)))
LAUNCHES["four_readers"] = Launch(
    "5", "32", [Out("s32[1]", zero=True), Out("s32[1]", zero=True), Out("s32[4]")],
    same([0, 0, 0, 0]))
LAUNCHES["four_warps"] = Launch("1", "160", [Out("s32[4]")], same([3, 3, 3, 3]))
x = integers(-1000, 1000, 6, 64)
LAUNCHES["tickets"] = Launch(
    "6", "64", [x, Out("s32[6]"), Out("s32[1]", zero=True), Out("s32[1]", zero=True)],
    same([x.sum()]))
x = integers(-1000, 1000, 9, 32)
LAUNCHES["look_back"] = Launch(
    "9", "32", [x, Out("s32[9]", zero=True), Out("s32[9]"), Out("s32[9]"), Out("s32[9]")],
    same(np.cumsum(x.sum(1)) - x.sum(1)))
LAUNCHES["ticket_lock"] = Launch(
    "4", "32", [Out("s32[1]", zero=True), Out("s32[1]", zero=True),
                Out("s32[1]", zero=True)], same([5 * (1 + 2 + 3 + 4)]))
LAUNCHES["pass_on"] = Launch(
    "3", "32", [Out("s32[1]"), Out("s32[2]", zero=True), Out("s32[1]")], same([11]))
x = integers(-1000, 1000, 3, 32)
LAUNCHES["swaps"] = Launch(
    "3", "32", [x, Out("s32[1]", zero=True), Out("s32[3,32]")],
    lambda text, total, seen: same([x_swaps.sum()])(text, total))
x_swaps = x

steps = np.zeros(96, np.int32)
steps[40] = 1
x = steps.copy()
for _ in range(3):
    x = x + np.roll(x, 1) + np.roll(x, -1)


def check_steps(text, b, arrived, x=x):
    # The fourth and last step reads it.
    assert (b == x).all(), b
    assert arrived[0] == 12, arrived


LAUNCHES["grid_steps"] = Launch(
    "3", "32", [steps, Out("s32[96]"), Out("s32[1]", zero=True)], check_steps)


def core_matrices(x):
    """Rows of 16 halves as wgmma reads them without a swizzle: by 8 rows of 16
    bytes, two of these along a row one behind the other."""
    pieces = np.ascontiguousarray(x).view(np.uint8).reshape(-1, 8, 2, 16)
    return pieces.transpose(0, 2, 1, 3).copy()


a = rng.integers(-3, 4, (64, 16)).astype(np.float16)
b = rng.integers(-3, 4, (4, 8, 16)).astype(np.float16)
LAUNCHES["group_products"] = Launch(
    "1", "160", [core_matrices(a), core_matrices(b.reshape(32, 16)), Out("f32[64,8]")],
    same(a.astype(np.float32) @ b.sum(0).astype(np.float32).T))
LAUNCHES["flag_in_vector"] = Launch(
    "2", "32", [Out("s32[32]"), Out("s32[2]", zero=True), Out("s32[32]")],
    same([3] * 32))
LAUNCHES["early_copy"] = Launch(
    "2", "1", [np.array([9], np.int32), Out("s32[1]", zero=True), Out("s32[1]")],
    same([9]))
LAUNCHES["seen_before"] = Launch(
    "3", "1", [Out("s32[1]", zero=True), Out("s32[2]", zero=True), Out("s32[2]")],
    same([1, 1]))
LAUNCHES["stored_again"] = Launch(
    "3", "1", [Out("s32[1]", zero=True), Out("s32[1]", zero=True), Out("s32[1]")],
    same([0]))
LAUNCHES["guess"] = Launch(
    "2", "1", [Out("s32[1]", zero=True), Out("s32[1]", zero=True), Out("s32[1]")],
    same([3]))

LAUNCHES["set_and_count"] = Launch("1", "64", [Out("s32[64]")], same([69] * 64))
LAUNCHES["read_and_count"] = Launch("1", "64", [Out("s32[64]")],
                                    same([78] * 64))
LAUNCHES["set_for_all"] = Launch("3", "1", [Out("s32[1]", zero=True)], same([8]))
LAUNCHES["read_for_all"] = Launch(
    "3", "1", [Out("s32[1]", zero=True), Out("s32[1]")],
    lambda text, count, out: same([3])(text, count))
LAUNCHES["sizes"] = Launch("2", "1", [Out("u64[1]", zero=True)], same([2]))
LAUNCHES["shared_sizes"] = Launch("1", "64", [Out("s32[64]")], same([64] * 64))
LAUNCHES["shuffled"] = LAUNCHES["voted"] = Launch(
    "1", "32", [Out("s32[32]")], same(np.arange(32)[::-1]))
LAUNCHES["two_readers"] = Launch(
    "2", "64", [Out("s32[1]", zero=True), Out("s32[1]", zero=True), Out("s32[2]")],
    lambda text, data, flag, out: same([0, 0, 7])(text, np.append(out, data)))
LAUNCHES["rotated"] = Launch("1", "32", [Out("s32[32]")],
                             same(31 - (np.arange(32) ^ 1)))
LAUNCHES["early_exits"] = Launch("1", "96", [Out("s32[40]")], same(np.arange(40)))

LAUNCHES["product"] = Launch(
    "1", "128", [core_matrices(a), core_matrices(b[0]), Out("f32[64,8]")],
    same(a.astype(np.float32) @ b[0].astype(np.float32).T))
LAUNCHES["two_products"] = Launch(
    "1", "128", [core_matrices(a), core_matrices(b[0]), Out("f32[64,8]")],
    same(5 * (a.astype(np.float32) @ b[0].astype(np.float32).T)))
LAUNCHES["store_and_end"] = LAUNCHES["initialised_barrier"] = Launch(
    "1", "64", [Out("s32[64]")], same(np.arange(64)))
x = integers(-100, 100, 64)
for name in ("load_and_end", "bulk_load_and_end"):
    LAUNCHES[name] = Launch("1", "64", [x, Out("s32[64]")], same(np.arange(64)))
LAUNCHES["source"] = Launch("1", "64", [x, Out("s32[64]")], same(x))
LAUNCHES["neighbour"] = Launch("2", "32", [Out("s32[32]")], same([5] * 32),
                               cluster="2")
