"""A task's story on its one testcase of pytest's JUnit file: properties, and earlier attempts as Surefire has them.

Both functions work on pytest's own writer, so every option of it (family, logging, prefix, xdist) goes on working.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from pytest_ralph.text.bounded import bounded
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pytest_ralph.results import Attempt, TaskResult

MESSAGE_LIMIT = 500
# Surefire's schema is a sequence; captured output closes it.
CLOSING_TAGS = ("system-out", "system-err")


def properties(task: TaskResult) -> list[tuple[str, str]]:
    """What goes into the item's `user_properties`; those of a failure only where there was one."""
    told = {
        "ralph.spec": one_line(task.spec, MESSAGE_LIMIT),
        "ralph.task": one_line(task.id, MESSAGE_LIMIT),
        "ralph.title": one_line(task.title, MESSAGE_LIMIT),
        "ralph.outcome": task.outcome,
        "ralph.attempts": str(len(task.verifications)),
        "ralph.fixes": str(len(task.all_fixes)),
    }
    if failure := task.last_failure:
        for view in ("kind", "type", "category"):
            told[f"ralph.failure.{view}"] = one_line(getattr(failure, view) or "", MESSAGE_LIMIT)
    return [*told.items()]


def add_properties(item: pytest.Item, report: pytest.TestReport, story: TaskResult) -> None:
    """On the item too: pytest writes the properties of its last report, the teardown's. A rerun replaces them."""
    kept = [pair for pair in item.user_properties if not pair[0].startswith("ralph.")]
    item.user_properties[:] = [*kept, *properties(story)]
    report.user_properties = list(item.user_properties)


def write_properties(config: pytest.Config, report: pytest.TestReport) -> None:
    """At once, for a test that crashed with its worker: pytest's writer waits for a teardown that never comes."""
    from _pytest.junitxml import xml_key

    if writer := config.stash.get(xml_key, None):
        for name, value in report.user_properties:
            writer.node_reporter(report).add_property(name, str(value))


def forget(config: pytest.Config, nodeid: str, node: object) -> None:
    """A test that a worker had set up when it died, and that another begins anew: one test case is enough."""
    from _pytest.junitxml import xml_key

    if writer := config.stash.get(xml_key, None):
        for key in [
            key for key in writer.node_reporters if key[1] is node and str(key[0]) == nodeid
        ]:
            writer.node_reporters_ordered.remove(writer.node_reporters.pop(key))


def add_attempts(config: pytest.Config, report: pytest.TestReport, task: TaskResult) -> None:
    """Put the earlier failed attempts beside the result.

    To be called for the call report, after pytest's own writer has seen it (a `trylast` hook) and before the
    teardown report, with which the writer closes the testcase.
    """
    from _pytest.junitxml import xml_key

    writer = config.stash.get(xml_key, None)
    if writer is None or report.when != "call":
        return
    nodes: list[Element] = writer.node_reporter(report).nodes
    _name_the_failure(nodes, task)
    if report.outcome != "skipped":
        tag = "rerunFailure" if report.failed else "flakyFailure"
        end = next((at for at, node in enumerate(nodes) if node.tag in CLOSING_TAGS), len(nodes))
        nodes[end:end] = [attempt_element(tag, attempt) for attempt in task.earlier_failures]


def _name_the_failure(nodes: list[Element], task: TaskResult) -> None:
    failure = task.last_failure
    for node in nodes:
        if node.tag == "failure" and failure is not None:
            node.set("type", _inert_line(failure.kind or "unknown"))
            node.set("message", _inert_line(failure.error))


def attempt_element(tag: str, attempt: Attempt) -> Element:
    message, kind = _inert_line(attempt.error), _inert_line(attempt.kind or "unknown")
    element = Element(tag, {"message": message, "type": kind})
    SubElement(element, "stackTrace").text = terminal("\n".join(_evidence(attempt)))
    if attempt.output:
        SubElement(element, "system-out").text = terminal(
            bounded(attempt.output, 40, 160, widest=500)
        )
    return element


def _inert_line(text: str) -> str:
    return terminal(one_line(text, MESSAGE_LIMIT))


def _evidence(attempt: Attempt) -> Iterator[str]:
    yield attempt.error or "failed"
    facts = {
        "attempt": f"{attempt.number} ({attempt.what})",
        "command": attempt.command,
        "exit status": "" if attempt.exit_code is None else str(attempt.exit_code),
        "timed out": "yes" if attempt.timed_out else "",
        "expected": attempt.expected,
        "got": attempt.got,
        "files": ", ".join(attempt.files),
        "failed tests": ", ".join(attempt.failed_tests),
        "missing": attempt.missing or "",
        "decision": attempt.decision,
        "log": attempt.log,
    }
    yield from (f"  {name}: {fact}" for name, fact in facts.items() if fact)
