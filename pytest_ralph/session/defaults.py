"""The package's own answers to its own hooks: the last implementation asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.decide import Decision, TaskHistory
    from pytest_ralph.session.run import Run


class Defaults:
    """Registered for a run with `--ralph`.

    Fix tasks, prompts and executors need to know the spec they are for: there the loop itself answers last.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)
    def pytest_ralph_classify(self, evidence: Evidence) -> Failure:
        # Imported with the first failure: a run in which all passes does without.
        from pytest_ralph.failure.classify import classify_evidence

        return classify_evidence(evidence, self.run.kinds)

    @pytest.hookimpl(trylast=True)
    def pytest_ralph_decide(self, failure: Failure, history: TaskHistory) -> Decision:
        from pytest_ralph.healing.decide import decide

        return decide(failure, history)
