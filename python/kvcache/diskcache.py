# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk. An entry is one file that appears whole, so that any
number of processes may read and write at once; one that is damaged counts as
missing. The folder is bounded: what was used longest ago goes first."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import stat
import tempfile
import time
from typing import Optional


def folder() -> Optional[pathlib.Path]:
    """`KVCACHE_CACHE_DIR`, else a folder of the user's; None (no cache) where the
    variable is empty."""
    given = os.environ.get("KVCACHE_CACHE_DIR")
    if given is not None:
        return pathlib.Path(os.path.expanduser(given)) if given else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "kvcache"


def key(*parts: str) -> str:
    """The name of an entry, from all that it depends on."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> Optional[dict[str, bytes]]:
    """The files of the entry, or None."""
    where = folder()
    if where is None:
        return None
    path = where / f"{name}.json"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # A pipe has nobody to wait for.
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        with open(descriptor, "rb") as file:
            head, _, body = file.read().partition(b"\n")
        if head.decode() != hashlib.sha256(body).hexdigest():
            return None
        files = {one: base64.b64decode(content, validate=True)
                 for one, content in json.loads(body).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # What was used last is dropped last.
    return files


def store(name: str, files: dict[str, bytes]) -> None:
    """Writes the entry, and drops those used longest ago where the folder is full. A
    folder that cannot be written is no error: the kernel is compiled again another
    time. Raises ValueError as `limit` does."""
    where, most = folder(), limit()
    if where is None:
        return
    body = json.dumps({one: base64.b64encode(content).decode()
                       for one, content in files.items()}).encode()
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            os.replace(temporary, where / f"{name}.json")
        except OSError:
            os.unlink(temporary)
        _trim(where, name, most)
    except OSError:
        pass


def limit() -> int:
    """How many bytes the folder may hold: `KVCACHE_CACHE_MEGABYTES` (512). Raises
    ValueError for another text than a number."""
    text = os.environ.get("KVCACHE_CACHE_MEGABYTES", "512")
    if not text.isascii() or not text.isdigit():
        raise ValueError("expected KVCACHE_CACHE_MEGABYTES to be an integer of at least 0, got "
                         f"{text!r}")
    return int(text) * 10**6


def _trim(where: pathlib.Path, newest: str, most: int) -> None:
    """Deletes entries until the rest fits into `most` bytes, never the newest one. Another
    process may do the same at once, or read: an entry that is gone is compiled again."""
    entries, now = [], time.time()
    with os.scandir(where) as found:
        for one in found:
            with contextlib.suppress(OSError):
                facts = one.stat(follow_symlinks=False)
                if not stat.S_ISREG(facts.st_mode):
                    continue
                if one.name.endswith(".tmp"):
                    if now - facts.st_mtime > 3600:  # Its writer was killed.
                        os.unlink(one.path)
                elif re.fullmatch(r"[0-9a-f]{64}\.json", one.name):
                    entries.append((facts.st_mtime_ns, facts.st_size, one.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            break
        if pathlib.Path(path).stem != newest:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            total -= size
