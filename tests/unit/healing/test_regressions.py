"""Which changes matter to a task."""

from __future__ import annotations

import pytest

from pytest_ralph.healing.regressions import is_affected


@pytest.mark.parametrize(
    ("files", "changed", "affected"),
    [
        ((), ("a.py",), True),
        (("a.py",), ("a.py",), True),
        (("a.py",), ("b.py", "src/a.py"), False),
        (("src/",), ("src/a.py",), True),
        (("src",), ("src/deep/a.py",), True),
        (("src",), ("srcs/a.py",), False),
        (("src/*.py",), ("src/a.py",), True),
        (("src/?.py", "[ab].txt"), ("b.txt",), True),
        (("src/*.py",), ("doc/a.py",), False),
        (("[id].tsx",), ("[id].tsx",), True),
    ],
)
def test_files_of_a_task(files: tuple[str, ...], changed: tuple[str, ...], affected: bool) -> None:
    assert is_affected(files, changed) is affected
