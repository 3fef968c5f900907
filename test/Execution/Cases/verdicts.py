# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a folder does not pass."""


class Malformed(Exception):
    """A file breaks the format; the text says where and how."""


class Unsupported(Exception):
    """Nobody here runs such a case; the text names the operation or option."""


class RunFailed(Exception):
    """The tool refused or died; the text says how."""


class Differs(Exception):
    """The first difference: array, index, what came and what should have."""
