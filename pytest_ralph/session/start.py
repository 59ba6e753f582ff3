"""Start a run: create it, and register the plugins that connect it with pytest.

Among them are the package's own implementations of its hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.session.collect import SpecCollection
from pytest_ralph.session.other_plugins import OtherPlugins
from pytest_ralph.session.reporting import Reporting
from pytest_ralph.session.run import Run
from pytest_ralph.session.stopping import E2ECleanup, TerminationSignals
from pytest_ralph.session.summary import EndOfRun

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.decide import Decision, TaskHistory


def start(config: pytest.Config) -> None:
    """Called once, when the options ask for a ralph run."""
    if config.getoption("ralph_explain"):
        # Nothing runs, so there is nothing to distribute. pytest-xdist looks at this later.
        config.option.dist = "no"
    run = Run(config)
    config.add_cleanup(run.close)

    register = config.pluginmanager.register
    register(HookDefaults(run), "ralph-hook-defaults")
    register(SpecCollection(run), "ralph-collection")
    register(Reporting(run), "ralph-reporting")
    register(EndOfRun(run), "ralph-summary")
    register(TerminationSignals(run), "ralph-signals")
    register(E2ECleanup(run), "ralph-e2e-cleanup")
    register(OtherPlugins(), "ralph-other-plugins")
    if run.worker or config.getoption("dist", "no") != "no":
        register(_distribution_plugin(run), "ralph-xdist")
    if config.getoption("ralph_explain"):
        from pytest_ralph.session.explaining import Explanation

        register(Explanation(run), "ralph-explanation")


def _distribution_plugin(run: Run) -> object:
    # Imported here: the controller's module needs pytest-xdist, and a worker needs only its own.
    if run.worker:
        from pytest_ralph.session.xdist.worker import Worker

        return Worker(run)
    from pytest_ralph.session.xdist.controller import Controller

    return Controller(run)


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
