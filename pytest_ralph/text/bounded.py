"""Text: head and tail of what is too long, with a line that says how much is missing."""

from __future__ import annotations

# A single line longer than this is cut too: one 1 MB line is as much to read as 10,000 lines.
WIDEST = 2_000


def bounded(text: str, head: int, tail: int, *, widest: int = WIDEST) -> str:
    """The first `head` and the last `tail` lines of `text`, no line wider than `widest`."""
    lines = text.splitlines()
    if len(lines) <= head + tail + 1:
        return "\n".join(narrowed(line, widest) for line in lines)
    first = [narrowed(line, widest) for line in lines[:head]]
    last = [narrowed(line, widest) for line in lines[len(lines) - tail :]]
    return "\n".join([*first, f"… {len(lines) - head - tail:,} lines left out …", *last])


def narrowed(line: str, widest: int) -> str:
    """One line, its middle replaced by a count where it is too wide."""
    if len(line) <= widest:
        return line
    kept = widest // 2
    return f"{line[:kept]}… {len(line) - 2 * kept:,} characters left out …{line[len(line) - kept :]}"
