"""A file that cannot be a spec: one line names it, no traceback, nothing run or written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.spec import document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import SpecMaker

SETPRIV = shutil.which("setpriv")
TASK = "- [ ] 1.1 It\n  - **Verify**: `touch ran`\n"
NOT_UTF8 = f"# Tasks\n\n{TASK}".encode() + b"caf\xe9\n"
BINARY = b"\x7fELF\n\x02\x01\n\x00\x00"

BROKEN = {
    "not UTF-8": (NOT_UTF8, "specs/demo/tasks.md:5: not UTF-8 (byte 0xe9)"),
    "UTF-16": (
        f"# Tasks\n{TASK}".encode("utf-16"),
        "specs/demo/tasks.md:1: not a text file (it contains NUL bytes)",
    ),
    "binary": (BINARY, "specs/demo/tasks.md:3: not a text file (it contains NUL bytes)"),
    "malformed front matter": (
        f"---\nspec: x\nralph: [1, 2\n---\n{TASK}".encode(),
        "specs/demo/tasks.md:*: malformed front matter: *",
    ),
    "unknown key": (
        f"---\nspec: x\nralph:\n  timeout: 3\n  timout: 5\n---\n{TASK}".encode(),
        "specs/demo/tasks.md:5: unknown key `timout` under `ralph:`; did you mean `timeout`?",
    ),
    "settings that are no mapping": (
        f"---\nralph: yes please\n---\n{TASK}".encode(),
        "specs/demo/tasks.md:2: `ralph:` in the front matter must be a mapping of settings",
    ),
    "bad value": (
        f"---\nspec: x\nralph:\n  max-fixes: 2\n  timeout: soon\n---\n{TASK}".encode(),
        (
            "specs/demo/tasks.md:5: `timeout` under `ralph:`: expected a number of seconds above "
            "0, got 'soon'"
        ),
    ),
    "bad list": (
        f"---\nralph:\n  repair: [paint]\n---\n{TASK}".encode(),
        (
            "specs/demo/tasks.md:3: `repair` under `ralph:`: expected none or some of *, got "
            "[[]'paint'[]]"
        ),
    ),
}


def files_below(top: Path) -> set[str]:
    return {str(path) for path in top.rglob("*") if path.is_file()}


@pytest.fixture
def nothing_comes_of_it(pytester: pytest.Pytester) -> Callable[[pytest.RunResult], None]:
    before = files_below(pytester.path)

    def check(result: pytest.RunResult) -> None:
        text = result.stdout.str() + result.stderr.str()
        assert "Traceback" not in text
        assert "INTERNALERROR" not in text
        made = {
            path for path in files_below(pytester.path) - before if not path.endswith("tasks.md")
        }
        assert made == set()

    return check


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_an_error_of_collection_in_one_line(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    nothing_comes_of_it: Callable[[pytest.RunResult], None],
    name: str,
) -> None:
    content, message = BROKEN[name]
    make_spec().write_bytes(content)
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=1)
    lines = result.stdout.str().partition("ERROR collecting")[2].splitlines()[1:]
    shown = lines[: next(number for number, line in enumerate(lines) if line.startswith("==="))]
    assert len(shown) == 1
    result.stdout.fnmatch_lines(
        ["*ERROR collecting specs/demo/tasks.md*", message, "ERROR specs/demo/tasks.md*"]
    )
    nothing_comes_of_it(result)


def test_the_other_specs_run_when_asked_to(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(name="broken").write_bytes(BINARY)
    make_spec(t1_1="true", name="good")
    args = ("--ralph", "specs", "--continue-on-collection-errors")
    pytester.runpytest(*args).assert_outcomes(passed=1, errors=1)


def test_a_file_past_the_size_limit_is_not_read(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    nothing_comes_of_it: Callable[[pytest.RunResult], None],
) -> None:
    spec = make_spec(TASK)
    with spec.open("r+b") as file:
        file.truncate(document.MAX_BYTES + 1)
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["specs/demo/tasks.md:1: too large for a spec: 50 MB, at most 50 MB"]
    )
    nothing_comes_of_it(result)


def test_a_file_that_may_not_be_read(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    nothing_comes_of_it: Callable[[pytest.RunResult], None],
) -> None:
    spec = make_spec(TASK)
    spec.chmod(0)
    if os.access(spec, os.R_OK):
        pytest.skip("the superuser can read every file; see the next test")
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["specs/demo/tasks.md:1: cannot be read: Permission denied"])
    nothing_comes_of_it(result)


@pytest.mark.skipif(
    not SETPRIV or os.geteuid() != 0, reason="only the superuser can give up the right to read all"
)
def test_a_file_that_even_the_superuser_may_not_read(make_spec: SpecMaker) -> None:
    spec = make_spec(TASK)
    spec.chmod(0)
    limited = [str(SETPRIV), "--bounding-set", "-dac_override,-dac_read_search"]
    command = [sys.executable, "-m", "pytest", "--ralph", "specs", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*limited, *command], cwd=spec.parents[2], text=True, capture_output=True, check=False
    )
    if result.returncode == 127 or "Operation not permitted" in result.stderr:
        pytest.skip("this system does not let go of rights")
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "specs/demo/tasks.md:1: cannot be read: Permission denied\n" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_a_path_that_is_not_there_is_a_usage_error(
    pytester: pytest.Pytester, nothing_comes_of_it: Callable[[pytest.RunResult], None]
) -> None:
    result = pytester.runpytest("--ralph", "specs/none", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: file or directory not found: specs/none"])
    nothing_comes_of_it(result)


def test_a_file_that_is_no_markdown_is_a_usage_error(pytester: pytest.Pytester) -> None:
    (pytester.path / "notes.txt").write_text(TASK)
    result = pytester.runpytest("--ralph", "notes.txt", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: notes.txt is not a spec (expected a Markdown file)"])


def test_a_directory_without_a_spec_collects_nothing_and_says_so(
    pytester: pytest.Pytester, nothing_comes_of_it: Callable[[pytest.RunResult], None]
) -> None:
    pytester.mkdir("specs")
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["ralph: no tasks.md in specs"])
    nothing_comes_of_it(result)


@pytest.mark.parametrize("selection", [(), ("-k", "1.1"), ("--lf",)])
def test_a_directory_of_tests_needs_no_spec(
    pytester: pytest.Pytester, make_spec: SpecMaker, selection: tuple[str, ...]
) -> None:
    make_spec(t1_1="false")
    pytester.mkdir("checks").joinpath("test_it.py").write_text("def test_it(): pass")
    if "--lf" in selection:
        pytester.runpytest("--ralph", "specs")
    result = pytester.runpytest("--ralph", "specs", "checks", *selection)
    passed = 0 if selection else 1
    result.assert_outcomes(failed=1, passed=passed, deselected=1 if "-k" in selection else 0)
    result.stdout.no_fnmatch_line("ralph: no tasks.md*")


@pytest.mark.parametrize(
    "text", ["", "# Tasks\n\nNothing yet.\n", "- [ ] a criterion\n", "---\nspec: x\n---\n"]
)
def test_a_spec_without_tasks_collects_nothing_and_says_so(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    nothing_comes_of_it: Callable[[pytest.RunResult], None],
    text: str,
) -> None:
    make_spec().write_text(text)
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider", "-W", "always")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(
        ["*specs/demo/tasks.md:1: RalphWarning: no tasks found: write each task as *"]
    )
    nothing_comes_of_it(result)


def test_an_unclosed_fence_is_warned_about_and_the_tasks_before_it_run(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("""
        - [ ] 1.1 Before
          - **Verify**: `true`

        ```bash
        - [ ] 1.2 Inside
          - **Verify**: `true`
    """)
    result = pytester.runpytest("--ralph", "specs", "-W", "always")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*specs/demo/tasks.md:5: RalphWarning: unclosed fence: *"])


def test_a_spec_that_is_a_link_into_the_void_is_not_found(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec()
    spec.unlink()
    spec.symlink_to("gone.md")
    result = pytester.runpytest("--ralph", "specs/demo/tasks.md")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("name", ["tasks.md", ".ralph-state.json", ".progress.md"])
@pytest.mark.parametrize("is_device", [False, True], ids=["pipe", "device"])
def test_a_pipe_or_device_among_the_files_of_a_spec_is_refused(
    pytester: pytest.Pytester, make_spec: SpecMaker, name: str, is_device: bool
) -> None:
    path = make_spec(TASK).with_name(name)
    path.unlink(missing_ok=True)
    if is_device:
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    result = pytester.runpytest_subprocess("--ralph-recovery", "specs", timeout=60)

    output = result.stdout.str() + result.stderr.str()
    assert "not a regular file" in output or "points outside the project" in output
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR)


@pytest.mark.parametrize("make", ["mkfifo", "ln -s /dev/zero"])
def test_a_pipe_or_device_as_junit_file_is_passed_over(
    pytester: pytest.Pytester, make_spec: SpecMaker, make: str
) -> None:
    """The one that the command names, and the one that the run asks for."""
    pytester.makefile(
        ".sh",
        check=f"""
        file=${{PYTEST_ADDOPTS#*--junitxml=}}
        file=${{file:-out.xml}}
        mkdir -p "$(dirname "$file")"
        {make} "$file"
        echo "1 failed"
        exit 1
        """,
    )
    make_spec(t1_1="bash check.sh pytest --junitxml=out.xml", t1_2="bash check.sh")
    result = pytester.runpytest_subprocess("--ralph", "specs", timeout=60)
    assert result.parseoutcomes() == {"failed": 2}
    result.stdout.fnmatch_lines(["tests failed: 1 failed"] * 2)


@pytest.mark.parametrize("name", ["requirements.txt", "package.json", "setup.cfg"])
def test_a_pipe_among_the_manifests_is_passed_over(
    pytester: pytest.Pytester, make_spec: SpecMaker, name: str
) -> None:
    pytester.makefile(".py", check="import nosuchmodule")
    os.mkfifo(pytester.path / name)
    make_spec(t1_1="python3 check.py")
    result = pytester.runpytest_subprocess("--ralph-recovery", "specs", timeout=60)
    assert result.parseoutcomes() == {"failed": 1}
