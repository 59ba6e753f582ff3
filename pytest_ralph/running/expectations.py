"""Compare the exit status and the output of a command with what is expected of them."""

from __future__ import annotations

import json
import operator
import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ralph.running.raw_output import RawOutput
    from pytest_ralph.running.runner import CommandResult
    from pytest_ralph.running.spool import Spool
    from pytest_ralph.verify.model import Expect

# Longer output is compared with a value by its beginning and end. Expectations about lines see all
# of it.
COMPARED = 1024 * 1024
QUOTED = 80

NUMBER = regex(r"([-+]?\d+(?:,\d{3})*(?:\.\d+)?)%?")
# The answer of a database with one value: psql prints a table, mysql the name of the column.
ONE_CELL = regex(
    r"\s*\S[^\n]*\n-+\n(?P<cell>[^\n]+)\n\(1 row\)"
    r"|(?i:count|sum|min|max|avg)\([^\n]*\)\n(?P<value>[^\n]+)"
)
JSON_TOKEN = regex(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+')
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


class Unmet(NamedTuple):
    """What was expected and what came instead."""

    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.expected}, got {self.got}"


def find_unmet(
    expects: Sequence[Expect], ended: CommandResult, printed: Mapping[str, RawOutput]
) -> tuple[Unmet, ...]:
    """Return the expectations that were not met.

    `printed` holds the output of each stream that something is expected of.
    """
    if ended.timed_out:
        return (Unmet("the command to finish", f"a timeout after {ended.duration:.1f} s"),)
    if ended.interrupted:
        return (Unmet("the command to finish", f"an interrupt after {ended.duration:.1f} s"),)
    if expects:
        compared = [_unmet(expect, ended, printed) for expect in expects]
        return tuple(filter(None, compared))
    if ended.exit_code == 0:
        return ()
    return (Unmet("exit status 0", str(ended.exit_code)),)


def _unmet(expect: Expect, ended: CommandResult, printed: Mapping[str, RawOutput]) -> Unmet | None:
    """Return how the result differs from what is expected, or None if it does not."""
    if expect.stream == "exit":
        status = str(ended.exit_code)
        if holds(expect, status):
            return None
        return Unmet(in_words(expect), status)

    spool = ended.stdout
    if expect.stream == "stderr" and ended.stderr is not None:
        spool = ended.stderr
    output = printed[expect.stream]
    if output.meets(expect):
        return None
    return Unmet(in_words(expect), _got(expect, output, spool))


def _got(expect: Expect, output: RawOutput, spool: Spool) -> str:
    """Return what came instead, from the masked output."""
    found = output.found(expect)
    if found:
        return found
    text = spool.text(head=COMPARED // 2, tail=COMPARED // 2).strip()
    if not text:
        return "nothing"
    if len(text) > QUOTED:
        text = f"{text[: QUOTED - 20]}…{text[-15:]}"
    return repr(text)


def in_words(expect: Expect) -> str:
    """Return a phrase like `exit status 3`, `stdout >= 5` or `at least 2 lines on stdout`."""
    stream: str = expect.stream
    words = WORDS
    if stream == "exit":
        stream = "exit status"
        words = EXIT_WORDS
    phrase = words.get(expect.op, f"{{stream}} {expect.op} {{value}}")
    value = " or ".join(map(repr, alternatives(expect.value)))
    return phrase.format(stream=stream, value=value, count=count_of_lines(expect.value))


def alternatives(value: object) -> Sequence[object]:
    """Return the values of which one is expected."""
    if isinstance(value, (tuple, list)):
        return value
    return (value,)


def count_of_lines(count: object) -> str:
    return "1 line" if count == 1 else f"{count} lines"


EXIT_WORDS = {
    "==": "exit status {value}",
    "in": "exit status {value}",
    "!=": "an exit status other than {value}",
    "nonzero": "an exit status other than 0",
}
WORDS = {
    "==": "{stream} to be {value}",
    "!=": "{stream} to be anything but {value}",
    "in": "{stream} to be {value}",
    "contains": "{value} in {stream}",
    "not_contains": "no {value} in {stream}",
    "matches": "{stream} to match {value}",
    "empty": "nothing on {stream}",
    "nonempty": "something on {stream}",
    "nonzero": "{stream} other than 0",
    "lines==": "{count} on {stream}",
    "lines>=": "at least {count} on {stream}",
    "each_line==": "every line of {stream} to be {value}",
    "sum==": "counts on {stream} that add up to {value}",
    "sum>=": "counts on {stream} that add up to at least {value}",
}


def holds(expect: Expect, text: str) -> bool:
    """Return whether an exit status, or an output as a whole, meets the expectation."""
    printed = text.strip()
    if expect.op == "empty":
        return not printed
    if expect.op == "nonempty":
        return bool(printed)
    if expect.op == "nonzero":
        return printed not in ("", "0")
    if expect.op == "in":
        return any(is_equal(value, text) for value in alternatives(expect.value))
    return _compare_text(expect.op, expect.value, text)


def is_equal(value: object, text: str) -> bool:
    """Return whether a text is the value, or the number if that is one."""
    return _compare_text("==", value, text)


def _compare_text(op: str, value: object, text: str) -> bool:
    """Compare a text with a number or a text."""
    if not isinstance(value, (int, float)):
        is_wanted = _is_text(str(value).strip(), text.strip())
        return is_wanted if op == "==" else not is_wanted

    number = leading_number(text)
    if number is not None:
        return compare(op, number, value)
    # Any other text is not the number.
    return op == "!=" and bool(text.strip())


def compare(op: str, number: float, value: object) -> bool:
    """Compare a number with the value of an expectation."""
    return COMPARE[op](number, float(str(value)))


def _is_text(wanted: str, printed: str) -> bool:
    # `jq .name` prints a string with its quotes.
    if printed in (wanted, f'"{wanted}"'):
        return True
    return re.fullmatch(text_pattern(wanted), printed) is not None


def text_pattern(text: str) -> str:
    """Return a regular expression for a text; white space between the tokens of JSON is free."""
    if not text.startswith(("{", "[", '"')):
        return re.escape(text)
    # `"open": true` is a part of an object.
    whole = f"{{{text}}}" if text.startswith('"') else text
    try:
        json.loads(whole)
    except ValueError:
        return re.escape(text)
    return r"\s*".join(re.escape(token) for token in JSON_TOKEN.findall(text))


def leading_number(text: str) -> float | None:
    """Return the number that a command printed: `3`, `85%`, or `3 file.txt` as wc prints it."""
    cell = ONE_CELL.fullmatch(text.strip())
    if cell:
        text = cell["cell"] or cell["value"]
    lines = text.strip().splitlines()
    if len(lines) != 1:
        return None
    return _read_number(lines[0].split()[0])


def counts(lines: Iterable[str]) -> list[float]:
    """Return the numbers of `grep -c` over several files: `name:3`, one per line."""
    numbers = []
    for line in lines:
        number = _read_number(line.rpartition(":")[2].strip())
        if number is not None:
            numbers.append(number)
    return numbers


def _read_number(word: str) -> float | None:
    match = NUMBER.fullmatch(word)
    return float(match[1].replace(",", "")) if match else None
