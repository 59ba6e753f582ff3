"""The failure report of one attempt as text, written and read back: what failed, what was done, what blocks, what next.

Readers accept what agents make of it: blank lines left out, other bullets, the metadata only, or none of it.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, unescape

from pytest_ralph.failure.failure import CATEGORIES, NO_ERROR, UNKNOWN, Failure
from pytest_ralph.failure.output import clean

HEADING = "Child agent failed:"
LONGEST = 400_000
DONE_MARKS = "✓✔☑√"
BULLETS = "•-*·‣"


def write_report(failure: Failure) -> str:
    """The standard format, with <task_metadata> at its end."""
    retry = "Yes" if failure.retryable else "No"
    steps = [f"  ✓ {_line(step)}" for step in failure.completed_steps] or ["  None"]
    actions = [f"  • {_line(action)}" for action in failure.suggested_actions] or ["  None"]
    parts = [
        f"{HEADING} {_line(failure.error)}",
        f"Category: {failure.category or 'none'}\nDuration: {failure.duration:.1f}s\nRetryable: {retry}",
        "\n".join(["Work completed before failure:", *steps]),
        f"Files modified: {', '.join(map(_line, failure.files_modified)) or 'none'}",
        f"Blocked on: {_line(failure.blocked_on or failure.error)}",
        "\n".join(["Suggested recovery actions:", *actions]),
        _metadata(failure),
    ]
    return "\n\n".join(parts) + "\n"


def _metadata(failure: Failure) -> str:
    fields = {
        "session_id": failure.session_id,
        "status": "failed",
        "failure_category": failure.category or "",
        "retryable": "true" if failure.retryable else "false",
        "failure_kind": failure.kind,
        "failure_type": failure.type,
    }
    lines = (
        f"  <{name}>{escape(_line(value))}</{name}>" for name, value in fields.items() if value
    )
    return "\n".join(["<task_metadata>", *lines, "</task_metadata>"])


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def parse_report(text: str) -> Failure:
    """A Failure with what a report says; what it does not say keeps its default."""
    text = clean(text[-LONGEST:])
    category = extract_category(text)
    message = _after(text, re.escape(HEADING)) or _after(text, "Error")
    return Failure(
        kind=_tag(text, "failure_kind") or "unknown",
        type=_tag(text, "failure_type") or UNKNOWN,
        category=category,
        retryable=is_retryable(text),
        error=message or extract_blocker(text) or NO_ERROR,
        completed_steps=extract_completed_steps(text),
        files_modified=extract_files_modified(text),
        blocked_on=extract_blocker(text),
        suggested_actions=extract_suggested_actions(text),
        duration=_duration(text),
        session_id=_tag(text, "session_id") or "",
        raw_output=text,
    )


def looks_like_report(text: str) -> bool:
    return (
        HEADING in text
        or "<failure_category>" in text
        or bool(re.search(r"^[ \t]*Blocked on:", text, re.MULTILINE))
    )


def extract_category(text: str) -> str | None:
    """The tag wins over the line."""
    found = (_tag(text, "failure_category") or _after(text, "Category") or "").strip().lower()
    found = re.sub(r"[\s-]+", "_", found).removesuffix("_success")
    return found if found in CATEGORIES else None


def is_retryable(text: str) -> bool:
    word = _tag(text, "retryable") or _after(text, "Retryable") or ""
    return word.strip().lower() in {"true", "yes", "y", "✅"}


def says_retryable(text: str) -> bool:
    """Does the text take a side at all?"""
    return bool(_tag(text, "retryable") or _after(text, "Retryable"))


def extract_completed_steps(text: str) -> tuple[str, ...]:
    return _listed(text, r"Work completed before failure", DONE_MARKS)


def extract_files_modified(text: str) -> tuple[str, ...]:
    names = _after(text, "Files modified") or ""
    names = "" if names.strip().lower() in {"none", "n/a", "-"} else names
    return tuple(name.strip("` ") for name in names.split(",") if name.strip("` "))


def extract_blocker(text: str) -> str | None:
    return _after(text, "Blocked on")


def extract_suggested_actions(text: str) -> tuple[str, ...]:
    return _listed(text, r"Suggested (?:recovery )?actions", BULLETS)


def _after(text: str, label: str) -> str | None:
    label = label.rstrip(":").rstrip("\\")
    match = re.search(
        rf"^[ \t>*-]*(?:\*\*)?{label}:?(?:\*\*)?:?[ \t]*(\S.*?)[ \t]*$",
        text,
        re.MULTILINE | re.IGNORECASE,
    )
    return match[1].strip("* ") if match else None


def _tag(text: str, name: str) -> str | None:
    # Ours stands at the end; what looks like it before that is quoted from somebody's output.
    text = text[max(text.rfind("<task_metadata>"), 0) :]
    match = re.search(rf"<{name}>\s*([^<]{{0,400}}?)\s*</{name}>", text, re.IGNORECASE)
    return unescape(match[1]) if match else None


def _duration(text: str) -> float:
    match = re.search(
        r"^[ \t]*Duration:[ \t]*([\d.]{1,12})[ \t]*s", text, re.MULTILINE | re.IGNORECASE
    )
    try:
        return float(match[1]) if match else 0.0
    except ValueError:
        return 0.0


def _listed(text: str, heading: str, marks: str) -> tuple[str, ...]:
    """The marked lines below a heading, up to the next line that is no part of the list."""
    match = re.search(
        rf"^[ \t>*-]*{heading}[ \t]*:(?:\*\*)?[ \t]*$", text, re.MULTILINE | re.IGNORECASE
    )
    items: list[str] = []
    for line in text[match.end() :].splitlines() if match else ():
        words = line.strip()
        if words[:1] and words[0] in marks:
            items.append(words[1:].strip())
        elif words and words.lower() != "none":
            break
    return tuple(items)
