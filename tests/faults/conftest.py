"""Runs that are cut off at a few points of each scenario.

`python -m tests.faults` (tox -e faults) cuts them off at many more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.killing import Killing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def killing() -> Iterator[Killing]:
    killing = Killing()
    yield killing
    killing.close()
