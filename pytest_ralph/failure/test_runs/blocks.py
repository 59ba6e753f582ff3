"""What a runner says about a failing test: the lines of the block below its title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.quotes import Quote, above, below, first_quote, numbered

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

LONGEST_BLOCK = 40
LINES_ABOVE = 8
# The class of an exception and its message.
EXCEPTION = (
    r"(?:[\w.$\\]+[.\\:])?\w*"
    r"(?:Error|Exception|Failure|Failed|FailTest|Fault|Mismatch)(?: \[\w+\])?:.+"
)
# What the block below a name says about the failure, the most telling first.
THROWN = re.compile(rf"^(?:[EF] {{2,}})?\W{{0,8}}(?P<error>{EXCEPTION})|^\s+(\*\* \([\w.]+\) .+)")
MACRO = re.compile(
    r"^\s*(?P<error>(?:\d+\. )?(?:\S+:\d+ +- )?"
    r"(?:CU_)?(?:CHECK|REQUIRE|EXPECT|ASSERT)\w* *\(.*)"
)
COMPARED = re.compile(
    r"^[^\w(]{0,20}(?P<error>.*\b(?:expect(?:ed|ation)?|assert\w*|should|got|received"
    r"|actual|want|not equal|mismatch\w*|differs?|was|!=|require[sd]?|check failed|error(?=:))"
    r"\b.*)",
    re.IGNORECASE,
)
ANY_WORDS = re.compile(r"^\s*(?:[#|│E>]\s+)?(?P<error>(?:['\"`]|\.{0,2}/)?\w.*)$")
# What was thrown, with its place.
PLACED = re.compile(r"^(?P<error>\S+\.\w+:\d+: \S.*)$")
# A line that only names the value on the next line.
LABEL = re.compile(r"^\W*(?P<error>(?:actual|expected|got|received)\s*:)\s*$", re.IGNORECASE)
# What says nothing about an expectation: where it failed,
PLACE = (
    r"at\s|# *at\s|(?:# *)?\S+:\d+:in |File (?:\"|\S+:\d)|Traceback"
    r"|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ "
)
# the rows of a listing or of differences, and rulers,
ROW = r"\d+ *[|:│]|[-+] |\^|~|(?P<ruler>[-=~*_.─━═])(?P=ruler){9,}\s*$"
# the title of what else is shown,
HEADING = r"stdout|[Ss]tack|Message:$|\[?Captured|Errors while|Output from"
# counts of tests,
COUNT = (
    r"Ran \d+|# of (?:un)?expected |\d+ of \d+ |Testsuite summary |# [A-Z]+: +\d+$"
    r"|\d+ (?:tests?|assertions?|pass(?:ed|ing)?\b|failing\b|ERRORS?$)"
    r"|(?:total|pass(?:ed|ing)?|fail(?:ed|ing)?|duration)\s*:\s+\d"
)
# what the runner says about itself,
RUNNER = (
    r"g?make(?:\[\d+\])?: |Error: (?i:execution (?:of an external program )?failed)|INFO:"
    r"|Use -p|Finished|Code ERR_|Execution halted"
    r"|Failure/Error: (?!\w*(?:Error|Exception)\b)"
)
# and the head of a column or of a value on the next line.
VALUE_HEAD = (
    r"(?i:(?:(?:actual|expected|got|received|want(?:ed)?|found|diff(?:erence)?)\s*){1,2}:?\s*$)"
)
NOT_AN_EXPECTATION = re.compile(
    rf"\s*(?:{PLACE}|{ROW}|{HEADING}|{COUNT}|{RUNNER})"
    rf"|.*Traceback \(most recent|\W*{VALUE_HEAD}"
)


class Blocks:
    """The blocks of an output; each ends at the next of the numbered `boundaries`."""

    def __init__(self, lines: Sequence[str], boundaries: Collection[int]) -> None:
        self.lines = numbered(lines)
        self.boundaries = boundaries

    def below(self, number: int) -> Sequence[Quote]:
        """Return the lines below a title, up to the next title or the summary."""
        return self._up_to_boundary(below(self.lines, number, LONGEST_BLOCK))

    def expectation(self, number: int) -> Quote:
        """Return the line of a block that says what was expected, else one above the name."""
        block = self.below(number)
        telling = _without_places(block)
        telling_above = _without_places(
            self._up_to_boundary(above(self.lines, number, LINES_ABOVE))
        )
        for lines, patterns in (
            (telling, (THROWN, MACRO, COMPARED)),
            (block, (LABEL,)),
            (telling, (ANY_WORDS,)),
            (telling_above, (THROWN, COMPARED, PLACED)),
        ):
            quote = first_quote(lines, patterns)
            if quote:
                return quote
        return Quote(number, "")

    def _up_to_boundary(self, lines: Sequence[Quote]) -> Sequence[Quote]:
        for position, line in enumerate(lines):
            if line.line in self.boundaries:
                return lines[:position]
        return lines


def _without_places(lines: Sequence[Quote]) -> Sequence[Quote]:
    return [line for line in lines if not NOT_AN_EXPECTATION.match(line.text)]
