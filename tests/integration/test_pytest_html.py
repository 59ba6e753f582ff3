"""pytest-html shows our columns, for tasks of a real run and for ordinary tests beside them."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

pytest.importorskip("pytest_html", minversion="4.0")

CELL = re.compile(r'<td class="col-ralph\w+">(.*?)</td>')


def rows(page: Path) -> dict[str, list[str]]:
    """Our cells of each test: outcome, attempts, fixes, kind."""
    found = re.search(r'data-jsonblob="([^"]*)"', page.read_text())
    assert found is not None
    tests = json.loads(html.unescape(found[1]))["tests"]
    return {
        name.rpartition("::")[2]: [
            cell[1] for part in told[0]["resultsTableRow"] if (cell := CELL.fullmatch(part))
        ]
        for name, told in tests.items()
    }


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "with a worker"])
def test_the_columns_tell_what_became_of_each_task(
    pytester: pytest.Pytester, make_spec: SpecMaker, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    make_spec(
        spec(
            task("1.1 Run", "./run.sh"),
            task("1.2 Pass", "test -d specs"),
            task("1.3 Fail", "cat wrong.txt; exit 1"),
            task("1.4 Wait", "test -d specs", depends_on="1.3"),
        )
    )
    script = pytester.path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    (pytester.path / "wrong.txt").write_text("AssertionError: wrong\n")
    pytester.makepyfile(test_other="def test_plain(): pass")

    result = pytester.runpytest(
        "--ralph-recovery",
        "--ralph-keep-going",
        "--html=out.html",
        "--self-contained-html",
        *workers,
    )
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] == 2

    assert rows(pytester.path / "out.html") == {
        "test_plain": ["", "", "", ""],
        "1.1": ["recovered", "2", "1", "permission_denied"],
        "1.2": ["passed", "1", "0", ""],
        "1.3": ["failed", "1", "1", "test_failure"],
        "1.4": ["blocked", "0", "0", ""],
    }
