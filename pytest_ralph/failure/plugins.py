"""Options of pytest that only a plugin knows: without it they are a missing package, not a typo."""

from __future__ import annotations

import re

# `--cov` and `--cov-report` are options of pytest-cov, and so on.
NAMED_AFTER_OPTION = frozenset(
    "cov timeout asyncio benchmark html randomly json-report forked random-order mypy flake8 black "
    "pylint ruff isort picked testmon memray spec md".split()
)
OTHER_OPTIONS = {
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--no-cov": "pytest-cov",
    "--reruns": "pytest-rerunfailures",
    "--self-contained-html": "pytest-html",
    "--snapshot": "syrupy",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--create-db": "pytest-django",
    "--nomigrations": "pytest-django",
    "--alluredir": "allure-pytest",
    "--headed": "pytest-playwright",
    "--browser": "pytest-playwright",
    "--hypothesis": "hypothesis",
    "--splits": "pytest-split",
    "--count": "pytest-repeat",
    "--gherkin": "pytest-bdd",
    "--nbval": "nbval",
    "--nbmake": "nbmake",
}
OPTIONS = OTHER_OPTIONS | {f"--{name}": f"pytest-{name}" for name in NAMED_AFTER_OPTION}
UNKNOWN_OPTIONS = re.compile(r"unrecognized arguments?: (.+)$")


def missing_plugin(line: str) -> str | None:
    """Return the plugin to which an option belongs that pytest does not know."""
    match = UNKNOWN_OPTIONS.search(line)
    if not match:
        return None
    for word in match[1].split():
        name = word.partition("=")[0]
        while name:
            if name in OPTIONS:
                return OPTIONS[name]
            name = name.rpartition("-")[0]
    return None
