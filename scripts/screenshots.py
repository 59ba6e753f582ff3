"""Pictures for the README: a real run in a terminal, and the HTML report of that run.

    python scripts/screenshots.py                        the quickstart, into docs/images
    python scripts/screenshots.py --project DIR -- pytest --ralph specs

The project is copied first, so that a run that repairs it leaves the original as it was. The
command, to which `--ralph-report` is added, runs in a pseudo-terminal; what it printed is drawn as
SVG and photographed, like the report, by a headless Chromium. Paths of this machine are left out of
both.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
CELL, LINE, MARGIN, BAR = 8.4, 20, 20, 40
FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
BACKGROUND, FOREGROUND = "#16161a", "#d8d8de"
NORMAL = ("#3a3a42", "#ff6b72", "#4ac487", "#eab541", "#7aa2f7", "#bb9af7", "#5ccfe6", "#d8d8de")
BRIGHT = ("#75757f", "#ff8b91", "#6ee7a8", "#ffd479", "#9db8ff", "#d2b8ff", "#8be4f5", "#ffffff")


@dataclass(frozen=True)
class Style:
    color: str = ""
    ground: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False


class Screen:
    """As much of a terminal as test runners use: colours, carriage return, erasing, cursor."""

    TOKEN = re.compile(
        r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b(.)|([\r\n\b\t])"
        r"|([^\x00-\x1f\x7f])"
    )

    def __init__(self) -> None:
        self.lines: list[list[tuple[str, Style]]] = [[]]
        self.wrapped: set[int] = set()
        self.row = self.column = 0
        self.saved = (0, 0)
        self.style = Style()

    def feed(self, text: str) -> None:
        for match in self.TOKEN.finditer(text):
            numbers, command, motion, control, character = match.groups()
            if command:
                self._command(
                    command, [int(number or 0) for number in numbers.lstrip("?").split(";")]
                )
            elif motion:
                self._motion(motion)
            elif control:
                self._control(control)
            elif character:
                self._put(character)

    def _put(self, character: str) -> None:
        if self.column >= COLUMNS:
            self._move_to(self.row + 1)
            self.wrapped.add(self.row)
            self.column = 0
        line = self.lines[self.row]
        line.extend([(" ", Style())] * (self.column - len(line)))
        cells = [(character, self.style)]
        if unicodedata.east_asian_width(character) in "WF":
            cells.append(("", self.style))
        line[self.column : self.column + len(cells)] = cells
        self.column += len(cells)

    def _motion(self, motion: str) -> None:
        if motion == "7":
            self.saved = (self.row, self.column)
        elif motion == "8":
            self.row, self.column = self.saved
        elif motion == "D":
            self._move_to(self.row + 1)

    def _control(self, control: str) -> None:
        if control == "\n":
            self._move_to(self.row + 1)
        elif control == "\t":
            self.column = (self.column // 8 + 1) * 8
        else:
            self.column = 0 if control == "\r" else max(0, self.column - 1)

    def _move_to(self, row: int) -> None:
        self.row = max(0, row)
        self.lines.extend([] for _ in range(self.row + 1 - len(self.lines)))

    def _command(self, command: str, numbers: list[int]) -> None:
        count = numbers[0] or 1
        if command == "m":
            self.style = styled(self.style, numbers)
        elif command in "AB":
            self._move_to(self.row + (count if command == "B" else -count))
        elif command in "CD":
            self.column = max(0, self.column + (count if command == "C" else -count))
        elif command == "G":
            self.column = count - 1
        elif command in "JK":
            self._erase(command, numbers[0])

    def _erase(self, command: str, mode: int) -> None:
        line = self.lines[self.row]
        if mode == 0:
            del line[self.column :]
        else:
            line[: len(line) if mode == 2 else self.column + 1] = []
        if command == "J" and mode == 0:
            del self.lines[self.row + 1 :]


def changed(style: Style, **facts: Any) -> Style:
    return replace(style, **facts)


FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse"}


def styled(style: Style, numbers: list[int]) -> Style:
    """The style after one SGR sequence."""
    rest = list(numbers)
    while rest:
        number = rest.pop(0)
        if number == 0:
            style = Style()
        elif number in FLAGS:
            style = changed(style, **{FLAGS[number]: True})
        elif number == 22:
            style = changed(style, bold=False, dim=False)
        elif number - 20 in FLAGS:
            style = changed(style, **{FLAGS[number - 20]: False})
        else:
            style = colored(style, number, rest)
    return style


def colored(style: Style, number: int, rest: list[int]) -> Style:
    side = "ground" if number // 10 in (4, 10) else "color"
    base = number % 10
    if number in (38, 48):
        return changed(style, **{side: extended(rest)})
    if number in (39, 49):
        return changed(style, **{side: ""})
    if number // 10 in (3, 4) and base < 8:
        return changed(style, **{side: NORMAL[base]})
    if number // 10 in (9, 10) and base < 8:
        return changed(style, **{side: BRIGHT[base]})
    return style


def extended(rest: list[int]) -> str:
    """The colour of `38;5;n` or `38;2;r;g;b`, taken off the numbers that follow."""
    if rest and rest.pop(0) == 2:
        red, green, blue = (rest.pop(0) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = rest.pop(0) if rest else 7
    if number < 16:
        return (NORMAL + BRIGHT)[number]
    if number >= 232:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    cube = number - 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (cube // 36, cube // 6 % 6, cube % 6))


# What pytest says of the machine it runs on is no part of the picture.
HEADER = re.compile(
    r"(platform|cachedir|rootdir|configfile|plugins|metadata|hypothesis profile|testpaths)\b"
)


def plain(line: list[tuple[str, Style]]) -> str:
    return "".join(character for character, _ in line)


def without_header(screen: Screen) -> Iterator[list[tuple[str, Style]]]:
    told = False
    for row, line in enumerate(screen.lines):
        told = bool(HEADER.match(plain(line))) if row not in screen.wrapped else told
        if not told:
            yield line


def svg(screen: Screen, title: str) -> tuple[str, int, int]:
    """The screen in a window, with its width and height."""
    lines = list(without_header(screen))
    while lines and not plain(lines[-1]).strip():
        lines.pop()
    width = round(COLUMNS * CELL + 2 * MARGIN)
    height = BAR + len(lines) * LINE + MARGIN
    dots = "".join(
        f'<circle cx="{MARGIN + 20 * at}" cy="20" r="6" fill="#3a3a42"/>' for at in range(3)
    )
    body = "\n".join(
        part for at, line in enumerate(lines) for part in runs(line, BAR + at * LINE + 14)
    )
    text = f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"
 viewBox="0 0 {width} {height}">
<rect width="{width}" height="{height}" rx="10" fill="{BACKGROUND}"/>{dots}
<g font-family="{FONT}" font-size="14" fill="{FOREGROUND}">
<text x="{width / 2}" y="25" text-anchor="middle" fill="#75757f"
 font-size="13">{escape(title)}</text>
{body}
</g></svg>
"""
    return text, width, height


