"""Fixing: aider as an executor. It has no machine-readable output, so its lines are read."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start

QUIET = (
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
# Commits and .gitignore belong to the project and to --ralph-commit.
HANDS_OFF = ("--no-auto-commits", "--no-dirty-commits", "--no-gitignore")

APPLIED = re.compile(r"Applied edit to (.+)")
FAILED = re.compile(r"(?:litellm\.)?(\w*(?:Error|Exception|Timeout))\b(?:: )?(.*)")
TOKENS = re.compile(r"Tokens: \S+ sent,.*?\b(\S+) received")
GAVE_UP = re.compile(
    r"Only \d+ reflections allowed|did not conform to the edit format|has hit a token limit"
)
CHATTER = re.compile(
    r"(?:Aider v\d|(?:Main|Weak|Editor) model:|Git repo:|Repo-map:|Added .+ to the chat|Retrying in \d|Tokens: |Cost: "
    r"|Warning: Input is not a terminal|Restored previous conversation|Analytics|Update git (?:name|email)"
    r"|HTTPSConnectionPool|https?://aider\.chat/)"
)


class Aider(Agent):
    """Its session is the file of its chat history. With the files to edit given it needs no map of the repository."""

    name = "aider"
    install = "python -m pip install aider-install && aider-install"
    names_session = True

    def arguments(self, start: Start) -> Sequence[str]:
        restore = ("--restore-chat-history",) if start.resume else ()
        files = [word for path in start.job.files for word in ("--file", path)]
        no_map = self.options.unless(default=("--map-tokens", "0")) if files else ()
        return [
            "--message-file",
            str(start.prompt_file),
            *QUIET,
            *HANDS_OFF,
            "--input-history-file",
            os.devnull,
            "--chat-history-file",
            f"{start.session}.history",
            *restore,
            *no_map,
            *self.model,
            *self.options.args,
            *files,
        ]

    def hear(self, event: Event, talk: Conversation) -> None:
        """It knows no events: a line that happens to be JSON is a line of its answer."""
        self.hear_line(json.dumps(event), talk)

    def hear_line(self, line: str, talk: Conversation) -> None:
        if applied := APPLIED.match(line):
            talk.used("edit", applied[1].strip(), well=True)
        elif tokens := TOKENS.match(line):
            talk.heard = True
            if tokens[1] != "0":
                talk.recover()
        elif GAVE_UP.search(line):
            talk.fail(line)
        elif (failed := FAILED.match(line)) and (
            line.startswith("litellm.") or failed[1].endswith("APIError")
        ):
            talk.fail(f"{failed[1]}: {failed[2]}")
        elif not CHATTER.match(line):
            talk.say(f"{line}\n", more=True)
