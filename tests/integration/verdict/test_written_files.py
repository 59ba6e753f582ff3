"""Files of the plugin are of no interest to the formatters and linters of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

PICKED_UP = frozenset(
    ".c .cpp .css .go .html .js .json .jsx .md .py .rb .rs .sh .toml .ts .tsx .yaml .yml".split()
)


def test_no_suffix_attracts_formatters(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec("- [ ] 1.1 Bake\n  - **Verify**: `test -f bread`\n")
    pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", "echo TASK_COMPLETE", "--ralph-max-fixes=1", "specs"
    )

    files = [path for path in (pytester.path / ".ralph").rglob("*") if path.is_file()]
    assert any(path.suffix == ".prompt" for path in files)
    assert [str(path) for path in files if path.suffix in PICKED_UP] == []
