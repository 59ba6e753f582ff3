"""pytest's door: options, markers, hooks. Without `--ralph` nothing beyond this module is ever imported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Option:
    """One row of the option table: the command line flag is `--ralph-<name>`, the ini key `ralph_<name>`."""

    # No dataclass and no NamedTuple: to make one takes longer than all else that happens in here.
    __slots__ = ("choices", "default", "flag", "help", "key", "kind", "name")

    def __init__(
        self,
        name: str,
        kind: str,
        default: str | bool | None,
        text: str,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name, self.kind, self.default, self.help, self.choices = (
            name,
            kind,
            default,
            text,
            choices,
        )
        self.flag = f"--ralph-{name}"
        self.key = f"ralph_{name.replace('-', '_')}"


OPTIONS = (
    Option("recovery", "switch", None, "recovery mode on, whatever the state file says"),
    Option(
        "executor",
        "text",
        "repair",
        "who carries out a fix task: repair (built-in repairs only), none, a preset (claude, codex, gemini, opencode, "
        "aider, cursor-agent, goose, amp) or any shell command line",
    ),
    Option(
        "execute",
        "flag",
        False,
        "also have the executor do each unchecked task before it is verified",
    ),
    Option("max-fixes", "count", "3", "fix tasks per original task"),
    Option("max-depth", "count", "3", "how deep a fix of a fix may go"),
    Option("budget", "count", "100", "executor runs in one pytest run, all specs together"),
    Option("timeout", "seconds", "300", "seconds for one Verify command"),
    Option("executor-timeout", "seconds", "600", "seconds for one executor run"),
    Option(
        "jobs",
        "count",
        None,
        "how many tasks of a [P] group run at once (default: number of cores)",
    ),
    Option(
        "repair",
        "list",
        "format,lint,chmod,install",
        "which built-in repairs may be made; none for none",
        ("format", "lint", "chmod", "install"),
    ),
    Option(
        "rollback", "flag", False, "on BROKEN_BUILD, go back to the last good commit before fixing"
    ),
    Option(
        "commit",
        "choice",
        "none",
        "none, message-only (write the messages to a script) or auto (commit each task that newly passes)",
        ("none", "message-only", "auto"),
    ),
    Option("pending", "flag", False, "do not verify again what is already checked off"),
    Option("fresh", "flag", False, "start over: state moved aside, history kept"),
    Option(
        "keep-going",
        "flag",
        False,
        "in recovery mode, go on past a task that could not be recovered",
    ),
    Option(
        "interactive",
        "flag",
        False,
        "on a terminal, ask at each failure: fix, retry, skip, edit, halt",
    ),
    Option("shell", "text", None, "the shell that runs Verify commands (default: bash, else sh)"),
    Option("report", "text", None, "write a self-contained HTML report to this path"),
)

# Settings that make no sense on a command line: they belong to a project, not to a run.
INI_ONLY: dict[str, tuple[Literal["string", "linelist", "bool"], str]] = {
    "ralph_kinds": ("string", "YAML file that extends or overrides the table of failure kinds"),
    "ralph_templates": ("string", "directory with prompt and fix-task templates of the project"),
    "ralph_junit": ("linelist", "globs of JUnit XML files that Verify commands write"),
    "ralph_verify": (
        "linelist",
        "Verify for tasks without one: `T001: command`, `[US1]: command` or `Phase 2: command`",
    ),
    "ralph_secrets": (
        "linelist",
        "further regular expressions of what to mask in logs, prompts and reports",
    ),
    "ralph_executor_model": ("string", "model the preset executor is asked to use"),
    "ralph_executor_args": ("string", "further arguments for the preset executor"),
    "ralph_executor_program": ("string", "program to run in place of the preset's own"),
    "ralph_alert": (
        "string",
        "failures in 24 hours past which --ralph-stats raises an alert (default 20)",
    ),
    "ralph_keep_logs": ("string", "how many runs keep their logs under .ralph/logs (default 20)"),
}

TRUE = {"1", "true", "yes", "on"}

# Those of hookspecs.py, which is not imported to know them.
HOOKS = tuple(
    f"pytest_ralph_{name}"
    for name in (
        "classify",
        "decide",
        "fix_task",
        "prompt",
        "execute",
        "failed",
        "fix_inserted",
        "recovered",
        "escalated",
        "halted",
    )
)

MARKERS = (
    "ralph: a task of a tasks.md",
    "ralph_parallel: a task marked [P]",
    "ralph_verify: a task marked [VERIFY]",
    "ralph_fix: a task marked [FIX x]",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ralph", "specs that heal themselves")
    group.addoption(
        "--ralph",
        action="store_true",
        default=None,
        help="collect every tasks.md below the given paths, one item a task",
    )
    parser.addini(
        "ralph", "collect tasks.md files as if --ralph were given", type="bool", default=False
    )
    for option in OPTIONS:
        _add(group, option)
        parser.addini(option.key, option.help, type=_ini_type(option), default=None)
    # The whole word with its value is one flag: `--ralph-lint specs/foo` must not take the path for the value.
    for name, value, text in (
        ("lint", "github", "run nothing; tell what is wrong with the specs"),
        ("stats", "json", "print failure statistics from the history and exit"),
    ):
        group.addoption(
            f"--ralph-{name}", action="store_const", const="text", dest=f"ralph_{name}", help=text
        )
        group.addoption(
            f"--ralph-{name}={value}",
            action="store_const",
            const=value,
            dest=f"ralph_{name}",
            help=f"the same as {value}",
        )
    for key, (form, text) in INI_ONLY.items():
        parser.addini(key, text, type=form)


def _add(group: Any, option: Option) -> None:
    if option.kind in ("flag", "switch"):
        group.addoption(
            option.flag, action="store_true", default=None, dest=option.key, help=option.help
        )
    else:
        shown = f" (default: {option.default})" if option.default else ""
        metavar = {"count": "N", "seconds": "S", "list": "LIST", "choice": "MODE"}.get(
            option.kind, "X"
        )
        group.addoption(
            option.flag, default=None, dest=option.key, metavar=metavar, help=option.help + shown
        )
    if option.kind == "switch":
        group.addoption(
            f"--no-ralph-{option.name}",
            action="store_false",
            dest=option.key,
            help=f"{option.name} off",
        )


def _ini_type(option: Option) -> Any:
    """Where pytest can, any scalar: `ralph_timeout = 30` is a number in TOML, and what it must be is for us to say."""
    if pytest.version_tuple >= (9, 2):
        return str | int | float | bool
    return "bool" if option.kind in ("flag", "switch") else "string"


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Load our hook specifications when somebody implements one of them, and only then."""
    for name in HOOKS:
        if hasattr(plugin, name):
            add_hookspecs(manager)
            return


