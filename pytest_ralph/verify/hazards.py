"""Hazards of a check: why its result cannot be trusted, or why it does more than check.

They are read from the command as written; nothing is run. A check that expects something of the
output is not decided by its exit status, so hazards of the status do not concern it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command, Stage
from pytest_ralph.shell.stdout import has_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_ralph.verify.model import Check

_LIVES_ON = frozenset(["never-ends", "background"])


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
    if _judged_by_status(check):
        yield from _status_hazards(command)
    yield from _text_hazards(check.command)
    for stage in command.stages:
        for rule in _STAGE_RULES:
            hazard = rule(stage)
            if hazard is not None:
                yield hazard
    if command.stages and command.stages[-1].after == "&":
        yield Hazard("background", "ends with `&`: a background process is stopped, not checked")


# The exit status


def _judged_by_status(check: Check) -> bool:
    success = ("exit", "==", 0)
    only_status = all((one.stream, one.op, one.value) == success for one in check.expect)
    return only_status and not check.files


def _status_hazards(command: Command) -> Iterator[Hazard]:
    if not command.own_stages or _is_unfinished(command):
        return
    last = command.last
    yield from _always_true(command.own_stages)
    if command.hides_status:
        shown = _shown(last)
        yield Hazard(
            "pipe-hides-status",
            f"`| {shown}` hides the exit status of the command before it; use pipefail",
        )
    elif _greps_output(command):
        yield Hazard(
            "grep-hides-status",
            f"`| {_shown(last)}` passes if the text is printed, even by a command that fails",
        )
    elif _always_raises(last) or _ends_with_failure(command, last):
        yield Hazard("never-passes", f"`{_shown(last)}` always fails", severe=True)
    elif last.before != "|" and _prints_verdict(last):
        yield Hazard("prints-verdict", f"`{last.program}` prints its result but always succeeds")


_OPENING = re.compile(r"(?:^|[;&|({\n])\s*(?:if|for|while|until|case)\b")
_CLOSING = re.compile(r"\b(?:fi|done|esac)\b")


def _is_unfinished(command: Command) -> bool:
    """Whether an `if` or a loop has no end: the shell refuses it, so it has no exit status."""
    return bool(_OPENING.search(command.text)) and not _CLOSING.search(command.text)


_JUDGES = frozenset(["test", "lint", "types", "build", "format"])


def _greps_output(command: Command) -> bool:
    """Whether a search in the output of a test run or the like replaces its exit status."""
    pipeline = command.pipelines[-1]
    if len(pipeline) < 2 or "pipefail" in command.text:
        return False
    return pipeline[-1].program in ("grep", "egrep", "rg") and pipeline[0].role in _JUDGES


def _always_raises(stage: Stage) -> bool:
    """Whether a Python one-liner ends with an error that no condition guards."""
    if not stage.program.startswith("python") or stage.arguments[:1] != ("-c",):
        return False
    script = "".join(stage.arguments[1:2])
    try:
        statements = ast.parse(script).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    return any(_is_failure(statement) for statement in statements)


def _is_failure(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    return False


# Inside these, a command is run under a condition.
_COMPOUND = re.compile(r"\b(?:if|case|for|while|until)\b|[{(]")


def _ends_with_failure(command: Command, last: Stage) -> bool:
    """Whether it ends with `exit 1` or `false` whatever happens before."""
    if not last.always_fails or last.negated or _COMPOUND.search(command.text):
        return False
    return last.after == "" and last.before in ("", ";", "&&")


def _always_true(stages: Sequence[Stage]) -> Iterator[Hazard]:
    last = stages[-1]
    if not last.always_succeeds or any(stage.always_fails for stage in stages):
        return
    shown = _shown(last)
    if len(stages) == 1:
        message = f"`{shown}` always passes: it checks nothing"
    elif last.before == "||":
        message = f"`|| {shown}` makes it pass whatever happens"
    elif last.before in (";", "&") and not _stops_on_errors(stages):
        message = f"ends with `{shown}`: failures before it are ignored"
    else:
        return
    yield Hazard("always-true", message, severe=True)


def _stops_on_errors(stages: Sequence[Stage]) -> bool:
    set_stages = [stage for stage in stages if stage.program == "set"]
    return any(has_option(stage, _ERREXIT) for stage in set_stages)


_ERREXIT = re.compile(r"-[a-z]*e[a-z]*|errexit")
_VERDICTS = re.compile(
    r"(?i)\b(?:pass|ok|good|success|found)\w*\b.*\b(?:fail|bad|error|missing|wrong)\w*\b", re.DOTALL
)
_PRINTING = re.compile(r"\b(?:print|console|puts)")
_FAILING = re.compile(r"\b(?:exit|assert|raise|throw|die|panic|fail\()")


def _prints_verdict(stage: Stage) -> bool:
    """Whether a one-liner prints one of two words and does not fail for the bad one."""
    if not (stage.is_hazard("shells") or stage.is_hazard("swallowing")):
        return False
    if len(stage.arguments) < 2:
        return False
    script = max(stage.arguments, key=len)
    if not _PRINTING.search(script) or _FAILING.search(script):
        return False
    return bool(_VERDICTS.search(script))


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


def _never_ends(stage: Stage) -> Hazard | None:
    if not stage.never_ends:
        return None
    return Hazard(
        "never-ends",
        f"`{_shown(stage)}` runs until it is stopped, so only the time limit ends it",
        severe=True,
    )


def _remote(stage: Stage) -> Hazard | None:
    if not stage.changes_remote:
        return None
    return Hazard(
        "remote",
        f"`{_shown(stage)}` changes something outside the project each time it is verified",
    )


def _interactive(stage: Stage) -> Hazard | None:
    if not stage.asks_person:
        return None
    return Hazard("interactive", f"`{_shown(stage)}` waits for input, which it never gets")


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


def _changes_tree(stage: Stage) -> Hazard | None:
    """A check that rewrites what it checks passes at the second run, whatever it found."""
    arguments = stage.arguments
    check_options = _CHECK_OPTIONS.get(stage.name)
    writes = check_options is not None and not set(check_options) & set(arguments)
    if any(_WRITING_OPTION.fullmatch(argument) for argument in arguments):
        writes = True
    if set(_SHORT_WRITING_OPTIONS.get(stage.program, ())) & set(arguments):
        writes = True
    if not writes:
        return None
    return Hazard(
        "changes-tree", f"`{_shown(stage)}` rewrites files; a check should only read them"
    )


_FILTER_OPTIONS = {
    "go test": ("-run",),
    "dotnet test": ("--filter",),
    "swift test": ("--filter",),
    "jest": ("-t", "--testNamePattern"),
    "vitest": ("-t", "--testNamePattern"),
}
_PASSES_EMPTY = re.compile(r"--pass-?with-?no-?tests|--if-present", re.IGNORECASE)


def _may_match_nothing(stage: Stage) -> Hazard | None:
    """A runner that succeeds without a test makes a misspelt filter pass."""
    options = {argument.partition("=")[0] for argument in stage.arguments}
    filters = set(_FILTER_OPTIONS.get(stage.name, ())) & options
    selects = stage.name == "cargo test" and len(stage.operands) > 1
    passes_empty = any(_PASSES_EMPTY.fullmatch(option) for option in options)
    if not (filters or selects or passes_empty):
        return None
    return Hazard(
        "may-match-nothing", f"`{_shown(stage)}` succeeds even if its filter selects no test"
    )


_EXTENDED = re.compile(r"-[A-Za-z]*[EPF][A-Za-z]*|--(?:extended|perl|fixed).*")


def _basic_alternation(stage: Stage) -> Hazard | None:
    if stage.program != "grep" or any(_EXTENDED.fullmatch(word) for word in stage.arguments):
        return None
    pattern = next(iter(stage.operands), "")
    if not re.search(r"(?<=\w)(?<!\\)\|(?=\w)", pattern):
        return None
    return Hazard(
        "grep-alternation",
        "grep without -E takes `|` in its pattern literally; use `grep -E` or `\\|`",
    )


_STAGE_RULES: tuple[Callable[[Stage], Hazard | None], ...] = (
    _never_ends,
    _remote,
    _interactive,
    _basic_alternation,
    _changes_tree,
    _may_match_nothing,
)


def _shown(stage: Stage) -> str:
    text = " ".join(" ".join(stage.written).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
