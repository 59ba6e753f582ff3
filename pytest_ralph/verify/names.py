"""The names that a command itself looks for or lists."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.stdout_kind import split_stages

_COMPARED = regex(r"\. ?== ?\\?\"([\w.:-]+)\\?\"")
_GREP_PATTERN = regex(r"\b(?:grep|rg|egrep)\b(?: +-\S+)* +(?:'([^']+)'|\"([^\"]+)\")")
_GROUP = regex(r"\^?\(([^()]+)\)(:?)\$?")
_PLAIN = regex(r"[\w.-]+:?")


def names_in(command: str) -> list[str]:
    """Return the names of `grep -E '^(a|b)'`, of `. == "a" or . == "b"`, or of `ls a b`."""
    if compared := _COMPARED.findall(command):
        return list(compared)
    last = split_stages(command)[-1]
    if searched := _GREP_PATTERN.search(last):
        return _alternatives(searched[1] or searched[2])
    return _listed_files(last)


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern such as `^(a|b):`."""
    grouped = _GROUP.fullmatch(pattern)
    suffix = grouped[2] if grouped else ""
    alternatives = re.split(r"\\?\|", grouped[1] if grouped else pattern)
    names = [alternative.strip("^$") + suffix for alternative in alternatives]
    return names if all(_PLAIN.fullmatch(name) for name in names) else []


def _listed_files(stage: str) -> list[str]:
    words = stage.split()
    if words[:1] != ["ls"]:
        return []
    names = [word.rsplit("/", 1)[-1] for word in words[1:] if not word.startswith("-")]
    is_distinct = len(set(names)) == len(names)
    return names if is_distinct else []