def add_hookspecs(manager: pytest.PytestPluginManager) -> None:
    from pytest_ralph import hookspecs

    if not manager.hasplugin("ralph-hooks"):
        manager.add_hookspecs(hookspecs)
        manager.register(object(), "ralph-hooks")


def is_nested(environ: Mapping[str, str] = os.environ) -> bool:
    """Inside a Verify command or an executor of another run: there the plugin keeps still."""
    return bool(environ.get("RALPH_NESTED"))


def is_wanted(config: pytest.Config) -> bool:
    given = (
        config.getoption("ralph"),
        config.getoption("ralph_recovery"),
        config.getoption("ralph_lint"),
    )
    try:
        in_ini = (config.getini("ralph"), config.getini("ralph_recovery"))
    except (TypeError, ValueError) as error:
        # Before 9.2 pytest lets its own reading of the file end in these.
        raise pytest.UsageError(
            f"ralph, ralph_recovery (ini file): expected true or false ({error})"
        ) from None
    return any(given) or any(str(value).lower() in TRUE for value in in_ini)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if is_wanted(config) and not is_nested():
        _import_from_here(getattr(config, "workerinput", {}).get("ralph", {}))
        from pytest_ralph.session.run import start

        start(config)


def _import_from_here(handed: Mapping[str, Any]) -> None:
    """A worker is given the controller's sys.path, even where it is another Python, which cannot load all of that."""
    if handed and handed["python"] != sys.implementation.cache_tag:
        import site

        library = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib may be in the wrong place
        sys.path[:0] = [library, f"{library}/lib-dynload", *site.getsitepackages()]


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("ralph_stats"):
        from pytest_ralph.report.stats import print_statistics

        return print_statistics(config)
    if config.getoption("ralph_lint"):
        from pytest_ralph.session.linting import lint_specs

        return lint_specs(config)
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    if is_nested() and is_wanted(config):
        return "ralph: inside another ralph run, so specs are not collected here"
    return None
