"""`--ralph-lint`: run nothing, tell what is wrong with the specs; and the hazards told at collection with `-v`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.discovery import find_specs
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.lint import Finding, format_github, format_text, lint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lint_specs(config: pytest.Config) -> int:
    """Write every finding; 1 if one is an error, 5 if there is no spec to look at."""
    from _pytest.config import create_terminal_writer  # before a run begins, a config has no public way to a writer

    writer = create_terminal_writer(config)
    specs = list(find_specs(config))
    if not specs:
        writer.line(f"no tasks.md below {', '.join(config.args)}")
        return int(pytest.ExitCode.NO_TESTS_COLLECTED)
    github = config.getoption("ralph_lint") == "github"
    found = [(path, finding) for path in specs for finding in findings(path)]
    for path, finding in found:
        shown = path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path
        colour = {"red": True} if finding.severity == "error" else {"yellow": True}
        writer.line((format_github if github else format_text)(finding, shown), **({} if github else colour))
    errors = sum(finding.severity == "error" for _, finding in found)
    writer.line(f"{len(specs)} specs, {errors} errors, {len(found) - errors} warnings")
    return int(pytest.ExitCode.TESTS_FAILED if errors else pytest.ExitCode.OK)


def findings(path: Path) -> Iterator[Finding]:
    """What is wrong with one spec; a file that cannot be read is one finding."""
    try:
        yield from lint(Spec.load(path))
    except SpecError as error:
        yield Finding(error.line, "unreadable", error.message, "error")
