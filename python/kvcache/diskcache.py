# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk. An entry is one file that appears whole, so that any
number of processes may read and write at once; one that is damaged counts as
missing."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tempfile
from typing import Optional


def folder() -> Optional[pathlib.Path]:
    """`KVCACHE_CACHE_DIR`, else a folder of the user's; None (no cache) where the
    variable is empty."""
    given = os.environ.get("KVCACHE_CACHE_DIR")
    if given is not None:
        return pathlib.Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "kvcache"


def key(*parts: str) -> str:
    """The name of an entry, from all that it depends on."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> Optional[dict]:
    """The entry, or None."""
    where = folder()
    if where is None:
        return None
    try:
        head, _, body = (where / f"{name}.json").read_text("utf-8").partition("\n")
        if head != hashlib.sha256(body.encode()).hexdigest():
            return None
        return json.loads(body)
    except (OSError, ValueError):
        return None


def store(name: str, entry: dict) -> None:
    """Writes the entry. A folder that cannot be written is no error: the kernel is
    compiled again another time."""
    where = folder()
    if where is None:
        return
    body = json.dumps(entry)
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(hashlib.sha256(body.encode()).hexdigest() + "\n" + body)
            os.replace(temporary, where / f"{name}.json")
        except OSError:
            os.unlink(temporary)
    except OSError:
        pass
