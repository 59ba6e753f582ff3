"""The command line of this run, as a user would type it again."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pytest

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def command_line(
    config: pytest.Config, mask: Callable[[str], str], leave_out: Collection[str] = ()
) -> str:
    """Return the command that started this run, masked and without the words in `leave_out`."""
    program = ["pytest"]
    if sys.argv and Path(sys.argv[0]).name == "__main__.py":
        program = [Path(sys.executable).name, "-m", "pytest"]
    arguments = [str(argument) for argument in config.invocation_params.args]
    # Before they are quoted, which may change how a secret looks.
    words = [mask(word) for word in (*program, *arguments) if word not in leave_out]
    return mask(" ".join(_quote(word) for word in words))


def _quote(word: str) -> str:
    """Quote a word for the shell, on one line."""
    if not _CONTROL.search(word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", escaped) + "'"
