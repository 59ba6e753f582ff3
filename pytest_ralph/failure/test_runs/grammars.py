"""Grammar: how a test runner prints a failing test, for the many runners whose output is a title and a block below it.

The grammars themselves are in runners.rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

BLOCK = 60
NAMED_PATTERNS = {
    "<thrown>": (
        r"^\s*(?:\d+\) )?((?:[\w.$\\]+[.\\:])?\w*(?:Error|Exception|Failure|Failed|Fault|Mismatch)(?: \[\w+\])?:.+)"
    ),
    "<compared>": (
        r"^\W{0,6}((?:expected|assert|got|actual|want|failed asserting|received|values? |should|is |not |check"
        r"|require).*)"
    ),
    "<any>": r"^\s*(?:[#|│E>]\s+)?(\S.*)$",
    "none": r"(?!)",
}
DEFAULT_ERRORS = ("<thrown>", "<compared>", "<any>")
DEFAULT_END = r"^\S.*(?:passed|failed|Ran \d+ tests)|^={5,}|^Test Suites:"
# Lines below a title that only say where, or belong to a listing of source or differences.
PLACE = re.compile(
    r"^\s*(?:at\s|# *at\s|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ |\d+ *[|:│]|[-+] |\^|~|─+$|stdout|Stack:"
    r"|Message:"
    r"|[|│]\s*$)"
)
# Below the title of a suite stands a count, not an error.
SUITE = re.compile(r"^\d+ tests?, \d+ passed")
# Runners of which only a mark is known; they are tried last, and only where tests are known to have run.
LAST_RESORTS = ("marked", "suffixed")


@dataclass(frozen=True)
class Grammar:
    title: str
    words: str = ""
    errors: Sequence[str] = DEFAULT_ERRORS
    ends: str = DEFAULT_END
    starts: str = ""
    loads: bool = False
    sure: bool = True

    def met_in(self, transcript: CommandOutput) -> bool:
        return any(
            all(transcript.has(word) for word in words.split()) for words in self.words.split("|")
        )


@cache
def grammars() -> Mapping[str, Grammar]:
    text = Path(__file__).with_name("runners.rules").read_text(encoding="utf-8")
    sections = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)[1:]
    return {
        runner: _grammar(body) for runner, body in zip(sections[::2], sections[1::2], strict=True)
    }


def _grammar(body: str) -> Grammar:
    rows = [line.split(None, 1) for line in body.splitlines() if line.strip()]
    fields = {row[0]: row[1] if len(row) > 1 else "" for row in rows}
    return Grammar(
        fields["title"],
        fields.get("words", ""),
        tuple(row[1] for row in rows if row[0] == "error") or DEFAULT_ERRORS,
        fields.get("ends", DEFAULT_END),
        fields.get("starts", ""),
        "loads" in fields,
        "unsure" not in fields,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(NAMED_PATTERNS.get(pattern, pattern))


def read(transcript: CommandOutput, grammar: Grammar) -> Iterator[Failing]:
    """Every failing test that is printed in the way of a grammar."""
    if not grammar.met_in(transcript):
        return
    lines, title = transcript.lines, _compiled(grammar.title)
    for number in range(_start(lines, grammar), len(lines)):
        if match := title.match(lines[number]):
            at, error = number, match.groupdict().get("error") or ""
            if not error:
                at, error = _below(lines, number, grammar)
            if (error or grammar.sure) and not SUITE.match(error):
                yield Failing(_name(match, lines, number), error, at, not grammar.loads)


def _start(lines: Sequence[str], grammar: Grammar) -> int:
    """Where a runner repeats its failures at the end, what stands above also lists what contains them."""
    if not grammar.starts:
        return 0
    return next(
        (number for number, line in enumerate(lines) if _compiled(grammar.starts).match(line)), 0
    )


def _name(match: re.Match[str], lines: Sequence[str], number: int) -> str:
    if match.re.groups == 0:
        return next((line.strip() for line in lines[number + 1 : number + 3] if line.strip()), "")
    return next((group for group in match.groups() if group), "").strip()


def _below(lines: Sequence[str], number: int, grammar: Grammar) -> tuple[int, str]:
    block = _block(lines, number, grammar)
    for pattern in grammar.errors:
        for at, line in block:
            match = _compiled(pattern).match(line)
            if match and line.strip() and not (pattern == "<any>" and PLACE.match(line)):
                return at, next(filter(None, match.groups()), line).strip()
    return number, ""


def _block(lines: Sequence[str], number: int, grammar: Grammar) -> Sequence[tuple[int, str]]:
    block = []
    for at in range(number + 1, min(len(lines), number + 1 + BLOCK)):
        if _compiled(grammar.title).match(lines[at]) or _compiled(grammar.ends).match(lines[at]):
            break
        block.append((at, lines[at]))
    return block
