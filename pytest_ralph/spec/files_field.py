"""The paths that a Files field names."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

_SPAN = regex(r"(?<!`)`([^`\n]+)`(?!`)")
_PATH = regex(
    r"[\w@.~/\[\]()*{}$,+-]*(?:/[\w@.~\[\]()*{}$,+-]*|\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?$"
)
_BARE_NAMES = frozenset(
    ("Makefile", "Dockerfile", "Justfile", "Procfile", "LICENSE", "README", "Gemfile", "Rakefile")
)
_NO_PATHS = frozenset(("n/a", "and/or", "e.g", "i.e", "etc."))


def read_files(text: str) -> tuple[str, ...]:
    """Return the paths a Files field names, without annotations such as `(new)`."""
    words = _SPAN.findall(text) or re.split(r"[,;\s]+", re.sub(r"\([^()]*\)", " ", text))
    paths: dict[str, None] = {}
    for word in words:
        path = re.sub(r":\d+(?:-\d+)?$", "", word.strip().strip("*"))
        if _is_path(path):
            paths[path] = None
    return tuple(paths)


def _is_path(word: str) -> bool:
    if word in _BARE_NAMES:
        return True
    if word.lower() in _NO_PATHS or len(word) > 300 or word.startswith("-"):
        return False
    return "://" not in word and word.strip("./") != "" and _PATH.match(word) is not None
