"""Running: a Spool, what a command printed, on disk so that memory stays flat however much it was."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = 32 * 1024
TAIL = 96 * 1024
STORED = 128 * 1024 * 1024
KEPT_TAIL = 1024 * 1024
LINE = 64 * 1024


@dataclass(frozen=True)
class Spool:
    """`size` counts what was printed; `left_out` of it, from the middle, never went to disk. No output, no file."""

    path: Path
    size: int
    left_out: int = 0

    def text(self, head: int = HEAD, tail: int = TAIL) -> str:
        """The first `head` and the last `tail` bytes, decoded, cut at line ends where there are any."""
        try:
            with self.path.open("rb") as file:
                return _head_and_tail(file, head, tail)
        except FileNotFoundError:
            return ""

    def lines(self) -> Iterator[str]:
        """Every stored line without its end; a longer one than `LINE` comes in pieces."""
        try:
            with self.path.open("rb") as file:
                while piece := file.readline(LINE):
                    yield decode(piece).rstrip("\r\n")
        except FileNotFoundError:
            return

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()


def decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _head_and_tail(file: IO[bytes], head: int, tail: int) -> str:
    size = file.seek(0, 2)
    file.seek(0)
    if size <= head + tail:
        return decode(file.read())
    first = _whole_lines(file.read(head), from_start=True) if head else b""
    file.seek(size - tail)
    last = _whole_lines(file.read(tail), from_start=False) if tail else b""
    return decode(first) + _gap(size - len(first) - len(last)) + decode(last)


def _whole_lines(data: bytes, *, from_start: bool) -> bytes:
    """`data` without the line its cut went through, unless that would lose more than half of it."""
    cut = data.rfind(b"\n") + 1 if from_start else data.find(b"\n") + 1
    kept = data[:cut] if from_start else data[cut:]
    if cut and len(kept) * 2 >= len(data):
        return kept
    return data + b"\n" if from_start else data


def _gap(count: int) -> str:
    return f"… {count:,} bytes left out …\n"


class SpoolWriter:
    """Takes output chunk by chunk. The file is made with the first byte; past `limit` only the end is kept."""

    def __init__(self, path: Path, limit: int = STORED) -> None:
        self.path = path
        self.size = 0
        self.touched = 0.0
        self._room = limit
        self._file: IO[bytes] | None = None
        self._end: deque[bytes] = deque()
        self._held = 0
        self._left_out = 0
        self._last = b""

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.touched = time.monotonic()
        self._last = chunk
        stored = self._store(chunk[: self._room]) if self._room else 0
        if stored < len(chunk):
            self._hold(chunk[stored:])

    def _store(self, chunk: bytes) -> int:
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("wb", buffering=0)
            written = self._file.write(chunk)
        except OSError:
            # A full disk must not end the command: go on with what memory holds.
            written = self._room = 0
        self._room -= min(written, self._room)
        return written

    def _hold(self, chunk: bytes) -> None:
        self._end.append(chunk)
        self._held += len(chunk)
        while self._held - len(self._end[0]) >= KEPT_TAIL:
            self._held -= len(self._end.popleft())

    def last_line(self) -> str:
        lines = self._last.split(b"\n")
        return decode(next((line for line in reversed(lines) if line.strip()), b"")).strip()

    def spool(self) -> Spool:
        return Spool(self.path, self.size, self._left_out)

    def close(self) -> None:
        if self._file is None:
            return
        self._left_out = self.size - self._file.tell() - self._held
        with self._file as file, contextlib.suppress(OSError):
            if self._left_out:
                file.write(f"\n{_gap(self._left_out)}".encode())
            file.writelines(self._end)
