"""The paths that the Files field of a task names."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

_SPAN = regex(r"(?<!`)`([^`\n]+)`(?!`)")
_REMARK_IN_TEXT = regex(r"\([^()]*\)")
_PATH = regex(
    r"[\w@.~/\[\]()*{}$,+-]*(?:/[\w@.~\[\]()*{}$,+-]*|\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?$"
)
_BARE_NAMES = frozenset(
    ("Makefile", "Dockerfile", "Justfile", "Procfile", "LICENSE", "README", "Gemfile", "Rakefile")
)
_NO_PATHS = frozenset(("n/a", "and/or", "e.g", "i.e", "etc."))
_LONGEST_PATH = 300


def read_files(text: str) -> tuple[str, ...]:
    """Return the paths a Files field names, without annotations such as `(new)`."""
    paths: dict[str, None] = {}
    for word in _possible_files(text):
        path = re.sub(r":\d+(?:-\d+)?$", "", word.strip().strip("*"))
        if _is_path(path):
            paths[path] = None
    return tuple(paths)


def _possible_files(text: str) -> list[str]:
    """Return the code spans and the list items of one word; without spans, every word."""
    # Where each name first stands.
    places: dict[str, int] = {}
    for span in _SPAN.finditer(text):
        places.setdefault(span[1], span.start(1))
    without_spans = _SPAN.sub("`", text)
    around = _REMARK_IN_TEXT.sub(" ", without_spans)
    if not places:
        return re.split(r"[,;\s]+", around)

    for item in re.split(r"[,;\n]", around):
        words = item.split()
        if len(words) == 1:
            places.setdefault(words[0], text.find(words[0]))
    return sorted(places, key=places.__getitem__)


def _is_path(word: str) -> bool:
    """Return whether a word looks like the path of a file or a directory."""
    if word in _BARE_NAMES:
        return True
    if word.lower() in _NO_PATHS or len(word) > _LONGEST_PATH:
        return False
    if not word.strip("./"):
        return False
    return _PATH.match(word) is not None
