"""root_cause: of everything that can be read in a failure, the one finding that explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import NO_ERROR
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.full_error import with_full_error
from pytest_ralph.failure.missing import with_missing_file
from pytest_ralph.failure.quote import quotable_line
from pytest_ralph.failure.readers import exit_status, messages, places, symptoms, tests

if TYPE_CHECKING:
    from pytest_ralph.failure.context import FailureContext

# Tried in order; the first reader that finds something explains the failure.
READERS = (
    # How the command ended, where that says more than anything it printed.
    exit_status.read_time_limit,
    exit_status.read_defect,
    exit_status.read_missing_file,
    exit_status.read_end_of_check,
    exit_status.read_unwanted_match,
    messages.read_comparison,
    # What was found wrong, the surest evidence first.
    tests.read_failed_tests,
    exit_status.read_nothing_collected,
    lambda context: context.cause,
    tests.read_marked_tests,
    places.read_diagnostics,
    exit_status.read_unmet_success,
    # Only that something is wrong, but not what.
    symptoms.read_symptom,
    exit_status.read_signal,
    exit_status.read_status,
    exit_status.read_unmet,
    # Nothing of a known shape: what the command is for decides.
    messages.read_said_by_shell,
    messages.read_error_message,
    messages.read_difference,
    messages.read_by_purpose,
    messages.read_nothing_found,
    messages.read_own_check,
    messages.read_unknown_tool,
    exit_status.read_silence,
)


def root_cause(context: FailureContext) -> Finding:
    """Return the finding that explains the failure best."""
    found = _first_reading(context)
    return with_missing_file(context, with_full_error(context, found))


def _first_reading(context: FailureContext) -> Finding:
    for read in READERS:
        found = read(context)
        if found:
            return found
    return Finding("unknown", quotable_line(context) or NO_ERROR)
