"""How test runners print a failing test, for those that print a title with a block below it.

The grammars are written in `runners.rules`; the comment there explains the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import line_above, matching
from pytest_ralph.failure.test_runs.blocks import THROWN
from pytest_ralph.failure.test_runs.failed_test import FailedTest
from pytest_ralph.failure.test_runs.quotes import (
    Quote,
    above,
    below,
    first_quote,
    numbered,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

LONGEST_BLOCK = 60
# Lines of a block that only say where, or belong to a listing of source or differences.
PLACE = (
    r"\s*(?:at\s|# *at\s|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ |\d+ *[|:│]|[-+] |\^|~|─+$"
    r"|[✓✔√] |stdout|Stack:|Message:|[|│]\s*$|failures:$|\w+(?:::\w+)+:$|\S+:\d+:in |=> *\d+:)"
)
NOTHING = "none"
NAMED_PATTERNS = {
    "<thrown>": THROWN.pattern,
    "<compared>": (
        r"^\W{0,6}((?:expected|assert|got|actual|want|failed asserting|received|values? |should|is "
        r"|not |check|require).*)"
    ),
    "<any>": rf"^(?!{PLACE})\s*(?:[#|│E>]\s+)?(\S.*)$",
    NOTHING: r"(?!)",
}
DEFAULT_ERRORS = ("<thrown>", "<compared>", "<any>")
# Below the title of a suite stands a count, not an error.
SUITE_COUNT = re.compile(r"^\d+ tests?, \d+ passed")


@dataclass(frozen=True)
class Grammar:
    """One way of printing failing tests; `sample` names the sample that needs it."""

    title: str
    sample: str
    words: str = ""
    errors: Sequence[str] = DEFAULT_ERRORS
    ends: str = r"^\S.*(?:passed|failed|Ran \d+ tests)|^={5,}|^Test Suites:"
    below: str = ""
    name: str = ""
    above: str = NOTHING
    death: str = "none"
    starts: str = NOTHING
    unless: str = NOTHING
    last: str = ""
    loads: str = ""
    unsure: str = ""

    def may_occur_in(self, output: CommandOutput) -> bool:
        """Return whether all words of one alternative occur in the output."""
        for alternative in self.words.split("|"):
            if all(map(output.has, alternative.split())):
                return True
        return False


@cache
def load_grammars() -> dict[str, Grammar]:
    """Return the grammars by name, in the order in which they are tried."""
    text = Path(__file__).with_name("runners.rules").read_text(encoding="utf-8")
    # The comment at the top of the file, then by turns the names and the bodies of sections.
    _, *sections = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)
    names = sections[::2]
    bodies = sections[1::2]
    return dict(zip(names, map(_parse, bodies), strict=True))


def _parse(body: str) -> Grammar:
    fields: dict[str, str] = {}
    errors: list[str] = []
    for line in filter(None, body.splitlines()):
        name, _, value = line.partition(" ")
        if name == "error":
            errors.append(value.strip())
        else:
            fields[name] = value.strip()
    if not errors:
        return Grammar(**fields)
    return Grammar(errors=errors, **fields)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(NAMED_PATTERNS.get(pattern, pattern))


def read_runners(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the failing tests by the first grammar that is recognised."""
    grammars = load_grammars()
    for runner, grammar in grammars.items():
        failed = list(read_blocks(output, grammar))
        if failed:
            yield from failed
            # The same runner may also report files that it could not load, and tests as they end.
            for also in (f"{runner} load", f"{runner} rows"):
                if also in grammars:
                    yield from read_blocks(output, grammars[also])
            return


def read_blocks(output: CommandOutput, grammar: Grammar) -> Iterator[FailedTest]:
    """Yield every failing test that is printed in the way of a grammar."""
    if grammar.may_occur_in(output):
        yield from _BlockReader(output.lines, grammar).read()


class _BlockReader:
    """Reads the failing tests of an output by one grammar."""

    def __init__(self, lines: Sequence[str], grammar: Grammar) -> None:
        self.printed = lines
        self.lines = numbered(lines)
        self.titles = dict(matching(_compiled(grammar.title).match, lines))
        self.grammar = grammar
        starts = matching(_compiled(grammar.starts).match, lines)
        self.starts = {start[1]: number for number, start in starts}

    def read(self) -> Iterator[FailedTest]:
        is_above = _compiled(self.grammar.below).match
        for number, title in self.titles.items():
            above_title = is_above(line_above(self.printed, number))
            if above_title is None or self._is_expected(number):
                continue
            name = self._name(number, title, above_title)
            if not name.text:
                continue
            error = self._error(name, title)
            if SUITE_COUNT.match(error.text):
                continue
            if error.text or not self.grammar.unsure:
                yield FailedTest(name.text, error.text, error.line, not self.grammar.loads)

    def _name(self, number: int, title: re.Match[str], above_title: re.Match[str]) -> Quote:
        """Return the name that the line above, the title, or a line of its block gives."""
        if self.grammar.name:
            lines = [self.lines[number], *self._block_below(number)]
            return _first(lines, self.grammar.name) or Quote(number, "")

        caught = title.groupdict()
        method = caught.get("method")
        if method:
            return Quote(number, f"{caught['class']}.{method}")

        error = caught.get("error")
        for group in (*above_title.groups(), *title.groups()):
            if group and group != error:
                return Quote(number, group.strip())
        return Quote(number, "")

    def _is_expected(self, number: int) -> bool:
        """Return whether a line above the title says that the test was expected to fail."""
        if self.grammar.unless == NOTHING:
            # Most runners do not say so: spare them the block above.
            return False
        return _first(self._block_above(number), self.grammar.unless) is not None

    def _error(self, name: Quote, title: re.Match[str]) -> Quote:
        """Return the error that the title states, or that stands above or below it."""
        number = name.line
        stated = title.groupdict().get("error")
        if stated:
            return Quote(number, stated)
        block = self._block_below(number)
        error = _first(block, self.grammar.death)
        error = error or _first(self._printed_before(name), self.grammar.above)
        if error:
            return error
        if self.grammar.last:
            block.reverse()
        return _first(block, *self.grammar.errors) or Quote(number, "")

    def _block_below(self, number: int) -> list[Quote]:
        """Return the lines below a title, up to the next title or the end of the block."""
        block: list[Quote] = []
        for line in self._until_end(below(self.lines, number, LONGEST_BLOCK)):
            if line.line in self.titles:
                break
            block.append(line)
        return block

    def _printed_before(self, name: Quote) -> list[Quote]:
        """Return what a test printed above its title, the last line first."""
        if self.grammar.above == NOTHING:
            return []
        start = self.starts.get(name.text)
        if start is None:
            return self._block_above(name.line)
        return self._until_end(below(self.lines, start, LONGEST_BLOCK))[::-1]

    def _block_above(self, number: int) -> list[Quote]:
        """Return the lines above a title, the nearest first."""
        return self._until_end(above(self.lines, number, LONGEST_BLOCK))

    def _until_end(self, lines: Sequence[Quote]) -> list[Quote]:
        return until(_compiled(self.grammar.ends).match, lines)


def _first(lines: Sequence[Quote], *patterns: str) -> Quote | None:
    return first_quote(lines, map(_compiled, patterns))
