"""Take off what a runner of other commands puts around their output.

`pnpm -r`, turbo, lerna and docker compose put a label before every line; CI systems write
annotations; `go test -json` and cargo wrap lines in JSON. What is left is what the command printed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import matching, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The sides of a box drawn around a whole message; the right one may be left out.
BOX_SIDE = "│"
# The ends of such a box that has only a left side.
BOX_ENDS = frozenset("╷╵")
# The first and the last line of a box; the first may hold its title.
BOX_EDGE = re.compile(r"^[╭╰┌└][─━]+(?: (?P<title>[^─━]+?) )?[─━]*[─━╮┐╯┘]$")
# rich draws a box around the frames of a traceback.
RICH_TRACEBACK = re.compile(r"^(?P<indent> *)╭─+ Traceback \(most recent call last\) ─+╮$")
RICH_FRAME = re.compile(r"^(?P<file>\S.*):(?P<line>\d+) in (?P<name>\S.*)$")
# Docker's builder puts the step and the time before every line.
BUILD_STEP = re.compile(r"^#\d+ (?:\d+\.\d+ |(?=ERROR: ))")
# The time, `web-1  | `, `web:build: `, `[web] `, `[TestNG] `, `packages/web test: `,
# `12:00:01 web.1 | `.
LABEL = re.compile(
    r"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}Z)"
    r"|(?P<name>(?:\d\d:\d\d:\d\d )?[A-Za-z][\w.-]*[-_.]\d+ +\|"
    r"|[a-z@][\w@/-]*:[a-z][\w:-]*:"
    r"|(?:packages|apps|libs|services|crates|modules)/[\w@./-]+ [\w:.-]+[:$]"
    r"|\[(?!(?:error|fatal|warn|warning|notice|info|hint|debug|trace)\])"
    r"(?:[a-z][\w:@/.-]* *|[A-Z][a-z]+[A-Z]\w*|\d|[\w. ]+ #\d+-\d+)\]))(?: |$)"
)
FEWEST_LABELS = 3
# lerna and nx put `name: ` before every line of a script, also before npm's echo of its command.
ECHOED_LABEL = re.compile(r"^(?P<name>@?[\w/.-]+): > \S")
# What a runner tells TeamCity about a test, also behind other text on the line.
TEAMCITY_MESSAGE = re.compile(r"##teamcity\[(?P<event>\w+)(?P<values>(?:[^|\]]|\|.)*)\]")
TEAMCITY_VALUE = re.compile(r"(\w+)='((?:[^|']|\|.)*)'")
TEAMCITY_ESCAPE = re.compile(r"\|(?:0x[0-9A-Fa-f]{4}|.)")
GITHUB_COMMAND = re.compile(
    r"^::(?P<level>error|warning)(?: (?P<values>[^:]*?))?::(?P<message>.*)$"
)
GITHUB_VALUE = re.compile(r"(\w+)=([^,]*)")
AZURE_COMMAND = re.compile(r"^##\[(?P<level>error|warning)\](?P<message>.*)$")
# `go test -json` has the printed text in "Output", cargo's JSON in "rendered".
JSON_LINE = re.compile(r'^\{.*"(?:Output|rendered)":.*\}$')
ESCAPED = {"%0A": "\n", "%0D": "", "%25": "%", "%3A": ":", "%2C": ","}


def unwrap(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that the innermost commands printed."""
    lines = [_bare_line(line) for line in _plain_tracebacks(lines)]
    lines = _without_labels(lines)
    unwrapped: list[str] = []
    for line in lines:
        if line.startswith("{") and JSON_LINE.match(line):
            unwrapped.extend(_printed_lines(line))
        elif line.startswith(("::", "##[")):
            unwrapped.extend(_annotation(line))
        elif "##teamcity[" in line:
            unwrapped.extend(_teamcity_lines(line))
        else:
            unwrapped.append(line)
    return unwrapped


def _plain_tracebacks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with the tracebacks that rich prints in the form that Python prints."""
    indent = 0
    is_inside = False
    for line in lines:
        start = RICH_TRACEBACK.match(line)
        if start:
            indent = len(start["indent"])
            is_inside = True
            yield "Traceback (most recent call last):"
            continue
        if line[:indent].strip():
            indent = 0
        text = line[indent:]
        if not is_inside:
            yield text
        elif text.startswith("╰"):
            is_inside = False
        else:
            yield _plain_frame(text.strip("│ "))


def _plain_frame(text: str) -> str:
    """Return a line of rich's box: the place of a frame, or its source."""
    frame = RICH_FRAME.match(text)
    if frame is None:
        return f"    {text}"
    return f'  File "{frame["file"]}", line {frame["line"]}, in {frame["name"]}'


