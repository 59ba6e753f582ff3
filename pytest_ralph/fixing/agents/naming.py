"""Names of executors for the terminal, where a whole command line would not fit."""

from __future__ import annotations

import re

from pytest_ralph.text.inert import one_line
from pytest_ralph.text.width import fitted

LONGEST_NAME = 32

# A path that is a word of its own, quoted or not: `/usr/bin/python`, `./agent.sh`,
# `"C/my tools/agent"`. One of the two groups is its last part.
PATH = re.compile(
    r"""(?<!\S)(?:~?|\.{1,2})/(?:[^\s"'/]+/)*([^\s"'/]+)(?!\S)"""
    r"""|(?<!\S)(["'])(?:[^"'/]*/)+([^"'/]+)\2"""
)


def display_name(executor: str) -> str:
    """Return `python agent.py` for `"/opt/venv/bin/python" ./agent.py`; presets keep their name."""
    without_directories = PATH.sub(lambda path: path[1] or path[3], one_line(executor))
    return fitted(without_directories, LONGEST_NAME)
