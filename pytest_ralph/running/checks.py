"""One attempt at a Verify field: its commands in order, each held against what is expected of it."""

from __future__ import annotations

import operator
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.running.command import Ended, Runner
    from pytest_ralph.spec.task import Check, Expect, Verify

# More than any expectation is about; a command that prints more is compared by its beginning and end.
COMPARED = 4 * 1024 * 1024

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """One command that ran, and which expectations it did not meet."""

    check: Check
    ended: Ended
    unmet: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.unmet


@dataclass(frozen=True)
class Verified:
    """How one attempt at a Verify field went."""

    checked: tuple[Checked, ...] = ()
    passed: bool = True
    started: float = 0.0
    duration: float = 0.0
    timeout: float = 0.0
    error: str = ""

    @property
    def failing(self) -> Checked | None:
        return next((one for one in reversed(self.checked) if not one.passed), None)


@dataclass(frozen=True)
class Circumstances:
    """Where and for how long the commands of one attempt run."""

    root: Path
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False
    label: str = ""
    on_output: Callable[[str], None] | None = None


def run_checks(verify: Verify, runner: Runner, around: Circumstances) -> Verified:
    """Run the commands in order; stop at the first failure, or with mode `any` at the first success."""
    started, clock = time.time(), time.monotonic()
    checked: list[Checked] = []
    wanted = verify.mode == "any"
    for check in verify.checks:
        checked.append(run_check(check, runner, around))
        if checked[-1].passed == wanted or checked[-1].ended.interrupted:
            break
    passed = bool(checked) and checked[-1].passed
    return Verified(tuple(checked), passed, started, time.monotonic() - clock, around.timeout)


def run_check(check: Check, runner: Runner, around: Circumstances) -> Checked:
    ended = runner.run(
        check.command,
        timeout=around.timeout,
        env=around.env,
        split=check.reads_output,
        cwd=around.root / check.directory if check.directory else around.root,
        keep=around.keep,
        label=around.label,
        on_output=around.on_output,
    )
    return Checked(check, ended, unmet(check.expect, ended))


def unmet(expects: Sequence[Expect], ended: Ended) -> tuple[str, ...]:
    """What was expected and what came instead, one line each; empty when all is well."""
    if ended.timed_out or ended.interrupted:
        return (f"an end, {'timed out' if ended.timed_out else 'interrupted'} after {ended.duration:.1f} s",)
    if not expects:
        return () if ended.exit_code == 0 else (f"exit status 0, got {ended.exit_code}",)
    return tuple(line for expect in expects for line in _unmet(expect, ended))


def _unmet(expect: Expect, ended: Ended) -> tuple[str, ...]:
    if expect.stream == "exit":
        status = ended.exit_code or 0
        good = status != 0 if expect.op == "nonzero" else holds(expect, str(status))
        return () if good else (f"{expect}, got {status}",)
    spool = ended.stderr if expect.stream == "stderr" and ended.stderr else ended.stdout
    text = spool.text(head=COMPARED // 2, tail=COMPARED // 2)
    return () if holds(expect, text) else (f"{expect}, got {_short(text)}",)


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 80 else f"{text[:60]}…{text[-15:]}")


def holds(expect: Expect, text: str) -> bool:
    """Does the text, an exit status or what was printed, meet the expectation?"""
    judge = JUDGES.get(expect.op)
    return judge(expect.value, text) if judge else _compare(expect.op, expect.value, text)


def _compare(op: str, value: object, text: str) -> bool:
    if isinstance(value, (int, float)):
        number = leading_number(text)
        return number is not None and COMPARE[op](number, value)
    return (text.strip() == str(value).strip()) == (op == "==")


def leading_number(text: str) -> float | None:
    """The number a command printed: `3`, `   3`, or `3 file.txt` as wc writes it."""
    words = text.split()
    if words and (NUMBER.fullmatch(words[0]) and len(text.strip().splitlines()) == 1):
        return float(words[0])
    return None


def counts(text: str) -> list[float]:
    """The numbers of `grep -c` over several files: `name:3`, one a line."""
    numbers = (NUMBER.fullmatch(line.rpartition(":")[2].strip()) for line in _lines(text))
    return [float(number[0]) for number in numbers if number]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _each_line(value: object, text: str) -> bool:
    lines = [line.rpartition(":")[2].strip() for line in _lines(text)]
    return bool(lines) and all(_compare("==", value, line) for line in lines)


def _strings(value: object) -> list[str]:
    return [str(one).strip() for one in (value if isinstance(value, (tuple, list)) else (value,))]


def _number(value: object) -> float:
    return float(str(value))


JUDGES: dict[str, Callable[[object, str], bool]] = {
    "contains": lambda value, text: str(value) in text,
    "not_contains": lambda value, text: str(value) not in text,
    "empty": lambda _, text: not text.strip(),
    "nonempty": lambda _, text: bool(text.strip()),
    "in": lambda value, text: text.strip() in _strings(value),
    "lines==": lambda value, text: len(_lines(text)) == _number(value),
    "lines>=": lambda value, text: len(_lines(text)) >= _number(value),
    "each_line==": _each_line,
    "sum==": lambda value, text: sum(counts(text)) == _number(value),
    "sum>=": lambda value, text: sum(counts(text)) >= _number(value),
    "nonzero": lambda _, text: text.strip() not in ("", "0"),
}  # fmt: skip
