"""Programs that only run other programs."""

from __future__ import annotations

from pytest_ralph.shell.programs import load_programs

ORCHESTRATORS = load_programs().orchestrators
