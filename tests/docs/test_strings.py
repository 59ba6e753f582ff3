"""The list of texts for review follows the program."""

from __future__ import annotations

import runpy

from tests.docs.literal import ROOT

# The pre-commit hook compares exactly. Here a few texts may differ, so that a change of one message
# does not fail an unrelated test.
TOLERATED = 0.05


def test_list_of_texts_is_current() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "strings.py"))
    texts = {*script["listing"]().splitlines()}
    listed = {*(ROOT / "scripts" / "strings.txt").read_text(encoding="utf-8").splitlines()}
    different = texts ^ listed
    assert len(different) <= TOLERATED * len(texts), "run python scripts/strings.py"
