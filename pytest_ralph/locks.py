"""One run per spec at a time: who comes second is told who holds it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from pathlib import Path


class SpecHeld(Exception):  # noqa: N818 - a state of affairs, told in one line
    """Another run is at work on the spec."""


def spec_key(path: Path) -> str:
    """A file name for what is kept about a spec, the same whichever way it is reached."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]


class SpecLocks:
    """Locks of one run, let go at its end or with the death of its process, whichever comes first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "locks"
        self._held: dict[Path, FileLock] = {}

    def take(self, path: Path, shown: str) -> None:
        if path in self._held:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        base = self._directory / spec_key(path)
        lock = FileLock(f"{base}.lock", timeout=0, thread_local=False)
        holder = base.with_suffix(".json")
        try:
            lock.acquire()
        except Timeout:
            raise SpecHeld(f"{shown} is being worked on by another run{_holder(holder)}") from None
        self._held[path] = lock
        holder.write_text(json.dumps({"pid": os.getpid(), "since": time.time()}), encoding="utf-8")

    def release(self) -> None:
        for lock in self._held.values():
            lock.release()
        self._held.clear()


def _holder(path: Path) -> str:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        since = time.strftime("%H:%M:%S", time.localtime(float(told["since"])))
        return f" (pid {int(told['pid'])}, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
