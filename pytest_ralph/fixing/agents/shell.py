"""ShellExecutor: any shell command line as an executor."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.events import Event, parse_line, read_events
from pytest_ralph.fixing.agents.finished_run import FinishedRun, without_prompt
from pytest_ralph.fixing.agents.launch import Launch, is_installed
from pytest_ralph.fixing.agents.live import IdleWatch
from pytest_ralph.fixing.agents.outcome import not_started, read_outcome
from pytest_ralph.fixing.agents.transcript import Transcript
from pytest_ralph.running.runner import RunError
from pytest_ralph.text.bounded import cut_to_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Job, Outcome
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.running.spool import Spool

NAME_LENGTH = 60
BARE_WORD = re.compile(r"[A-Za-z][\w.-]*")
# `Total cost: $0.25` on a line of its own.
COST_LINE = re.compile(
    r"[ \t]*(?:total )?cost[ \t]*[:=][ \t]*\$(\d[\d,]*(?:\.\d+)?)", re.IGNORECASE
)
COST_KEYS = ("total_cost_usd", "cost_usd", "cost")
BUILTINS = frozenset({"exit", "eval", "exec", "source", "true", "false", "test", "return"})


class ShellExecutor:
    """Runs a command line with the shell that also runs Verify commands.

    The task counts as carried out if the command exits with 0 and its output does not say
    otherwise.
    """

    def __init__(self, command: str, kinds: Kinds) -> None:
        self.command = command
        self._kinds = kinds

    @property
    def name(self) -> str:
        """The command line, cut to a length that fits into messages."""
        return cut_to_columns(self.command, NAME_LENGTH)

    def available(self) -> str | None:
        """Return a message if the command is one unknown word, probably a misspelt preset."""
        word = self.command.strip()
        if not BARE_WORD.fullmatch(word):
            return None
        if word in BUILTINS or is_installed(word):
            return None

        from pytest_ralph.fixing.agents import PRESETS

        return f"executor {word!r} is neither a preset ({', '.join(PRESETS)}) nor a command on PATH"

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out `job` by running the command line."""
        idle = IdleWatch(runner.root, job.idle_limit)

        def watch(output: Sequence[Spool]) -> bool:
            return idle.goes_on(sum(spool.size for spool in output))

        try:
            launch = Launch.prepare(job, runner)
            result = launch.run(
                runner, command=self.command, label="executor", on_output=on_output, watch=watch
            )
        except (RunError, OSError) as error:
            return not_started(job, error, self._kinds)

        transcript = Transcript(text=without_prompt(result.stdout.text(), job.prompt))
        read_usage(result.stdout.path, transcript)
        run = FinishedRun(job, result, transcript, runner.root, is_agent=False)
        return read_outcome(run, self._kinds)


def read_usage(output: Path, transcript: Transcript) -> None:
    """Read what an agent behind a script says about its cost, its tokens and its session.

    It does so in JSON objects, one per line or a single one over several lines, in a list of
    events on one line, or in plain words.
    """
    whole = parse_line(" ".join(transcript.text.splitlines()))
    if isinstance(whole, dict):
        _read_event(whole, transcript)
        return
    for line in read_events(output):
        if isinstance(line, dict):
            _read_event(line, transcript)
            continue
        for event in _listed_events(line):
            _read_event(event, transcript)
        cost = COST_LINE.fullmatch(line.rstrip())
        if cost:
            transcript.add_usage(None, float(cost[1].replace(",", "")))


def _listed_events(line: str) -> list[Event]:
    """Return the results in a list that fills a line, as `claude --verbose` prints it."""
    if not line.lstrip().startswith("["):
        return []
    try:
        listed = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [event for event in listed if isinstance(event, dict) and event.get("type") == "result"]


def _read_event(event: Event, transcript: Transcript) -> None:
    transcript.add_usage(event.get("usage"), _cost(event))
    session_id = event.get("session_id")
    if isinstance(session_id, str):
        transcript.session_id = session_id


def _cost(event: Event) -> object:
    for key in COST_KEYS:
        if key in event:
            return event[key]
    return None
