"""`--ralph-init NAME` writes a spec to start from."""

from __future__ import annotations

import resource

import pytest

from pytest_ralph import Spec


def test_init_writes_valid_spec(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph-init", "login-page")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "ralph: wrote specs/login-page/tasks.md",
            "*pytest --ralph-explain specs/login-page",
            "*pytest --ralph specs/login-page",
        ]
    )
    tasks = Spec.load(pytester.path / "specs" / "login-page").tasks
    assert [task.id for task in tasks] == ["1.1", "1.2"]
    assert all(task.verify.checks and not task.verify.unread for task in tasks)
    lint = pytester.runpytest("--ralph-lint")
    lint.stdout.fnmatch_lines(["1 spec, 0 errors, 0 warnings"])


def test_written_spec_passes_once_done(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--ralph-init", "login-page")
    pytester.runpytest("--ralph", "specs").assert_outcomes(failed=2)
    (pytester.path / "README.md").write_text("# Shop\n\n## login-page\n")
    tests = pytester.mkdir("tests")
    (tests / "test_login_page.py").write_text("def test_it(): pass\n")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=2)


def test_init_accepts_path_below_specs(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--ralph-init", "specs/foo/")
    assert (pytester.path / "specs" / "foo" / "tasks.md").is_file()


def test_init_never_overwrites(pytester: pytest.Pytester) -> None:
    path = pytester.path / "specs" / "foo" / "tasks.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    result = pytester.runpytest("--ralph-init", "foo")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-init: specs/foo/tasks.md already exists"])
    assert path.read_text() == "mine"


def test_init_leaves_nothing_on_a_full_disk(pytester: pytest.Pytester) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        result = pytester.runpytest_inprocess("-s", "--ralph-init", "foo")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-init: cannot write specs/foo/tasks.md: File too*"])
    assert pytester.runpytest("--ralph-init", "foo").ret == 0


@pytest.mark.parametrize("name", ["../foo", "/foo", "a b", "", "it's", ".."])
def test_init_rejects_other_names(pytester: pytest.Pytester, name: str) -> None:
    result = pytester.runpytest("--ralph-init", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-init: expected a name of letters*"])
    assert not (pytester.path / "specs").exists()


def test_init_writes_through_no_link(pytester: pytest.Pytester) -> None:
    outside = pytester.path / "outside"
    project = pytester.mkdir("project")
    outside.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "specs").symlink_to(outside)
    result = pytester.runpytest(
        "--rootdir", project, "-c", project / "pytest.ini", "--ralph-init", "x"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: specs/x/tasks.md points outside the project*"])
    assert not list(outside.iterdir())
