"""Shared by all tests: projects with specs, made of real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about what is right.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

SpecMaker = Callable[..., Path]


# What takes long and does not depend on the version of Python.
SLOW = (
    "tests/faults/",
    "tests/docs/",
    "tests/fuzz/",
    "tests/hostile/",
    "tests/integration/executors/",
    "tests/integration/test_examples.py",
    "tests/integration/test_html_report_in_browser.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def _outside_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our tests may be the Verify command of a spec; the runs they start are not nested in it."""
    for name in ("RALPH_NESTED", "PYTEST_ADDOPTS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_spec(pytester: pytest.Pytester) -> SpecMaker:
    """Write a tasks.md from task blocks, or from `(id, verify)` pairs, and give its path."""

    def make(text: str = "", *, name: str = "demo", **tasks: str) -> Path:
        path = pytester.path / "specs" / name / "tasks.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = [
            f"- [ ] {id_.removeprefix('t').replace('_', '.')} Task "
            f"{id_.removeprefix('t').replace('_', '.')}\n"
            f"  - **Do**: Make it so\n  - **Files**: `src.txt`\n  - **Verify**: `{verify}`\n"
            for id_, verify in tasks.items()
        ]
        path.write_text(
            dedent(text) if text else "# Tasks\n\n" + "\n".join(blocks), encoding="utf-8"
        )
        return path

    return make
