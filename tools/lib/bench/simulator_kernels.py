# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose speed on the simulator is measured, in PTX: straight-line f32
arithmetic; a gather that reads e4m3 through a table, multiplies by a scale and writes
bf16; global atomics on counters that all blocks share; a product of matrices by tiles in
shared memory; and sums of an array that all blocks read."""

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
COUNTERS = 4096
SIDE = 256


def straight():
    """64 fma a turn of a loop, eight chains."""
    body = "\n".join(f"  fma.rn.f32 %f{k % 8}, %f{k % 8}, 0f3f7fff00, 0f3a000000;"
                     for k in range(64))
    sums = "\n".join(f"  add.f32 %f0, %f0, %f{k};" for k in range(1, 8))
    first = "\n".join(f"  add.f32 %f{k}, %f0, 0f3f800000;" for k in range(1, 8))
    return HEAD + f"""
.visible .entry straight(.param .u64 out, .param .u32 turns)
{{
  .reg .pred %p; .reg .f32 %f<8>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.rn.f32.u32 %f0, %r3;
{first}
$loop:
{body}
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
{sums}
  mul.wide.u32 %rd1, %r4, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""


def gather():
    """A thread a token's 16 bytes: page from the table, place in the page."""
    lines = []
    for w in range(4):
        for h in range(2):
            pair = f"%h{2 * w + h}"
            lines.append(f"  cvt.rn.f16x2.e4m3x2 {pair}, %s{2 * w + h};")
            lines.append(f"  mov.b32 {{%t0, %t1}}, {pair};")
            lines += [f"  cvt.f32.f16 %g{k}, %t{k};" for k in range(2)]
            lines += [f"  mul.f32 %g{k}, %g{k}, %scale;" for k in range(2)]
            lines.append(f"  cvt.rn.bf16x2.f32 %o{2 * w + h}, %g1, %g0;")
    unpack = "\n".join(f"  mov.b32 {{%s{2 * w}, %s{2 * w + 1}}}, %w{w};"
                       for w in range(4))
    body = "\n".join(lines)
    return HEAD + f"""
.visible .entry gather(.param .u64 pool, .param .u64 table, .param .u64 scales,
                       .param .u64 out, .param .u32 turns)
{{
  .reg .pred %p; .reg .f32 %g<2>, %scale; .reg .b16 %s<8>, %t<2>;
  .reg .b32 %r<12>, %w<4>, %h<8>, %o<8>; .reg .b64 %rd<12>;
  ld.param.u64 %rd0, [pool];
  ld.param.u64 %rd1, [table];
  ld.param.u64 %rd2, [scales];
  ld.param.u64 %rd3, [out];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r2, 5;
  shr.u32 %r4, %r1, 3;
  add.u32 %r3, %r3, %r4;
  and.b32 %r5, %r1, 7;
  shl.b32 %r5, %r5, 4;
$loop:
  // The token's page and its place of 16; 8 threads of 16 bytes a token.
  shr.u32 %r6, %r3, 4;
  and.b32 %r6, %r6, 1023;
  mul.wide.u32 %rd4, %r6, 4;
  add.u64 %rd4, %rd4, %rd1;
  ld.global.u32 %r7, [%rd4];
  and.b32 %r8, %r3, 15;
  mad.lo.u32 %r9, %r7, 16, %r8;
  mul.wide.u32 %rd5, %r9, 4;
  add.u64 %rd5, %rd5, %rd2;
  ld.global.f32 %scale, [%rd5];
  mad.lo.u32 %r10, %r9, 128, %r5;
  cvt.u64.u32 %rd6, %r10;
  add.u64 %rd6, %rd6, %rd0;
  ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%rd6];
{unpack}
{body}
  and.b32 %r11, %r3, 16383;
  mad.lo.u32 %r10, %r11, 128, %r5;
  mul.wide.u32 %rd7, %r10, 2;
  add.u64 %rd7, %rd7, %rd3;
  st.global.v4.b32 [%rd7], {{%o0, %o1, %o2, %o3}};
  st.global.v4.b32 [%rd7+16], {{%o4, %o5, %o6, %o7}};
  add.u32 %r3, %r3, 4096;
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
  ret;
}}
"""


def atomics():
    """8 atomics a turn, half of which return what was there, each warp's on
    neighbouring counters that other blocks add to as well."""
    body = "\n".join(
        f"  atom.global.add.u32 %r5, [%rd2+{512 * k}], 1;" if k % 2 else
        f"  red.global.add.u32 [%rd2+{512 * k}], 1;" for k in range(8))
    return HEAD + f"""
.visible .entry atomics(.param .u64 counters, .param .u32 turns)
{{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [counters];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 96, %r2;
$loop:
  add.u32 %r3, %r3, 32;
  and.b32 %r4, %r3, {COUNTERS // 2 - 1};
  mul.wide.u32 %rd1, %r4, 4;
  add.u64 %rd2, %rd0, %rd1;
{body}
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
  ret;
}}
"""


def matmul():
    """Tiles of 16 x 16 of a product of a square matrix by itself, over and over: a turn
    is 16 columns of the one factor and 16 rows of the other."""
    body = "\n".join(f"  ld.shared.f32 %f1, [%r6+{4 * k}];\n"
                     f"  ld.shared.f32 %f2, [%r7+{64 * k}];\n"
                     "  fma.rn.f32 %f0, %f1, %f2, %f0;" for k in range(16))
    return HEAD + f"""
.visible .entry matmul(.param .u64 out, .param .u64 matrix, .param .u32 turns)
{{
  .shared .align 4 .b8 left[1024];
  .shared .align 4 .b8 right[1024];
  .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<16>; .reg .b64 %rd<6>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [matrix];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shr.u32 %r3, %r1, 4;
  and.b32 %r4, %r1, 15;
  // Where it puts an element of each tile; its row and its column of them.
  mov.u32 %r5, left;
  mov.u32 %r7, right;
  shl.b32 %r6, %r1, 2;
  add.u32 %r8, %r5, %r6;
  add.u32 %r9, %r7, %r6;
  shl.b32 %r6, %r3, 6;
  add.u32 %r6, %r5, %r6;
  shl.b32 %r10, %r4, 2;
  add.u32 %r7, %r7, %r10;
  // Its row of the left matrix, and its column of the right one.
  shr.u32 %r11, %r2, 4;
  shl.b32 %r11, %r11, 4;
  add.u32 %r11, %r11, %r3;
  mad.lo.u32 %r11, %r11, {SIDE}, %r4;
  and.b32 %r12, %r2, 15;
  shl.b32 %r12, %r12, 4;
  add.u32 %r12, %r12, %r4;
  mad.lo.u32 %r12, %r3, {SIDE}, %r12;
  mov.u32 %r13, 0;
  mov.f32 %f0, 0f00000000;
$loop:
  add.u32 %r14, %r11, %r13;
  mul.wide.u32 %rd2, %r14, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.f32 %f1, [%rd2];
  mad.lo.u32 %r14, %r13, {SIDE}, %r12;
  mul.wide.u32 %rd2, %r14, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.f32 %f2, [%rd2];
  st.shared.f32 [%r8], %f1;
  st.shared.f32 [%r9], %f2;
  bar.sync 0;
{body}
  bar.sync 0;
  add.u32 %r13, %r13, 16;
  and.b32 %r13, %r13, {SIDE - 1};
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r3, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd2, %rd0, %rd2;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""


def sums():
    """8 loads a turn, of neighbouring elements by the threads of a block; each block
    reads the whole array."""
    body = "\n".join(f"  ld.global.f32 %f1, [%rd3+{1024 * k}];\n"
                     "  add.f32 %f0, %f0, %f1;" for k in range(8))
    return HEAD + f"""
.visible .entry sums(.param .u64 out, .param .u64 matrix, .param .u32 turns)
{{
  .reg .pred %p; .reg .f32 %f<2>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [matrix];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.f32 %f0, 0f00000000;
$loop:
  add.u32 %r3, %r2, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd3, %rd1, %rd2;
{body}
  add.u32 %r2, %r2, 2048;
  and.b32 %r2, %r2, {SIDE * SIDE - 1};
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $loop;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.u32 %r3, %r3, %r4, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd2, %rd0, %rd2;
  st.global.f32 [%rd2], %f0;
  ret;
}}
"""
