"""The aider preset. aider has no machine-readable output, so its lines are read."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import TASKS_NAME
from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.check_files import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

UNATTENDED = (
    "--yes-always",
    "--no-pretty",
    "--no-stream",
    "--no-fancy-input",
    "--no-check-update",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--no-analytics",
    "--no-detect-urls",
    "--no-suggest-shell-commands",
)
# Commits are made by --ralph-commit, and .gitignore belongs to the project.
NO_GIT_CHANGES = ("--no-auto-commits", "--no-dirty-commits", "--no-gitignore")

APPLIED_EDIT = re.compile(r"Applied edit to (.+)")
WRAPPED_EDIT = "Applied edit to "
# `Tokens: 2.3k sent, 1.1k cache hit, 210 received. Cost: $0.01 message, $0.03 session.`
NUMBER = r"\d[\d,]{0,20}(?:\.\d+)?[kM]?"
TOKENS = re.compile(rf"Tokens: (?P<sent>{NUMBER}) sent,.*?\b(?P<received>{NUMBER}) received")
# At the end of that line, or a line of its own if the cache was both read and written.
COST = re.compile(r"(?:^|^Tokens: .* )Cost: \$(\d+(?:\.\d+)?) message")
# The beginning of a line that aider wraps if it is long.
WRAPPED = re.compile(r"Applied edit to $|(?:Tokens|Cost): .* $")
GAVE_UP = re.compile(
    r"Only \d+ reflections allowed|did not conform to the edit format|has hit a token limit"
)
# litellm names its own exceptions; others are errors of the service only if they are API errors.
SERVICE_ERROR = re.compile(
    r"(?:litellm\.(?P<litellm>\w*(?:Error|Exception|Timeout))|(?P<api>\w*APIError))\b"
    r"(?:: )?(?P<text>.*)"
)
NOT_THE_ANSWER = re.compile(
    r"(?:Aider v\d|(?:Main|Weak|Editor) model:|Git repo:|Repo-map:|Added .+ to the chat"
    r"|Retrying in \d|Tokens: |Cost: |Warning: Input is not a terminal"
    r"|Restored previous conversation|Analytics|Update git (?:name|email)"
    r"|HTTPSConnectionPool|https?://aider\.chat/|The API provider )"
)


class Aider(Agent):
    """A session is the file that holds aider's chat history.

    aider needs no map of the repository if it is given the files to edit.
    """

    name = "aider"
    install = "python -m pip install aider-install && aider-install"
    names_session = True

    def arguments(self, launch: Launch) -> list[str]:
        words = ["--message-file", str(launch.prompt_file), *UNATTENDED, *NO_GIT_CHANGES]
        words += ["--input-history-file", os.devnull]
        words += ["--chat-history-file", f"{launch.session}.history"]
        job = launch.job
        if job.session_id:
            words.append("--restore-chat-history")
        if job.files:
            words += self.options.default("--map-tokens", "0")
        words += self.project_arguments
        words += _file_options(job.files, launch.root)
        if job.spec_path:
            words += ["--read", str(Path(job.spec_path, TASKS_NAME))]
        return words

    def read_event(self, event: Event, transcript: Transcript) -> None:
        """Read a line that happens to be JSON as a line of the answer: aider prints no events."""
        self.read_line(json.dumps(event), transcript)

    def read_line(self, line: str, transcript: Transcript) -> None:
        # aider wraps long lines after a space.
        if WRAPPED.match(line):
            transcript.wrapped_line = line
            return
        if WRAPPED.match(transcript.wrapped_line):
            line = transcript.wrapped_line + line
            transcript.wrapped_line = ""

        edit = APPLIED_EDIT.match(line)
        if edit:
            transcript.add_tool("edit", edit[1].strip(), succeeded=True)
            return

        tokens = TOKENS.match(line)
        cost = COST.match(line)
        if tokens or cost:
            _read_usage(tokens, cost, transcript)
            return

        if GAVE_UP.search(line):
            transcript.set_error(line)
            return

        whole_line = transcript.wrapped_line + line
        transcript.wrapped_line = ""
        error = SERVICE_ERROR.match(whole_line)
        if error:
            name = error["litellm"] or error["api"]
            transcript.set_error(f"{name}: {error['text']}")
            if line.endswith(" "):
                transcript.wrapped_line = whole_line
            return

        if not NOT_THE_ANSWER.match(line):
            transcript.append_text(f"{line}\n")


def _file_options(files: Sequence[str], root: Path) -> list[str]:
    """Return the options for the files to edit, and for those that aider may only read."""
    # aider refuses to start if one of several files is a directory.
    files = [path for path in files if not (root / path).is_dir()]
    tests = [path for path in files if is_test(path) and (root / path).exists()]
    if len(tests) == len(files):
        # The task is to write tests.
        tests = []
    words = []
    for path in files:
        # Tests say what is wanted.
        option = "--read" if path in tests else "--file"
        words += [option, f"./{path}" if path.startswith("-") else path]
    return words


def _read_usage(
    tokens: re.Match[str] | None, cost: re.Match[str] | None, transcript: Transcript
) -> None:
    transcript.has_events = True
    usage = {}
    if tokens:
        usage["input_tokens"] = _number(tokens["sent"])
        usage["output_tokens"] = _number(tokens["received"])
    if usage.get("output_tokens"):
        # The service has answered, after an error perhaps.
        transcript.clear_error()
    transcript.add_usage(usage, float(cost[1]) if cost else None)


def _number(text: str) -> int:
    """Return the number in `2.3k`, `1,024` or `10`."""
    text = text.replace(",", "")
    for suffix, factor in (("k", 1_000), ("M", 1_000_000)):
        if text.endswith(suffix):
            return round(float(text[:-1]) * factor)
    return round(float(text))
