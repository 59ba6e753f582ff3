"""Spool: the output of a command, kept on disk so that memory stays flat."""

from __future__ import annotations

import contextlib
import io
import time
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from pytest_ralph.files import open_log, read_regular
from pytest_ralph.text.bounded import gap_line
from pytest_ralph.text.private_keys import KEY_BEGIN, MASK, open_key

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from pytest_ralph.running.raw_output import RawOutput

# Bytes that `Spool.text` returns of the beginning and of the end.
HEAD = 32 * 1024
TAIL = 96 * 1024
# Bytes that are stored as they come; of what follows, only the end is kept.
STORED = 32 * 1024 * 1024
KEPT_TAIL = 1024 * 1024
# Output waits in memory until there are this many bytes, or for this many seconds.
BLOCK = 1024 * 1024
FLUSH_INTERVAL = 1.0
# Bytes of the end in which the last line is looked for.
LAST_LINE_REACH = 2048
# A private key that is longer, in bytes, is none.
LONGEST_KEY = 64 * 1024
# A line that is too long is divided in one of so many places.
CUTS = 16


class Spool(NamedTuple):
    """The output of a command. There is no file if it printed nothing.

    `size` is the number of bytes printed. `unstored` is the end of the output if it could not be
    written to disk.
    """

    file: str | os.PathLike[str]
    size: int
    unstored: bytes = b""

    @property
    def path(self) -> Path:
        return Path(self.file)

    def text(self, head: int = HEAD, tail: int = TAIL) -> str:
        """Return the first `head` and the last `tail` bytes as text, at line ends if possible."""
        with self._open() as file:
            return _head_and_tail(file, head, tail)

    def pieces(self, size: int) -> Iterator[str]:
        """Yield everything that is stored as texts of about `size` bytes that end with a line."""
        with self._open() as file:
            while data := file.read(size):
                yield decode(data + file.readline(BLOCK))

    def _open(self) -> IO[bytes]:
        with contextlib.suppress(OSError):
            if not self.unstored:
                return self.path.open("rb")
        return io.BytesIO(self.unstored)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _head_and_tail(file: IO[bytes], head: int, tail: int) -> str:
    """Return the first and the last bytes of a file as text, with a line for what is between."""
    size = file.seek(0, 2)
    file.seek(0)
    if size <= head + tail:
        return decode(file.read())
    # An incomplete line is left out, unless that would lose more than half.
    first = file.read(head)
    cut = first.rfind(b"\n") + 1
    if cut * 2 >= head:
        first = first[:cut]
    file.seek(size - tail)
    last = file.read(tail)
    cut = last.find(b"\n") + 1
    if cut * 2 <= tail:
        last = last[cut:]

    gap = gap_line(size - len(first) - len(last), "bytes") + "\n"
    if first and not first.endswith(b"\n"):
        gap = f"\n{gap}"
    return f"{decode(first)}{gap}{decode(last)}"


