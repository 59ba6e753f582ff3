"""Find values in a command that only a person can fill in: `<name>`, `{{name}}`, `…`.

In the address or a header of an HTTP request `{name}` is one too.
"""

from __future__ import annotations

import re

from pytest_ralph.text.markdown import heredoc_delimiter
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import QUOTED

# `<name>`, with no blank at either end: `sort <in >out` reads one file and writes another.
_IN_BRACKETS = regex(r"(?<!<)<[^\W\d_](?:[\w .|/-]*[\w.|/-])?>")
_LEFT_OUT = regex(r"…|(?<!\S)\[?\.\.\.\]?(?![^\s/])|[\"']\.\.\.[\"']|\{\{ ?[A-Za-z][\w -]* ?\}\}")
# `-H "Cookie: ..."`, `-H "Authorization: Bearer <token>"`, `-k "<name>"`
_HEADER_LEFT_OUT = regex(
    r"[:=] ?(?:\w+ )?\.\.\.[\"']|(?:(?:-H|--header|\bWHERE)\b[^\n]*[:= ]|\s-[km] [\"'])"
    r"<[A-Za-z][\w-]*>[\"';]"
)
# `path/to/file`, `test_{module}.py`, `https://your-domain.com`; a search may look for them.
_NAME_TO_FILL_IN = regex(
    r"(?<![\w.])path/to/|\byour[-_]?(?:domain|host|app|project|server|site|url|org|name)\b"
    r"|(?<![$%@\\{\w]){[a-z][a-z_-]+}[\w./-]|[\w/.-](?<!@)\{[a-z][a-z_-]+\}"
)
_SEARCH = regex(r"\s*(?:git\s+)?(?:grep|rg|ag|ack|jq|awk|sed|find)\b")
_NAME_IN_BRACES = r"(?<![$%@\\{])\{[A-Za-z_][\w-]*\}"
_HTTP = regex(r"(?:^|[\s;&|(])(?:curl|wget|https?|xh)\s[^|;\n]*")
_TEMPLATE = regex(
    rf"(?:https?://|\blocalhost\b|\s\"?:\d|\$\{{?\w+\}}?/|\b\d+\.\d+\.\d+\.\d+)"
    # `?query={users{id}}` is a query in GraphQL.
    rf"(?:[^\s\"'?]*|[^\s\"']*[?&](?!query=)[\w-]+=){_NAME_IN_BRACES}"
    rf"|(?:-H|--header)[ =]?(?:\"[^\"]*|'[^']*){_NAME_IN_BRACES}"
    rf"|\s[A-Z][\w-]+:[\"']?[^\s\"']*(?: [^\s\"']*)?{_NAME_IN_BRACES}"
)
# What a request sends, and how curl prints the answer, may well hold braces.
_SENT = regex(
    r"\s(?:-[dFw]|--data[\w-]*|--json|--form|--write-out)[ =]?"
    r"(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+)"
)
_QUOTED = regex(r"'[^'.]*'|\"(?:\\.|[^\"\\])*\"")
# In quotes or behind a backslash a bracket is what is looked for, in a comment it is prose.
_NOT_RUN = regex(rf"{QUOTED}|\\.|(?<!\S)#[^\n]*", re.DOTALL)


def has_placeholder(command: str) -> bool:
    """Whether a command or a script holds a value that only a person can fill in."""
    command = _without_here_documents(command)
    if _IN_BRACKETS.search(_NOT_RUN.sub("Q", command)):
        return True
    if _HEADER_LEFT_OUT.search(command):
        return True
    if not _SEARCH.match(command) and _NAME_TO_FILL_IN.search(_NOT_RUN.sub("Q", command)):
        return True
    if any(_TEMPLATE.search(_SENT.sub(" ", request)) for request in _HTTP.findall(command)):
        return True
    return bool(_LEFT_OUT.search(_QUOTED.sub("Q", command)))


def _without_here_documents(script: str) -> str:
    """Return a script without the lines of its here documents, which no shell takes for code."""
    if "<<" not in script:
        return script
    kept: list[str] = []
    delimiter = ""
    for line in script.split("\n"):
        if not delimiter:
            kept.append(line)
            delimiter = heredoc_delimiter(line)
        elif line.strip() == delimiter:
            delimiter = ""
    return "\n".join(kept)
