# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of the process while other threads compile: the interpreter ends a thread that
asks for its lock by an exception that native code does not let through, so that the end
waits for them."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import Iterator

_condition = threading.Condition()
_running = 0
_ended = False


@contextlib.contextmanager
def awaited() -> Iterator[None]:
    """Native work without the interpreter's lock, for which the end of the process
    waits. Once that has begun, threads but the main one stay here for good."""
    global _running
    with _condition:
        while _ended and threading.current_thread() is not threading.main_thread():
            _condition.wait()
        _running += 1
    try:
        yield
    finally:
        with _condition:
            _running -= 1
            _condition.notify_all()


def _wait() -> None:
    global _ended
    with _condition:
        _ended = True
        while _running:
            _condition.wait()


def _after_fork() -> None:
    """Only the thread that forked is there, and the lock may have been held."""
    global _condition, _running, _ended
    _condition, _running, _ended = threading.Condition(), 0, False


atexit.register(_wait)
os.register_at_fork(after_in_child=_after_fork)
