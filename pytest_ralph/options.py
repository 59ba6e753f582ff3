"""The option table: one row for everything that a user can set.

The command line, the ini keys, the keys of the front matter, `Settings` and the reference page all
follow from this table. Every pytest run imports it, with or without `--ralph`, so this module
imports nothing that pytest has not imported, and builds nothing but the rows.
"""

from __future__ import annotations

import warnings
from typing import Any

COMMAND_LINE = "command line"
INI = "ini file"
FRONT_MATTER = "front matter"
EVERYWHERE = (COMMAND_LINE, INI, FRONT_MATTER)

# The words of a flag or a switch, in any case.
TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off")

METAVARS = {
    "count": "N",
    "seconds": "S",
    "list": "LIST",
    "choice": "MODE",
    "text": "X",
    "texts": "X",
}


class Option:
    """One row of the option table.

    name: The name in the front matter, from which `flag` and `key` (the ini key) are derived.
    kind: What a value looks like:
        `mode`     what pytest is asked to do; `--ralph-lint=github` selects one of `choices`, and
                   one with a `metavar` takes a value, `without_value` if none is given,
        `flag`     true or false,
        `switch`   true, false or one of `choices`; `--no-ralph-…` sets it to false,
        `count`    a whole number, at least `minimum`,
        `seconds`  a number above zero,
        `choice`   one of `choices`,
        `list`     some of `choices`, or `none`,
        `lines`    any number of lines,
        `commands` a mapping to commands; in the ini file, lines of the form `key: command`,
        `number`   a number, at least `minimum`,
        `texts`    one or more texts; given several times on the command line, else as lines,
        `words`    words as on a command line,
        `text`     anything else.
    where: The places where the option may be set.
    state_field: The field of the state file that sets it where nothing else does.
    """

    # A plain class: creating a dataclass takes longer than everything else in this module.
    __slots__ = (
        "choices",
        "default",
        "flag",
        "help",
        "key",
        "kind",
        "metavar",
        "minimum",
        "name",
        "state_field",
        "where",
        "without_value",
    )

    def __init__(
        self,
        name: str,
        kind: str,
        default: str | bool | None,
        help: str,  # noqa: A002 - the name that argparse uses
        *,
        minimum: int = 0,
        choices: tuple[str, ...] = (),
        where: tuple[str, ...] = EVERYWHERE,
        metavar: str | None = None,
        without_value: str | None = None,
        state_field: str | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.help = help
        self.minimum = minimum
        self.choices = choices
        self.where = where
        self.metavar = metavar or METAVARS.get(kind)
        self.without_value = without_value
        self.state_field = state_field
        self.flag = "--ralph" if name == "ralph" else f"--ralph-{name}"
        self.key = self.flag[2:].replace("-", "_")

    @property
    def has_forms(self) -> bool:
        """Whether each choice is a flag of its own: `--ralph-lint`, `--ralph-lint=github`."""
        return self.kind == "mode" and bool(self.choices)

    @property
    def takes_value(self) -> bool:
        """Whether the next word on the command line is the value."""
        return self.metavar is not None and COMMAND_LINE in self.where


OPTIONS = (
    Option(
        "ralph",
        "mode",
        False,
        "verify the tasks of every tasks.md below the given paths, one test item per task",
        where=(COMMAND_LINE, INI),
    ),
    Option(
        "recovery",
        "switch",
        False,
        "verify tasks and heal those that fail; `state` in the ini file turns recovery on for the "
        "specs whose state file says recoveryMode: true",
        choices=("state",),
    ),
    Option(
        "executor",
        "texts",
        "repair",
        "who carries out fix tasks: repair (built-in repairs only), none, a preset (claude, codex, "
        "gemini, opencode, aider, cursor-agent, goose, amp) or any shell command line; given "
        "several times, the next one takes over when the one before it is unavailable",
    ),
    Option(
        "execute",
        "flag",
        False,
        "also have the executor carry out each unchecked task before it is verified",
    ),
    Option(
        "isolate",
        "choice",
        "none",
        "where executors work: none (in the project) or worktree (in git worktrees, whose changes "
        "are merged after Verify has passed there)",
        choices=("none", "worktree"),
    ),
    Option(
        "candidates",
        "count",
        "1",
        "how many executor runs try the same fix at once, each in a worktree; the first that "
        "passes Verify wins",
        minimum=1,
    ),
    Option(
        "allow",
        "list",
        "none",
        "what Verify commands may also do: remote (change something outside this machine)",
        choices=("remote",),
        # A spec must not grant itself a permission.
        where=(COMMAND_LINE, INI),
    ),
    Option(
        "max-fixes",
        "count",
        "3",
        "how many fix tasks an original task may get",
        state_field="maxFixTasksPerOriginal",
    ),
    Option(
        "max-depth",
        "count",
        "3",
        "how many levels of fixes of fixes there may be",
        state_field="maxFixTaskDepth",
    ),
    Option(
        "budget",
        "count",
        "100",
        "how many executor runs one pytest run may start, for all specs together",
        where=(COMMAND_LINE, INI),
        state_field="maxGlobalIterations",
    ),
    Option(
        "max-cost",
        "number",
        None,
        "stop starting executors once the cost they report reaches this amount",
        where=(COMMAND_LINE, INI),
        metavar="USD",
    ),
    Option(
        "wait",
        "number",
        "0",
        "how long to wait for a rate limit or an outage of an executor to pass, in seconds",
        metavar="S",
    ),
    Option("timeout", "seconds", "300", "time limit for one Verify command, in seconds"),
    Option("executor-timeout", "seconds", "600", "time limit for one executor run, in seconds"),
    Option(
        "jobs",
        "count",
        None,
        "how many tasks of a [P] group run at once (default: number of cores)",
        minimum=1,
    ),
    Option(
        "repair",
        "list",
        "format,lint,chmod,install",
        'built-in repairs to allow ("none" disables all); also: lock, playwright',
        choices=("format", "lint", "chmod", "install", "lock", "playwright"),
    ),
    Option(
        "rollback",
        "flag",
        False,
        "on BROKEN_BUILD, return to the last good commit before fixing",
    ),
    Option(
        "commit",
        "choice",
        "none",
        "what to commit: none, message-only (write a script that makes the commits) or auto "
        "(commit each task that newly passes)",
        choices=("none", "message-only", "auto"),
    ),
    Option(
        "guard",
        "choice",
        "report",
        "what to do when an executor changes tests, Verify fields or check configuration: report "
        "it, refuse the fix (it is undone and counts as failed) or ignore it (off)",
        choices=("report", "refuse", "off"),
    ),
    Option("pending", "flag", False, "skip tasks that are already checked off"),
    Option("fresh", "flag", False, "start over: move the state file aside, keep the history"),
    Option(
        "keep-going",
        "flag",
        False,
        "in recovery mode, continue after a task that could not be recovered",
    ),
    Option(
        "interactive",
        "flag",
        False,
        "on a terminal, ask at each failure what to do",
    ),
    Option(
        "shell",
        "text",
        None,
        "the shell that runs Verify commands (default: bash, else sh)",
        metavar="PATH",
    ),
    Option(
        "report",
        "text",
        None,
        "write a self-contained HTML report to this path",
        where=(COMMAND_LINE, INI),
        metavar="PATH",
    ),
    Option(
        "lint",
        "mode",
        None,
        "run nothing; report what is wrong with the specs",
        choices=("github",),
        where=(COMMAND_LINE,),
    ),
    Option(
        "explain",
        "mode",
        None,
        "run nothing; show for each selected task how its Verify is read, what a failure leads to "
        "and the prompt an executor would get",
        where=(COMMAND_LINE,),
    ),
    Option(
        "undo",
        "mode",
        None,
        "run nothing; put back what the last run, or the run RUN, changed through repairs and "
        "executors",
        where=(COMMAND_LINE,),
        metavar="RUN",
        without_value="last",
    ),
    Option(
        "init",
        "mode",
        None,
        "run nothing; write specs/NAME/tasks.md, a small spec to start from",
        where=(COMMAND_LINE,),
        metavar="NAME",
    ),
    Option(
        "stats",
        "mode",
        None,
        "print failure statistics from the history and exit",
        choices=("json",),
        where=(COMMAND_LINE,),
    ),
    # The rest belongs to a project rather than to a single run.
    Option(
        "kinds",
        "text",
        None,
        "YAML file that extends or overrides the table of failure kinds",
        where=(INI,),
    ),
    Option(
        "templates",
        "text",
        None,
        "directory with the project's own prompt and fix-task templates",
        where=(INI,),
    ),
    Option(
        "junit",
        "lines",
        None,
        "globs of JUnit XML files that Verify commands write",
        where=(INI,),
    ),
    Option(
        "verify",
        "commands",
        None,
        "Verify for tasks without one: `T001: command`, `[US1]: command` or `Phase 2: command`",
        where=(INI, FRONT_MATTER),
    ),
    Option(
        "remote",
        "lines",
        None,
        "further commands that change something outside this machine, such as `make ship`",
        where=(INI,),
    ),
    Option(
        "isolate-link",
        "lines",
        None,
        "ignored directories that worktrees link to, and ignored files that they link to, or copy "
        "up to 1 MB; `none` for nothing (default: .venv, venv, node_modules, vendor, .env)",
        where=(INI,),
    ),
    Option(
        "isolate-copy",
        "lines",
        None,
        "ignored files and directories that are copied into worktrees",
        where=(INI,),
    ),
    Option(
        "strict",
        "flag",
        False,
        "report tasks as MANUAL if words of their Verify field were not understood",
        where=(INI, FRONT_MATTER),
    ),
    Option(
        "secrets",
        "lines",
        None,
        "additional regular expressions of text to mask in logs, prompts and reports",
        where=(INI,),
    ),
    Option(
        "executor-model",
        "text",
        None,
        "model that the preset executor uses",
        where=(INI, FRONT_MATTER),
    ),
    Option(
        "executor-args",
        "words",
        None,
        "additional arguments for the preset executor",
        where=(INI, FRONT_MATTER),
    ),
    Option(
        "executor-program",
        "words",
        None,
        "program to run in place of the preset's own",
        where=(INI,),
    ),
    Option(
        "alert",
        "count",
        "20",
        "failures in 24 hours above which --ralph-stats raises an alert",
        where=(INI,),
    ),
    Option(
        "keep-logs",
        "count",
        "20",
        "number of runs whose logs are kept under .ralph/logs",
        where=(INI,),
    ),
)


def ini_value(config: Any, key: str) -> object:
    """Return what the configuration file sets, as it is written there; None if nothing is set.

    In TOML the value may be a number, a boolean or an array. Which of them pytest accepts for a
    key depends on its version, so its check is left to `Settings`, which accepts all that fit.
    """
    try:
        with warnings.catch_warnings():
            # pytest 9 warns of an array where it expects a string.
            warnings.simplefilter("error", DeprecationWarning)
            value: object = config.getini(key)
    except Exception:
        # A private name since pytest 9, and the value is wrapped there.
        values = getattr(config, "_inicfg", None) or config.inicfg
        value = values.get(key)
        value = getattr(value, "value", value)
        # Before pytest 9, values of `-o` are not among them.
        for override in config.getoption("override_ini") or ():
            name, _, text = override.partition("=")
            if name == key:
                value = text
    return None if value == "" else value
