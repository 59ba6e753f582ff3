"""The page on other plugins lists every plugin that `tox run -e neighbours` tries."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.neighbours.matrix import BEGIN, END
from tests.integration.neighbours.plugins import BATCHES

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


def test_every_plugin_that_is_tried_is_listed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    listed = re.findall(r"^\| (\S+) \S+ \|", table, re.MULTILINE)
    tried = [plugin.name for plugins in BATCHES.values() for plugin in plugins]
    assert sorted(listed) == sorted(tried)
    assert len(tried) >= 40
