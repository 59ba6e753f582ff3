"""Hooks of mkdocs: make pages of the examples' READMEs, and adapt links that leave the site.

Pages are written to be read in the repository, where a link may lead to a test or to an example. On
the site a test is a name, and an example a page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(
    r"(`+[^`].*?`+|^```.*?^```$)|(?<!!)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s:]+)\)",
    re.MULTILINE | re.DOTALL,
)


def homes() -> dict[Path, str]:
    """Every file of the repository that is a page of the site, and where."""
    pages = {path: path.name for path in (ROOT / "docs").glob("*.md")}
    pages |= {
        path: f"examples/{path.parent.name}.md" for path in (ROOT / "examples").glob("*/README.md")
    }
    return pages | {
        ROOT / "CONTRIBUTING.md": "contributing.md",
        ROOT / "CHANGELOG.md": "changelog.md",
    }


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, uri in homes().items():
        if source.parent != ROOT / "docs":
            text = moved(source.read_text(encoding="utf-8"), source, uri)
            files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    source = ROOT / "docs" / page.file.src_uri
    return moved(markdown, source, page.file.src_uri) if source.exists() else markdown


def moved(markdown: str, source: Path, uri: str) -> str:
    """The text of `source` as it is on the page `uri`."""
    pages = homes()

    def replace(match: re.Match[str]) -> str:
        verbatim, text, target = match.groups()
        path, _, anchor = (target or "").partition("#")
        if (
            verbatim
            or not path
            or (source.parent / path).resolve().is_relative_to(ROOT / "docs" / "images")
        ):
            return match[0]
        there = pages.get((source.parent / path).resolve())
        if there is None:
            return str(text)
        address = posixpath.relpath(there, posixpath.dirname(uri) or ".")
        if anchor:
            address = f"{address}#{anchor}"
        return f"[{text}]({address})"

    return LINK.sub(replace, markdown)
