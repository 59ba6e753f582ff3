"""Build hook: the README as a package index shows it.

Away from the repository, a relative path leads nowhere. Pictures are left out, and links to pages
of the repository keep only their text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(
    r"^(?:!\[[^\]]*\]\([^)]*\)|<picture>.*?</picture>)\n+", re.MULTILINE | re.DOTALL
)
RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)[^)]*\)")


class IndexReadme(MetadataHookInterface):
    """Sets the `readme` field."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = PICTURE.sub("", text)
        text = RELATIVE_LINK.sub(r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
