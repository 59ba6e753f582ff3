"""Plugins: options that only a plugin knows. Without it they are a missing package, not a wrong command line."""

from __future__ import annotations

import re

# Options of pytest's plugins, by how they begin.
PYTEST_OPTIONS = {
    "--cov": "pytest-cov",
    "--no-cov": "pytest-cov",
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--timeout": "pytest-timeout",
    "--asyncio": "pytest-asyncio",
    "--reruns": "pytest-rerunfailures",
    "--benchmark": "pytest-benchmark",
    "--html": "pytest-html",
    "--self-contained-html": "pytest-html",
    "--snapshot": "syrupy",
    "--randomly": "pytest-randomly",
    "-p randomly": "pytest-randomly",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--create-db": "pytest-django",
    "--nomigrations": "pytest-django",
    "--alluredir": "allure-pytest",
    "--json-report": "pytest-json-report",
    "--headed": "pytest-playwright",
    "--browser": "pytest-playwright",
    "--hypothesis": "hypothesis",
    "--splits": "pytest-split",
    "--count": "pytest-repeat",
    "--forked": "pytest-forked",
    "--boxed": "pytest-forked",
    "--random-order": "pytest-random-order",
    "--mypy": "pytest-mypy",
    "--flake8": "pytest-flake8",
    "--black": "pytest-black",
    "--pylint": "pytest-pylint",
    "--ruff": "pytest-ruff",
    "--isort": "pytest-isort",
    "--picked": "pytest-picked",
    "--testmon": "pytest-testmon",
    "--memray": "pytest-memray",
    "--profile": "pytest-profiling",
    "--gherkin": "pytest-bdd",
    "--cucumberjson": "pytest-bdd",
    "--nbval": "nbval",
    "--nbmake": "nbmake",
    "--spec": "pytest-spec",
    "--record-mode": "pytest-recording",
    "--vcr-record": "pytest-vcr",
    "--docker-compose": "pytest-docker",
    "--md": "pytest-md",
}
UNKNOWN_OPTIONS = re.compile(r"unrecognized arguments?: (.+)$")


def missing_plugin(line: str) -> str | None:
    """The plugin that an unknown option of pytest belongs to."""
    match = UNKNOWN_OPTIONS.search(line)
    for word in match[1].split() if match else ():
        for option, plugin in PYTEST_OPTIONS.items():
            if word == option or (
                option.startswith("--") and re.match(rf"{option}(?:-|=|$)", word)
            ):
                return plugin
    return None
