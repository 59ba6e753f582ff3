"""Add the result of a task to its testcase in pytest's JUnit file.

The testcase gets properties, and its earlier attempts as Surefire's `flakyFailure` and
`rerunFailure`. Everything goes through pytest's own writer, so that all its options keep working.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

import pytest
from _pytest.junitxml import xml_key

from pytest_ralph.results import task_result
from pytest_ralph.text.bounded import cut_lines
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.results import Attempt, TaskResult

PLUGIN_NAME = "ralph-junit"
MESSAGE_LIMIT = 500
PROPERTY_LIMIT = 10_000
# Surefire's schema is a sequence, with the captured output at its end.
CLOSING_TAGS = ("system-out", "system-err")


def properties(task: TaskResult) -> list[tuple[str, str]]:
    """Return the properties of a task; those of a failure only if there was one."""
    values = {
        "ralph.spec": task.spec,
        "ralph.task": task.id,
        "ralph.title": task.title,
        "ralph.outcome": task.outcome,
        "ralph.attempts": str(len(task.verifications)),
        "ralph.fixes": ",".join(fix.id for _, fix in task.all_fixes),
    }

    failure = task.last_failure
    if failure is not None:
        values["ralph.failure.kind"] = failure.kind
        values["ralph.failure.type"] = failure.type
        values["ralph.failure.category"] = failure.category or ""
    if task.changed or task.findings:
        # Commas separate entries.
        findings = [finding.replace(",", ";") for finding in task.findings]
        values["ralph.changed"] = ",".join([*task.changed, *findings])
    if task.troubles:
        values["ralph.trouble"] = "; ".join(task.troubles)
    if task.cost is not None:
        values["ralph.cost"] = f"{task.cost:.4f}"

    return [(name, one_line(value, PROPERTY_LIMIT)) for name, value in values.items()]


def set_properties(owner: pytest.Item | pytest.TestReport, task: TaskResult) -> None:
    """Set the properties of a task, replacing those of an earlier run.

    pytest writes the properties of the teardown report, which it copies from the item.
    """
    foreign = [pair for pair in owner.user_properties if not pair[0].startswith("ralph.")]
    owner.user_properties = [*foreign, *properties(task)]


def write_properties(config: pytest.Config, report: pytest.TestReport) -> None:
    """Write the properties of a test that crashed with its worker.

    pytest's writer would wait for a teardown report, which never comes.
    """
    writer = _writer(config)
    if writer is not None:
        for name, value in report.user_properties:
            writer.node_reporter(report).add_property(name, str(value))


def forget(config: pytest.Config, nodeid: str, node: object) -> None:
    """Remove the testcase of a test that a worker had set up when it died.

    Another worker runs the test again, and one testcase per test is enough.
    """
    writer = _writer(config)
    if writer is None:
        return
    for key, testcase in list(writer.node_reporters.items()):
        # Since pytest 9.2 the first part of the key is an object.
        if str(key[0]) == nodeid and key[1] is node:
            del writer.node_reporters[key]
            writer.node_reporters_ordered.remove(testcase)


class Testcases:
    """The plugin for the testcases of tasks in pytest's writer: one for each run of a task.

    pytest-rerunfailures and flaky do not report a run that they repeat as failed. Its testcase is
    removed when the next run is reported.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._writer = _writer(config)
        self._testcases: dict[tuple[str, object], Any] = {}
        self._superseded: set[tuple[str, object]] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        task = task_result(report)
        if task is not None and report.when == "call":
            self._add(report, task)

    def _add(self, report: pytest.TestReport, task: TaskResult) -> None:
        """Add the result of a task to the testcase that the writer has made from `report`."""
        key = _key(report)
        earlier = self._testcases.get(key)
        testcase = self._writer.node_reporter(report)
        if key in self._superseded and earlier is not testcase:
            self._writer.node_reporters_ordered.remove(earlier)

        self._superseded.discard(key)
        self._testcases[key] = testcase
        if task.bad and not report.failed:
            self._superseded.add(key)
            if report.passed:
                # The writer counted it.
                self._writer.stats["passed"] -= 1
        add_attempts(testcase, report, task)

    def replace(self, corrected: pytest.TestReport, task: TaskResult) -> None:
        """Write the testcase of a task that passed anew: later work of the run has broken it."""
        testcases = self._writer.node_reporters_ordered
        position = testcases.index(self._testcases[_key(corrected)])
        del testcases[position]
        self._writer.stats["passed"] -= 1

        self._writer.pytest_runtest_logreport(corrected)
        self._add(corrected, task)
        teardown = copy(corrected)
        teardown.when = "teardown"
        teardown.outcome = "passed"
        teardown.longrepr = None
        teardown.duration = 0.0
        # The writer closes the testcase.
        self._writer.pytest_runtest_logreport(teardown)
        testcases.insert(position, testcases.pop())


