"""The Hazards of a check: why its result cannot be trusted, or why it does more than check.

Read from the command as written; nothing is run. A check that expects something of the output is not held to its exit
status, so hazards of the status are not hazards of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.shell import hazard_tables as hazardous
from pytest_ralph.shell.lexer import Simple, simple_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_ralph.verify.model import Check

LONG_SLEEP = 30.0


@dataclass(frozen=True, slots=True)
class Hazard:
    code: str
    message: str
    severe: bool = False


def hazards(check: Check, *, starts_service: bool = False) -> tuple[Hazard, ...]:
    """What is dangerous about `check`, each code once. `starts_service`: what it starts is meant to live on."""
    commands = simple_commands(check.command)
    found = [*_status(check, commands), *_text(check.command)]
    for command in commands:
        found += [hazard for rule in _RULES if (hazard := rule(command)) is not None]
    if starts_service:
        found = [
            hazard
            for hazard in found
            if hazard.code not in ("never-ends", "background", "long-sleep")
        ]
    elif _last_in_background(commands):
        found.append(
            Hazard(
                "background", "ends with `&`: what runs in the background is stopped, not checked"
            )
        )
    once = {hazard.code: hazard for hazard in reversed(found)}
    if "machine-path" in once:
        once.pop("absolute-cd", None)
    return tuple(once.values())[::-1]


# The exit status


def _status(check: Check, commands: tuple[Simple, ...]) -> Iterator[Hazard]:
    own = [command for command in commands if not command.nested]
    if not own or not _judged_by_status(check):
        return
    last = own[-1]
    if _succeeds(last) and not any(_fails_on_purpose(command) for command in own):
        if len(own) == 1:
            yield Hazard(
                "always-true", f"`{_shown(last)}` always passes: it checks nothing", severe=True
            )
        elif last.before == "||":
            yield Hazard(
                "always-true", f"`|| {_shown(last)}` makes it pass whatever happens", severe=True
            )
        elif last.before in (";", "&") and not _stops_on_errors(own):
            yield Hazard(
                "always-true",
                f"ends with `{_shown(last)}`: what came before cannot fail it",
                severe=True,
            )
    if _hides_status(last) and not re.search(r"\bpipefail\b", check.command):
        yield Hazard(
            "pipe-hides-status",
            f"`| {_shown(last)}` hides the exit status of what it reads; use pipefail",
        )
    elif last.before != "|" and _prints_verdict(last):
        yield Hazard(
            "prints-verdict", f"`{last.program}` prints its verdict but ends well either way"
        )


def _judged_by_status(check: Check) -> bool:
    return all(
        expect.stream == "exit" and (expect.op, expect.value) == ("==", 0)
        for expect in check.expect
    )


def _succeeds(command: Simple) -> bool:
    if command.negated or command.redirections:
        return False
    return command.program in hazardous.ALWAYS or command.texts == ("exit", "0")


def _fails_on_purpose(command: Simple) -> bool:
    return command.program == "false" or (
        command.program in ("exit", "return") and command.texts[1:2] not in ((), ("0",))
    )


def _stops_on_errors(commands: list[Simple]) -> bool:
    options = [
        text for command in commands if command.program == "set" for text in command.texts[1:]
    ]
    return any(re.fullmatch(r"-[a-z]*e[a-z]*|errexit", text) for text in options)


def _hides_status(last: Simple) -> bool:
    """Does a pipe end in a filter that succeeds whatever it is fed?"""
    if last.before != "|" or last.program not in hazardous.FILTERS:
        return False
    arguments = " ".join(last.texts[1:])
    return not (
        re.search(r"\bexit\b", arguments)
        or (last.program == "sort" and re.search(r"(?:^| )-[cC]|--check", arguments))
    )


_VERDICTS = re.compile(
    r"(?i)\b(?:pass|ok|good|success|found)\w*\b.*\b(?:fail|bad|error|missing|wrong)\w*\b", re.DOTALL
)
_FAILS = re.compile(r"\b(?:exit|assert|raise|throw|die|panic|fail\()")


def _prints_verdict(command: Simple) -> bool:
    """A one-liner that prints one of two words and does not fail for the bad one."""
    if command.program not in hazardous.SHELLS | hazardous.FILTERS or len(command.words) < 3:
        return False
    script = max(command.texts[1:], key=len)
    return bool(
        re.search(r"\b(?:print|console|puts)", script)
        and _VERDICTS.search(script)
        and not _FAILS.search(script)
    )


def _last_in_background(commands: tuple[Simple, ...]) -> bool:
    return bool(commands) and commands[-1].after == "&"


# What the text shows

_HOME = re.compile(
    r"(?<![\w.$}])(?:/Users|/home)/(?!\$)[\w.-]+|(?<![\w.])/root/\w|\b[A-Za-z]:\\+Users\\|/mnt/[a-z]/Users/"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_BRACKETED = re.compile(
    r"(?<![<\w])<[a-z][a-z0-9]*(?:[ _-][a-z0-9]+)*>|(?<=[:/=-])<[a-z][a-z0-9_ -]*>"
)
_UNFILLED = re.compile(r"\bpath/to/|\bYOUR_[A-Z]|\{\{\s*\w+\s*\}\}")
_DASHED_PATTERN = re.compile(r"\bgrep((?:\s+-[A-Za-z]+)*)\s+([\"'])-")


def _text(command: str) -> Iterator[Hazard]:
    if match := _HOME.search(command):
        yield Hazard(
            "machine-path",
            f"`{match[0]}` exists on one machine only; use a path inside the project",
        )
    # In quotes a bracketed word may be what is looked for.
    if match := _BRACKETED.search(_QUOTED.sub("", command)) or _UNFILLED.search(command):
        yield Hazard(
            "placeholder", f"`{match[0]}` looks like a placeholder that was never filled in"
        )
    if (match := _DASHED_PATTERN.search(command)) and not match[1].endswith("e"):
        yield Hazard(
            "grep-option",
            "grep takes a pattern that starts with `-` for an option; write `grep -e …`",
        )


# Single commands


def _absolute_directory(command: Simple) -> Hazard | None:
    target = (
        command.texts[1] if command.program in ("cd", "pushd") and len(command.words) > 1 else ""
    )
    if re.match(r"/(?!tmp\b|dev\b|var/tmp\b|$)|[A-Za-z]:[\\/]|~", target):
        return Hazard(
            "absolute-cd", f"`cd {target}` leaves the project; commands already run in its root"
        )
    return None


def _never_ends(command: Simple) -> Hazard | None:
    texts = _without_launcher(command)
    if command.program == "timeout" or command.after == "&" or hazardous.ENDING.intersection(texts):
        return None
    if not texts:
        return None
    if command.program == "watch" or _watches(texts) or _begins(texts, hazardous.ENDLESS):
        return Hazard(
            "never-ends",
            f"`{_shown(command)}` waits until it is stopped: it ends only by the time limit",
            severe=True,
        )
    return None


def _watches(texts: tuple[str, ...]) -> bool:
    if texts[0] not in hazardous.WATCHERS:
        return False
    options = hazardous.WATCH_OPTIONS | ({"-w"} if texts[0] in hazardous.SHORT_WATCHERS else set())
    return not options.isdisjoint(texts[1:])


def _remote(command: Simple) -> Hazard | None:
    texts = _without_launcher(command)
    written = _begins(texts, hazardous.REMOTE) and not hazardous.READ_ONLY.intersection(texts)
    if written or (_sends(texts) and _reaches_out(texts)):
        return Hazard(
            "remote",
            f"`{_shown(command)}` changes something outside the project each time it is verified",
        )
    if _begins(texts, hazardous.NETWORK) or _reaches_out(texts):
        return Hazard(
            "network",
            f"`{_shown(command)}` asks a remote service: it fails without network or credentials",
        )
    return None


_SENDS = re.compile(
    r"-X(?:POST|PUT|PATCH|DELETE)|POST|PUT|PATCH|DELETE|--data(?:-\w+)?|-d|-F|--form|--upload-file|-T|--json"
)
_ELSEWHERE = re.compile(
    r"https?://(?!localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker|\$|[\w-]+(?::\d+)?(?:/|$))",
    re.IGNORECASE,
)


def _sends(texts: tuple[str, ...]) -> bool:
    return any(_SENDS.fullmatch(text.partition("=")[0]) for text in texts[1:])


def _reaches_out(texts: tuple[str, ...]) -> bool:
    return texts[:1] in (("curl",), ("wget",), ("http",), ("xh",)) and any(
        _ELSEWHERE.match(text) for text in texts[1:]
    )


def _interactive(command: Simple) -> Hazard | None:
    texts = command.texts
    answered = any(text.partition("=")[0] in hazardous.ANSWERED for text in texts)
    if command.before == "|" or command.redirections or answered:
        return None
    if (len(texts) == 1 and texts[0] in hazardous.SHELLS) or _begins(texts, hazardous.ASKING):
        return Hazard(
            "interactive", f"`{_shown(command)}` waits for a person, and there is nobody to answer"
        )
    return None


def _long_sleep(command: Simple) -> Hazard | None:
    if command.program != "sleep" or len(command.words) < 2:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", command.texts[1])
    seconds = (
        float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]] if match else 0
    )
    if seconds < LONG_SLEEP:
        return None
    return Hazard(
        "long-sleep",
        f"`sleep {command.texts[1]}` waits a fixed time; wait for what it is waiting for instead",
    )


_EXTENDED = re.compile(r"-[A-Za-z]*[EPF][A-Za-z]*|--(?:extended|perl|fixed).*")


def _basic_alternation(command: Simple) -> Hazard | None:
    if command.program != "grep" or any(_EXTENDED.fullmatch(text) for text in command.texts[1:]):
        return None
    pattern = next((text for text in command.texts[1:] if not text.startswith("-")), "")
    if re.search(r"(?<=\w)(?<!\\)\|(?=\w)", pattern):
        return Hazard(
            "grep-alternation",
            "grep without -E takes `|` in its pattern literally; use `grep -E` or `\\|`",
        )
    return None


_RULES: tuple[Callable[[Simple], Hazard | None], ...] = (
    _absolute_directory,
    _never_ends,
    _remote,
    _interactive,
    _long_sleep,
    _basic_alternation,
)


def _begins(texts: tuple[str, ...], calls: Mapping[str, tuple[hazardous.Call, ...]]) -> bool:
    """Is it one of the calls? An option of a call may stand anywhere."""
    if not texts:
        return False
    rest = texts[1:]
    known = calls.get(texts[0], ())
    return any(
        rest[: len(call.words)] == call.words and call.options.issubset(rest) for call in known
    )


def _without_launcher(command: Simple) -> tuple[str, ...]:
    texts = command.texts
    for launcher in hazardous.LAUNCHERS:
        if texts[: len(launcher)] == launcher:
            texts = texts[len(launcher) :]
            while texts and texts[0].startswith("-"):
                texts = texts[1:]
    return texts


def _shown(command: Simple) -> str:
    text = " ".join(" ".join(command.texts).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
