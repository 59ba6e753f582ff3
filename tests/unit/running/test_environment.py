"""The environment of a command, and the pytest that may run inside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running.environment import (
    clean_environ,
    own_junit,
    with_own_programs,
    without_our_options,
)
from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTER = {
    "PYTEST_CURRENT_TEST": "a.py::b (call)",
    "PYTEST_VERSION": "9.0.0",
    "PYTEST_XDIST_WORKER": "gw0",
    "PYTEST_XDIST_WORKER_COUNT": "2",
    "PYTEST_XDIST_TESTRUNUID": "abc",
}
KEPT = {"HOME": "/home/me", "PYTEST_XDIST_AUTO_NUM_WORKERS": "3", "PYTEST_PLUGINS": "mine"}


def test_what_the_outer_run_set_is_removed_and_what_the_user_set_stays() -> None:
    added = {"RALPH_NESTED": "1", "LC_MESSAGES": "C"}
    assert clean_environ({**OUTER, **KEPT}) == {**KEPT, **added}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/bin:/bin", "/venv/bin:/usr/bin:/bin"),
        ("/usr/bin:/venv/bin:/bin", "/venv/bin:/usr/bin:/bin"),
        ("/venv/bin:/bin", "/venv/bin:/bin"),
    ],
)
def test_the_running_python_comes_first_on_path(path: str, expected: str) -> None:
    assert with_own_programs(path, "/venv/bin/python") == expected


def test_messages_are_english_unless_the_user_decides() -> None:
    assert clean_environ({"LANG": "de_DE.UTF-8"})["LC_MESSAGES"] == "C"
    assert "LC_MESSAGES" not in clean_environ({"LC_ALL": "de_DE.UTF-8"})


def test_the_given_environment_is_not_changed() -> None:
    given = dict(OUTER)
    clean_environ(given)
    assert given == OUTER


@pytest.mark.parametrize(
    ("addopts", "left"),
    [
        ("", ""),
        ("-q", "-q"),
        ("--ralph", ""),
        ("-q --ralph -x", "-q -x"),
        ("--ralph-recovery --no-ralph-recovery --ralph-lint=github -x", "-x"),
        ("--ralph-executor claude -x", "-x"),
        ("--ralph-executor='my agent --fast' -x", "-x"),
        ("--ralph-max-fixes 5 --ralph-jobs=3 -n 2", "-n 2"),
        ("--ralph-report", ""),
        ("-o ralph=true -o log_cli=true", "-o log_cli=true"),
        ("-oralph_recovery=true --override-ini=ralph=1 --override-ini ralph=1 -v", "-v"),
        ("-k 'a or b' --ralph", "-k 'a or b'"),
        ("-k 'unbalanced --ralph", "-k 'unbalanced --ralph"),
    ],
)
def test_our_options_are_taken_out_of_addopts(addopts: str, left: str) -> None:
    assert without_our_options(addopts) == left


@pytest.mark.parametrize(
    ("command", "addopts", "path"),
    [
        ("pytest -q", "", None),
        ("pytest --junitxml=out.xml", "", "out.xml"),
        ("pytest --junit-xml out.xml -q", "", "out.xml"),
        ("pytest '--junitxml=out.xml'", "", "out.xml"),
        ('pytest --junitxml="a/b.xml" && echo', "", "a/b.xml"),
        ("pytest", "--junitxml=x.xml", "x.xml"),
        ("pytest --junitxml=/abs/o.xml; true", "", "/abs/o.xml"),
    ],
)
def test_the_junit_file_a_command_asks_for(command: str, addopts: str, path: str | None) -> None:
    assert own_junit(command, addopts, Path("/p")) == (
        None if path is None else str(Path("/p") / path)
    )


class TestAPytestInsideACommand:
    PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider"

    @pytest.fixture(autouse=True)
    def _project_with_a_test(self, project: Path) -> None:
        (project / "pytest.ini").write_text("[pytest]\n")
        (project / "test_it.py").write_text("def test_passes(): pass\ndef test_fails(): assert 0\n")

    @pytest.fixture
    def busy_runner(self, project: Path) -> Iterator[Runner]:
        environ = {**os.environ, **OUTER, "PYTEST_ADDOPTS": "--ralph --ralph-jobs 2 -p no:randomly"}
        runner = Runner(root=project, environ=environ, logs=project / ".ralph" / "the logs")
        yield runner
        runner.close()

    def test_writes_junit_for_us(self, busy_runner: Runner) -> None:
        ended = busy_runner.run(f"{self.PYTEST} -q", timeout=60, label="1.1")
        assert ended.exit_code == 1, ended.output()
        assert ended.junit is not None
        assert 'name="test_fails"' in ended.junit.read_text()

    def test_writes_its_own_junit_where_it_likes(self, busy_runner: Runner, project: Path) -> None:
        ended = busy_runner.run(f"{self.PYTEST} --junitxml=mine.xml", timeout=60)
        assert ended.junit == project / "mine.xml"
        assert [path.name for path in busy_runner.logs.iterdir()] == ["001-command.log"]

    def test_that_wrote_none_this_time_gives_none(self, busy_runner: Runner, project: Path) -> None:
        (project / "mine.xml").write_text("<old/>")
        assert busy_runner.run("echo pytest --junitxml=mine.xml", timeout=60).junit is None

    @pytest.mark.parametrize("addopts", ["--junitxml=mine.xml", "-p no:junitxml"])
    def test_with_junit_in_its_configuration_is_left_alone(
        self, project: Path, addopts: str
    ) -> None:
        (project / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n")
        runner = Runner(root=project, environ=os.environ, logs=project / "logs")
        ended = runner.run(f"{self.PYTEST} -q", timeout=60)
        runner.close()
        assert (ended.exit_code, ended.junit) == (1, None), ended.output()

    def test_prints_nothing_more_where_its_output_is_compared(self, busy_runner: Runner) -> None:
        ended = busy_runner.run(f"{self.PYTEST} --collect-only", timeout=60, split=True)
        assert ended.junit is None
        assert "xml" not in ended.stdout.text()

    def test_sees_that_it_is_nested_and_nothing_of_the_outer_run(self, busy_runner: Runner) -> None:
        seen = busy_runner.run("env", timeout=20).output()
        assert "RALPH_NESTED=1\n" in seen
        assert "--ralph" not in seen
        assert not any(f"{name}=" in seen for name in OUTER)