def _key(report: pytest.TestReport) -> tuple[str, object]:
    """Return what pytest's writer tells the tests of different workers apart by."""
    return report.nodeid, getattr(report, "node", None)


def add_attempts(testcase: Any, report: pytest.TestReport, task: TaskResult) -> None:
    """Add the earlier failed attempts to the testcase.

    Call this for the call report, after pytest's writer has seen it (in a `trylast` hook) and
    before the teardown report, with which the writer closes the testcase.
    """
    name = f"{task.name or task.id} {task.title}".strip()
    testcase.add_attribute("name", _line(name))
    nodes: list[Element] = testcase.nodes
    _describe_failure(nodes, task)
    if report.outcome == "skipped":
        return

    tag = "rerunFailure" if report.failed else "flakyFailure"
    attempts = [attempt_element(tag, attempt) for attempt in task.earlier_failures]
    nodes += attempts
    nodes.sort(key=lambda node: node.tag in CLOSING_TAGS)


def is_written(config: pytest.Config) -> bool:
    """Return whether this process writes a JUnit file; known once pytest is configured."""
    return _writer(config) is not None


def _writer(config: pytest.Config) -> Any:
    """Return pytest's JUnit writer, or None without `--junitxml`."""
    return config.stash.get(xml_key, None)


def _describe_failure(nodes: list[Element], task: TaskResult) -> None:
    """Give the failure of a testcase the kind and the error of the task."""
    failure = task.last_failure
    if failure is None:
        return
    for node in nodes:
        if node.tag == "failure":
            node.set("type", _line(failure.kind or "unknown"))
            node.set("message", _line(failure.error))


def attempt_element(tag: str, attempt: Attempt) -> Element:
    """Return a failed attempt as an element with its evidence and its output."""
    attributes = {"message": _line(attempt.error), "type": _line(attempt.kind or "unknown")}
    element = Element(tag, attributes)
    SubElement(element, "stackTrace").text = terminal("\n".join(_evidence(attempt)))
    if attempt.output:
        output = cut_lines(attempt.output, 40, 160, widest=500)
        SubElement(element, "system-out").text = terminal(output)
    return element


def _line(text: str) -> str:
    return one_line(text, MESSAGE_LIMIT)


def _evidence(attempt: Attempt) -> Iterator[str]:
    """Yield the error of an attempt and, below it, all that is known about it."""
    yield attempt.error or "failed"
    facts = {
        "attempt": f"{attempt.number} ({attempt.what})",
        "command": attempt.command,
        "exit status": attempt.exit_code,
        "timed out": "yes" if attempt.timed_out else None,
        "expected": attempt.expected,
        "got": attempt.got,
        "files": ", ".join(attempt.files),
        "failed tests": ", ".join(attempt.failed_tests),
        "missing": attempt.missing,
        "decision": attempt.decision,
        "log": attempt.log,
    }

    for name, fact in facts.items():
        if fact not in (None, ""):
            yield f"  {name}: {fact}"
