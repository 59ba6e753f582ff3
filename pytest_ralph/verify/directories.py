"""The directory that the words around commands name: "in `web`", "(from the app directory)"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import one_of, phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.spans import Mention

_NAME = r"`[\w.-][\w./@-]*`|[\w.-][\w.@-]*/[\w./@-]*"
# With a slash, and without the ending of a file: `web/app`, but not `web/package.json`.
_PATH = (
    r"`(?![^`]*\.[a-zA-Z]\w{0,4}`)[\w.-][\w.@-]*/[\w./@-]*`"
    rf"|(?:[\w.-]+/)+(?![\w./])|{one_of('top directory')}/[\w/-]*(?![\w./])"
)
_KIND = r"(?:directory|folder|dir\b|package|workspace)"
_CALLED = (
    r"(?:the\s+)?(?:(?P<called>[`\"']?[\w.-][\w./@-]*[`\"']?)\s+(?:directory|folder|dir\b)"
    rf"|(?P<quoted>{_NAME})\s+{_KIND})"
)
_AFTER_KIND = rf"(?:the\s+)?(?:directory|folder)\s+(?P<after_kind>{_NAME})"
_IN = r"\b(?:from|in|from\s+within|inside|within|under)\s+"
# `npm test` in `web/app` and `web/api`: each of several directories.
_ONLY_ONE = rf"(?!\s*(?:,|and|or|&|\+|/)\s*(?:the\s+)?(?:{_NAME}))"
_NO_PLACE = r"(?!\s+(?:mode|branch|page|route|profile|format|repo|repository)\b)"
# Behind a command: `in web/app`, `(run from `web`)`, `in the web directory`.
_BEHIND = regex(
    r"[ ,;—–-]*\(?(?:(?:run|all|both|each|executed)\s+)*"
    rf"(?:{_IN}(?:{_AFTER_KIND}|{_CALLED}|(?:the\s+)?(?P<path>{_PATH}))"
    rf"|\b(?:from|from\s+within|inside|within)\s+(?:the\s+)?(?P<name>{_NAME})){_ONLY_ONE}{_NO_PLACE}\)?"
    rf"|\s*\(in\s+(?:the\s+)?(?P<bracketed>{_NAME})\)",
    re.IGNORECASE,
)
_PLACE = rf"\(?{_IN}(?:the\s+)?(?P<place>{_NAME}|[\w.-]+(?=\s+{_KIND}))(?:\s+{_KIND})?"
# In front of a list, a script or a command: `In `web`:`, `(in web/app):`, `(in `web`) …`
_AHEAD = regex(
    r"\W*(?:(?:run|execute|all|these|this|the|of|following|commands?|everything)\s+)*"
    rf"{_PLACE}(?:\)?\s*[:,]|\)?\W*$)",
    re.IGNORECASE,
)
# Right before a command: `…; in `web`: `, `…, and from the web directory run `
_RIGHT_BEFORE = regex(
    rf"(?P<joint>[.;,(:]\s*|\b(?:and|then|run)\s+|^\s*){_PLACE}\)?\s*[:,]?\s*(?:(?:run|execute):?\s*)?$",
    re.IGNORECASE,
)
_HEADING = regex(rf"\s*{_PLACE}\s*:\s*", re.IGNORECASE)
# What joins the items of a list of commands.
_JOINT = regex(r"[\s,&+]*(?:and|or|then)?\s*", re.IGNORECASE)
# Where every command runs anyway.
_ROOT = regex(
    r"[\s(,]*\b(?:from|in|at)\s(?:the\s)?(?:(?:repo|repository|project|workspace)(?:'s)?\s)?root"
    r"(?:\s(?:directory|folder))?\b\)?",
    re.IGNORECASE,
)
_NO_DIRECTORY = frozenset(phrases("prose")["no directory"])


def directory_ahead(words: str) -> str | None:
    """Return the directory that words in front of a list or a script name."""
    return _name_in(_AHEAD.match(words))


def directories_of(found: Sequence[Mention], given: str | None) -> list[str | None]:
    """Return for each command of a passage the directory that it runs in.

    The words in front of a command name that of all behind it. Those behind a list name that of the
    whole list. `given` is the directory of the passage.
    """
    places: list[str | None] = []
    for index, mention in enumerate(found):
        if _ROOT.search(mention.before):
            given = None
        given = _named_before(mention, is_first=index == 0) or given
        is_in_root = _ROOT.match(mention.after) is not None
        places.append(None if is_in_root else given)

    named = [_named_behind(found, index) for index in range(len(found))]
    for index in reversed(range(len(found))):
        goes_on = index + 1 < len(found) and _JOINT.fullmatch(found[index + 1].before)
        if goes_on and named[index] is None:
            named[index] = named[index + 1]
        place = named[index] or places[index]
        is_named = place is not None and _names(found[index].command, place)
        places[index] = None if is_named else place
    return places


def without_directory(words: str) -> str:
    """Return the words behind a command without those that only name its directory."""
    root = _ROOT.match(words)
    if root:
        return words[root.end() :]
    named = _BEHIND.match(words)
    if named and _name_in(named):
        return words[named.end() :]
    return words


def _named_before(mention: Mention, *, is_first: bool) -> str | None:
    if is_first and _AHEAD.match(mention.before):
        return directory_ahead(mention.before)
    named = _RIGHT_BEFORE.search(mention.before)
    is_behind_another = named is not None and not is_first and not named["joint"].strip()
    if is_behind_another and not _HEADING.fullmatch(mention.before):
        # `npm ci` in `web`, `npm test`: said of the first.
        return None
    return _name_in(named)


def _named_behind(found: Sequence[Mention], index: int) -> str | None:
    if index + 1 < len(found) and _HEADING.fullmatch(found[index + 1].before):
        return None
    return _name_in(_BEHIND.match(found[index].after))


def _names(command: str, directory: str) -> bool:
    """Whether a command names a directory itself, so that it runs in the root: `ls web/dist`."""
    name = re.escape(directory)
    changes = rf"(?:\bcd|-C|--(?:prefix|dir|cwd))[ =](?:\./)?{name}(?![\w-])"
    return re.search(rf"(?<![\w./-])(?:\./)?{name}/|{changes}", command) is not None


def _name_in(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    written = match[match.lastgroup or 0]
    name = written.strip("`\"'").rstrip("/")
    if name.lower() in _NO_DIRECTORY or name.startswith(".."):
        return None
    return name or None
