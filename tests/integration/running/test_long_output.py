"""The cause of a failure is found wherever it stands in a long output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

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
