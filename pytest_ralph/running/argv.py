"""Running: how a command line is handed to the system: by the shell, or directly where no shell is needed."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL = ("bash", "sh", "/bin/sh")

# Characters that no POSIX shell gives a meaning to, in words that are neither assignments nor job names.
_PLAIN = regex(r"[A-Za-z0-9_./][\w./:@%+,-]*(?: +[\w./:@%+,=-]+)*", re.ASCII)

# Reserved words and builtins of bash, dash and ksh. Not here: `true` and `false`, which as programs do the same.
_SHELL_WORDS = frozenset(
    """
    . : [ alias autoload bg bind break builtin caller case cd chdir command compgen complete compopt continue
    coproc declare dirs disown do done echo elif else enable esac eval exec exit export fc fg fi for function
    getopts hash help hist history if in integer jobs kill let local login logout mapfile nameref newgrp popd
    print printf pushd pwd read readarray readonly return select set shift shopt source stop suspend test then
    time times trap type typeset ulimit umask unalias unset until wait whence while
    """.split()
)


def is_plain(command: str) -> bool:
    """Whether running the words of `command` directly is the same as giving it to the shell."""
    if not _PLAIN.fullmatch(command):
        return False
    first, _, arguments = command.partition(" ")
    if first in {"true", "false"}:
        return not arguments
    return first not in _SHELL_WORDS


def direct_argv(command: str, environ: Mapping[str, str]) -> list[str] | None:
    """The words to execute without a shell; None where only a shell does it right."""
    # A shell would read BASH_ENV first, and look for an exported function or in a default PATH.
    if "BASH_ENV" in environ or not environ.get("PATH") or not is_plain(command):
        return None
    words = command.split()
    return None if f"BASH_FUNC_{words[0]}%%" in environ else words


def shell_argv(shell: str, command: str) -> list[str]:
    # A command that begins with a dash would be read as an option of the shell.
    return [shell, "-c", f" {command}" if command.startswith(("-", "+")) else command]


def find_shell(wanted: str | None, environ: Mapping[str, str]) -> str | None:
    """The path of the wanted shell, else of bash, else of sh."""
    path = environ.get("PATH")
    names = (wanted,) if wanted else USUAL
    return next((found for name in names if (found := shutil.which(name, path=path))), None)
