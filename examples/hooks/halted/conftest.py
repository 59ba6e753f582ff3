"""For a dashboard: where work came to a halt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Spec


def pytest_ralph_halted(spec: Spec, failed: tuple[str, ...], blocked: tuple[str, ...]) -> None:
    told = {"spec": spec.name, "failed": failed, "blocked": blocked}
    Path("halted.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
