# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From import to a gathered, checked result on the simulator in ten lines.
import numpy as np, kvcache
layout = kvcache.Layout("f8E4M3FN", heads=8, head_size=128, page_size=16, scales="f32", granularity=128)
pool = layout.allocate(num_blocks=4, layers=2)
pool.blocks[...] = np.random.default_rng(0).normal(size=pool.blocks.shape).astype(pool.blocks.dtype)
pool.scales[...] = np.random.default_rng(1).uniform(1, 2, pool.scales.shape)
gather = kvcache.compile("gather", layout, chip="sm_90a")
keys = gather(pool, lengths=[20, 3], table=[[1, 0], [3, 2]], layer=1)
want = np.float32(pool.blocks[[1, 0], 0, 1]) * pool.scales[[1, 0], 0, 1]
np.testing.assert_array_equal(keys[0], want.reshape(32, 8, 128)[:20])
