"""Tasks written as XML elements, as plans of GSD have them.

<task type="auto">
  <name>Task 1: Add the parser</name>
  <files>src/parser.py</files>
  <action>Write it.</action>
  <verify><automated>pytest tests/test_parser.py</automated></verify>
  <done>The tests pass.</done>
</task>
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fields import Field
from pytest_ralph.spec.labels import MANUAL
from pytest_ralph.spec.task_line import slug
from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_START = regex(r"[ \t]*<task\b[^<>]*>", re.IGNORECASE)
_END = regex(r"[ \t]*(?:.*>)?[ \t]*</task>", re.IGNORECASE)
_ID_ATTRIBUTE = regex(r"\bid=[\"'](?P<id>[^\"']{1,40})[\"']")
_PLAIN_ID = regex(r"(?:[\w.-]*\w)?")
_VERIFY_START = regex(r"[ \t]*(?:[-*+][ \t]+)?<verify\b[^<>]*>", re.IGNORECASE)
_VERIFY_END = "</verify>"
_FENCE = ("```", "~~~")
_COMMENT = regex(r"<!--.*?-->", re.DOTALL)
_AUTOMATED = regex(r"<automated>(?P<command>.*?)</automated>", re.IGNORECASE | re.DOTALL)
# Elements that hold a field, and the name of the field.
_ELEMENTS = {
    "files": "Files",
    "action": "Do",
    "verify": "Verify",
    "how-to-verify": "Verify",
    "done": "Done when",
}


class XmlTask(NamedTuple):
    """One element: its lines as indexes, the text that names it, its id attribute, its fields."""

    line: int
    end: int
    name: str
    id: str
    fields: tuple[Field, ...]


def find_xml_tasks(lines: Sequence[str], code: Collection[int]) -> Iterator[XmlTask]:
    """Yield the task elements that are not in code blocks and have a name or a Verify.

    Tags that are indented further than the start tag of an open element are part of its text.
    """
    start: int | None = None
    indent = 0
    for number, line in enumerate(lines):
        if number in code or "task" not in line:
            continue
        line_indent = len(line) - len(line.lstrip())
        if start is not None and line_indent > indent:
            continue
        if _START.match(line):
            start = number
            indent = line_indent
        if start is None or not _END.match(line):
            continue
        task = _read(lines, start, number + 1)
        start = None
        is_verified = "Verify" in [field.name for field in task.fields]
        if task.name or is_verified:
            yield task


def verify_element(lines: Sequence[str]) -> str:
    """Return the text of the `<verify>` that starts a line of a task, or an empty string.

    One in a fence or in a comment is an example.
    """
    source = "\n".join(lines)
    if "<verify" not in source:
        return ""
    with_comments, below = _split_behind_last("-->", source)
    lines = (_COMMENT.sub("", with_comments) + below).split("\n")

    in_fence = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(_FENCE):
            in_fence = not in_fence
        if in_fence or not _VERIFY_START.match(line):
            continue
        rest = "\n".join(lines[number:])
        text, closed, _ = rest.partition(_VERIFY_END)
        content = _element(text + closed, "verify")
        return _verify_text(content or "")
    return ""


def _read(lines: Sequence[str], start: int, end: int) -> XmlTask:
    """Read the task whose start and end tags are on these lines."""
    text = "\n".join(lines[start:end])
    start_tag = text.partition(">")[0]
    id_attribute = _ID_ATTRIBUTE.search(start_tag)
    task_id = id_attribute["id"] if id_attribute else ""
    if not _PLAIN_ID.fullmatch(task_id):
        # The id of a fix, and an entry of `.progress.md`, has to be read back as one word.
        task_id = slug(task_id)
    written = _element(text, "name") or _element(text, "what-built") or ""
    task_name = " ".join(written.split())

    fields = []
    for element, name in _ELEMENTS.items():
        content = _element(text, element)
        if content is None:
            continue
        if element == "verify":
            content = _verify_text(content)
        elif element == "how-to-verify":
            content = f"{MANUAL}: {content}"
        fields.append(Field(name, element, content))
    return XmlTask(start, end, task_name, task_id, tuple(fields))


def _element(text: str, name: str) -> str | None:
    """Return the content of the last element `name`, dedented; earlier ones may be examples."""
    elements, _ = _split_behind_last(f"</{name}>", text)
    pattern = rf"<{name}\b[^<>]*>(.*?)</{name}>"
    contents = re.findall(pattern, elements, re.IGNORECASE | re.DOTALL)
    if not contents:
        return None
    return html.unescape(dedent(contents[-1]).strip("\n").strip())


def _verify_text(content: str) -> str:
    """Return a Verify text; commands that are marked as automated become fences."""
    elements, rest = _split_behind_last("</automated>", content)
    fences = []
    for match in _AUTOMATED.finditer(elements):
        command = match["command"].replace("\n", " ").strip()
        if command and not command.startswith("MISSING"):
            fences.append(f"```bash\n{command}\n```")
    if not fences:
        return _AUTOMATED.sub(lambda match: match["command"], elements) + rest
    return "\n".join(fences)


def _split_behind_last(end: str, text: str) -> tuple[str, str]:
    """Split a text behind the last end of a comment or element.

    No start below it has an end, and looking for one to the end of the text takes long if there
    are many.
    """
    position = 0
    for found in re.finditer(re.escape(end), text, re.IGNORECASE):
        position = found.end()
    return text[:position], text[position:]
