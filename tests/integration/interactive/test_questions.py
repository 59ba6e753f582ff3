"""At a failure a person is asked, on a real terminal, and the run does what they say."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered
from tests.integration.terminal.seat import Seat

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

QUESTION = "[f]ix, [r]etry, [s]kip, [e]dit, [g]ive up, [h]alt"
AGENT = "import pathlib, sys; sys.stdin.read(); pathlib.Path('src.txt').write_text('right')"


@pytest.fixture
def project(pytester: pytest.Pytester, make_spec: SpecMaker) -> Path:
    """Task 1.1 fails until src.txt says `right`; an agent that writes it is there."""
    make_spec(t1_1="grep right src.txt", t1_2="test -d specs")
    (pytester.path / "src.txt").write_text("wrong")
    (pytester.path / "agent.py").write_text(AGENT)
    return pytester.path


def sit(project: Path, *args: str, **environ: str) -> Seat:
    agent = f"{shlex.quote(sys.executable)} agent.py"
    given = ("--ralph-recovery", "--ralph-interactive", "--ralph-executor", agent)
    return Seat(project, *given, *args, "specs", environ=environ)


def tasks(project: Path) -> str:
    return (project / "specs/demo/tasks.md").read_text()


@pytest.mark.parametrize(
    ("answers", "more", "status", "shown"),
    [
        pytest.param(["f"], (), 0, "1 passed, 1 recovered", id="fix"),
        pytest.param([""], (), 0, "1 passed, 1 recovered", id="Enter: as decided"),
        pytest.param(["what?", "f"], (), 0, "verify the task again", id="unknown answer: help"),
        pytest.param(["r", "s"], (), 0, "1 passed, 1 skipped", id="retry, then skip"),
        pytest.param(["s"], ("-s",), 0, "1 passed, 1 skipped", id="with -s"),
        pytest.param(["g"], (), 1, "1 failed, 1 blocked", id="give up"),
        pytest.param(["Halt"], (), 2, "halted at your request !!!", id="halt"),
    ],
)
def test_what_a_person_says_is_done(
    project: Path, answers: list[str], more: tuple[str, ...], status: int, shown: str
) -> None:
    seat = sit(project, *more)
    for answer in answers:
        seat.expect(QUESTION)
        seat.answer(answer)
    assert seat.status() == status
    assert any(shown in line for line in seat.lines)


def test_the_question_says_what_went_wrong_and_what_is_decided(
    project: Path, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="echo AssertionError: 3 is not 4; exit 1")
    seat = sit(project)
    seat.expect(
        "1.1 Task 1.1: tests failed: AssertionError: 3 is not 4",
        "$ echo AssertionError: 3 is not 4; exit 1",
        "| AssertionError: 3 is not 4",
        "decided: fix (verification failed; creating a fix task)",
        "(Enter: fix)?",
    )
    seat.answer("s")
    assert seat.status() == 0
    assert seat.lines[-3].startswith("specs/demo/tasks.md s")


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        pytest.param("?", "give up on the task", id="help"),
        pytest.param("o", "line 15 of 30", id="whole output"),
        pytest.param("d", "+more", id="diff"),
        pytest.param("!", "this is a shell", id="shell"),
    ],
)
def test_a_person_can_look_first(
    project: Path, make_spec: SpecMaker, answer: str, shown: str
) -> None:
    make_spec(t1_1="for i in $(seq 30); do echo line $i of 30; done; exit 1")
    (project / "shell.sh").write_text("#!/bin/sh\necho this is a shell\n")
    (project / "shell.sh").chmod(0o755)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x", "--allow-empty"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True)
    (project / "src.txt").write_text("more\nwrong")
    seat = sit(project, SHELL="./shell.sh")
    seat.expect(QUESTION)
    seat.answer(answer)
    seat.expect(shown, QUESTION)
    seat.answer("s")
    assert seat.status() == 0


def test_the_end_of_input_halts(project: Path) -> None:
    seat = sit(project)
    seat.expect(QUESTION)
    seat.press("d")
    assert seat.status() == pytest.ExitCode.INTERRUPTED
    assert "halted at your request" in seat.text
    assert "- [ ] 1.1 " in tasks(project)


def test_ctrl_c_at_the_question_ends_the_run(project: Path) -> None:
    seat = sit(project)
    seat.expect(QUESTION)
    seat.press("c")
    assert seat.status() == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in seat.text


def test_without_a_terminal_plugin_the_question_is_still_asked(project: Path) -> None:
    seat = sit(project, "-p", "no:terminal")
    seat.expect(QUESTION)
    seat.answer("f")
    assert seat.status() == 0
    assert "- [x] 1.1.1 [FIX 1.1]" in tasks(project)


class TestEditing:
    """`e` opens the fix task in the editor."""

    def editor(self, project: Path, body: str) -> str:
        """An editor that does `body` to the `text` of the file."""
        script = project / "editor.py"
        script.write_text(
            "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
            f"{body}\nfile.write_text(text)\n"
        )
        return f"{sys.executable} {script}"

    def test_the_fix_task_is_written_as_it_was_left(self, project: Path) -> None:
        editor = self.editor(project, "text = text.replace('Review related code', 'Ask Ada')")
        seat = sit(project, EDITOR="false", VISUAL=editor)
        seat.expect(QUESTION)
        seat.answer("e")
        assert seat.status() == 0
        assert "2. Ask Ada" in tasks(project)
        assert "- [x] 1.1.1 [FIX 1.1]" in tasks(project)

    def test_what_is_no_fix_task_can_be_edited_again(self, project: Path) -> None:
        """The first time the editor spoils the first line, the second time it puts it right."""
        editor = self.editor(
            project,
            "text = text[2:] if text.startswith('- ') else '- ' + text + '  - **Note**: mine'",
        )
        seat = sit(project, EDITOR=editor, VISUAL="")
        seat.expect(QUESTION)
        seat.answer("e")
        seat.expect("The fix task must start with `- [ ] 1.1.1 [FIX 1.1]`.", "[u]se it as it was?")
        seat.answer("")
        assert seat.status() == 0
        assert "- **Note**: mine" in tasks(project)

    @pytest.mark.parametrize(
        ("body", "answers"),
        [("text = ''", ()), ("sys.exit(1)", ()), ("text = 'Something else'", ("u",))],
    )
    def test_or_left_as_it_was(self, project: Path, body: str, answers: tuple[str, ...]) -> None:
        seat = sit(project, EDITOR=self.editor(project, body), VISUAL="")
        seat.expect(QUESTION)
        seat.answer("e")
        for answer in answers:
            seat.expect("[u]se it as it was?")
            seat.answer(answer)
        assert seat.status() == 0
        assert "2. Review related code in Files list" in tasks(project)

    def test_an_editor_that_is_missing_is_told(self, project: Path) -> None:
        seat = sit(project, EDITOR="no-such-editor", VISUAL="")
        seat.expect(QUESTION)
        seat.answer("e")
        seat.expect("'no-such-editor' cannot be run (No such file or directory): set EDITOR.")
        assert seat.status() == 0


class TestGroups:
    """Tasks of a [P] group fail at the same time; a person answers one question at a time."""

    @pytest.fixture
    def group(self, project: Path, make_spec: SpecMaker) -> Path:
        make_spec(numbered(3, "test -e {n}.txt", marks="[P]"))
        return project

    def test_each_question_is_answered_before_the_next_is_asked(self, group: Path) -> None:
        seat = sit(group, "--ralph-jobs=3")
        for _ in range(3):
            seat.expect(QUESTION)
            seat.answer("s")
        assert seat.status() == 0
        assert any("3 skipped" in line for line in seat.lines)
        assert seat.text.count(QUESTION) == 3

    def test_after_a_halt_nothing_more_is_asked(self, group: Path) -> None:
        seat = sit(group, "--ralph-jobs=3")
        seat.expect(QUESTION)
        seat.answer("h")
        assert seat.status() == pytest.ExitCode.INTERRUPTED
        assert seat.text.count(QUESTION) == 1

    def test_ctrl_c_ends_all_of_them(self, group: Path) -> None:
        seat = sit(group, "--ralph-jobs=3")
        seat.expect(QUESTION)
        seat.press("c")
        assert seat.status() == pytest.ExitCode.INTERRUPTED


class TestRefused:
    """Where there is nobody to answer."""

    @pytest.mark.usefixtures("project")
    def test_without_a_terminal_it_is_refused(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest_subprocess("--ralph-recovery", "--ralph-interactive", "specs")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        wanted = "ERROR: --ralph-interactive needs a terminal as standard input and output"
        assert [line for line in result.errlines if line] == [wanted]

    def test_a_spec_that_asks_for_it_is_refused_too(
        self, pytester: pytest.Pytester, make_spec: SpecMaker
    ) -> None:
        make_spec(
            "---\nralph:\n  interactive: true\n---\n\n- [ ] 1.1 It\n"
            "  - **Verify**: `test -d specs`\n"
        )
        result = pytester.runpytest_subprocess("--ralph-recovery", "specs")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: --ralph-interactive needs a terminal*"])

    def test_workers_have_none(self, project: Path) -> None:
        pytest.importorskip("xdist")
        seat = sit(project, "-p", "xdist", "-n1")
        assert seat.status() == pytest.ExitCode.USAGE_ERROR
        assert (
            "--ralph-interactive needs the terminal, which workers do not have: leave out -n"
            in seat.text
        )
