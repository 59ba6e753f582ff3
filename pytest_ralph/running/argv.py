"""How a command line is started: by the shell, or directly if it needs no shell."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL_SHELLS = ("bash", "sh", "/bin/sh")

# Characters that have no meaning to any POSIX shell, in words that are neither assignments nor job
# names.
_PLAIN = regex(r"[A-Za-z0-9_./][\w./:@%+,-]*(?: +[\w./:@%+,=-]+)*", re.ASCII)

# Reserved words and builtins of bash, dash and ksh, except `true` and `false`, which do the same as
# programs.
SHELL_WORDS = frozenset(
    """
    . : [ alias autoload bg bind break builtin caller case cd chdir command compgen complete compopt
    continue coproc declare dirs disown do done echo elif else enable esac eval exec exit export fc
    fg fi for function getopts hash help hist history if in integer jobs kill let local login logout
    mapfile nameref newgrp popd print printf pushd pwd read readarray readonly return select set
    shift shopt source stop suspend test then time times trap type typeset ulimit umask unalias
    unset until wait whence while
    """.split()
)


def is_plain(command: str) -> bool:
    """Return whether the words of `command` can be executed without a shell, to the same effect."""
    if not _PLAIN.fullmatch(command):
        return False
    first, _, arguments = command.partition(" ")
    if first in {"true", "false"}:
        return not arguments
    return first not in SHELL_WORDS


def direct_argv(command: str, environ: Mapping[str, str]) -> list[str] | None:
    """Return the words to execute without a shell, or None if the command needs one."""
    # A shell would read BASH_ENV first, and has a default PATH.
    if "BASH_ENV" in environ or not environ.get("PATH"):
        return None
    if not is_plain(command):
        return None

    words = command.split()
    is_exported_function = f"BASH_FUNC_{words[0]}%%" in environ
    return None if is_exported_function else words


def shell_argv(shell: str, command: str) -> list[str]:
    """Return the words that have `shell` run `command`."""
    if command.startswith(("-", "+")):
        # The shell would read it as an option.
        command = f" {command}"
    return [shell, "-c", command]


def find_shell(wanted: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the path of the wanted shell, or of the first usual one that is installed."""
    names = (wanted,) if wanted else USUAL_SHELLS
    for name in names:
        shell = shutil.which(name, path=environ.get("PATH"))
        if shell:
            return shell
    return None
