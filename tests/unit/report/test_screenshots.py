"""The script that makes the pictures reads a terminal's output as a terminal would."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "screenshots.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = spec_from_file_location("screenshots", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look their module up while it is being made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def screen(script: Any, text: str) -> Any:
    made = script.Screen()
    made.feed(text)
    return made


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a\r\nb", ["a", "b"]),
        ("working…\rdone", ["doneing…"]),
        ("working…\r\x1b[Kdone", ["done"]),
        ("working…\x1b[2K\rdone", ["done"]),
        ("one\r\ntwo\x1b[1A\rONE", ["ONE", "two"]),
        ("one\r\ntwo\x1b[1A\r\x1b[Jthree", ["three"]),
        ("a\tb", ["a       b"]),
        ("abc\b\bX", ["aXc"]),
        ("\x1b[5Gx", ["    x"]),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", ["xy"]),
        (".\x1bD\x1b[1A\x1b7\r\n  a live row\x1b[J\x1b8F", [".F", "  a live row"]),
        (".\x1bD\x1b[1A\x1b7\r\n  gone again\x1b[J\x1b8\x1b7\r\n\x1b[J\x1b8F", [".F", ""]),
        ("漢x", ["漢x"]),
        ("x" * 101, ["x" * 100, "x"]),
    ],
)
def test_the_screen_shows_what_a_terminal_would(
    script: Any, printed: str, shown: list[str]
) -> None:
    assert [script.plain(line) for line in screen(script, printed).lines] == shown


@pytest.mark.parametrize(
    ("sequence", "facts"),
    [
        ("1;31", {"bold": True, "color": "#ff6b72"}),
        ("92", {"color": "#6ee7a8"}),
        ("43", {"ground": "#eab541"}),
        ("38;5;9", {"color": "#ff8b91"}),
        ("38;5;196", {"color": "#ff0000"}),
        ("48;5;232", {"ground": "#080808"}),
        ("38;2;1;2;3", {"color": "#010203"}),
        ("1;22;4", {"underline": True}),
        ("31;0", {}),
        ("31;39", {}),
        ("", {}),
    ],
)
def test_colours_and_styles_are_read(script: Any, sequence: str, facts: dict[str, Any]) -> None:
    ((_, style),) = screen(script, f"\x1b[{sequence}mx").lines[0]
    assert style == script.Style(**facts)


def test_the_picture_is_well_formed(
    script: Any,
) -> None:
    text, _, height = script.svg(
        screen(script, "platform linux\r\n<b> & \x1b[7mx\x1b[0m\r\n\r\n"), "a <title>"
    )
    texts = [
        element.text for element in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert texts == ["a <title>", "<b> & ", "x"]
    assert height == script.BAR + script.LINE + script.MARGIN


def test_a_command_runs_on_a_terminal(script: Any, tmp_path: Path) -> None:
    shown = script.capture(["sh", "-c", "test -t 1 && stty size <&1 && tput setaf 1"], tmp_path)
    assert shown.startswith("50 100")
    assert "\x1b[31m" in shown
