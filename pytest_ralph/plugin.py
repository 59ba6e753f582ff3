"""The entry module: options, markers and the start of a run.

Every pytest run imports this module, so it imports nothing else of the package but the option
table. Everything beyond that is imported once a ralph option asks for it.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.options import COMMAND_LINE, FALSE, INI, OPTIONS, TRUE, Option, ini_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.machinery import ModuleSpec

# The hooks that hookspecs.py specifies, listed so that it need not be imported to know them.
HOOKS = (
    "pytest_ralph_classify",
    "pytest_ralph_decide",
    "pytest_ralph_fix_task",
    "pytest_ralph_prompt",
    "pytest_ralph_execute",
    "pytest_ralph_failed",
    "pytest_ralph_fix_inserted",
    "pytest_ralph_recovered",
    "pytest_ralph_escalated",
    "pytest_ralph_halted",
)

WINDOWS = sys.platform == "win32"
ON_WINDOWS = (
    "ralph: specs are not run on Windows, only inside WSL; --ralph-lint, --ralph-explain, "
    "--ralph-stats and --collect-only work"
)

# Far fewer objects than pytest alone creates, far more than the hundreds that Python 3.12 freezes.
FROZEN_BY_A_RUN = 10_000

MARKERS = (
    "ralph: a task of a tasks.md",
    "ralph_parallel: a task marked [P]",
    "ralph_verify: a task marked [VERIFY]",
    "ralph_fix: a task marked [FIX x]",
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.getplugin("pytestconfig")
    if config is not None:
        _check_choices(config.invocation_params.args)
    group = parser.getgroup("ralph", "specs that heal themselves")
    for option in OPTIONS:
        if COMMAND_LINE in option.where:
            _add_to_command_line(group, option)
        if INI in option.where:
            parser.addini(option.key, option.help, type=_ini_type(option), default=None)


def _check_choices(arguments: Iterable[object]) -> None:
    """Raise UsageError for `--ralph-lint=gitlab`: argparse would not name the choices."""
    for option in OPTIONS:
        if not option.has_forms:
            continue
        forms = [option.flag, *(f"{option.flag}={choice}" for choice in option.choices)]
        for argument in map(str, arguments):
            if argument.startswith(f"{option.flag}=") and argument not in forms:
                raise pytest.UsageError(f"{argument}: expected {' or '.join(forms)}")


def _add_to_command_line(group: Any, option: Option) -> None:
    if option.has_forms:
        _add_mode(group, option)
        return
    text = option.help
    if option.takes_value and option.default:
        text += f" (default: {option.default})"
    group.addoption(option.flag, dest=option.key, help=text, **_argparse_keywords(option))

    if option.kind == "switch":
        group.addoption(
            f"--no-ralph-{option.name}",
            dest=option.key,
            action="store_false",
            help=f"turn {option.name} off",
        )


def _argparse_keywords(option: Option) -> dict[str, Any]:
    """Return how argparse is to read an option."""
    if not option.takes_value:
        return {"action": "store_true", "default": None}
    if option.kind == "mode":
        nargs = "?" if option.without_value else None
        return {"metavar": option.metavar, "nargs": nargs, "const": option.without_value}
    action = "append" if option.kind == "texts" else "store"
    return {"metavar": option.metavar, "action": action}


def _add_mode(group: Any, option: Option) -> None:
    """Add `--ralph-lint` and `--ralph-lint=github`.

    Each is a flag of its own: with an optional value, `--ralph-lint specs/foo` would take the path
    for the value.
    """
    group.addoption(
        option.flag, dest=option.key, action="store_const", const="text", help=option.help
    )
    for choice in option.choices:
        group.addoption(
            f"{option.flag}={choice}",
            dest=option.key,
            action="store_const",
            const=choice,
            help=f"the same, in {choice} format",
        )


def _ini_type(option: Option) -> Any:
    """Return what pytest converts the values of an ini key to."""
    if option.kind in ("lines", "commands"):
        return "linelist"
    if pytest.version_tuple >= (9, 2):
        # In TOML `ralph_timeout = 30` is a number. `Settings` checks the type.
        return str | int | float | bool
    if option.kind in ("flag", "mode"):
        return "bool"
    return "string"


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Load our hook specifications once a plugin implements one of the hooks."""
    for name in HOOKS:
        if hasattr(plugin, name):
            add_hookspecs(manager)
            return


def add_hookspecs(manager: pytest.PytestPluginManager) -> None:
    """Make our hooks known to pytest. Calling this twice is harmless."""
    from pytest_ralph import hookspecs

    if not manager.hasplugin("ralph-hooks"):
        manager.add_hookspecs(hookspecs)
        manager.register(object(), "ralph-hooks")


def is_nested() -> bool:
    """Return whether a Verify command or an executor of another ralph run started this pytest."""
    return bool(os.environ.get("RALPH_NESTED"))


