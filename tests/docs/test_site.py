"""The site has a place for every page and every example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from tests.docs.literal import DOCS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


def leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from leaves(part)


def test_every_page_has_a_place_in_the_navigation() -> None:
    nav = YAML(typ="safe").load(ROOT / "mkdocs.yml")["nav"]
    examples = {f"examples/{path.parent.name}.md" for path in ROOT.glob("examples/*/README.md")}

    assert sorted(leaves(nav)) == sorted(
        {*(path.name for path in DOCS.glob("*.md")), *examples, "contributing.md", "changelog.md"}
    )
