"""Expectations see what was printed, all of it; logs and reports see the masked output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running import raw_output
from pytest_ralph.running.checks import RunContext, run_check
from pytest_ralph.running.expectations import COMPARED
from pytest_ralph.running.raw_output import RawOutput
from pytest_ralph.running.runner import Runner
from pytest_ralph.text.secrets import Masker
from pytest_ralph.verify.model import Check, Expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Value = int | float | str | tuple[int | float | str, ...] | None

FILLER = "hay\n" * (COMPARED // 4 + 1)
LONG_LINE = "h" * (COMPARED * 2)
LINES = FILLER.count("\n")

LONG_OUTPUT: list[tuple[str, Value, str, bool]] = [
    ("contains", "needle", f"{FILLER}needle\n{FILLER}", True),
    ("contains", "needle", FILLER, False),
    ("not_contains", "needle", f"{FILLER}needle\n{FILLER}", False),
    ("not_contains", "needle", FILLER, True),
    ("contains", "needle", f"{LONG_LINE}needle{LONG_LINE}", True),
    ("contains", 7, f"{FILLER}17 of 70\n{FILLER}", False),
    ("contains", 7, f"{FILLER}7 of 70\n{FILLER}", True),
    ("matches", r"^needle\d$", f"{FILLER}needle7\n{FILLER}", True),
    ("matches", r"needle\s+hay", f"{FILLER}needle\n{FILLER}", False),
    ("matches", r"needle\s+hay", f"{FILLER}needle\nneedle hay\n{FILLER}", True),
    ("lines==", LINES, FILLER, True),
    ("lines==", LINES + 1, f"{FILLER}no line end", True),
    ("lines==", LINES, f"\n \t\n{FILLER}\n\r\n", True),
    ("lines==", 1, LONG_LINE, True),
    ("lines==", 3, f"{LONG_LINE}\n{LONG_LINE}\nx\n", True),
    ("lines==", 1, f"{LONG_LINE}{' ' * COMPARED}\n", True),
    ("lines==", 2, f"{' ' * COMPARED}{LONG_LINE}{' ' * COMPARED}\nx\n", True),
    ("lines>=", LINES + 1, FILLER, False),
    ("each_line==", "hay", FILLER, True),
    ("each_line==", "hay", f"{FILLER}straw\n", False),
    ("sum==", LINES * 2, FILLER.replace("hay", "a:2"), True),
    ("==", "hay", FILLER, False),
    ("nonempty", None, FILLER, True),
    ("empty", None, FILLER, False),
]


@pytest.mark.parametrize(("op", "value", "text", "met"), LONG_OUTPUT)
@pytest.mark.parametrize("size", [4099, 1 << 20])
def test_all_of_a_long_output_is_seen(
    op: str, value: Value, text: str, met: bool, size: int
) -> None:
    expect = Expect("stdout", op, value)
    output = RawOutput([expect])
    data = text.encode()
    for start in range(0, len(data), size):
        output.write(data[start : start + size])
    output.close()
    assert output.meets(expect) is met


@pytest.mark.parametrize(
    ("op", "value", "text", "met"),
    [
        ("contains", 7, "17 ", False),
        ("contains", 7, "70 ", False),
        ("contains", 7, "7.5 ", False),
        ("not_contains", 7, "1.7 ", True),
        ("matches", r"^b", "ab", False),
        ("matches", r"a$", "ab", False),
        ("matches", r"^ab.*", "ab", True),
        ("matches", r"b$", "ab", True),
    ],
)
def test_parts_of_a_long_line_are_no_lines(
    monkeypatch: pytest.MonkeyPatch, op: str, value: Value, text: str, met: bool
) -> None:
    """Wherever the line is divided."""
    monkeypatch.setattr(raw_output, "BLOCK", 300)
    monkeypatch.setattr(raw_output, "OVERLAP", 50)
    expect = Expect("stdout", op, value)
    wrong = []
    for size in range(1, 60):
        output = RawOutput([expect])
        data = text.encode() * 300
        for start in range(0, len(data), size):
            output.write(data[start : start + size])
        output.close()
        if output.meets(expect) is not met:
            wrong.append(size)
    assert wrong == []


def test_memory_stays_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_output, "BLOCK", 4096)
    monkeypatch.setattr(raw_output, "OVERLAP", 64)
    expect = Expect("stdout", "contains", "needle")
    output = RawOutput([expect])
    for _ in range(2000):
        output.write(b"h" * 1000)
    output.write(b"need")
    output.write(b"le")
    output.close()
    assert output.meets(expect)
    held = sum(len(value) for value in vars(output).values() if isinstance(value, (str, bytearray)))
    assert held <= COMPARED + 2 * 4096


@pytest.fixture
def masking_runner(project: Path) -> Iterator[Runner]:
    logs = project / ".ralph" / "logs"
    masker = Masker({"API_TOKEN": "very-secret-value"})
    runner = Runner(root=project, environ=os.environ, logs=logs, mask=masker.mask)
    yield runner
    runner.close()


# Built here, so that no scanner takes it for a key.
KEY = "AKIA" + "Z7" * 8


@pytest.mark.parametrize("secret", [KEY, "very-secret-value"])
def test_secrets_count_and_are_not_shown(
    masking_runner: Runner, project: Path, secret: str
) -> None:
    expect = Expect("stdout", "not_contains", secret)
    check = Check(f"echo found {secret}", (expect,))
    result = run_check(check, masking_runner, RunContext(project, timeout=60))

    assert not result.passed
    assert secret not in result.ended.output()
    assert "found ***" in result.ended.output()
    assert secret not in result.unmet[0].got
