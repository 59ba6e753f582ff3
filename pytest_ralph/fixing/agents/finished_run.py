"""An executor run that has ended: its process, and what it said and did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.executor_words import Claims, read_claims
from pytest_ralph.fixing.agents.events import is_banner

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.agents.base import Job
    from pytest_ralph.fixing.agents.transcript import Transcript
    from pytest_ralph.running.runner import CommandResult

LOG_LIMIT = 8 * 1024
LAST_LINES = 8
# A place in a script that its shell or Python names in an error: `agent.sh: line 2: …`.
PLACE_IN_SCRIPT = re.compile(
    r"^(?:\S+: (?=-c: )|\S*/)?(?P<shell>[^/\s:]+): (?:line )?\d+: "
    r'|^ *File "(?:[^"]*/)?(?P<python>[^"/]+)", line \d+',
    re.MULTILINE,
)


@dataclass(frozen=True)
class FinishedRun:
    """An executor run that has ended: its job, its process and what it said and did.

    `is_agent` is true for presets: a preset that prints no answer has not completed its task,
    whatever its exit status.
    """

    job: Job
    result: CommandResult
    transcript: Transcript
    root: Path
    is_agent: bool

    @cached_property
    def answer(self) -> str:
        """The last message, without the prompt that some programs print back."""
        return without_prompt(self.transcript.text, self.job.prompt)

    @cached_property
    def claims(self) -> Claims:
        """What the answer says about the work."""
        return read_claims(self.answer)

    @cached_property
    def log(self) -> str:
        """The end of what was printed on stderr."""
        stderr = self.result.stderr
        if stderr is None:
            return ""
        return without_prompt(stderr.text(0, LOG_LIMIT), self.job.prompt)

    @property
    def worked(self) -> bool:
        """Whether the executor said or did anything; a banner does not count."""
        if self.is_agent:
            return self.transcript.worked
        lines = f"{self.answer}\n{self.log}".splitlines()
        return not all(is_banner(line) for line in lines)

    @property
    def ran_out_of_time(self) -> bool:
        """Whether the run was ended because of its time limit, or because it was idle."""
        return self.result.timed_out or self.result.idle

    @property
    def exit_status(self) -> str:
        """How the run ended, in words."""
        return f"exited with {self.result.exit_code}"

    @property
    def blames_itself(self) -> bool:
        """Whether an error names the executor's own command line or a script in it."""
        own_names = {"-c"}
        for word in self.result.command.split():
            own_names.add(word.rpartition("/")[2])
        for place in PLACE_IN_SCRIPT.finditer(self.log):
            if own_names.intersection(place.groups()):
                return True
        return False


def without_prompt(text: str, prompt: str) -> str:
    """Return `text` without the prompt, which some programs print back."""
    prompt = prompt.strip()
    if not prompt:
        return text
    return text.replace(prompt, "")


def last_lines(text: str) -> str:
    """Return the end of a text, where programs report an error."""
    return "\n".join(text.rstrip().split("\n")[-LAST_LINES:])
