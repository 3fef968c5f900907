# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls a kernel with arrays that say that they lie on a GPU."""

import kvcache


class OnGPU:
    def __init__(self, shape, typestr):
        self.__cuda_array_interface__ = dict(shape=shape, typestr=typestr, data=(1 << 30, False),
                                             version=3, strides=None)


layout = kvcache.Layout("f16", heads=2, head_size=64, page_size=8)
pool = layout.wrap(OnGPU((4, 2, 2, 8, 2, 64), "<f2"))
k = kvcache.compile("gather", layout, out="f32")
for _ in range(2):
    k(pool, lengths=OnGPU((2,), "<i4"), table=OnGPU((2, 2), "<i4"), out=OnGPU((2, 9, 2, 64), "<f4"))
