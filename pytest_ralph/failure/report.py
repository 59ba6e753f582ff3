"""The failure report of one attempt as text, written and read back.

The readers accept what agents make of it: blank lines left out, other bullets, the metadata only,
or none of it.
"""

from __future__ import annotations

import re
from html import escape, unescape

from pytest_ralph.failure.failure import CATEGORIES, NO_ERROR, UNKNOWN, Failure
from pytest_ralph.failure.output import clean

HEADING = "Child agent failed"
METADATA = "<task_metadata>"
LONGEST = 400_000
CHECK_MARKS = "✓✔☑√"
BULLETS = "•-*·‣"
NOTHING = {"none", "n/a", "-"}
YES = {"true", "yes", "y", "✅"}
BLOCKED = re.compile(r"^[ \t]*Blocked on:", re.MULTILINE)
DURATION = re.compile(
    r"^[ \t]*Duration:[ \t]*(\d{1,9}(?:\.\d{0,9})?)[ \t]*s", re.MULTILINE | re.IGNORECASE
)


def write_report(failure: Failure) -> str:
    """Return the report in the standard format, with <task_metadata> at its end."""
    steps = [f"  ✓ {_one_line(step)}" for step in failure.completed_steps]
    actions = [f"  • {_one_line(action)}" for action in failure.suggested_actions]
    files = ", ".join(map(_one_line, failure.files_modified))
    facts = [
        f"Category: {failure.category or 'none'}",
        f"Duration: {failure.duration:.1f}s",
        f"Retryable: {'Yes' if failure.retryable else 'No'}",
    ]
    sections = [
        f"{HEADING}: {_one_line(failure.error)}",
        "\n".join(facts),
        "\n".join(["Work completed before failure:", *(steps or ["  None"])]),
        f"Files modified: {files or 'none'}",
        f"Blocked on: {_one_line(failure.blocked_on or failure.error)}",
        "\n".join(["Suggested recovery actions:", *(actions or ["  None"])]),
        _metadata(failure),
    ]
    return "\n\n".join(sections) + "\n"


def _metadata(failure: Failure) -> str:
    fields = {
        "session_id": failure.session_id,
        "status": "failed",
        "failure_category": failure.category or "",
        "retryable": "true" if failure.retryable else "false",
        "failure_kind": failure.kind,
        "failure_type": failure.type,
    }
    lines = [METADATA]
    for name, value in fields.items():
        text = escape(_one_line(value), quote=False)
        lines.append(f"  <{name}>{text}</{name}>")
    lines.append("</task_metadata>")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def parse_report(text: str) -> Failure:
    """Return a Failure with what a report says; what it does not say keeps its default."""
    text = clean(text[-LONGEST:])
    blocker = extract_blocker(text)
    message = _value_of(text, HEADING) or _value_of(text, "Error")
    return Failure(
        kind=_tag(text, "failure_kind") or "unknown",
        type=_tag(text, "failure_type") or UNKNOWN,
        category=extract_category(text),
        retryable=bool(is_retryable(text)),
        error=message or blocker or NO_ERROR,
        completed_steps=extract_completed_steps(text),
        files_modified=extract_files_modified(text),
        blocked_on=blocker,
        suggested_actions=extract_suggested_actions(text),
        duration=_duration(text),
        session_id=_tag(text, "session_id") or "",
        raw_output=text,
    )


def looks_like_report(text: str) -> bool:
    """Return whether a text contains a report or a part that only reports have."""
    if f"{HEADING}:" in text or "<failure_category>" in text:
        return True
    return BLOCKED.search(text) is not None


def extract_category(text: str) -> str | None:
    """Return the category; the tag wins over the line."""
    found = _tag(text, "failure_category") or _value_of(text, "Category") or ""
    words = re.sub(r"[\s-]+", "_", found.strip().lower())
    name = words.removesuffix("_success")
    return name if name in CATEGORIES else None


def is_retryable(text: str) -> bool | None:
    """Return whether the report says that trying again can help; None if it does not say."""
    word = _tag(text, "retryable") or _value_of(text, "Retryable")
    return word.strip().lower() in YES if word else None


def extract_completed_steps(text: str) -> tuple[str, ...]:
    """Return the steps that were completed before the failure."""
    return _listed(text, r"Work completed before failure", CHECK_MARKS)


def extract_files_modified(text: str) -> tuple[str, ...]:
    """Return the files that were modified before the failure."""
    listed = _value_of(text, "Files modified") or ""
    if listed.lower() in NOTHING:
        return ()
    names = [name.strip("` ") for name in listed.split(",")]
    return tuple(filter(None, names))


def extract_blocker(text: str) -> str | None:
    """Return what the work is blocked on."""
    return _value_of(text, "Blocked on")


def extract_suggested_actions(text: str) -> tuple[str, ...]:
    """Return the recovery actions that the report suggests."""
    return _listed(text, r"Suggested (?:recovery )?actions", BULLETS)


def _value_of(text: str, label: str) -> str | None:
    """Return what stands behind a label at the start of a line."""
    match = re.search(
        rf"^[ \t>*-]*(?:\*\*)?{label}:?(?:\*\*)?:?[ \t]*(?!:[ \t]*$)(\S.*?)[ \t]*$",
        text,
        re.MULTILINE | re.IGNORECASE,
    )
    return match[1].strip("* ") if match else None


def _tag(text: str, name: str) -> str | None:
    # The metadata stand at the end; what looks like them before is quoted from someone's output.
    start = max(text.rfind(METADATA), 0)
    tag = re.compile(rf"<{name}>\s*([^<]{{0,400}}?)\s*</{name}>", re.IGNORECASE)
    match = tag.search(text, start)
    return unescape(match[1]) if match else None


def _duration(text: str) -> float:
    match = DURATION.search(text)
    return float(match[1]) if match else 0.0


def _listed(text: str, heading: str, marks: str) -> tuple[str, ...]:
    """Return the marked lines below a heading, up to a line that is not part of the list."""
    match = re.search(
        rf"^[ \t>*-]*{heading}[ \t]*:(?:\*\*)?[ \t]*$", text, re.MULTILINE | re.IGNORECASE
    )
    if not match:
        return ()
    items: list[str] = []
    for line in text[match.end() :].splitlines():
        words = line.strip()
        if words.startswith(tuple(marks)):
            items.append(words[1:].strip())
        elif words and words.lower() != "none":
            break
    return tuple(items)