def _bare_line(line: str) -> str:
    if line.startswith("#"):
        line = BUILD_STEP.sub("", line)
    if line in BOX_ENDS:
        return ""
    if line.startswith(BOX_SIDE):
        inside = line.removeprefix(BOX_SIDE).removeprefix(" ")
        return inside.removesuffix(BOX_SIDE).rstrip()
    edge = BOX_EDGE.match(line)
    if edge:
        return f"{edge['title']}:" if edge["title"] else ""
    return line


def _without_labels(lines: list[str]) -> list[str]:
    """Return the lines without the labels that several of them carry."""
    lines = _without_package_names(lines)
    labels = dict(matching(LABEL.match, lines))
    count = Counter(match["name"] for match in labels.values())
    printed = numbers_of(str, lines)
    fewest = FEWEST_LABELS
    if len(lines) >= FEWEST_LABELS and labels.keys() >= set(printed):
        # Every line has a label.
        fewest = 1
    for number, match in labels.items():
        if count[match["name"]] >= fewest:
            lines[number] = lines[number][match.end() :]
    return lines


def _without_package_names(lines: list[str]) -> list[str]:
    names = {match["name"] for _, match in matching(ECHOED_LABEL.match, lines)}
    if not names:
        return lines
    alternatives = "|".join(map(re.escape, names))
    label = re.compile(f"^(?:{alternatives}): ")
    return [label.sub("", line) for line in lines]


def _printed_lines(line: str) -> list[str]:
    """Return the printed text in a line of JSON, or the line itself if it holds none."""
    try:
        event = json.loads(line)
    except ValueError:
        return [line]
    if not isinstance(event, dict):
        return [line]
    message = event.get("message")
    if isinstance(message, dict):
        event = message
    text = event.get("Output", event.get("rendered"))
    if not isinstance(text, str):
        return [line]
    return text.rstrip("\n").split("\n")


def _teamcity_lines(line: str) -> list[str]:
    """Return the other text on a line and what its messages say about failing tests."""
    printed = [TEAMCITY_MESSAGE.sub("", line)]
    for match in TEAMCITY_MESSAGE.finditer(line):
        if match["event"] != "testFailed":
            continue
        values = dict(TEAMCITY_VALUE.findall(match["values"]))
        printed.append("✖ " + _teamcity_text(values.get("name", "")))
        for name in ("message", "details"):
            text = _teamcity_text(values.get(name, ""))
            printed += text.split("\n")
    return [text for text in printed if text.strip()]


def _teamcity_text(value: str) -> str:
    return TEAMCITY_ESCAPE.sub(_teamcity_character, value)


def _teamcity_character(escape: re.Match[str]) -> str:
    if escape[0] in ("|n", "|r"):
        return "\n"
    return escape[0][1:]


def _annotation(line: str) -> list[str]:
    """Return a CI annotation in the form of a compiler's diagnostic, below its title."""
    match = AZURE_COMMAND.match(line)
    if match:
        return [f"{match['level']}: {match['message'].strip()}"]
    match = GITHUB_COMMAND.match(line)
    if match:
        return _github_lines(match)
    return [line]


def _github_lines(command: re.Match[str]) -> list[str]:
    message = command["message"]
    for code, character in ESCAPED.items():
        message = message.replace(code, character)
    lines = message.strip().split("\n")
    level = command["level"]
    values = dict(GITHUB_VALUE.findall(command["values"] or ""))
    diagnostic = f"{level}: {lines[0]}"
    if "file" in values:
        numbers = [values[name] for name in ("line", "col") if values.get(name)]
        place = ":".join([values["file"], *numbers])
        diagnostic = f"{place}: {diagnostic}"
    # A runner gives the name of the test as the title, with the names of its groups.
    title = values.get("title", "")
    if level == "error" and " > " in title:
        return [f"✖ {title}", *lines, diagnostic]
    return [diagnostic, *lines[1:]]
