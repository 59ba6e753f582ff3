"""Read TOML with the parser of the standard library, or with tomli on Python 3.10."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text. Raise ValueError if it is malformed."""
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    tables: dict[str, Any] = parser.loads(text)
    return tables
