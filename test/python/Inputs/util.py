# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import re


@contextlib.contextmanager
def raises(kind, pattern):
    """Expects an exception whose text contains the pattern."""
    try:
        yield
    except kind as error:
        assert re.search(pattern, str(error)), f"expected {pattern!r} in {error}"
    else:
        raise AssertionError(f"expected {kind.__name__} with {pattern!r}, got none")
