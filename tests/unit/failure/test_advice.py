from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify

if TYPE_CHECKING:
    from pathlib import Path


def test_guidance_names_files_and_commands() -> None:
    lint = classify("src/a.py:1:8: F401 `os` imported but unused\n", 1, "ruff check .")
    assert "Run `ruff check .` to see current errors." in lint.guidance
    assert "Most are auto-fixable with `ruff check . --fix`." in lint.guidance
    several = classify("src/a.py:1:8: F401 `os` imported\n", 1, "ruff check . && pytest")
    assert "Most are auto-fixable with the linter's fix option." in several.guidance
    types = classify(
        "src/a.ts(6,3): error TS2322: Type 'string' is not assignable to type 'number'.\n",
        2,
        "npx tsc",
    )
    assert "Run `npx tsc` to see current errors." in types.guidance
    tests = classify("FAILED tests/test_a.py::test_x - assert 1 == 2\n", 1, "pytest")
    assert "The errors are in tests/test_a.py." in tests.guidance


@pytest.mark.parametrize(
    ("output", "code", "command"),
    [
        ("", 1, "grep -q x a.txt"),
        ("bash: foo: command not found\n", 127, "foo"),
        ("environment variable API_TOKEN is not set\n", 1, "python deploy.py"),
        ("", 124, "timeout 5 make"),
        ("what is this", 3, ""),
    ],
)
def test_no_placeholder_is_left_open(output: str, code: int, command: str) -> None:
    failure = classify(output, code, command)
    assert failure.guidance
    assert "{" not in failure.guidance


@pytest.mark.parametrize(
    ("output", "code", "command", "actions"),
    [
        (
            "ModuleNotFoundError: No module named 'pytest'\n",
            1,
            "python -m unittest",
            {"Run: pip install pytest"},
        ),
        (
            "ModuleNotFoundError: No module named 'yaml.nodes'\n",
            1,
            "python a.py",
            {"Run: pip install PyYAML"},
        ),
        ("Error: Cannot find module 'express'\n", 1, "node a.js", {"Run: npm install express"}),
        ("Error: Cannot find module 'ajv/dist/core'\n", 1, "node a.js", {"Run: npm install ajv"}),
        ("Error: Cannot find module '@a/b/c'\n", 1, "node a.js", {"Run: npm install @a/b"}),
        ("bash: foo: command not found\n", 127, "foo", {"Verify command exists: which foo"}),
        (
            "PermissionError: [Errno 13] Permission denied: '/etc/config'\n",
            1,
            "python a.py",
            {"Check file permissions"},
        ),
        ("environment variable API_TOKEN is not set\n", 1, "python deploy.py", {"Set API_TOKEN"}),
    ],
)
def test_actions_say_what_to_do(output: str, code: int, command: str, actions: set[str]) -> None:
    assert actions <= set(classify(output, code, command).suggested_actions)


def test_a_script_that_may_not_run_is_to_be_made_executable(tmp_path: Path) -> None:
    (tmp_path / "build.sh").touch()
    failure = classify(
        "bash: line 1: ./build.sh: Permission denied\n", 126, "./build.sh", root=tmp_path
    )
    assert failure.suggested_actions == ("Check file permissions", "Run: chmod +x ./build.sh")


@pytest.mark.parametrize(
    ("limit", "action"), [(300.0, "Retry with timeout=600s"), (0.5, "Retry with timeout=1s")]
)
def test_a_timeout_is_retried_with_twice_the_time(limit: float, action: str) -> None:
    failure = classify("", None, "make", timed_out=True, timeout=limit)
    assert failure.suggested_actions[0] == action


def test_a_strange_name_never_becomes_a_command() -> None:
    failure = classify("ModuleNotFoundError: No module named 'x; rm -rf /'\n", 1, "python a.py")
    assert not any(
        "rm -rf" in action for action in failure.suggested_actions if action.startswith("Run: ")
    )
