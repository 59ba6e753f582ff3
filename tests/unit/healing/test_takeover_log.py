"""What a worker finds that takes a spec over from one that died."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pytest_ralph.healing.takeover_log import TakeoverLog
from pytest_ralph.results import Attempt, FixResult, Note, TaskResult

if TYPE_CHECKING:
    from pathlib import Path

RESULT = TaskResult(
    "1.1",
    outcome="failed",
    attempts=(Attempt(outcome="failed", output="é\n"),),
    fixes=(FixResult("a"),),
    notes=(Note("a note"),),
    report="a report",
)


def test_a_spec_nobody_has_begun_has_a_new_ledger(tmp_path: Path) -> None:
    takeover_log = TakeoverLog(tmp_path / "runs" / "run" / "spec", "gw0")
    assert (takeover_log.is_new, takeover_log.results, takeover_log.unfinished) == (True, {}, {})

    takeover_log.begun("1.1")

    assert not TakeoverLog(tmp_path / "runs" / "run" / "spec").is_new


def test_results_come_back_as_they_were_and_what_has_none_names_its_worker(tmp_path: Path) -> None:
    takeover_log = TakeoverLog(tmp_path / "spec", "gw0")
    takeover_log.begun("1.1")
    takeover_log.ended("1.1", RESULT)
    takeover_log.begun("1.2")

    after = TakeoverLog(tmp_path / "spec", "gw1")

    assert after.results == {"1.1": RESULT}
    assert after.unfinished == {"1.2": "gw0"}


def test_a_line_that_was_cut_off_counts_as_not_written_and_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "spec"
    first = TakeoverLog(path, "gw0")
    first.begun("1.1")
    first.ended("1.1", RESULT)
    path.write_bytes(path.read_bytes()[:-40])

    assert TakeoverLog(path).unfinished == {"1.1": "gw0"}

    second = TakeoverLog(path, "gw1")
    second.ended("1.1", RESULT)
    second.begun("1.2")
    assert TakeoverLog(path).results == {"1.1": RESULT}
    assert TakeoverLog(path).unfinished == {"1.2": "gw1"}


def test_others_may_read_it_and_only_its_owner_may_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        TakeoverLog(tmp_path / "spec", "gw0").begun("1.1")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "spec").stat().st_mode) == 0o644
