"""Text: what comes from outside made inert, one function for each place it may go to.

Error text, test names, file names and output of executors are written by whoever wrote the code under test.
Wherever they are put they must stay text: no task, field, heading, fence, command, terminal escape, element or
prompt section may come of them.
"""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

ONE_LINE = 300
MARKDOWN = 200
COMMIT = 2_000
LONGEST_RUN = 32

# CSI, OSC and the other string sequences (ended by BEL or ST, or not at all), then the two-character ones.
_ESCAPES = regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_ENDS = regex("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Controls; characters without width; those that turn the direction of what follows; tags; what is no character.
_UNSEEN = regex(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATES = regex("[\ud800-\udfff]")


def terminal(text: str) -> str:
    """Several lines for the terminal: whatever would move the cursor, colour, hide or reorder is gone."""
    text = _ESCAPES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    return _SURROGATES.sub("\ufffd", _UNSEEN.sub("", text))


def xml(text: str) -> str:
    """Several lines for an XML or HTML writer, which still has to escape `<` and `&` as such writers do."""
    return terminal(text)


def one_line(text: str, limit: int = ONE_LINE) -> str:
    """A single line with single spaces, cut at `limit` characters."""
    if (
        text.isascii()
        and text.isprintable()
        and len(text) < limit
        and " ".join(text.split()) == text
    ):
        return text
    beginning = text[: limit * 16 + 4096]
    line = " ".join(terminal(beginning).split())
    if len(line) > limit or (len(line) == limit and len(beginning) < len(text)):
        return line[: max(limit - 1, 0)].rstrip() + "…"
    return line


def markdown(text: str, limit: int = MARKDOWN) -> str:
    """One line for a list item of tasks.md or .progress.md that every reader of markdown takes as plain text.

    Backticks become apostrophes, not escapes: in a spec, what stands between backticks is a command, also for
    readers that know no escapes.
    """
    line = one_line(text, limit).replace("`", "'").replace("<!--", "<! --").replace("-->", "-- >")
    escaped = _STRUCTURE.sub(lambda match: match["keep"] or f"\\{match[0]}", line)
    return f"… {escaped}" if _LIKE_A_FIELD.match(line) else _escape_start(escaped)


# `name[0]` stays as it is: no link and no box. `a_b` and ` * ` stay too: never emphasis.
_STRUCTURE = regex(
    r"""(?P<keep> (?<=\w) \[ [^\[\]()`<>\\*_~&!]* \] (?! [\[(:] )
        | (?<=[^\W_]) _+ (?=[^\W_])
        | (?<=\s) [*_]+ (?=\s) )
    | < (?= [A-Za-z/!?] )
    | & (?= \#?\w+; )
    | \\ (?= [!-/:-@\[-`{-~] | $ )
    | [*_\[]
    | \] (?= [\[(:] )
    | ~ (?= ~ ) | (?<=\S) ~
    """,
    re.VERBOSE,
)
_STARTS_A_BLOCK = regex(r"(?: [#>|=:~]+ | [-+]+ | \d{1,9} (?=[.)]) )", re.VERBOSE)
_LIKE_A_FIELD = regex(
    r"[\W_]*(?:do|files?|done\s+when|verify|verification|commit|requirements|design|depends\s+on|timeout)[\s*_]*:",
    re.IGNORECASE,
)


def _escape_start(line: str) -> str:
    """`line` so that its beginning opens no heading, quote, list or rule."""
    match = _STARTS_A_BLOCK.match(line)
    if not match:
        return line
    start = match[0]
    return f"{start}\\{line[match.end() :]}" if start.isdigit() else f"\\{line}"


def prompt_line(text: str, limit: int = ONE_LINE) -> str:
    """One line for a prompt: wherever it stands in it, it opens no section, list or quotation."""
    line = one_line(text, limit).replace("<!--", "<! --")
    opening = _OPENS_A_BLOCK.match(line)
    if opening is None:
        return line
    number = opening["number"] or ""
    return f"{number}\\{line[len(number) :]}"


_OPENS_A_BLOCK = regex(
    r"""(?P<number>\d{1,9})[.)](?:\s|$) | \#{1,6}(?:\s|$) | [-+*](?:\s|$) | `{3} | ~{3} | [>|=] | (?:[-*_]\s*){3,}$
    | --+$ | <[A-Za-z/!?] | \[[^\]]*\]: """,
    re.VERBOSE,
)


def prompt(text: str) -> str:
    """Several lines for a prompt, in a fence that nothing inside can close, so that all of it is quoted."""
    # A fence is longer than any run inside, so a run without end would leave no room for anything else.
    clean = _LONG_RUN.sub("`" * LONGEST_RUN, terminal(text).strip("\n"))
    longest = max((len(run) for run in re.findall(r"`{3,}", clean)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{clean}\n{fence}"


_LONG_RUN = regex(f"`{{{LONGEST_RUN},}}")


def commit(text: str, limit: int = COMMIT) -> str:
    """Several lines for a commit message: none is a comment, a scissors line or a trailer."""
    lines = (line.rstrip() for line in terminal(text[:limit]).strip().split("\n"))
    subject, *body = lines
    return "\n".join(
        [
            _indented_comment(subject),
            *(f" {line}" if _SPECIAL.match(line) else line for line in body),
        ]
    )


_SPECIAL = regex(r"[#;@!$%^&|:]|[-=]{3,}|diff |[A-Za-z0-9-]+\s*:")


def _indented_comment(line: str) -> str:
    return f" {line}" if line.startswith("#") else line
