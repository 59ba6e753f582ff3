"""tox also finds the Pythons that pyenv keeps, which are on no PATH."""

from __future__ import annotations

import os
from pathlib import Path

VERSIONS = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"

# Before pyenv's own shims: those of versions that are not active end with an error.
found = sorted(str(directory) for directory in VERSIONS.glob("3.1[0-9]*/bin"))
known = os.environ.get("PATH", "").split(os.pathsep)
os.environ["PATH"] = os.pathsep.join(
    [*(directory for directory in found if directory not in known), *known]
)
