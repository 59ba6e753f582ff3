"""However long an output is, its cause of failure is found, and all of it is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

BUILD = """\
    for number in range(6_000):
        print(f"cc -Wall -O2 -c src/module_{number}.c -o build/module_{number}.o")
    print("src/parser.c:12:5: error: unknown type name 'tokn'")
    for number in range(6_000):
        print(f"cc -Wall -O2 -c lib/module_{number}.c -o build/module_{number}.o")
    raise SystemExit(2)
    """


def test_the_cause_may_stand_in_the_middle(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.makepyfile(build=BUILD)
    make_spec(t1_1="python3 build.py")

    result = pytester.runpytest("--ralph", "specs")

    result.stdout.fnmatch_lines(["*src/parser.c:12:5: error: unknown type name 'tokn'"])


LINES_OF_BLOCK = 1024 * 1024 // 4
PRINT = """\
    import sys

    block = b"hay\\n" * {lines_of_block}
    for number in range({blocks}):
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.write({between!r})
    for number in range({blocks}):
        sys.stdout.buffer.write(block)
    """
# Longer than what is read at once, with a word where it may be cut.
LONG_LINE = b"x" * (65536 - 3) + b"needle" + b"x" * 3_000_000 + b"\n"


@pytest.mark.parametrize(
    ("blocks", "between", "words", "passes"),
    [
        (40, b"needle\n", "outputs `needle`", True),
        (40, b"needle\n", "does not contain `needle`", False),
        (30, b"", f"prints {60 * LINES_OF_BLOCK} lines", True),
        (30, b"", f"prints {60 * LINES_OF_BLOCK + 1} lines", False),
        (0, LONG_LINE, "outputs `needle`", True),
        (0, LONG_LINE, "does not contain `needle`", False),
        (0, LONG_LINE * 3, "prints 3 lines", True),
        (1536, b"needle\n", "outputs `needle`", True),
    ],
    ids=[
        *("word in the middle", "no word in the middle", "lines", "wrong number of lines"),
        *("word in a long line", "no word in a long line", "long lines", "three gigabytes"),
    ],
)
def test_all_of_an_output_is_compared(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    blocks: int,
    between: bytes,
    words: str,
    passes: bool,
) -> None:
    text = PRINT.format(lines_of_block=LINES_OF_BLOCK, blocks=blocks, between=between)
    pytester.makepyfile(print=text)
    make_spec(f"- [ ] 1.1 Print\n  - **Verify**: `python3 print.py` {words}\n")
    result = pytester.runpytest("--ralph", "specs")

    result.assert_outcomes(passed=int(passes), failed=int(not passes))
    logs = (pytester.path / ".ralph" / "logs").rglob("*")
    assert sum(log.stat().st_size for log in logs) < 50_000_000
