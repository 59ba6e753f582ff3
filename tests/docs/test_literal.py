"""What the other tests of the documentation rely on: a page that is not true is found out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import blocks, follow

if TYPE_CHECKING:
    from pathlib import Path


def page(directory: Path, *lines: str) -> Path:
    path = directory / "page.md"
    path.write_text("\n".join(["# A page", "", *lines, ""]))
    return path


def console(*lines: str) -> tuple[str, ...]:
    return ("```console", *lines, "```")


@pytest.mark.parametrize(
    "lines",
    [
        console("$ echo hello", "hello"),
        console("$ echo 3 passed in 0.52s", "3 passed in 0.07s"),
        console("$ printf 'one\\ntwo\\nthree\\n'", "one", "…ee"),
        console("$ cd /; pwd", "/", "$ pwd", "/"),
        console("$ echo 1 failed; false", "1 failed"),
        console("$ pip install nothing-of-the-kind"),
        (
            '```text title="sub/file.txt"',
            "as written",
            "```",
            *console("$ cat sub/file.txt", "as written"),
        ),
        console("$ echo one \\", "    two", "one two"),
        ("```sh", "cd /", "pwd", "```", "", "```text", "/", "```"),
    ],
)
def test_what_is_true_is_believed(tmp_path: Path, lines: tuple[str, ...]) -> None:
    follow(page(tmp_path, *lines), tmp_path)


@pytest.mark.parametrize(
    "lines",
    [
        console("$ echo hello", "goodbye"),
        ("```sh", "echo hello", "```", "", "```text", "goodbye", "```"),
        console("$ false"),
        console("$ echo 1 failed", "1 failed"),
        console("$ printf 'one\\ntwo\\n'", "two", "one"),
        console("$ exit 0", "$ echo never"),
    ],
)
def test_what_is_not_true_is_found_out(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError):
        follow(page(tmp_path, *lines), tmp_path)


def test_blocks_are_told_apart_by_language_and_title(tmp_path: Path) -> None:
    path = page(
        tmp_path, '````markdown title="tasks.md"', "```sh", "ls", "```", "````", *console("$ ls")
    )

    assert [(block.language, block.title) for block in blocks(path)] == [
        ("markdown", "tasks.md"),
        ("console", ""),
    ]
