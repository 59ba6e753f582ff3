"""Write docs/reference.md from the code, so that the two always agree.

python scripts/reference.py           write the page
python scripts/reference.py --check   report whether the page is up to date
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph import hookspecs
from pytest_ralph.failure.kinds import KindRow, Kinds
from pytest_ralph.options import COMMAND_LINE, FRONT_MATTER, INI, OPTIONS, Option
from pytest_ralph.plugin import MARKERS
from pytest_ralph.report import junit
from pytest_ralph.results import Attempt, TaskResult
from pytest_ralph.session.reporting import WORDS
from pytest_ralph.verify import hazards

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pytest_ralph"
EXIT_STATUS = {
    0: "all passed or recovered",
    1: (
        "something failed or is blocked; a spec cannot be read or its plan is invalid; with "
        "`--ralph-lint`, an error was found"
    ),
    2: "interrupted",
    4: "usage error: no such path, a malformed setting, a spec that another run holds",
    5: "nothing collected",
}


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(*rows: tuple[object, ...]) -> Iterator[str]:
    head, *body = rows
    yield f"| {' | '.join(map(cell, head))} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(map(cell, row))} |" for row in body)


def option_row(option: Option) -> tuple[str, str, str, str, str]:
    return (
        command_line_cell(option),
        f"`{option.key}`" if INI in option.where else "–",
        f"`{option.name}`" if FRONT_MATTER in option.where else "–",
        default_cell(option),
        option.help,
    )


def command_line_cell(option: Option) -> str:
    if option.takes_value:
        return f"`{option.flag} {option.metavar}`"
    forms = [option.flag]
    if option.kind == "mode":
        forms += [f"{option.flag}={choice}" for choice in option.choices]
    if option.kind == "switch":
        forms.append(f"--no-ralph-{option.name}")
    return ", ".join(f"`{form}`" for form in forms)


def default_cell(option: Option) -> str:
    if option.kind in ("flag", "mode", "switch"):
        return "off"
    return f"`{option.default}`" if option.default else "–"


def options() -> Iterator[str]:
    head = ("command line", "ini key", "key under `ralph:` in front matter", "default", "meaning")
    of_a_run = [option for option in OPTIONS if COMMAND_LINE in option.where]
    of_a_project = [option for option in OPTIONS if COMMAND_LINE not in option.where]
    yield "## Options"
    yield ""
    yield "The command line beats the front matter, the front matter beats the ini file."
    yield "Front matter alone starts no executor: `recovery` and `execute` there count in a run"
    yield "with `--ralph-recovery` or `--ralph-execute`, or their ini keys."
    yield "A task may have its own time limit (`**Timeout**: 90s`) and executor"
    yield "(`**Executor**: claude --model opus`)."
    yield ""
    yield from table(head, *map(option_row, of_a_run))
    yield ""
    yield "## Settings of a project (not on the command line)"
    yield ""
    yield from table(head[1:], *(option_row(option)[1:] for option in of_a_project))
    yield ""
    yield (
        "`ralph_junit`, `ralph_verify`, `ralph_remote` and `ralph_secrets` take any number of "
        "lines. In the front"
    )
    yield "matter, `verify` maps ids, `[markers]` or phases to commands."


def markers_and_words() -> Iterator[str]:
    yield "## Markers"
    yield ""
    yield from table(
        ("marker", "on"),
        *((f"`{line.partition(':')[0]}`", line.partition(": ")[2]) for line in MARKERS),
    )
    yield ""
    yield "## Status words"
    yield ""
    yield "In addition to those of pytest:"
    yield ""
    yield from table(
        ("word", "letter", "counted as"),
        *((f"`{word[2][0]}`", f"`{word[1]}`", word[0]) for word in WORDS.values()),
    )
    yield ""
    yield "## Exit status"
    yield ""
    yield from table(("status", "meaning"), *EXIT_STATUS.items())


def hooks() -> Iterator[str]:
    yield "## Hooks"
    yield ""
    rows = []
    for name, function in vars(hookspecs).items():
        if name.startswith("pytest_ralph_"):
            first = getattr(function, "pytest_spec", {}).get("firstresult")
            signature = f"{name}({', '.join(inspect.signature(function).parameters)})"
            rows.append(
                (
                    f"`{signature}`",
                    "first result wins" if first else "notification",
                    " ".join((inspect.getdoc(function) or "").split()),
                )
            )
    yield from table(("hook", "use", "meaning"), *rows)


def kind_row(row: KindRow) -> tuple[str, str, str, str, str]:
    category = f"`{row.category}`" if row.category else "–"
    return (
        f"`{row.name}`",
        f"`{row.type}`",
        category,
        "yes" if row.retryable else "no",
        row.guidance,
    )


def kinds() -> Iterator[str]:
    yield "## Kinds of failure"
    yield ""
    head = ("kind", "type", "category", "retryable", "guidance for the next attempt")
    yield from table(head, *map(kind_row, Kinds.load()))


def properties() -> Iterator[str]:
    yield "## JUnit properties"
    yield ""
    failed = Attempt(
        outcome="failed",
        kind="unknown",
        type="UNKNOWN",
        changed=("a.py",),
        trouble="rate limit",
        cost=1.0,
    )
    names = [name for name, _ in junit.properties(TaskResult("1.1", attempts=(failed,)))]
    yield ", ".join(f"`{name}`" for name in names)
    yield ""
    yield "## Hazards that `--ralph-lint` and `-v` warn about"
    yield ""
    found = dict.fromkeys(re.findall(r'Hazard\(\s*"([a-z-]+)"', inspect.getsource(hazards)))
    yield f"{', '.join(f'`{code}`' for code in found)}: [what each means](verify.md#hazards)."


def reference() -> str:
    lines = ["# Reference", "", "Generated from the code by `scripts/reference.py`."]
    for section in (options, markers_and_words, hooks, kinds, properties):
        lines += ["", *section()]
    return "\n".join(lines) + "\n"


def main() -> int:
    page = ROOT / "docs" / "reference.md"
    text = reference()
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.read_text(encoding="utf-8") == text:
        return 0
    print("docs/reference.md is out of date: run scripts/reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
