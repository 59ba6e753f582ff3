"""Links between pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import DOCS, FENCE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [
    *ROOT.glob("*.md"),
    *DOCS.glob("*.md"),
    *ROOT.glob("examples/**/README.md"),
    *ROOT.glob(".github/**/*.md"),
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|\bsrc(?:set)?=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def links(page: Path) -> Iterator[str]:
    text = CODE.sub("``", FENCE.sub("", page.read_text(encoding="utf-8")))
    found = (link or source for link, source in LINK.findall(text))
    yield from (
        target for target in found if "://" not in target and not target.startswith("mailto:")
    )


def anchors(page: Path) -> set[str]:
    """As GitHub and mkdocs make them of headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())
        for title in HEADING.findall(text)
    }


def is_dead(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    return not there.exists() or bool(
        anchor and there.suffix == ".md" and anchor not in anchors(there)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if is_dead(page, target)] == []


def test_every_page_can_be_reached_from_the_first_one() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        found = ((page.parent / target.partition("#")[0]).resolve() for target in links(page))
        waiting += [
            path
            for path in found
            if path.suffix == ".md" and path.parent == DOCS and path not in reached
        ]

    assert sorted(path.name for path in {*DOCS.glob("*.md")} - reached) == []
