# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ready kernels, by name: functions from a layout and options to a program, which
`kvcache.compile` compiles. What each computes is said by the operation of the same
name (docs/kernels.md, `help(kvcache.dialects.kvcache.gather)`).

In shapes B is the number of sequences, M the pages that a table has for one, T rows or
tokens, S the longest sequence's, NB a pool's pages, L layers; H heads, D elements and G
scales of a head are those of the layout. Lengths, offsets and positions count tokens."""

from .append import append, append_scales, quantize_append, rope_quantize_append
from .attention import mla_decode, paged_attention
from .gather import gather
from .indexer import indexer_scores, indexer_topk, remap_indices, topk
from .pages import clear_pages, compact, convert_layout, copy_pages, move_tokens
from .program import Argument, OwnProgram, Program
from .rows import rms_norm, rope

KERNELS = {function.__name__: function for function in
           (append, append_scales, clear_pages, compact, convert_layout, copy_pages, gather,
            indexer_scores, indexer_topk, mla_decode, move_tokens, paged_attention,
            quantize_append, remap_indices, rms_norm, rope, rope_quantize_append, topk)}

__all__ = ["Argument", "KERNELS", "OwnProgram", "Program", *KERNELS]
