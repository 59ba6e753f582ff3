"""Commands find the tools of the running Python; an environment never set up is named once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

TWO_DONE = """
    - [x] 1.1 Unit tests
      - **Verify**: `{command}`

    - [x] 1.2 All tests
      - **Verify**: `{command} --all`
"""


def test_programs_beside_the_running_python_are_found(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("LC_ALL", raising=False)
    make_spec("- [ ] 1.1 It\n  - **Verify**: `printenv PATH LC_MESSAGES > env.txt`\n")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1)
    path, messages = (pytester.path / "env.txt").read_text().splitlines()
    assert path.split(":") == [str(Path(sys.executable).parent), "/usr/bin", "/bin"]
    assert messages == "C"


def check_missing(
    pytester: pytest.Pytester, make_spec: SpecMaker, command: str, expected: str
) -> None:
    make_spec(TWO_DONE.format(command=command))
    result = pytester.runpytest("--ralph", "-rf", "specs")
    result.assert_outcomes(failed=2)
    output = result.stdout.str()
    assert f"\nNext\n  {expected}\n" in output
    assert output.lower().count(expected.lower()) == 1
    assert "regression" not in output.lower()


def test_missing_node_modules_are_named_once(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    (pytester.path / "package.json").write_text("{}")
    (pytester.path / "package-lock.json").write_text("{}")
    npm = pytester.mkdir("bin") / "npm"
    npm.write_text("#!/bin/sh\necho 'sh: 1: vitest: not found' >&2\nexit 127\n")
    npm.chmod(0o755)
    expected = "Set up the project first: run `npm ci` (node_modules is missing)"
    check_missing(pytester, make_spec, "bin/npm test", expected)


def test_a_project_not_installed_is_named_once(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    (pytester.path / "pyproject.toml").write_text("[project]\nname = 'shopkeeper'\n")
    pytester.mkdir("src").joinpath("shopkeeper").mkdir()
    missing = "shopkeeper is not installed in this Python"
    expected = f"Set up the project first: run `pip install -e .` ({missing})"
    check_missing(pytester, make_spec, "python3 -c 'import shopkeeper'", expected)
