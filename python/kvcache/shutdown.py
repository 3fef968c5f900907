# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exit of the process while other threads compile: the interpreter ends a thread that
asks for its lock by an exception that native code does not let through, so that the exit
waits for native work, and lets none begin later."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import Iterator, Optional

_condition = threading.Condition()
_running = 0
_exiting: Optional[int] = None  # The thread that the interpreter exits in.


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Native work without the interpreter's lock; the process exits after it. Once it has
    begun to exit, other threads, which are daemons, end by SystemExit: it is not printed,
    for the standard error may be gone."""
    global _running
    with _condition:
        if _exiting not in (None, threading.get_ident()):
            raise SystemExit("cannot compile: the interpreter is shutting down")
        _running += 1
    try:
        yield
    finally:
        with _condition:
            _running -= 1
            _condition.notify_all()


def _wait() -> None:
    global _exiting
    with _condition:
        _exiting = threading.get_ident()
        while _running:
            _condition.wait()


def _after_fork() -> None:
    """Only the thread that forked is there, and the lock may have been held."""
    global _condition, _running, _exiting
    _condition, _running, _exiting = threading.Condition(), 0, None


atexit.register(_wait)
os.register_at_fork(after_in_child=_after_fork)