def runs(line: list[tuple[str, Style]], y: int) -> list[str]:
    """Neighbouring cells of one style as one text, stretched to its cells whatever the font."""
    parts, column = [], 0
    for style, cells in groupby(line, key=lambda cell: cell[1]):
        text = [character for character, _ in cells]
        x, width = MARGIN + column * CELL, len(text) * CELL
        column += len(text)
        color, ground = (
            (style.ground or BACKGROUND, style.color or FOREGROUND)
            if style.inverse
            else (style.color, style.ground)
        )
        if ground:
            parts.append(
                f'<rect x="{x:.1f}" y="{y - 15}" width="{width:.1f}" height="{LINE}" '
                f'fill="{ground}"/>'
            )
        if "".join(text).strip():
            place = f'x="{x:.1f}" y="{y}" textLength="{width:.1f}" xml:space="preserve"'
            parts.append(f"<text {place}{looks(style, color)}>{escape(''.join(text))}</text>")
    return parts


def looks(style: Style, color: str) -> str:
    told = {
        "fill": color,
        "font-weight": "bold" if style.bold else "",
        "font-style": "italic" if style.italic else "",
        "text-decoration": "underline" if style.underline else "",
        "opacity": "0.6" if style.dim else "",
    }
    return "".join(f' {name}="{value}"' for name, value in told.items() if value)


def capture(command: list[str], directory: Path, temporary: str = "/tmp") -> str:
    """What `command` prints on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environ = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "PATH": path_with_python(),
    }
    environ["TMPDIR"] = temporary
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    chunks = []
    # The other end closed reads as an error on Linux and as an end elsewhere.
    try:
        while chunk := os.read(ours, 65536):
            chunks.append(chunk)
    except OSError:
        pass
    process.wait()
    os.close(ours)
    return b"".join(chunks).decode("utf-8", "replace")


def path_with_python() -> str:
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))


def photograph(page: Path, picture: Path, width: int, height: int, *, dark: bool = False) -> None:
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser is None:
        raise SystemExit("screenshots.py: no Chromium found")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(
                    browser,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--no-first-run",
                    "--disable-sync",
                ),
                *(
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--hide-scrollbars",
                ),
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                *("--force-device-scale-factor=2", "--default-background-color=00000000"),
                *(
                    f"--user-data-dir={profile}",
                    f"--window-size={width},{height}",
                    f"--screenshot={picture}",
                ),
                page.as_uri(),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )
    print(f"{picture}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--project", type=Path, default=ROOT / "examples" / "quickstart")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--no-report", action="store_true", help="only the terminal")
    parser.add_argument("command", nargs="*", default=["python", "demo.py"])
    return parser.parse_args()


def main() -> None:
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary) / options.project.resolve().name
        shutil.copytree(options.project, project)
        report = Path(temporary) / "report.html"
        extra = [] if options.no_report else [f"--ralph-report={report}"]
        screen = Screen()
        screen.feed(impersonal(capture([*options.command, *extra], project, temporary), temporary))
        drawing, width, height = svg(screen, " ".join(options.command))
        (options.out / "terminal.svg").write_text(drawing, "utf-8")
        photograph(options.out / "terminal.svg", options.out / "terminal.png", width, height)
        if report.exists():
            report.write_text(impersonal(report.read_text("utf-8"), temporary), "utf-8")
            photograph(report, options.out / "report-light.png", 1440, 1000)
            photograph(report, options.out / "report-dark.png", 1440, 1000, dark=True)


def impersonal(text: str, temporary: str) -> str:
    text = re.sub(rf"{re.escape(temporary)}/(?:[\w-]+/quickstart/)?", "", text)
    text = text.replace(f'"{sys.executable}"', "python").replace(sys.executable, "python")
    return text.replace(str(Path(sys.executable).parent) + os.sep, "")


if __name__ == "__main__":
    main()
