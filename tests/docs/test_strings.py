"""The list of texts for review is up to date."""

from __future__ import annotations

import runpy

from tests.docs.literal import ROOT


def test_list_of_texts_is_current() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "strings.py"))
    listed = (ROOT / "scripts" / "strings.txt").read_text(encoding="utf-8")
    assert listed == script["listing"](), "run python scripts/strings.py"
