"""Names of executors that fit a line."""

from __future__ import annotations

import pytest

from pytest_ralph.fixing.agents import display_name


@pytest.mark.parametrize(
    ("executor", "name"),
    [
        ("claude", "claude"),
        ("repair:install", "repair:install"),
        ("./agent.sh", "agent.sh"),
        ("~/bin/agent --fast", "agent --fast"),
        ('"/opt/my venv/bin/python" tools/agent.py', "python tools/agent.py"),
        ("'/usr/bin/env' python3 agent.py", "env python3 agent.py"),
        ('claude -p < "$RALPH_PROMPT_FILE"', 'claude -p < "$RALPH_PROMPT_FILE"'),
        ("sed -i s/wrong/right/ /srv/app/main.py", "sed -i s/wrong/right/ main.py"),
        (
            "/usr/local/bin/agent --model large --temperature 0.1",
            "agent --model large --temperatu…",
        ),
        ("", ""),
    ],
)
def test_the_name_of_an_executor_is_short(executor: str, name: str) -> None:
    assert display_name(executor) == name
