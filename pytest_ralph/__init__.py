"""Specs that heal themselves under pytest.

This module is what users import. Everything below it is loaded on first use,
so that an installed but unused plugin costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.failure.classify import classify
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.failure.report import parse_report
    from pytest_ralph.fixing.agents.base import Outcome
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task
    from pytest_ralph.verify.model import Check, Expect, Verify

__version__ = "0.1.0"
__all__ = [
    "Check",
    "Decision",
    "Expect",
    "Failure",
    "Outcome",
    "Spec",
    "Task",
    "Verify",
    "classify",
    "parse_report",
]

_HOMES = {
    "Spec": "pytest_ralph.spec.document",
    "Task": "pytest_ralph.spec.task",
    "Verify": "pytest_ralph.spec.task",
    "Check": "pytest_ralph.spec.task",
    "Expect": "pytest_ralph.spec.task",
    "Failure": "pytest_ralph.failure.failure",
    "Decision": "pytest_ralph.healing.decide",
    "Outcome": "pytest_ralph.fixing.agents.base",
    "classify": "pytest_ralph.failure.classify",
    "parse_report": "pytest_ralph.failure.report",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
