"""Which commands an agent may run: exactly those of the Verify field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.base import Job

# A quoted text, an escaped character, an operator between commands, or anything else.
PIECE = re.compile(
    r"""'[^']*' | "(?:\\.|[^"\\])*" | \\. | && | \|\| | [;|\n] | [^'"\\&|;\n]+ | .""",
    re.VERBOSE | re.DOTALL,
)
OPERATORS = frozenset({"&&", "||", ";", "|", "\n"})


def allowed_commands(job: Job) -> tuple[str, ...]:
    """Return the commands of the Verify field, and the commands that these are made of.

    Agents check every part of a command line like `cd web && npm test` on its own.
    """
    commands: dict[str, None] = {}
    for command in job.verify:
        commands[command] = None
        commands.update(dict.fromkeys(_parts(command)))
    return tuple(commands)


def _parts(command: str) -> list[str]:
    parts = [""]
    for piece in PIECE.findall(command):
        if piece in OPERATORS:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]
