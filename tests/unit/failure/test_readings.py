"""Readings that depend on more than one output: other processes, and words of an executor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_ralph import classify


def test_of_two_readings_of_a_line_every_process_takes_the_same() -> None:
    line = "Unable to locate package alpha, library beta not found"
    code = (
        f"from pytest_ralph import classify; print(classify({line!r}, 1, 'apt-get "
        "install').missing)"
    )
    said = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True
        )
        for seed in ("1", "2", "3", "4", "5")
    }
    assert len(said) == 1


BLOCK = "Task 2.2: Add totals FAILED\n- Error: {error}\n- Attempted fix: none\n- Status: Blocked\n"


def test_tests_that_a_failed_block_names_are_the_failing_ones() -> None:
    failure = classify(
        BLOCK.format(error="tests/test_sum.py::test_sum - assert 3 == 4"), command="(agent)"
    )
    assert (failure.kind, failure.failed_tests) == (
        "test_failure",
        ("tests/test_sum.py::test_sum",),
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            (
                'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal '
                'server error"}}'
            ),
            "service_unavailable",
        ),
        ("I have reached the limit of my context window after src/a.py.", "context_exhausted"),
        (
            "npm run lint exits 1 with 4 problems, which were there before.\nTASK_COMPLETE",
            "verification_mismatch",
        ),
    ],
)
def test_what_an_agent_says_of_itself(words: str, kind: str) -> None:
    assert classify(words, command="(agent message)").kind == kind


def test_a_key_that_the_model_does_not_take_is_a_value_that_somebody_must_give() -> None:
    words = 'API Error: 401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    failure = classify(words, 1, "(agent message)")
    assert (failure.type, failure.category, failure.retryable) == (
        "UNKNOWN",
        "missing_context",
        False,
    )


def test_the_options_that_git_lists_are_no_evidence() -> None:
    usage = "usage: git diff --no-index [<options>] <path> <path>"
    option = "    --check   warn if changes introduce conflict markers"
    failure = classify(
        f"warning: Not a git repository\n{usage}\n{option}\n", 129, "git diff --exit-code main"
    )
    assert failure.kind != "file_conflict"
    assert failure.error == "warning: Not a git repository"
