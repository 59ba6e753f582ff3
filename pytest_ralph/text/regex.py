"""Text: a regular expression that is compiled when it is first used.

A reader knows hundreds of forms and meets few of them in one spec; to compile them all took a third of our start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def regex(text: str, flags: int = 0) -> re.Pattern[str]:
        """As `re.compile`, which an error in the pattern waits for too."""

else:

    class regex:  # noqa: N801 - called like the function it stands for
        """Stands for its compiled pattern: whatever is asked of it is the pattern's, and then its own."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._source = (text, flags)

        def __getattr__(self, name: str) -> Any:
            value = getattr(re.compile(*self._source), name)
            setattr(self, name, value)
            return value
