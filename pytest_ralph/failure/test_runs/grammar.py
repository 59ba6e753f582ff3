"""How test runners print a failing test, for those that print a title with a block below it.

The grammars are written in `runners.rules`; the comment there explains the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

LONGEST_BLOCK = 60
ANY_LINE = "<any>"
NAMED_PATTERNS = {
    "<thrown>": (
        r"^\s*(?:\d+\) )?((?:[\w.$\\]+[.\\:])?\w*"
        r"(?:Error|Exception|Failure|Failed|Fault|Mismatch)(?: \[\w+\])?:.+)"
    ),
    "<compared>": (
        r"^\W{0,6}((?:expected|assert|got|actual|want|failed asserting|received|values? |should|is "
        r"|not |check|require).*)"
    ),
    ANY_LINE: r"^\s*(?:[#|│E>]\s+)?(\S.*)$",
    "none": r"(?!)",
}
DEFAULT_ERRORS = ("<thrown>", "<compared>", ANY_LINE)
DEFAULT_END = r"^\S.*(?:passed|failed|Ran \d+ tests)|^={5,}|^Test Suites:"
# Lines of a block that only say where, or belong to a listing of source or differences.
PLACE = re.compile(
    r"^\s*(?:at\s|# *at\s|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ |\d+ *[|:│]|[-+] |\^|~|─+$"
    r"|stdout|Stack:|Message:|[|│]\s*$|failures:$|\w+(?:::\w+)+:$)"
)
# Below the title of a suite stands a count, not an error.
SUITE_COUNT = re.compile(r"^\d+ tests?, \d+ passed")


@dataclass(frozen=True)
class Grammar:
    """One way of printing failing tests; `sample` names the sample that needs it."""

    title: str
    sample: str = ""
    words: str = ""
    errors: Sequence[str] = DEFAULT_ERRORS
    ends: str = DEFAULT_END
    above: str = ""
    loads: bool = False
    sure: bool = True

    def may_occur_in(self, output: CommandOutput) -> bool:
        """Return whether all words of one alternative occur in the output."""
        alternatives = [alternative.split() for alternative in self.words.split("|")]
        return any(all(map(output.has, words)) for words in alternatives)


@cache
def load_grammars() -> dict[str, Grammar]:
    """Return the grammars by name, in the order in which they are tried."""
    text = Path(__file__).with_name("runners.rules").read_text(encoding="utf-8")
    sections = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)[1:]
    names = sections[::2]
    bodies = sections[1::2]
    return {name: _parse(body) for name, body in zip(names, bodies, strict=True)}


def _parse(body: str) -> Grammar:
    fields: dict[str, str] = {}
    errors: list[str] = []
    for line in body.splitlines():
        name, _, value = line.partition(" ")
        if name == "error":
            errors.append(value.strip())
        elif name:
            fields[name] = value.strip()
    return Grammar(
        title=fields["title"],
        sample=fields.get("sample", ""),
        words=fields.get("words", ""),
        errors=tuple(errors) or DEFAULT_ERRORS,
        ends=fields.get("ends", DEFAULT_END),
        above=fields.get("above", ""),
        loads="loads" in fields,
        sure="unsure" not in fields,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(NAMED_PATTERNS.get(pattern, pattern))


def read_blocks(output: CommandOutput, grammar: Grammar) -> Iterator[FailedTest]:
    """Yield every failing test that is printed in the way of a grammar."""
    if not grammar.may_occur_in(output):
        return
    lines = output.lines
    title = _compiled(grammar.title)
    for number, line in enumerate(lines):
        match = title.match(line)
        if match is None:
            continue
        at = number
        error = match.groupdict().get("error") or ""
        if not error and grammar.above:
            at, error = _error_above(lines, number, grammar)
        if not error:
            at, error = _error_below(lines, number, grammar)
        if not error and not grammar.sure:
            continue
        if SUITE_COUNT.match(error):
            continue
        yield FailedTest(_name(match, lines, number), error, at, not grammar.loads)


def _name(match: re.Match[str], lines: Sequence[str], number: int) -> str:
    if match.re.groups == 0:
        below = (line.strip() for line in lines[number + 1 : number + 3])
        return next(filter(None, below), "")
    return next(filter(None, match.groups()), "").strip()


def _error_above(lines: Sequence[str], number: int, grammar: Grammar) -> tuple[int, str]:
    """Return the last error above a title, if the runner prints the result of a test last."""
    pattern = _compiled(grammar.above)
    end = _compiled(grammar.ends)
    for at in range(number - 1, max(-1, number - LONGEST_BLOCK), -1):
        if end.match(lines[at]):
            break
        match = pattern.match(lines[at])
        if match:
            return at, match[1].strip()
    return number, ""


def _error_below(lines: Sequence[str], number: int, grammar: Grammar) -> tuple[int, str]:
    block = _block(lines, number, grammar)
    for pattern in grammar.errors:
        for at, line in block:
            match = _compiled(pattern).match(line)
            if match is None or not line.strip():
                continue
            if pattern == ANY_LINE and PLACE.match(line):
                continue
            return at, next(filter(None, match.groups()), line).strip()
    return number, ""


def _block(lines: Sequence[str], number: int, grammar: Grammar) -> Sequence[tuple[int, str]]:
    """Return the numbered lines below a title, up to the next title or the end of the report."""
    title = _compiled(grammar.title)
    end = _compiled(grammar.ends)
    block: list[tuple[int, str]] = []
    for at in range(number + 1, min(len(lines), number + 1 + LONGEST_BLOCK)):
        if title.match(lines[at]) or end.match(lines[at]):
            break
        block.append((at, lines[at]))
    return block
