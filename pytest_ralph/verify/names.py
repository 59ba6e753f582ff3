"""The names that a command itself looks for or lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Command, Stage

_COMPARED = regex(r"\. ?== ?\\?\"([\w.:-]+)\\?\"")
_GREP_PATTERN = regex(r"\b(?:grep|rg|egrep)\b(?: +-\S+)* +(?:'([^']+)'|\"([^\"]+)\")")
_GROUP = regex(r"\^?\(([^()]+)\)(:?)\$?")
_ALTERNATION = regex(r"\\?\|")
_PLAIN = regex(r"[\w.-]+:?")


def names_in(command: Command) -> list[str]:
    """Return the names of `grep -E '^(a|b)'`, of `. == "a" or . == "b"`, or of `ls a b`."""
    compared: list[str] = _COMPARED.findall(command.text)
    if compared:
        return compared
    searched = _GREP_PATTERN.search(command.last.source)
    if searched:
        return _alternatives(searched[1] or searched[2])
    return _listed_files(command.last)


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern such as `^(a|b):`."""
    suffix = ""
    group = _GROUP.fullmatch(pattern)
    if group:
        pattern = group[1]
        suffix = group[2]
    names = [alternative.strip("^$") + suffix for alternative in _ALTERNATION.split(pattern)]
    if not all(map(_PLAIN.fullmatch, names)):
        return []
    return names


def _listed_files(stage: Stage) -> list[str]:
    words = stage.source.split()
    if words[:1] != ["ls"]:
        return []
    names: list[str] = []
    for word in words[1:]:
        name = word.rpartition("/")[2]
        if name in names:
            # A name twice says nothing about either file.
            return []
        if not word.startswith("-"):
            names.append(name)
    return names
