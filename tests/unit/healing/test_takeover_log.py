"""What a worker finds that takes a spec over from one that died."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pytest_ralph.healing.attempt_log import TaskResult
from pytest_ralph.healing.takeover_log import Ledger
from pytest_ralph.results import AttemptStory, FixStory, TaskStory

if TYPE_CHECKING:
    from pathlib import Path

RESULT = TaskResult(
    TaskStory(
        "1.1",
        outcome="failed",
        attempts=(AttemptStory(outcome="failed", output="é\n"),),
        fixes=(FixStory("a"),),
    ),
    ("said",),
    "a report",
)


def test_a_spec_nobody_has_begun_has_a_new_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs" / "run" / "spec", "gw0")
    assert (ledger.is_new, ledger.results, ledger.unfinished) == (True, {}, {})

    ledger.begun("1.1")

    assert not Ledger(tmp_path / "runs" / "run" / "spec").is_new


def test_results_come_back_as_they_were_and_what_has_none_names_its_worker(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spec", "gw0")
    ledger.begun("1.1")
    ledger.ended("1.1", RESULT)
    ledger.begun("1.2")

    after = Ledger(tmp_path / "spec", "gw1")

    assert after.results == {"1.1": RESULT}
    assert after.unfinished == {"1.2": "gw0"}


def test_a_line_that_was_cut_off_counts_as_not_written_and_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "spec"
    first = Ledger(path, "gw0")
    first.begun("1.1")
    first.ended("1.1", RESULT)
    path.write_bytes(path.read_bytes()[:-40])

    assert Ledger(path).unfinished == {"1.1": "gw0"}

    second = Ledger(path, "gw1")
    second.ended("1.1", RESULT)
    second.begun("1.2")
    assert Ledger(path).results == {"1.1": RESULT}
    assert Ledger(path).unfinished == {"1.2": "gw1"}


def test_others_may_read_it_and_only_its_owner_may_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Ledger(tmp_path / "spec", "gw0").begun("1.1")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "spec").stat().st_mode) == 0o644
