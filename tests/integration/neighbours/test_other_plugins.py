"""Tasks beside plugins that run items again, limit their time or expect Python functions."""

from __future__ import annotations

import re
import threading
from importlib.metadata import version
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.session import resources
from pytest_ralph.session.resources import Resources

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

PASSES_LATER = """
- [ ] 1.1 Passes the second time
  - **Verify**: `echo x >> count; test $(wc -l < count) -ge 2`
- [ ] 1.2 Depends on it
  - **Verify**: `test -e count`
"""
FAILS = """
- [ ] 1.1 Fails
  - **Verify**: `echo boom; test 2 = 3`
- [ ] 1.2 Depends on it
  - **Verify**: `test 1 = 1`
"""
RECOVERY = ("--ralph-recovery", "--ralph-executor", "none", "specs/demo")


def test_a_rerun_that_passes_unblocks(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(PASSES_LATER)
    result = pytester.runpytest(*RECOVERY, "--reruns", "1", "--junitxml=result.xml")
    result.assert_outcomes(passed=2)
    assert result.parseoutcomes()["rerun"] == 1
    assert result.ret == 0
    # One testcase per task.
    written = (pytester.path / "result.xml").read_text()
    assert written.count("<testcase ") == 2
    assert 'tests="2"' in written


def test_an_expected_failure_blocks_nothing(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec(FAILS)
    before = spec.read_text()
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.xfail)
        """
    )
    result = pytester.runpytest(*RECOVERY)
    result.assert_outcomes(xfailed=1, passed=1)
    assert result.ret == 0
    # Neither ticked nor given a fix task.
    assert spec.read_text() == before.replace("- [ ] 1.2", "- [x] 1.2")
    for line in ("*ALL_TASKS_COMPLETE*", "*HALTED*", "Next"):
        result.stdout.no_fnmatch_line(line)


def test_a_blocked_task_fails_the_run(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(FAILS)
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if report.failed:
                report.outcome = "passed"
            return report
        """
    )
    result = pytester.runpytest(*RECOVERY)
    assert result.parseoutcomes()["blocked"] == 1
    assert result.ret == 1


FAILING_REPORTS = """
    import pytest

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        if call.when == "{when}" and item.name == "1.1":
            report.outcome = "failed"
            report.longrepr = "too slow"
        return report
"""


@pytest.mark.parametrize("when", ["call", "teardown"])
def test_a_report_failed_by_another_plugin_counts(
    pytester: pytest.Pytester, make_spec: SpecMaker, when: str
) -> None:
    spec = make_spec(t1_1="test 1 = 1", t1_2="test 2 = 2")
    before = spec.read_text()
    pytester.makeconftest(FAILING_REPORTS.format(when=when))
    result = pytester.runpytest(*RECOVERY, "--junitxml=result.xml")
    assert result.ret == 1
    assert result.parseoutcomes()["blocked"] == 1
    result.stdout.no_fnmatch_line("*ALL_TASKS_COMPLETE*")
    # Not ticked, and not listed as completed.
    assert spec.read_text() == before
    assert "1.1" not in (spec.parent / ".progress.md").read_text()
    outcome = "failed" if when == "call" else "passed"
    properties = (pytester.path / "result.xml").read_text()
    assert f'name="ralph.outcome" value="{outcome}"' in properties


def test_a_recovered_task_failed_by_another_plugin_fails(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec(t1_1="test -e made")
    pytester.makeconftest(FAILING_REPORTS.format(when="call"))
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "touch made", "specs/demo")
    assert result.parseoutcomes() == {"failed": 1}
    assert "- [ ] 1.1 " in spec.read_text()


