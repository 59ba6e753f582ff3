"""What a task will write belongs to the project already: it is not to be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.failure.wording import HEADLINES

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SPEC = """\
    - [ ] 1.1 Count words
      - **Files**: `{file}`
      - **Verify**: `python3 -c "from {module} import words"`
    """


@pytest.mark.parametrize(
    ("file", "module", "kind"),
    [
        ("counting.py", "counting", "build_error"),
        ("src/counting/words.py", "counting.words", "build_error"),
        ("README.md", "counting", "dependency_missing"),
    ],
)
def test_a_module_that_the_task_names_is_not_a_missing_package(
    pytester: pytest.Pytester, make_spec: SpecMaker, file: str, module: str, kind: str
) -> None:
    make_spec(SPEC.format(file=file, module=module))

    result = pytester.runpytest("--ralph", "specs")

    result.stdout.fnmatch_lines(
        [f"{HEADLINES[kind]}: ModuleNotFoundError: No module named 'counting'"]
    )
