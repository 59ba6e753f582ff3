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
    rf"|\b(?:from|from\s+within|inside|within)\s+(?:the\s+)?(?P<name>{_NAME}))"
    rf"{_ONLY_ONE}{_NO_PLACE}\)?"
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
    rf"(?P<joint>[.;,(:]\s*|\b(?:and|then|run)\s+|^\s*){_PLACE}"
    r"\)?\s*[:,]?\s*(?:(?:run|execute):?\s*)?$",
    re.IGNORECASE,
)
_HEADING = regex(rf"\s*{_PLACE}\s*:\s*", re.IGNORECASE)
_FILE = regex(r"[^/.]\.[a-zA-Z]\w{0,4}$")
# What joins the items of a list of commands.
_JOINT = regex(r"[\s,&+]*(?:and|or|then)?\s*", re.IGNORECASE)
# Where every command runs anyway.
_ROOT = regex(
    r"[\s(,]*\b(?:from|in|at)\s(?:the\s)?(?:(?:repo|repository|project|workspace)(?:'s)?\s)?root"
    r"(?:\s(?:directory|folder))?\b(?! of\b)\)?",
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
    behind = [_named_behind(found, index) for index in range(len(found))]
    for index in reversed(range(1, len(found))):
        is_in_list = _JOINT.fullmatch(found[index].before) is not None
        if is_in_list and behind[index - 1] is None:
            behind[index - 1] = behind[index]

    places: list[str | None] = []
    for index, mention in enumerate(found):
        given = _named_before(mention, given, is_first=index == 0)
        place = given if behind[index] is None else behind[index]
        places.append(_unless_named(mention.command, place))
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


def _named_before(mention: Mention, given: str | None, *, is_first: bool) -> str | None:
    """Return the directory that holds from here on."""
    if is_first and _AHEAD.match(mention.before):
        return directory_ahead(mention.before)
    if _ROOT.search(mention.before):
        given = None
    named = _RIGHT_BEFORE.search(mention.before)
    if named is None:
        return given
    is_behind_another = not is_first and not named["joint"].strip()
    if is_behind_another and not _HEADING.fullmatch(mention.before):
        # `npm ci` in `web`, `npm test`: said of the first.
        return given
    return _name_in(named) or given


def _named_behind(found: Sequence[Mention], index: int) -> str | None:
    """Return the directory that is named behind a command; an empty name stands for the root."""
    mention, *following = found[index : index + 2]
    if any(_HEADING.fullmatch(one.before) for one in following):
        return None
    if _ROOT.match(mention.after):
        return ""
    return _name_in(_BEHIND.match(mention.after))


def _unless_named(command: str, directory: str | None) -> str | None:
    """Return None for a command that names the directory itself, as in `ls web/dist`."""
    if not directory:
        return None
    name = re.escape(directory)
    changes = rf"(?:\bcd|-C|--(?:prefix|dir|cwd))[ =](?:\./)?{name}(?![\w-])"
    end = r"(?![\w-])" if "/" in directory else "/"
    is_named = re.search(rf"(?<![\w./-])(?:\./)?{name}{end}|{changes}", command)
    return None if is_named else directory


def _name_in(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    written = match[match.lastgroup or 0]
    name = written.strip("`\"'")
    if _FILE.search(name):
        return None
    name = name.rstrip("/")
    if name.lower() in _NO_DIRECTORY or name.startswith(".."):
        return None
    return name or None