def mask_file(path: Path, mask: Callable[[str], str]) -> None:
    """Mask the secrets in a file that a command wrote for us. Remove a link, or one too large."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or path.stat().st_size > STORED:
            path.unlink()
            return
        written = read_regular(path)
        masked = _masked(written, mask)
        if masked != written:
            path.write_bytes(masked)


def _masked(data: bytes, mask: Callable[[str], str]) -> bytes:
    return mask(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


class SpoolWriter:
    """Takes output in chunks, masks it and stores it. The first line creates the file.

    `raw` receives the output as it was printed.

    After `limit` bytes only the end is kept, so that neither disk nor memory fills up and the
    command need not be killed.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        limit: int = STORED,
        mask: Callable[[str], str] = str,
        raw: RawOutput | None = None,
    ) -> None:
        self.file = file
        self.size = 0
        self.touched = 0.0
        self._mask = mask
        self._raw = raw
        self._room = limit
        self._file: IO[bytes] | None = None
        self._pending = bytearray()
        self._flushed = time.monotonic()
        self._end: deque[bytes] = deque()
        self._left_out = 0
        self._unstored = b""
        self._last = b""
        # The end of what was stored last.
        self._masked_end = b""

    def write(self, chunk: bytes) -> None:
        """Add a chunk of output."""
        self.size += len(chunk)
        self.touched = time.monotonic()
        self._last = (self._last + chunk[-LAST_LINE_REACH:])[-LAST_LINE_REACH:]
        self._pending += chunk
        if self._raw is not None:
            self._raw.write(chunk)
        if len(self._pending) >= BLOCK or self.touched - self._flushed > FLUSH_INTERVAL:
            self.flush()

    def flush(self, *, everything: bool = False) -> None:
        """Store the complete lines, so that no secret is cut in two before it is masked."""
        cut = len(self._pending) if everything else self._end_of_lines()
        block = bytes(self._pending[:cut])
        self._pending = self._pending[cut:]
        self._flushed = self.touched
        if not block:
            return
        if self._room <= 0:
            self._masked_end = b""
            self._hold(block)
        else:
            masked = self._masked(block)
            self._masked_end = masked.rstrip()[-LAST_LINE_REACH:]
            self._store(masked)

    def _end_of_lines(self) -> int:
        """Return where the complete lines end, before a private key that may go on."""
        pending = self._pending
        end = pending.rfind(b"\n") + 1
        if not end and len(pending) > 2 * BLOCK:
            end = self._cut_in_line()
        key = self._open_key()
        return end if key < 0 else min(end, key)

    def _cut_in_line(self) -> int:
        """Return where a line that is too long can be divided without dividing a secret."""
        pending = self._pending
        # What has arrived of a secret at the end is not known as one.
        latest = len(pending) - LONGEST_KEY
        for limit in range(latest, latest - LONGEST_KEY, -LONGEST_KEY // CUTS):
            # Between two words, or between two values of a JSON text.
            cut = max(pending.rfind(b" ", 0, limit), pending.rfind(b'"', 0, limit)) + 1 or limit
            before = bytes(pending[max(cut - LONGEST_KEY, 0) : cut])
            behind = bytes(pending[cut : cut + LONGEST_KEY])
            if self._masked(before) + self._masked(behind) == self._masked(before + behind):
                return cut
        return latest

    def _open_key(self) -> int:
        """Return where a private key begins that may go on in the next chunk; -1 if none does."""
        if KEY_BEGIN.encode() not in self._pending:
            return -1
        begin = open_key(self._pending.decode("latin-1"))
        if len(self._pending) - begin > LONGEST_KEY:
            return -1
        return begin

    def _masked(self, block: bytes) -> bytes:
        return _masked(block, self._mask)

    def _store(self, block: bytes) -> None:
        """Write to the file as much as there is room for; hold the rest."""
        wanted = block[: self._room]
        stored = 0
        # A full disk must not end the command: keep the end in memory instead.
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = open_log(Path(self.file))
            stored = self._file.write(wanted)

        is_full = stored < len(wanted)
        self._room = 0 if is_full else self._room - stored
        rest = block[stored:]
        if rest:
            self._hold(rest)

    def _hold(self, block: bytes) -> None:
        self._end.append(block)
        while sum(map(len, self._end)) - len(self._end[0]) >= KEPT_TAIL:
            self._left_out += len(self._end.popleft())

    def last_line(self) -> str:
        """Return the last line that is not blank, masked."""
        if self._open_key() >= 0:
            return MASK
        last = self._last
        if len(last) == LAST_LINE_REACH and b"\n" not in last.rstrip():
            return self._end_of_long_line()
        for line in reversed(last.splitlines()):
            if line.strip():
                return decode(self._masked(line)).strip()
        return ""

    def _end_of_long_line(self) -> str:
        """Return the end of a line of which the last bytes alone may begin inside a secret."""
        pending = bytes(self._pending[-2 * LONGEST_KEY :]).rstrip()
        if not pending:
            return decode(self._masked_end).rpartition("\n")[2].strip() or MASK
        masked = self._masked(pending)
        if len(self._pending) > 2 * LONGEST_KEY:
            # The first half may begin with the end of a secret.
            masked = masked[LONGEST_KEY:] or MASK.encode()
        return decode(masked[-LAST_LINE_REACH:]).rpartition("\n")[2].strip()

    def spool(self) -> Spool:
        """Return what has been stored so far."""
        return Spool(self.file, self.size, self._unstored)

    def close(self) -> None:
        """Store what is left."""
        if not self.size:
            return
        self.flush(everything=True)
        end = self._masked(b"".join(self._end))
        if self._file is None:
            self._unstored = end
            return
        written = end
        if self._left_out:
            gap = gap_line(self._left_out, "bytes")
            written = f"\n{gap}\n".encode() + end
        stored = 0
        with contextlib.suppress(OSError), self._file as file:
            stored = file.write(written)
        if stored < len(written):
            self._unstored = end
