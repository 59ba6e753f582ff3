"""The environment of commands, and the JUnit file that a pytest in them writes for us."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_ralph.options import OPTIONS
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NESTED = "RALPH_NESTED"
_OF_THE_OUTER_RUN = {
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
}
_OPTIONS_WITH_VALUE = frozenset(option.flag for option in OPTIONS if option.takes_value)
_JUNIT_OPTION = regex(r"""--junit-?xml(?:=|\s+)(?P<quote>["']?)(?P<path>[^\s"';|&]+)(?P=quote)""")
_SPEAKS_OF_JUNIT = regex(r"--junit-?xml|no:junitxml")
_CONFIG_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy without variables of this pytest run, which tells our plugin to stay out."""
    clean = {name: value for name, value in environ.items() if name not in _OF_THE_OUTER_RUN}
    if "PYTEST_ADDOPTS" in clean:
        clean["PYTEST_ADDOPTS"] = without_our_options(clean["PYTEST_ADDOPTS"])
    clean[NESTED] = "1"
    return clean


def without_our_options(addopts: str) -> str:
    try:
        words = shlex.split(addopts)
    except ValueError:
        return addopts
    kept = []
    rest = iter(words)
    for word in rest:
        if word.startswith(("--ralph", "--no-ralph")):
            if word in _OPTIONS_WITH_VALUE:
                next(rest, None)
        elif word in {"-o", "--override-ini"}:
            setting = next(rest, "")
            kept += [] if setting.startswith("ralph") else [word, setting]
        elif not word.startswith(("-oralph", "--override-ini=ralph")):
            kept.append(word)
    return shlex.join(kept)


def with_junit(addopts: str, path: str) -> str:
    return f"{addopts} {shlex.quote(f'--junitxml={path}')}".strip()


def own_junit(command: str, addopts: str, cwd: Path) -> str | None:
    """Return the JUnit file that the command itself requests."""
    match = _JUNIT_OPTION.search(command) or _JUNIT_OPTION.search(addopts)
    return str(cwd / match["path"]) if match else None


def may_ask_for_junit(command: str, addopts: str) -> bool:
    """Return whether we can add --junitxml: the user has not, and the plugin is not disabled."""
    return not (_SPEAKS_OF_JUNIT.search(command) or _SPEAKS_OF_JUNIT.search(addopts))


def config_speaks_of_junit(root: Path) -> bool:
    return any(_SPEAKS_OF_JUNIT.search(_text(root / name)) for name in _CONFIG_FILES)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
