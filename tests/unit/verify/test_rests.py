"""Words behind a statement that may restrict it leave nothing to be asked."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.read import read_verify

STATEMENTS = [
    "`./oven --list` prints nothing",
    "`./oven --list` prints `ready`",
    "`./oven --list` does not print `cold`",
    "`./oven --list` exits 2",
    "`./oven --list` exits non-zero",
    "`cat VERSION` is `2.0.0`",
    "`ls dist` shows `menu.html`",
    "`grep -rn price src` returns no matches",
    "`grep -c price menu.md` returns 3",
    "`grep -c price menu.md` is at least 3 lines",
    "`wc -l < menu.md` is less than 200",
]
RESTS = [
    " in quiet mode",
    " on macOS",
    " for new users",
    " when the cache is cold",
    " if the port is free",
    " unless it is cached",
    " except in `docs`",
    " until 2.3 is done",
    " once the server runs",
    " while the server runs",
    " after the second run",
    " during the build",
    " without the cache",
    " with `--cold`",
    " with the flag set",
    " per module",
    " at the time of writing",
    " as of today",
    " as before",
    " or so",
    ", or 4 on macOS",
    ", give or take",
    ", not counting comments",
    " (give or take)",
    " (at the moment)",
    " compared with `main`",
    " plus whatever is new",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_each_statement_is_a_demand(statement: str) -> None:
    assert read_verify(statement).checks[0].expect


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_rest_takes_the_demand_back(statement: str, rest: str) -> None:
    verify = read_verify(statement + rest)
    demands = [expect for check in verify.checks for expect in check.expect]
    # A search that may find nothing may end with 1.
    demands = [expect for expect in demands if expect.op != "in"]
    assert demands == []
    assert verify.manual or verify.unread
