"""Files written whole or not at all.

`step` names every point at which a run may be cut off. It does nothing by itself; the fault tests
put a function in `on_step` and so enumerate and hit every point without guessing where they are.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

on_step: Callable[[str], None] | None = None


def step(name: str) -> None:
    if on_step is not None:
        on_step(name)


def write_whole(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` so that a reader, a crash or a full disk sees the old file or the new one."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    # Through a link to the file itself, so that the link stays a link.
    path = Path(os.path.realpath(path))
    step(f"before write {path.name}")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).chmod(path.stat().st_mode & 0o7777)
        step(f"before replace {path.name}")
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    step(f"after write {path.name}")
