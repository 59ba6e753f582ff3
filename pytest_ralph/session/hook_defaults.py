"""The package's own implementations of its hooks: the last ones that pluggy calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.decide import Decision, TaskHistory
    from pytest_ralph.session.run import Run


class HookDefaults:
    """The default classification and decision.

    Defaults for fix tasks, prompts and executors depend on the spec, so `healing` supplies them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)
    def pytest_ralph_classify(self, evidence: Evidence) -> Failure:
        # Imported with the first failure: a run in which everything passes does not need it.
        from pytest_ralph.failure.classify import classify_evidence

        return classify_evidence(evidence, self.run.resources.kinds)

    @pytest.hookimpl(trylast=True)
    def pytest_ralph_decide(self, failure: Failure, history: TaskHistory) -> Decision:
        from pytest_ralph.healing.decide import decide

        return decide(failure, history)
