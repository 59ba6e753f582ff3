"""The exit statuses with which a shell says that it could not run a command."""

from __future__ import annotations

NOT_EXECUTABLE = 126
NOT_FOUND = 127
