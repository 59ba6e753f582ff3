"""The page on executors shows the command lines that the presets really make."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pytest_ralph.fixing.agents import PRESETS, make_executor
from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.base import Job
from pytest_ralph.fixing.agents.launch import Launch
from tests.docs.literal import DOCS, blocks
from tests.integration.executors.agents import AGENTS
from tests.integration.executors.scenarios import SCENARIOS
from tests.integration.executors.table import WRONG, read_cells

PAGE = DOCS / "executors.md"
SHOWN = {
    name: [block.text.splitlines() for block in blocks(PAGE) if block.language == "sh"][number]
    for number, name in enumerate(PRESETS)
}
NAMES = {
    "PROMPT_FILE.prompt": "PROMPT_FILE",
    "PROMPT_FILE.history": "HISTORY",
    "ralph-PROMPT_FILE": "NAME",
}


def called(name: str, session: str = "", **options: str) -> str:
    preset = make_executor(name, options)
    assert isinstance(preset, Agent)
    job = Job(task_id="1.3.1", prompt="PROMPT", session_id=session, files=("FILE",))
    launch = Launch(job, Path("PROMPT_FILE.prompt"))
    words = [*preset.program, *preset.arguments(launch)]
    before = "".join(f"{key}={value} " for key, value in preset.environment(launch).items())
    return before + " ".join(NAMES.get(word, shlex.quote(word)) for word in words)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_called_as_the_page_says(name: str) -> None:
    shown = SHOWN[name][-1]

    assert called(name) == " ".join(re.sub(r"\[.*?\]", "", shown).split())
    longest = shown.replace("[", "").replace("]", "")
    continued = called(name, "SESSION", model="MODEL", args="MORE")
    assert sorted(
        continued.replace("SESSION.history", "HISTORY").replace("ralph-SESSION", "NAME").split()
    ) == sorted(longest.split())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_installed_as_the_page_says(name: str) -> None:
    preset = make_executor(name)
    assert isinstance(preset, Agent)

    told = SHOWN[name][0] if len(SHOWN[name]) > 1 else PAGE.read_text()

    assert preset.install.removeprefix("see ") in told


def test_the_table_has_every_agent_and_scenario() -> None:
    cells = read_cells(PAGE)
    rows = {row for row, _ in cells}

    assert {scenario.title for scenario in SCENARIOS.values()} < rows
    assert len(SCENARIOS) >= 18
    assert {agent for _, agent in cells} == set(AGENTS)
    assert len(AGENTS) == 6
    for place, value in cells.items():
        assert value not in ("", WRONG), place