def is_requested(config: pytest.Config) -> bool:
    """Return whether the command line or the ini file asks for specs to be collected."""
    for key in ("ralph", "ralph_recovery", "ralph_execute", "ralph_lint", "ralph_explain"):
        if config.getoption(key):
            return True
    return _is_on(config, "ralph") or _is_on(config, "ralph_recovery")


def can_run(config: pytest.Config) -> bool:
    """Return whether what is asked for is possible on this system.

    Raise UsageError if the command line, as opposed to the ini file, asks for more.
    """
    if not WINDOWS or config.option.collectonly or config.option.ralph_explain:
        return True
    for key in ("ralph", "ralph_recovery", "ralph_execute"):
        if config.getoption(key):
            raise pytest.UsageError(ON_WINDOWS)
    return False


def _is_on(config: pytest.Config, key: str) -> bool:
    """Return whether the ini file turns an option on. Raise UsageError for any other word."""
    value = ini_value(config, key)
    word = str(value).lower()
    words = (*TRUE, *FALSE, "state") if key == "ralph_recovery" else (*TRUE, *FALSE)
    if value is not None and word not in words:
        expected = "true, false or state" if "state" in words else "true or false"
        raise pytest.UsageError(f"{key} (ini file): expected {expected}, got {value!r}")
    return word in TRUE


def _changes_files(config: pytest.Config) -> bool:
    """Return whether the run may change files of the project."""
    if config.getoption("ralph_execute"):
        return True
    if is_requested(config) and _is_on(config, "ralph_execute"):
        return True
    recovery = config.getoption("ralph_recovery")
    if recovery is not None:
        return bool(recovery)
    in_ini_file = str(ini_value(config, "ralph_recovery")).lower()
    return _is_on(config, "ralph_recovery") or in_ini_file == "state"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if is_requested(config) and not is_nested() and can_run(config):
        _fix_import_path(getattr(config, "workerinput", {}).get("ralph", {}))
        add_hookspecs(config.pluginmanager)
        _start(config)


def _start(config: pytest.Config) -> None:
    sys.meta_path.insert(0, PlainImports)
    config.add_cleanup(lambda: sys.meta_path.remove(PlainImports))
    from pytest_ralph.session.start import start

    start(config)
    _spare_the_garbage_collector()


def _spare_the_garbage_collector() -> None:
    """Have it ignore what is loaded by now: searching that takes a quarter of our start.

    Once for a process: what a second run in it freezes might be garbage of the first.
    """
    if gc.get_freeze_count() < FROZEN_BY_A_RUN:
        gc.freeze()


class PlainImports:
    """Finds our modules without pytest's rewriting of assertions, which they have no use for.

    Its finder takes a third of the time of our start, even with everything cached.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.startswith("pytest_ralph."):
            return PathFinder.find_spec(name, path, target)
        return None


def _fix_import_path(worker_data: Mapping[str, Any]) -> None:
    """Put this Python's own library first if an xdist worker runs another Python version.

    xdist gives a worker the controller's sys.path, from which the other version cannot import.
    """
    if worker_data and worker_data["python"] != sys.implementation.cache_tag:
        import site

        library = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib may not be importable
        sys.path[:0] = [library, f"{library}/lib-dynload", *site.getsitepackages()]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("looponfail", False) and _changes_files(config):
        raise pytest.UsageError(
            "--looponfail runs again after every change, and recovery changes files: "
            "use only one of them"
        )
    if config.getoption("ralph_stats"):
        from pytest_ralph.report.stats import print_statistics

        return print_statistics(config)
    if config.getoption("ralph_undo") is not None:
        from pytest_ralph.session.undo import undo_run

        return undo_run(config)
    if config.getoption("ralph_init") is not None:
        from pytest_ralph.session.new_spec import write_spec

        return write_spec(config)
    if config.getoption("ralph_lint"):
        from pytest_ralph.session.linting import lint_specs

        return lint_specs(config)
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    if not is_requested(config):
        return _unused_option(config.invocation_params.args)
    if is_nested():
        return "ralph: inside another ralph run, so specs are not collected here"
    if WINDOWS and not can_run(config):
        return ON_WINDOWS
    return None


def _unused_option(arguments: Iterable[object]) -> str | None:
    """Return a line about an option of ours on a command line that asks for no ralph run."""
    flags = {str(argument).partition("=")[0] for argument in arguments}
    if {"--ralph-recovery", "--no-ralph-recovery"} <= flags:
        return "ralph: off, because --no-ralph-recovery comes last (to verify only: --ralph)"
    for option in OPTIONS:
        if option.flag in flags:
            return (
                f"ralph: {option.flag} has no effect without --ralph, --ralph-recovery or "
                "--ralph-execute"
            )
    return None
