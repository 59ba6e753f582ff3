"""An executor in Python: a table of known mistakes and how to fix them.

A mistake that always needs the same fix needs no agent. For any other mistake the hook returns None,
and the configured executor is asked (`--ralph-executor claude`).
"""

from __future__ import annotations

import re
from pathlib import Path

from pytest_ralph import Failure, Outcome

KNOWN = {
    "is not a valid port": ("port", "8080"),
    "is not a known level": ("level", "info"),
}


def pytest_ralph_execute(task, prompt: str, timeout: float) -> Outcome | None:
    for symptom, (key, value) in KNOWN.items():
        if symptom in prompt:
            return set_value(task, key, value)
    return None


def set_value(task, key: str, value: str) -> Outcome:
    config = Path("server.ini")
    text, count = re.subn(
        rf"^{key} *=.*$", f"{key} = {value}", config.read_text(), flags=re.MULTILINE
    )
    if not count:
        return Outcome(
            completed=False, failure=Failure(task_id=task.id, error=f"{config} has no {key} to set")
        )
    config.write_text(text)
    return Outcome(completed=True, output=f"Approach: set {key} to {value}")
