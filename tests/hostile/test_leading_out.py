"""Links and paths that lead out of the project: nothing is written there, one line says so."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
- [ ] 1.1 Task
  - **Do**: it
  - **Files**: `{files}`
  - **Verify**: `test -e done.txt`
"""


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory beside the project, with a spec in it."""
    directory = tmp_path_factory.mktemp("outside")
    (directory / "tasks.md").write_text(SPEC.format(files="done.txt"))
    (directory / "state.json").write_text('{"recoveryMode": true}\n')
    return directory


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    pytester.makeini("[pytest]\n")
    (pytester.path / "specs").mkdir()
    return pytester.path


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def make_spec(project: Path, files: str = "done.txt") -> Path:
    directory = project / "specs" / "demo"
    directory.mkdir()
    (directory / "tasks.md").write_text(SPEC.format(files=files))
    return directory


def refused(pytester: pytest.Pytester, outside: Path, name: str, *args: str) -> None:
    before = contents(outside)
    result = pytester.runpytest(*args, "--ralph-executor", "touch done.txt", "specs/demo")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: {name} points outside the project, to {outside}*: nothing is written there"]
    )
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert contents(outside) == before
    assert not (pytester.path / "done.txt").exists()


def test_a_spec_directory_that_is_a_link_to_the_outside_is_not_recovered(
    pytester: pytest.Pytester, project: Path, outside: Path
) -> None:
    (project / "specs" / "demo").symlink_to(outside)
    refused(pytester, outside, "specs/demo/tasks.md", "--ralph-recovery")


def test_it_can_be_verified_without_writing(
    pytester: pytest.Pytester, project: Path, outside: Path
) -> None:
    (project / "specs" / "demo").symlink_to(outside)
    before = contents(outside)
    result = pytester.runpytest("--ralph", "specs/demo")
    result.assert_outcomes(failed=1)
    assert contents(outside) == before


def test_a_link_that_stays_in_the_project_is_as_good_as_what_it_leads_to(
    pytester: pytest.Pytester, project: Path
) -> None:
    make_spec(project).rename(project / "elsewhere")
    (project / "specs" / "demo").symlink_to(project / "elsewhere")
    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", "touch done.txt", "specs/demo"
    )
    assert result.ret == 0
    assert "- [x] 1.1 Task" in (project / "elsewhere" / "tasks.md").read_text()


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tasks.md", "tasks.md"),
        (".ralph-state.json", "state.json"),
        (".progress.md", "progress.md"),
    ],
)
def test_a_file_of_a_spec_that_is_a_link_to_the_outside_is_not_written(
    pytester: pytest.Pytester, project: Path, outside: Path, name: str, target: str
) -> None:
    path = make_spec(project) / name
    path.unlink(missing_ok=True)
    path.symlink_to(outside / target)
    refused(pytester, outside, f"specs/demo/{name}", "--ralph-recovery")


OURS = (".ralph", ".ralph/history.db", ".ralph/logs", ".git/ralph", ".git/ralph/locks")


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("mode", ["--ralph", "--ralph-recovery"])
def test_a_directory_of_ours_that_is_a_link_to_the_outside_is_not_used(
    pytester: pytest.Pytester, project: Path, outside: Path, name: str, mode: str
) -> None:
    make_spec(project)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    path = project / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside / "ours")
    refused(pytester, outside, name, mode)


@pytest.mark.parametrize(
    "name", [*OURS, ".ralph/logs/*", ".git/ralph/backups", ".git/ralph/backups/*"]
)
@pytest.mark.parametrize("who", ["command", "executor"])
def test_a_link_among_our_directories_is_removed(
    pytester: pytest.Pytester, project: Path, outside: Path, name: str, who: str
) -> None:
    """Whether a Verify command or an executor puts it there in the middle of the run."""
    make_spec(project)
    link = f"""
    echo hello
    for place in {name}
    do
        test -e "$place" && test ! -e linked || continue
        touch linked
        rm -r "$place"
        ln -s {outside / "ours"} "$place"
    done
    """
    (outside / "ours").mkdir()
    if name.endswith(".db"):
        (outside / "ours").rmdir()
        (outside / "ours").touch()
    command = "true" if who == "executor" else link
    executor = link if who == "executor" else "true"
    (project / "command.sh").write_text(f"{command}\ntest -e done.txt\n")
    (project / "executor.sh").write_text(f"{executor}\ntouch done.txt\n")
    tasks = project / "specs" / "demo" / "tasks.md"
    task = tasks.read_text().replace("test -e done.txt", "sh command.sh")
    tasks.write_text(f"- [ ] 1.0 First\n  - **Verify**: `true`\n{task}")
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=project, check=True)
    before = contents(outside)
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=sh executor.sh", "specs/demo")

    assert contents(outside) == before
    assert result.ret == 0
    if (project / "linked").exists():
        result.stdout.fnmatch_lines(["*replaced * by a link: removed; the original is lost*"])
    else:
        # The first copies are made for an executor.
        assert (who, name) == ("command", ".git/ralph/backups/*")


@pytest.mark.parametrize("name", ["../beside.txt", "/etc/hosts", "~/notes.txt", "link/file.txt"])
def test_a_file_outside_the_project_is_named_as_such(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    project: Path,
    outside: Path,
    name: str,
) -> None:
    make_spec(project, files=name)
    monkeypatch.setenv("HOME", str(outside))
    (project / "link").symlink_to(outside)
    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", "touch done.txt", "specs/demo"
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            (
                f"ralph: specs/demo/tasks.md:1: 1.1: {name} is outside the project: it is not "
                "repaired or committed"
            )
        ]
    )


def test_a_file_outside_the_project_is_not_committed(
    pytester: pytest.Pytester, project: Path, outside: Path
) -> None:
    make_spec(project, files="link/file.txt")
    (project / "link").symlink_to(outside)
    for words in (
        ("init", "-q"),
        ("config", "user.name", "A"),
        ("config", "user.email", "a@example.org"),
    ):
        pytester.run("git", *words)
    result = pytester.runpytest(
        "--ralph-recovery",
        "--ralph-commit",
        "auto",
        "--ralph-executor",
        f"touch done.txt {outside}/file.txt",
        "specs/demo",
    )
    assert result.ret == 0
    committed = pytester.run("git", "show", "--stat", "--name-only", "--format=").outlines
    assert "done.txt" in committed
    assert not [line for line in committed if "file.txt" in line]


@pytest.mark.parametrize("name", ["tasks.md", ".ralph-state.json", ".progress.md", ""])
@pytest.mark.parametrize("who", ["command", "executor"])
def test_a_link_that_is_put_there_during_the_run_is_not_followed(
    pytester: pytest.Pytester, project: Path, outside: Path, name: str, who: str
) -> None:
    directory = make_spec(project)
    (directory / ".progress.md").write_text("# Progress\n")
    place = f"specs/demo/{name}".rstrip("/")
    link = f"""
    cp -r specs/demo/. {outside}
    rm -r {place}
    ln -s {outside}/{name} {place}
    cp -r {outside} copy
    """
    command = f"test -e copy || {{ {link} }}" if who == "command" else "true"
    executor = link if who == "executor" else "true"
    (project / "command.sh").write_text(f"{command}\ntest -e done.txt\n")
    (project / "executor.sh").write_text(f"{executor}\ntouch done.txt\n")
    tasks = directory / "tasks.md"
    tasks.write_text(tasks.read_text().replace("test -e done.txt", "sh command.sh"))
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=sh executor.sh", "specs/demo")

    assert result.ret == 1
    found = name or "tasks.md"
    result.stdout.fnmatch_lines([f"*demo: {found} cannot be*: it was replaced by a link; *"])
    kept = {path.name: path.read_bytes() for path in (project / "copy").iterdir()}
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == kept
