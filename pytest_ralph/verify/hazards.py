"""Hazards of a check: why its result cannot be trusted, or why it does more than check.

They are read from the command as written; nothing is run. A check that expects something of the
output is not decided by its exit status, so hazards of the status do not concern it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command, Stage
from pytest_ralph.shell.stdout import has_option
from pytest_ralph.verify.model import Expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ralph.verify.model import Check

_LIVES_ON = frozenset(["never-ends", "background"])
# How much of a command a message shows.
_MAX_SHOWN = 60
_SUCCESS = Expect("exit", "==", 0)


@dataclass(frozen=True, slots=True)
class Hazard:
    """One reason not to trust a check. A severe one makes the check worthless."""

    code: str
    message: str
    severe: bool = False


def hazards(check: Check, *, starts_service: bool = False) -> tuple[Hazard, ...]:
    """Return what is dangerous about `check`, each code once.

    With `starts_service`, what the check starts is meant to keep running.
    """
    command = Command.parse(check.command)
    found: dict[str, Hazard] = {}
    for hazard in _all_hazards(check, command):
        if starts_service and hazard.code in _LIVES_ON:
            continue
        found.setdefault(hazard.code, hazard)
    return tuple(found.values())


def _all_hazards(check: Check, command: Command) -> Iterator[Hazard]:
    if _judged_by_status(check) and _has_status(command):
        for hazard, of_status in _STATUS_RULES:
            if of_status(command):
                yield _named(hazard, command.last)
    yield from _text_hazards(check.command)
    for stage in command.stages:
        for hazard, of_stage in _STAGE_RULES:
            if of_stage(stage):
                yield _named(hazard, stage)
    if command.stages and command.stages[-1].after == "&":
        yield Hazard("background", "ends with `&`: a background process is stopped, not checked")


def _named(hazard: Hazard, stage: Stage) -> Hazard:
    """Return a hazard with the command that it is about in its message."""
    written = " ".join(" ".join(stage.written).split())
    if len(written) > _MAX_SHOWN:
        written = f"{written[: _MAX_SHOWN - 1]}…"
    message = hazard.message.format(written, program=stage.program)
    return replace(hazard, message=message)


# The exit status


def _judged_by_status(check: Check) -> bool:
    if check.files:
        return False
    return all(one == _SUCCESS for one in check.expect)


_OPENING = re.compile(r"(?:^|[;&|({\n])\s*(?:if|for|while|until|case)\b")
_CLOSING = re.compile(r"\b(?:fi|done|esac)\b")


def _has_status(command: Command) -> bool:
    """Whether it can be run: the shell refuses an `if` or a loop without an end."""
    if not command.own_stages:
        return False
    if _OPENING.search(command.text):
        return _CLOSING.search(command.text) is not None
    return True


_JUDGES = frozenset(["test", "lint", "types", "build", "format"])


def _greps_output(command: Command) -> bool:
    """Whether a search in the output of a test run or the like replaces its exit status."""
    first, *others = command.pipelines[-1]
    if not others or first.role not in _JUDGES:
        return False
    if "pipefail" in command.text:
        return False
    return others[-1].program in ("grep", "egrep", "rg")


def _always_raises(stage: Stage) -> bool:
    """Whether a Python one-liner ends with an error that no condition guards."""
    if not stage.program.startswith("python"):
        return False
    option, script = (*stage.arguments, "", "")[:2]
    if option != "-c":
        return False
    try:
        statements = ast.parse(script).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    return any(map(_is_failure, statements))


def _is_failure(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    return False


# Inside these, a command is run under a condition.
_COMPOUND = re.compile(r"\b(?:if|case|for|while|until)\b|[{(]")


def _ends_with_failure(command: Command) -> bool:
    """Whether it ends with `exit 1` or `false` whatever happens before."""
    last = command.last
    if not last.always_fails or last.negated:
        return False
    if _COMPOUND.search(command.text):
        return False
    return last.after == "" and last.before in ("", ";", "&&")


def _never_fails(command: Command) -> bool:
    """Whether its last command always succeeds, and no other is there to fail."""
    if not command.last.always_succeeds:
        return False
    return not any(stage.may_fail_on_purpose for stage in command.own_stages)


def _ignores_failures(command: Command) -> bool:
    """Whether it goes on to its last command after a failure."""
    if command.last.before not in (";", "&"):
        return False
    return not any(map(_stops_on_errors, command.own_stages))


def _stops_on_errors(stage: Stage) -> bool:
    return stage.program == "set" and has_option(stage, _ERREXIT)


_ERREXIT = re.compile(r"-[a-z]*e[a-z]*|errexit")
_VERDICTS = re.compile(
    r"(?i)\b(?:pass|ok|good|success|found)\w*\b.*\b(?:fail|bad|error|missing|wrong)\w*\b", re.DOTALL
)
_PRINTING = re.compile(r"\b(?:print|console|puts)")
_FAILING = re.compile(r"\b(?:exit|assert|raise|throw|die|panic|fail\()")


def _prints_verdict(stage: Stage) -> bool:
    """Whether a one-liner prints one of two words and does not fail for the bad one."""
    if len(stage.arguments) < 2:
        return False
    if not stage.is_hazard("shells") and not stage.is_hazard("swallowing"):
        return False
    script = max(stage.arguments, key=len)
    if not _PRINTING.search(script):
        return False
    if _FAILING.search(script):
        return False
    return _VERDICTS.search(script) is not None


# The hazards of an exit status; `{}` stands for the last command.
_STATUS_RULES: tuple[tuple[Hazard, Callable[[Command], bool]], ...] = (
    (
        Hazard("always-true", "`{}` always passes: it checks nothing", severe=True),
        lambda command: _never_fails(command) and len(command.own_stages) == 1,
    ),
    (
        Hazard("always-true", "`|| {}` makes it pass whatever happens", severe=True),
        lambda command: _never_fails(command) and command.last.before == "||",
    ),
    (
        Hazard("always-true", "ends with `{}`: failures before it are ignored", severe=True),
        lambda command: _never_fails(command) and _ignores_failures(command),
    ),
    (
        Hazard(
            "pipe-hides-status",
            "`| {}` hides the exit status of the command before it; use pipefail",
        ),
        lambda command: command.hides_status,
    ),
    (
        Hazard(
            "grep-hides-status",
            "`| {}` passes if the text is printed, even by a command that fails",
        ),
        _greps_output,
    ),
    (
        Hazard("never-passes", "`{}` always fails", severe=True),
        lambda command: _always_raises(command.last) or _ends_with_failure(command),
    ),
    (
        Hazard("prints-verdict", "`{program}` prints its result but always succeeds"),
        lambda command: command.last.before != "|" and _prints_verdict(command.last),
    ),
)


# What the text shows

_HOME = re.compile(
    r"(?<![\w.$}])(?:/Users|/home)/(?!\$)[\w.-]+|(?<![\w.])/root/\w|\b[A-Za-z]:\\+Users\\|/mnt/[a-z]/Users/"
)


def _text_hazards(command: str) -> Iterator[Hazard]:
    if match := _HOME.search(command):
        yield Hazard(
            "machine-path",
            f"`{match[0]}` exists on one machine only; use a path inside the project",
        )


# Single commands

# Formatters that rewrite files unless one of these options asks for a check only.
_CHECK_OPTIONS = {
    "black": ("--check", "--diff"),
    "cargo fmt": ("--check",),
    "dart format": ("--set-exit-if-changed",),
    "deno fmt": ("--check",),
    "dotnet format": ("--verify-no-changes",),
    "go fmt": (),
    "isort": ("--check", "--check-only", "-c", "--diff"),
    "mix format": ("--check-formatted",),
    "ruff format": ("--check", "--diff"),
    "rustfmt": ("--check",),
    "terraform fmt": ("-check",),
}
_WRITING_OPTION = re.compile(r"--(?:fix|write|apply|auto-?correct(?:-all)?|in-place)")
_SHORT_WRITING_OPTIONS = {
    "clang-format": ("-i",),
    "gofmt": ("-w",),
    "goimports": ("-w",),
    "prettier": ("-w",),
    "rubocop": ("-a", "-A"),
    "sed": ("-i",),
}


def _changes_tree(stage: Stage) -> bool:
    """A check that rewrites what it checks passes at the second run, whatever it found."""
    arguments = set(stage.arguments)
    if has_option(stage, _WRITING_OPTION):
        return True
    if not arguments.isdisjoint(_SHORT_WRITING_OPTIONS.get(stage.program, ())):
        return True
    if stage.name not in _CHECK_OPTIONS:
        return False
    return arguments.isdisjoint(_CHECK_OPTIONS[stage.name])


_FILTER_OPTIONS = {
    "go test": ("-run",),
    "dotnet test": ("--filter",),
    "swift test": ("--filter",),
    "jest": ("-t", "--testNamePattern"),
    "vitest": ("-t", "--testNamePattern"),
}
_PASSES_EMPTY = re.compile(r"--pass-?with-?no-?tests|--if-present", re.IGNORECASE)


def _may_match_nothing(stage: Stage) -> bool:
    """A runner that succeeds without a test makes a misspelt filter pass."""
    if not set(stage.option_names).isdisjoint(_FILTER_OPTIONS.get(stage.name, ())):
        return True
    if stage.name == "cargo test" and len(stage.operands) > 1:
        return True
    return any(map(_PASSES_EMPTY.fullmatch, stage.option_names))


_BARE_ALTERNATION = re.compile(r"(?<=\w)(?<!\\)\|(?=\w)")
_EXTENDED = re.compile(r"-[A-Za-z]*[EPF][A-Za-z]*|--(?:extended|perl|fixed).*")


def _has_basic_alternation(stage: Stage) -> bool:
    if stage.program != "grep" or has_option(stage, _EXTENDED):
        return False
    return any(map(_BARE_ALTERNATION.search, stage.arguments))


# The hazards of a simple command; `{}` stands for the command.
_STAGE_RULES: tuple[tuple[Hazard, Callable[[Stage], bool]], ...] = (
    (
        Hazard(
            "never-ends",
            "`{}` runs until it is stopped, so only the time limit ends it",
            severe=True,
        ),
        lambda stage: stage.never_ends,
    ),
    (
        Hazard("remote", "`{}` changes something outside the project each time it is verified"),
        lambda stage: stage.changes_remote,
    ),
    (
        Hazard("interactive", "`{}` waits for input, which it never gets"),
        lambda stage: stage.asks_person,
    ),
    (
        Hazard(
            "grep-alternation",
            "grep without -E takes `|` in its pattern literally; use `grep -E` or `\\|`",
        ),
        _has_basic_alternation,
    ),
    (
        Hazard("changes-tree", "`{}` rewrites files; a check should only read them"),
        _changes_tree,
    ),
    (
        Hazard("may-match-nothing", "`{}` succeeds even if its filter selects no test"),
        _may_match_nothing,
    ),
)