def test_a_report_that_fails_without_a_word_in_a_worker(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(t1_1="test 1 = 1")
    pytester.makeconftest(FAILING_REPORTS.format(when="call").replace("too slow", ""))
    result = pytester.runpytest("--ralph", "-n1", "specs/demo")
    assert result.parseoutcomes() == {"failed": 1}


def test_junit_requested_by_a_conftest_has_the_attempts(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="test -e made")
    pytester.makeconftest(
        """
        def pytest_configure(config):
            config.option.xmlpath = "result.xml"
        """
    )
    pytester.runpytest("--ralph-recovery", "--ralph-executor", "touch made", "specs/demo")
    written = (pytester.path / "result.xml").read_text()
    assert "<flakyFailure" in written
    assert 'name="1.1 Task 1.1"' in written


def test_hooks_of_a_spec_are_not_called_for_others(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    conftest = """
        from pathlib import Path

        def pytest_ralph_failed(task):
            with open("{name}.called", "a") as file:
                file.write(f"{{task.title}} ")

        def pytest_ralph_halted(spec):
            with open("{name}.called", "a") as file:
                file.write(f"{{spec.name}} ")
        """
    for name in ("a", "b"):
        make_spec(f"- [ ] 1.1 Task_{name}\n  - **Verify**: `test 2 = 3`\n", name=name)
        directory = pytester.path / "specs" / name
        (directory / "conftest.py").write_text(dedent(conftest.format(name=name)))
    pytester.runpytest("--ralph-recovery", "--ralph-executor=none", "specs")
    assert (pytester.path / "a.called").read_text() == "Task_a a "
    assert (pytester.path / "b.called").read_text() == "Task_b b "


def test_an_exception_of_another_plugin_fails_the_task(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec(FAILS.replace("echo boom; test 2 = 3", "sleep 20"))
    before = spec.read_text()
    # What pytest-timeout does with `timeout_method = signal`.
    pytester.makeconftest(
        """
        import signal
        import pytest

        def fail(number, frame):
            pytest.fail("Timeout")

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            signal.signal(signal.SIGALRM, fail)
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            try:
                return (yield)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        """
    )
    result = pytester.runpytest(*RECOVERY, "--junitxml=result.xml")
    assert result.parseoutcomes()["failed"] == 1
    assert result.parseoutcomes()["blocked"] == 1
    assert 'name="ralph.task" value="1.1"' in (pytester.path / "result.xml").read_text()
    assert spec.read_text() == before


def test_the_timer_of_pytest_timeout_is_not_set(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.makepyfile(
        timers="""
        import pytest

        class Hooks:
            @pytest.hookspec(firstresult=True)
            def pytest_timeout_set_timer(item, settings):
                pass

        def pytest_addhooks(pluginmanager):
            pluginmanager.add_hookspecs(Hooks)

        def pytest_runtest_setup(item):
            is_set = item.ihook.pytest_timeout_set_timer(item=item, settings=None)
            assert is_set is True
        """
    )
    pytester.syspathinsert()
    result = pytester.runpytest("-p", "timers", "--ralph", "specs/demo")
    result.assert_outcomes(passed=1)


def test_attributes_of_functions_are_there(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                assert not hasattr(item.obj, "hypothesis")
                assert "pytester" not in item.fixturenames
                assert item.function is None
                assert item.parent.obj is None
                item._initrequest()
        """
    )
    pytester.runpytest("--ralph", "specs/demo").assert_outcomes(passed=1)


@pytest.mark.parametrize("words", ["task_incomplete", "not done yet: boom"])
def test_reruns_are_selected_by_the_shown_line(
    pytester: pytest.Pytester, make_spec: SpecMaker, words: str
) -> None:
    if words == "task_incomplete" and version("pytest-rerunfailures") < "15":
        pytest.skip("pytest-rerunfailures 14 compares with the shown line only")
    make_spec(t1_1="echo boom; test 2 = 3")
    result = pytester.runpytest("--ralph", "specs/demo", "--reruns", "1", "--only-rerun", words)
    assert result.parseoutcomes()["rerun"] == 1


def test_a_replaced_reporter_is_no_obstacle(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(FAILS)
    pytester.makeconftest(
        """
        import pytest

        class Silent:
            def pytest_sessionfinish(self, session):
                ours = session.config.pluginmanager.getplugin("ralph-summary")
                ours.pytest_terminal_summary(self)

        @pytest.hookimpl(trylast=True)
        def pytest_configure(config):
            config.pluginmanager.unregister(name="terminalreporter")
            config.pluginmanager.register(Silent(), "terminalreporter")
        """
    )
    result = pytester.runpytest(*RECOVERY)
    assert result.ret == 1
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_task_is_not_forked(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.makeconftest(
        """
        import os
        import pytest

        started_in = os.getpid()

        def pytest_addoption(parser):
            parser.addoption("--forked", action="store_true")

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            pytest.exit("forked", 3)
        """
    )
    result = pytester.runpytest("--ralph", "specs/demo", "--forked")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "hook", ["pytest_configure", "pytest_sessionstart", "pytest_runtest_setup"]
)
def test_the_environment_is_that_of_the_moment(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    monkeypatch.delenv("SET_BY_CONFTEST", raising=False)
    make_spec(t1_1='test "$SET_BY_CONFTEST" = yes')
    pytester.makeconftest(
        f"""
        import os

        def {hook}():
            os.environ["SET_BY_CONFTEST"] = "yes"
        """
    )
    result = pytester.runpytest("--ralph", "specs/demo")
    monkeypatch.setenv("SET_BY_CONFTEST", "")
    result.assert_outcomes(passed=1)


def test_the_environment_is_copied_in_the_main_thread(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec("".join(f"- [ ] 1.{n} [P] Task\n  - **Verify**: `test 1 = 1`\n" for n in (1, 2, 3)))
    threads = set()
    copy = resources.copy_environment

    def copy_and_note_thread() -> dict[str, str]:
        threads.add(threading.current_thread())
        return copy()

    monkeypatch.setattr(resources, "copy_environment", copy_and_note_thread)
    result = pytester.runpytest_inprocess("--ralph", "--ralph-jobs=3", "specs/demo")
    result.assert_outcomes(passed=3)
    assert threads == {threading.main_thread()}


def test_a_failed_task_is_no_broken_test(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    """Allure calls everything but a failed assertion broken."""
    make_spec(t1_1="test 2 = 3")
    pytester.makeconftest(
        """
        def pytest_runtest_makereport(item, call):
            if call.excinfo is not None:
                print("failed assertion:", isinstance(call.excinfo.value, AssertionError))
        """
    )
    result = pytester.runpytest("--ralph", "specs/demo", "-s")
    result.stdout.fnmatch_lines(["*failed assertion: True"])


def test_a_secret_set_for_one_task_is_masked(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Restored after the test, which changes it in this process.
    monkeypatch.setenv("SOME_TOKEN", "")
    make_spec(t1_1="test 2 = 3", t1_2="echo $SOME_TOKEN; test 2 = 3")
    pytester.makeconftest(
        """
        import os

        def pytest_runtest_setup(item):
            os.environ["SOME_TOKEN"] = f"quite-secret-{item.name}"
        """
    )
    result = pytester.runpytest(*RECOVERY, "--ralph-keep-going", "-vv")
    assert result.parseoutcomes()["failed"] == 2
    assert "***" in result.stdout.str()
    assert "quite-secret" not in result.stdout.str()


def test_an_exception_before_a_task_blocks_others(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(FAILS)
    before = spec.read_text()
    answers = iter([ValueError("no environment"), None])

    def fail_once(resources: Resources) -> None:
        answer = next(answers)
        if answer is not None:
            raise answer

    monkeypatch.setattr(Resources, "update_environment", fail_once)
    result = pytester.runpytest_inprocess(*RECOVERY)
    assert result.parseoutcomes()["failed"] == 1
    assert result.parseoutcomes()["blocked"] == 1
    assert spec.read_text() == before


@pytest.mark.parametrize(
    "arguments",
    [
        RECOVERY[:-1],
        ("--ralph-execute",),
        ("--ralph", "-o", "ralph_recovery=state"),
        ("--ralph", "-o", "ralph_recovery=State"),
        ("--ralph", "-o", "ralph_execute=true"),
    ],
)
def test_looponfail_with_recovery_is_refused(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytest.importorskip("xdist", reason="--looponfail is an option of pytest-xdist")
    result = pytester.runpytest(*arguments, "--looponfail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --looponfail runs again*"])


def test_standard_output_may_have_no_descriptor(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object that stands for it under xdist's --looponfail has no method `fileno`."""

    class Output:
        encoding = "utf-8"

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> None:
            self.text += text

        def flush(self) -> None:
            pass

        def isatty(self) -> bool:
            return False

    make_spec(t1_1="test 1 = 1")
    output = Output()
    monkeypatch.setattr("sys.stdout", output)
    status = pytest.main(["--ralph", "specs/demo", "-p", "no:capture", "-p", "no:cacheprovider"])
    assert status == 0
    assert "1 passed" in output.text


@pytest.mark.parametrize("file", ["pytest.ini", "pytest.toml", "pyproject.toml"])
def test_interactive_with_workers_of_a_file_is_refused(
    pytester: pytest.Pytester, make_spec: SpecMaker, file: str
) -> None:
    pytest.importorskip("xdist", reason="without it there are no workers")
    if file == "pytest.toml" and pytest.version_tuple < (9,):
        pytest.skip("pytest 9 is the first to read it")
    make_spec(t1_1="test 1 = 1")
    content = {
        "pytest.ini": "[pytest]\naddopts = -n 2\n",
        "pytest.toml": '[pytest]\naddopts = ["-n", "2"]\n',
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-n 2"\n',
    }
    (pytester.path / file).write_text(content[file])
    result = pytester.runpytest("--ralph", "--ralph-interactive", "specs/demo")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-interactive needs the terminal*"])


def test_specs_of_a_group_share_a_worker(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytest.importorskip("xdist", reason="without it there are no workers")
    for name in ("a", "b", "c"):
        make_spec(name=name, t1_1="test 1 = 1")
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                # Without a group, each worker would begin with one of these.
                if item.path.parent.name in ("a", "b"):
                    item.add_marker(pytest.mark.xdist_group("database"))
        """
    )
    arguments = ["--ralph-recovery", "--ralph-executor=none", "-n2", "--dist=loadgroup", "-v"]
    result = pytester.runpytest(*arguments, "specs")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["ALL_TASKS_COMPLETE: b"])
    # What `-v` shows before a run is there for tasks with a group, too.
    result.stdout.fnmatch_lines(["specs/b/tasks.md:*: 1.1 Task 1.1: test 1 = 1"])
    lines = re.findall(r"\[(gw\d)\].* PASSED specs/([ab])/", result.stdout.str())
    assert len(lines) == 2
    assert lines[0][0] == lines[1][0]
