"""Make text from outside harmless, with one function for each place it may go.

Error messages, test names, file names and the output of executors are written by whoever wrote
the code under test. Wherever the plugin puts them they must stay text: they must not become a
task, field, heading, fence, command, terminal escape, element or prompt section.
"""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

# Characters after which a line is cut, if the caller does not say.
ONE_LINE = 300
MARKDOWN = 200
LONGEST_BACKTICK_RUN = 32

# CSI, OSC and the other string sequences (ended by BEL or ST, or not at all), then the
# two-character ones.
ESCAPES = regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_ENDS = regex("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control and format characters, zero-width characters, direction overrides, tags, non-characters.
_UNSEEN = regex(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATES = regex("[\ud800-\udfff]")


def terminal(text: str) -> str:
    """Return several lines for a terminal or for an XML or HTML writer.

    Everything that would move the cursor, colour, hide or reorder text is removed. An XML writer
    still has to escape `<` and `&`.
    """
    text = ESCAPES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _UNSEEN.sub("", text)
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str, limit: int = ONE_LINE) -> str:
    """Return a single line with single spaces, cut at `limit` characters."""
    if _is_plain_line(text) and len(text) < limit:
        return text

    # Escapes may vanish, so that more than `limit` characters have to be looked at.
    beginning = text[: limit * 16 + 4096]
    line = " ".join(terminal(beginning).split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def _is_plain_line(text: str) -> bool:
    if not text.isascii() or not text.isprintable():
        return False
    return " ".join(text.split()) == text


def markdown(text: str, limit: int = MARKDOWN) -> str:
    """Return one line that every Markdown reader takes as plain text in a list item.

    Backticks become apostrophes instead of escapes: in a spec, text between backticks is a
    command, also for readers that do not know escapes.
    """
    line = one_line(text, limit)
    for syntax, harmless in (("`", "'"), ("<!--", "<! --"), ("-->", "-- >")):
        line = line.replace(syntax, harmless)
    escaped = _STRUCTURE.sub(lambda match: match["keep"] or f"\\{match[0]}", line)
    if _LOOKS_LIKE_FIELD.match(line):
        return f"… {escaped}"
    return _escape_start(escaped)


def without_escapes(line: str) -> str:
    """Return a line of Markdown as it is read: without the backslashes before punctuation."""
    return _ESCAPE.sub(r"\1", line)


_ESCAPE = regex(r"\\([!-/:-@\[-`{-~])")
# `name[0]` stays as it is: it is neither a link nor a box. `a_b` and ` * ` are never emphasis.
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
_STARTS_BLOCK = regex(r"(?: [#>|=:~]+ | [-+]+ | \d{1,9} (?=[.)]) )", re.VERBOSE)
_LOOKS_LIKE_FIELD = regex(
    r"[\W_]*(?:do|files?|done\s+when|verify|verification|commit|requirements|design|depends\s+on"
    r"|timeout)[\s*_]*:",
    re.IGNORECASE,
)


def _escape_start(line: str) -> str:
    """Escape the beginning of a line that would open a heading, quote, list or rule."""
    match = _STARTS_BLOCK.match(line)
    if match is None:
        return line
    if match[0].isdigit():
        return f"{match[0]}\\{line[match.end() :]}"
    return f"\\{line}"


def prompt_line(text: str, limit: int = ONE_LINE) -> str:
    """Return one line for a prompt that opens no section, list or quotation anywhere in it."""
    line = one_line(text, limit).replace("<!--", "<! --")
    opening = _OPENS_BLOCK.match(line)
    if opening is None:
        return line
    number = opening["number"] or ""
    return f"{number}\\{line[len(number) :]}"


_OPENS_BLOCK = regex(
    r"""(?P<number>\d{1,9})[.)](?:\s|$) | \#{1,6}(?:\s|$) | [-+*](?:\s|$) | `{3} | ~{3} | [>|=]
    | (?:[-*_]\s*){3,}$ | --+$ | <[A-Za-z/!?] | \[[^\]]*\]: """,
    re.VERBOSE,
)


def fenced(text: str) -> str:
    """Return several lines for a prompt or Markdown, in a fence that nothing inside can close."""
    # The fence is longer than any run of backticks inside: without a bound on the runs, the fences
    # could take all the room there is.
    content = terminal(text).strip("\n")
    clean = _LONG_BACKTICK_RUN.sub("`" * LONGEST_BACKTICK_RUN, content)
    longest_run = max(re.findall("`+", clean), key=len, default="")
    fence = "`" * max(len(longest_run) + 1, 3)
    return f"{fence}text\n{clean}\n{fence}"


_LONG_BACKTICK_RUN = regex(f"`{{{LONGEST_BACKTICK_RUN},}}")


def annotation(level: str, message: str, **properties: object) -> str:
    """Return the workflow command for an `error`, `warning` or `notice`.

    `properties` name the place: `file`, `line` and `title`.
    """
    pairs = []
    for name, value in properties.items():
        escaped = str(value).translate(_IN_PROPERTY)
        pairs.append(f"{name}={escaped}")
    head = f"{level} {','.join(pairs)}".rstrip()
    return f"::{head}::{message.translate(_IN_MESSAGE)}"


_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})
