"""A task's testcase, as pytest writes it and as junitparser and Surefire's schema read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from junitparser import xunit2

from pytest_ralph.report.junit import attempt_element, properties
from pytest_ralph.results import Attempt, FixResult, TaskResult, to_json

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not hasattr(xunit2.TestCase, "is_flaky"),
    reason="junitparser before 5 gives no list of interim results",
)

# A plugin as small as one can be: every `*.story` file is an item that ends as its story says.
CONFTEST = """
    import json
    import pytest
    from _pytest.junitxml import xml_key
    from pytest_ralph.report import junit
    from pytest_ralph.results import TaskResult, from_json

    def pytest_collect_file(file_path, parent):
        if file_path.suffix == ".story":
            return StoryFile.from_parent(parent, path=file_path)

    class StoryFile(pytest.File):
        def collect(self):
            for story in json.loads(self.path.read_text()):
                yield Story.from_parent(self, name=story["id"], story=story)

    class Story(pytest.Item):
        def __init__(self, *, story, **kwargs):
            super().__init__(**kwargs)
            self.story = story

        def runtest(self):
            print("printed by the item")
            self.user_properties.append(("theirs", "kept"))
            if self.story["outcome"] in ("manual", "blocked"):
                pytest.skip(self.story["reason"])
            assert self.story["outcome"] in ("passed", "recovered"), "many\\nlines"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        if call.when == "call":
            report.story = item.story
            junit.set_properties(item, from_json(TaskResult, item.story))
            junit.set_properties(report, from_json(TaskResult, item.story))
        return report

    class Attempts:
        def __init__(self, config):
            self.config = config

        @pytest.hookimpl(trylast=True)
        def pytest_runtest_logreport(self, report):
            writer = self.config.stash.get(xml_key, None)
            if writer is not None and hasattr(report, "story"):
                testcase = writer.node_reporter(report)
                junit.add_attempts(testcase, report, from_json(TaskResult, report.story))

    def pytest_configure(config):
        config.pluginmanager.register(Attempts(config))
