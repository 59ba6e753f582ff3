"""Without pytest-xdist there is nothing to test here."""

from __future__ import annotations

import pytest

pytest.importorskip("xdist")
