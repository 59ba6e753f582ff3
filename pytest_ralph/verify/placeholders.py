"""Find values in a command that only a person can fill in: `<name>`, `{{name}}`, `…`.

In the address or a header of an HTTP request `{name}` is one too.
"""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import QUOTED

# `<name>`, with no blank at either end: `sort <in >out` reads one file and writes another.
_IN_BRACKETS = regex(r"(?<!<)<[^\W\d_](?:[\w .|/-]*[\w.|/-])?>")
_LEFT_OUT = regex(r"…|(?<!\S)\[?\.\.\.\]?(?![^\s/])|[\"']\.\.\.[\"']|\{\{ ?[A-Za-z][\w -]* ?\}\}")
# `-H "Cookie: ..."`, `-H "Authorization: Bearer <token>"`, `-k "<name>"`
_HEADER_LEFT_OUT = regex(
    r"[:=] ?(?:\w+ )?\.\.\.[\"']|(?:(?:-H|--header|\bWHERE)\b[^\n]*[:= ]'?"
    r"|\s(?:-[km]|--[a-z-]+)[ =][\"'])"
    r"<[A-Za-z][\w-]*>[\"';]"
)
# `path/to/file`, `test_{module}.py`, `https://your-domain.com`; a search may look for them.
_NAME_TO_FILL_IN = regex(
    r"(?<![\w.])path/to/|\byour[-_]?(?:domain|host|app|project|server|site|url|org|name)\b"
    r"|(?<![$%@\\{\w]){[a-z][a-z_-]+}[\w./-]|[\w/.-](?<!@)\{[a-z][a-z_-]+\}"
)
_SEARCH = regex(r"\s*(?:git\s+)?(?:grep|rg|ag|ack|jq|awk|sed|find)\b")
# `curl localhost/menus/{id}`, `curl -H "Token: {token}"`; `%{http_code}` is a format of curl.
_NAME_IN_REQUEST = regex(
    r"(?:(?<!: [\"'])\bhttps?://|\blocalhost\b|\$\w+/|(?:-H|--header)[ =]?[\"'][^\"']*)"
    r"[^\s\"'{]*(?<![$%@\\])\{[A-Za-z_][\w-]*\}"
)
_QUOTED = regex(r"'[^'.]*'|\"(?:\\.|[^\"\\])*\"")
# In quotes or behind a backslash a bracket is what is looked for, in a comment it is prose.
_NOT_RUN = regex(rf"{QUOTED}|\\.|(?<!\S)#[^\n]*", re.DOTALL)


def has_placeholder(command: str) -> bool:
    """Whether a command or a script holds a value that only a person can fill in."""
    if _IN_BRACKETS.search(_NOT_RUN.sub("Q", command)):
        return True
    if _HEADER_LEFT_OUT.search(command):
        return True
    if not _SEARCH.match(command) and _NAME_TO_FILL_IN.search(_NOT_RUN.sub("Q", command)):
        return True
    if _NAME_IN_REQUEST.search(command):
        return True
    return bool(_LEFT_OUT.search(_QUOTED.sub("Q", command)))