"""


def failed(error: str = "assert 1 == 2", **facts: Any) -> Attempt:
    facts = {
        "kind": "test_failure",
        "type": "VERIFICATION_FAILED",
        "command": "pytest -q",
        "exit_code": 1,
        **facts,
    }
    return Attempt(outcome="failed", error=error, **facts)


FIXES = (FixResult("1.3.1", "1.3", children=(FixResult("1.3.1.1", "1.3.1"),)),)
PASSED = TaskResult("1.1", "foo", "foo.story", title="Add parser", attempts=(Attempt(),))
RECOVERED = TaskResult(
    "1.3",
    "foo",
    title="Add <parser> & co",
    outcome="recovered",
    attempts=(
        failed("first", output="one\ntwo"),
        Attempt(what="fix", outcome="failed"),
        failed("second"),
        Attempt(),
    ),
    fixes=FIXES,
)
FAILED = TaskResult(
    "1.4",
    "foo",
    outcome="failed",
    attempts=(
        failed("first"),
        failed("second"),
        failed("last", kind="timeout", category="timeout"),
    ),
)
MANUAL = TaskResult("1.5", "foo", outcome="manual", reason="manual: look at it")
STORIES = (PASSED, RECOVERED, FAILED, MANUAL)


def run(pytester: pytest.Pytester, *stories: TaskResult, args: tuple[str, ...] = ()) -> Path:
    pytester.makeconftest(CONFTEST)
    pytester.makefile(".story", foo=json.dumps([to_json(story) for story in stories]))
    start = pytester.runpytest_subprocess if "-n2" in args else pytester.runpytest_inprocess
    start("--junitxml=result.xml", "-p", "no:ralph", *args)
    return pytester.path / "result.xml"


def read(path: Path) -> dict[str, Any]:
    suites = xunit2.JUnitXml.fromfile(str(path))
    cases: list[Any] = [case for suite in suites for case in suite]
    assert len({str(case.name) for case in cases}) == len(cases), (
        "more than one testcase for a task"
    )
    return {str(case.name).split()[0]: case for case in cases}


def told(case: Any) -> dict[str, str]:
    return {item.name: item.value for item in case.properties()}


WAYS = [
    ("-n0",),
    ("-o", "junit_family=legacy", "-o", "junit_duration_report=call", "--junitprefix=pre"),
    ("-o", "junit_family=xunit1", "-o", "junit_logging=all"),
    ("-o", "junit_logging=all", "-o", "junit_log_passing_tests=false"),
    ("-n2", "-o", "junit_logging=system-out"),
]


@pytest.mark.parametrize("args", WAYS, ids=" ".join)
def test_each_task_is_one_testcase(pytester: pytest.Pytester, args: tuple[str, ...]) -> None:
    path = run(pytester, *STORIES, args=args)
    cases = read(path)
    assert set(cases) == {"1.1", "1.3", "1.4", "1.5"}
    assert [(r.message, r.type) for r in cases["1.3"].flaky_failures()] == [
        ("first", "test_failure"),
        ("second", "test_failure"),
    ]
    assert [r.message for r in cases["1.4"].rerun_failures()] == ["first", "second"]
    assert [(r.message, r.type) for r in cases["1.4"].result] == [("last", "timeout")]
    assert (cases["1.1"].is_passed, cases["1.3"].is_passed, cases["1.5"].is_skipped) == (
        True,
        True,
        True,
    )
    assert not cases["1.1"].interim_result
    assert not cases["1.5"].interim_result
    assert breaches(path) == []
    suite = ET.parse(path).getroot()[0]
    assert [suite.get(count) for count in ("tests", "failures", "errors", "skipped")] == [
        "4",
        "1",
        "0",
        "1",
    ]


def test_properties_are_those_of_the_contract(pytester: pytest.Pytester) -> None:
    cases = read(run(pytester, *STORIES))
    assert told(cases["1.3"]) == {
        "theirs": "kept",
        "ralph.spec": "foo",
        "ralph.task": "1.3",
        "ralph.title": "Add <parser> & co",
        "ralph.outcome": "recovered",
        "ralph.attempts": "3",
        "ralph.fixes": "1.3.1,1.3.1.1",
        "ralph.failure.kind": "test_failure",
        "ralph.failure.type": "VERIFICATION_FAILED",
        "ralph.failure.category": "",
    }
    assert told(cases["1.4"])["ralph.failure.category"] == "timeout"
    assert not any(name.startswith("ralph.failure") for name in told(cases["1.1"]))
    assert told(cases["1.5"])["ralph.outcome"] == "manual"


def test_an_attempt_has_evidence_and_bounded_output() -> None:
    output = "\n".join(f"line {number}" for number in range(5000))
    element = attempt_element(
        "flakyFailure", failed(output=output, files=("a.py",), expected="3", got="1", number=2)
    )
    trace, out = element.findtext("stackTrace", ""), element.findtext("system-out", "")
    assert [child.tag for child in element] == ["stackTrace", "system-out"]
    assert trace.splitlines()[:4] == [
        "assert 1 == 2",
        "  attempt: 2 (verify)",
        "  command: pytest -q",
        "  exit status: 1",
    ]
    assert "  files: a.py" in trace
    assert "line 0\n" in out
    assert "line 4999" in out
    assert "lines left out" in out
    assert len(out) < 10_000


def test_whatever_a_command_printed_the_file_stays_xml(pytester: pytest.Pytester) -> None:
    nasty = "\x1b[31mred\x1b[0m \x00\x08\ufffe ]]> <failure> & \udc80 \u202e end"
    story = TaskResult(
        "1.1",
        nasty,
        title=nasty,
        outcome="recovered",
        attempts=(failed(nasty, output=nasty, kind=nasty),),
    )
    cases = read(run(pytester, story))
    (attempt,) = cases["1.1"].flaky_failures()
    assert "red" in attempt.message
    assert "<failure> &" in attempt.message
    assert "]]>" in attempt.system_out
    assert not {"\x1b", "\x00", "\u202e"} & {
        *attempt.message,
        *attempt.system_out,
        *told(cases["1.1"])["ralph.title"],
    }


def test_without_a_junit_file_nothing_is_done(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makefile(".story", foo=json.dumps([to_json(RECOVERED)]))
    pytester.runpytest_inprocess("-p", "no:ralph").assert_outcomes(passed=1)


def test_a_task_without_failure_has_no_failure_properties() -> None:
    assert [name for name, _ in properties(PASSED)] == [
        "ralph.spec",
        "ralph.task",
        "ralph.title",
        "ralph.outcome",
        "ralph.attempts",
        "ralph.fixes",
    ]


# What Surefire's schema says of a testcase: a sequence, each of which may be absent; these are the
# rules that junit-10.xsd, which pytest follows, relaxes to "in any order". Properties come first:
# pytest's own addition.
ORDER = [
    "properties",
    "failure",
    "rerunFailure",
    "flakyFailure",
    "skipped",
    "error",
    "system-out",
    "system-err",
]
ONCE = {"properties", "skipped", "error"}
INTERIM = {"rerunFailure", "flakyFailure"}


def breaches(path: Path) -> list[str]:
    return [breach for case in ET.parse(path).iter("testcase") for breach in _breaches_of(case)]


def _breaches_of(case: ET.Element) -> list[str]:
    tags = [child.tag for child in case]
    found = [f"unknown {tag}" for tag in tags if tag not in ORDER]
    found += [f"more than one {tag}" for tag in ONCE if tags.count(tag) > 1]
    # Of a skipped test pytest itself writes the captured output twice.
    met = list(dict.fromkeys(tags))
    if not found and met != sorted(met, key=ORDER.index):
        found.append(f"order {tags}")
    for child in (child for child in case if child.tag in INTERIM):
        if "type" not in child.attrib or {*child.attrib} > {"type", "message"}:
            found.append(f"attributes {child.attrib}")
        if [part.tag for part in child] not in (["stackTrace"], ["stackTrace", "system-out"]):
            found.append(f"children of {child.tag}")
    if {"failure", "flakyFailure"} <= {*tags} or ("rerunFailure" in tags and "failure" not in tags):
        found.append("an attempt that does not fit the result")
    return found
