"""Write the failed and blocked tasks of a spec to a file, for example for a dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Spec


def pytest_ralph_halted(spec: Spec, failed: tuple[str, ...], blocked: tuple[str, ...]) -> None:
    summary = {"spec": spec.name, "failed": failed, "blocked": blocked}
    Path("halted.json").write_text(json.dumps(summary) + "\n", encoding="utf-8")
