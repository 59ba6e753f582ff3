"""A regular expression that is compiled on first use.

The readers define hundreds of patterns, and one spec needs few of them. Compiling all of them
took a third of the start-up time.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

_compiling = threading.Lock()

if TYPE_CHECKING:

    def regex(text: str, flags: int = 0) -> re.Pattern[str]:
        """Like `re.compile`, but an invalid pattern raises on first use."""

else:

    class regex:  # noqa: N801 - called like the function it stands for
        """Forwards to the compiled pattern, and keeps each attribute it has looked up."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._source = (text, flags)

        def __getattr__(self, name: str) -> Any:
            # The threads of a [P] group need a pattern at once: one of them compiles it for all.
            with _compiling:
                value = getattr(re.compile(*self._source), name)
            setattr(self, name, value)
            return value
