"""Documentation taken at its word: the files and commands of a page, run as they stand there.

A fenced block with a title is a file. In a `console` block a line that starts with `$ ` is a
command, and what follows it is its output. An `sh` block has one command per line, and a `text`
block right after it is the output of the last one. Output is compared line by line, as far as it
is shown; `…` stands for anything. A command must succeed unless its output has `ERROR: …`,
`1 failed` or `1 error`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<info>.*)\n(?P<text>(?:.*\n)*?)(?P=indent)(?P=fence)\n",
    re.MULTILINE,
)
TITLE = re.compile(r'title="([^"]+)"')
# What the tests' own environment has installed already.
INSTALLS = re.compile(r"(?:python3? -m )?pip install |python3? -m venv |\. \.venv/bin/activate")
FAILURE = re.compile(r"^ERROR: |\b[1-9]\d* (?:failed|errors?)\b")
MARK = "\x1e"
TIME_LIMIT = 120


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str


@dataclass(frozen=True)
class Step:
    """One command and what it is said to print."""

    command: str
    printed: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        return any(FAILURE.search(line) for line in self.printed)


def blocks(page: Path) -> Iterator[Block]:
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        title = TITLE.search(match["info"])
        text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        yield Block(match["info"].strip().partition(" ")[0], title[1] if title else "", text)


def steps(block: Block) -> list[Step]:
    """The commands of a console block. A line that ends with a backslash goes on."""
    found: list[Step] = []
    for line in block.text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:].partition("  #")[0].strip()))
        elif line.strip() and found:
            found[-1] = Step(found[-1].command, (*found[-1].printed, line.rstrip()))
    return [step for step in found if not INSTALLS.match(step.command)]


def commands(block: Block) -> list[Step]:
    """Return the commands of an `sh` block."""
    lines = [line for line in block.text.splitlines() if line.strip()]
    return [Step(line) for line in lines if not INSTALLS.match(line)]


def follow(page: Path, directory: Path) -> int:
    """Do what the page says, in order, in the directory; how many commands that was."""
    count = 0
    waiting: list[Step] = []
    previous = ""
    for block in blocks(page):
        if block.language == "sh" and not block.title:
            waiting += commands(block)
            count += len(commands(block))
        elif block.language == "text" and previous == "sh" and not block.title and waiting:
            printed = tuple(line for line in block.text.splitlines() if line.strip())
            waiting[-1] = Step(waiting[-1].command, printed)
        elif block.title:
            directory = run(waiting, directory)
            waiting = []
            write(directory / block.title, block.text)
        elif block.language == "console":
            waiting += steps(block)
            count += len(steps(block))
        previous = "" if block.title else block.language
    run(waiting, directory)
    return count


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(steps: list[Step], directory: Path) -> Path:
    """Run all commands in one shell and compare what each prints; return where that ends."""
    script = "\n".join((*(f"{step.command}\nprintf '{MARK}%d{MARK}' $?" for step in steps), "pwd"))
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RALPH_", "PYTEST_"))
    }
    environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environ.get("PATH", "")))
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    *pieces, there = ended.stdout.split(MARK)
    assert len(pieces) == 2 * len(steps), f"the shell ended early:\n{ended.stdout}"
    for step, output, status in zip(steps, pieces[::2], pieces[1::2], strict=True):
        told = f"$ {step.command}\n{output}(exit status {status})"
        assert (status != "0") == step.fails, told
        missing = first_not_printed(step.printed, output)
        assert missing is None, f"not printed: {missing}\n\n{told}"
    return Path(there.strip())


def first_not_printed(wanted: tuple[str, ...], output: str) -> str | None:
    """The first line that does not come, in its turn, among those that were printed."""
    printed = iter([plain(line) for line in output.splitlines()])
    for line in wanted:
        form = re.compile(re.escape(plain(line)).replace("…", ".*"))
        if not any(form.fullmatch(candidate) for candidate in printed):
            return line
    return None


def plain(line: str) -> str:
    """Without what differs from run to run and from terminal to terminal."""
    line = re.sub(r"\b\d+\.\d+ ?s\b", "0.01s", line.rstrip())
    return re.sub(r"([=_])\1{3,}", r"\1\1\1", re.sub(r"  +", "  ", line))
