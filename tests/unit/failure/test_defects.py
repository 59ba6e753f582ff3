"""Commands that did not do their work, although they may have ended with 0."""

from __future__ import annotations

import pytest

from pytest_ralph import classify
from pytest_ralph.running.soundness import Defect

NOT_FOUND = Defect("not found", "jq: command not found", missing="jq")
KILLED = Defect("killed", "exit status 137, killed by a signal")
NOT_EXECUTABLE = Defect("not executable", "exit status 126, cannot be executed")
SYNTAX = Defect("syntax", "sh: 1: Syntax error: end of file unexpected")
NO_TEST = Defect("no test", "no test ran: 0 passing")


@pytest.mark.parametrize(
    ("defect", "exit_code", "kind"),
    [
        (NOT_FOUND, 0, "command_not_found"),
        (NOT_FOUND, 1, "command_not_found"),
        (SYNTAX, 2, "invalid_task"),
        (NO_TEST, 0, "task_incomplete"),
        (KILLED, 0, "crash"),
        (NOT_EXECUTABLE, 0, "permission_denied"),
    ],
)
def test_a_defect_explains_the_failure(defect: Defect, exit_code: int, kind: str) -> None:
    failure = classify("3\n", exit_code, "./count | wc -l", defect=defect)
    assert (failure.kind, failure.error) == (kind, defect.message)
    assert failure.missing == defect.missing


def test_a_status_that_shows_a_defect_speaks_for_itself() -> None:
    failure = classify("FAILED test_a.py::test_b - assert 1 == 2\n", 1, "pytest", defect=KILLED)
    assert failure.failed_tests == ("test_a.py::test_b",)


@pytest.mark.parametrize(
    ("exit_code", "kind", "error"),
    [
        (137, "crash", "Killed (exit status 137)"),
        (-15, "crash", "Terminated (exit status 143)"),
        (139, "crash", "Segmentation fault (exit status 139)"),
        (152, "resource_exhausted", "CPU time limit exceeded (exit status 152)"),
    ],
)
def test_a_signal_is_named(exit_code: int, kind: str, error: str) -> None:
    failure = classify("", exit_code, "./count")
    assert (failure.kind, failure.error) == (kind, error)


@pytest.mark.parametrize(
    ("command", "exit_code", "kind"),
    [
        ("curl -sf localhost:1", 7, "service_unavailable"),
        ("curl -sf localhost:1", 22, "test_failure"),
        ("curl -sf localhost:1", 28, "timeout"),
        ("ssh host true", 255, "service_unavailable"),
        ("wget -q localhost:1", 8, "test_failure"),
    ],
)
def test_a_status_of_a_client_has_a_meaning(command: str, exit_code: int, kind: str) -> None:
    failure = classify("", exit_code, command)
    assert failure.kind == kind
    assert failure.error.endswith(f" exited with status {exit_code}")
