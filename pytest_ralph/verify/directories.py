"""The directory that the words around commands name: "in `web`", "(from the app directory)"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.spans import Mention

_NAME = r"`[\w./@-]+`|[\w.@-]+/[\w./@-]*"
_KIND = r"(?:directory|folder|dir\b|package|workspace)"
_DIRECTORY = regex(
    rf"\b(?:from|in|inside|within|under)\s+(?:the\s+)?(?P<called>[`\"']?[\w.@-][\w./@-]*[`\"']?)"
    rf"\s+{_KIND}|\b(?:from|inside|within)\s+(?:the\s+)?(?P<path>{_NAME})",
    re.IGNORECASE,
)
_IN_BRACKETS = regex(rf"\s*\(in\s+(?:the\s+)?({_NAME})\)", re.IGNORECASE)
# In front of a list, a script or a command: `In `web`:`, `(in web/app):`, `(in `web`) …`
_AHEAD = regex(
    rf"\W*(?:run |all )?\(?(?:in|from|inside|within|under)\s+(?:the\s+)?({_NAME})"
    rf"(?:\s+{_KIND})?(?:\)?\s*[:,]|\)\s*$)",
    re.IGNORECASE,
)
# Where every command runs anyway.
_ROOT = regex(
    r"[\s(,]*(?:from|in|at)\s(?:the\s)?(?:(?:repo|repository|project|workspace)(?:'s)?\s)?root"
    r"(?:\s(?:directory|folder))?\b\)?",
    re.IGNORECASE,
)
# Between a command and the words that name its directory.
_LEAD = " (,;—–-"
_NO_DIRECTORY = frozenset(phrases("prose")["no directory"])


def directory_ahead(words: str) -> str | None:
    """Return the directory that words in front of a list or a script name."""
    return _name_in(_AHEAD.match(words))


def directory_of(found: Sequence[Mention]) -> str | None:
    """Return the directory that the words right before or behind the commands name."""
    before = found[0].before
    after = found[-1].after
    if _AHEAD.match(before):
        return directory_ahead(before)
    named = _DIRECTORY.search(before) or _DIRECTORY.match(after.lstrip(_LEAD))
    return _name_in(named or _IN_BRACKETS.match(after))


def without_directory(words: str) -> str:
    """Return the words behind a command without those that only name its directory."""
    root = _ROOT.match(words)
    if root:
        return words[root.end() :]
    lead = len(words) - len(words.lstrip(_LEAD))
    named = _DIRECTORY.match(words, lead) or _IN_BRACKETS.match(words)
    if named and _name_in(named):
        return words[named.end() :]
    return words


def _name_in(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    written = match[match.lastindex or 0]
    name = written.strip("`\"'").rstrip("/")
    if name.lower() in _NO_DIRECTORY:
        return None
    return name or None
