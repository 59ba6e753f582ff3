"""Fixing: what an executor is called on a screen, where its whole command line would be too much."""

from __future__ import annotations

import re

from pytest_ralph.text.inert import one_line
from pytest_ralph.text.width import fitted

LONGEST = 32
# A path that is a word of its own, in quotes or not: `/usr/bin/python`, `./agent.sh`, `"C/my tools/agent"`.
_PATH = re.compile(
    r"""(?<!\S)(?:~?|\.{1,2})/(?:[^\s"'/]+/)*([^\s"'/]+)(?!\S)|(?<!\S)(["'])(?:[^"'/]*/)+([^"'/]+)\2"""
)


def called(executor: str) -> str:
    """`python agent.py` for `"/opt/venv/bin/python" ./agent.py`; a preset is called by its name."""
    return fitted(_PATH.sub(lambda match: match[1] or match[3], one_line(executor)), LONGEST)
