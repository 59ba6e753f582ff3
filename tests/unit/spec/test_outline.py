"""The outline agrees with another CommonMark parser, except where a spec would be cut short."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_ralph.spec.outline import read_outline

SAMPLES = sorted((Path(__file__).parents[2] / "samples" / "specs").glob("*.md"))
# What a fence of ours may hold that CommonMark would end it for, so that the two readings differ on
# purpose.
CUT_SHORT = {"awkward"}

LINES = st.lists(
    st.sampled_from(
        [
            "- [ ] 1.1 box",
            "  - [x] 1.1.1 nested box",
            "\t- [ ] 1.2 tabbed box",
            "\t\t- [ ] 1.3 twice tabbed box",
            "* [X] star",
            "+ [ ] plus",
            "10. [ ] numbered",
            "## Heading",
            "### Task 1.1: heading",
            "plain text",
            "  indented text",
            "    deeply indented",
            "> quoted",
            "> - [ ] quoted box",
            "",
            "---",
            "- plain item",
            "  - **Verify**: `true`",
            "é – ünïcode ✓",
        ]
    ),
    max_size=25,
)


def oracle(source: str) -> list[tuple[str, int]]:
    """Kind and first line of unquoted checkboxes and headings, as markdown-it reads them."""
    found: list[tuple[str, int]] = []
    quotes = 0
    lines = source.split("\n")
    for token in MarkdownIt("commonmark").parse(source):
        quotes += token.nesting if token.type.startswith("blockquote") else 0
        if quotes or token.map is None:
            continue
        line = token.map[0]
        if token.type == "heading_open":
            found.append(("heading", line))
        elif token.type == "list_item_open" and "[" in lines[line][: lines[line].find("[") + 1]:
            found.append(("item", line))
    return found


def ours(source: str) -> list[tuple[str, int]]:
    return [
        (block.kind, block.line)
        for block in read_outline(source).blocks
        if block.kind in ("item", "heading")
    ]


@given(LINES)
@settings(deadline=None)
def test_boxes_and_headings_are_where_another_parser_sees_them(lines: list[str]) -> None:
    source = "\n".join(lines)
    assert ours(source) == oracle(source)


@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.stem not in CUT_SHORT], ids=lambda path: path.stem
)
def test_samples_have_the_outline_another_parser_sees(sample: Path) -> None:
    body = sample.read_text(encoding="utf-8")
    front = body.startswith("---")
    skip = body.split("\n").index("---", 1) + 1 if front else 0
    text = "\n" * skip + "\n".join(body.split("\n")[skip:])
    found = [
        (block.kind, block.line)
        for block in read_outline(body, skip).blocks
        if block.kind != "code"
    ]
    assert found == oracle(text)


def test_a_tab_indented_item_is_on_its_own_line() -> None:
    outline = read_outline("- [ ] 1.1 a\n\t- [ ] 1.2 b\n\t- [ ] 1.3 c\n")
    assert [block.line for block in outline.blocks] == [0, 1, 2]


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        (
            "- [ ] 1\n  ```bash\n  cat <<EOF\n## Head\n- [ ] box\nEOF\n  ```\n- [ ] 2\n",
            {1, 2, 3, 4, 5, 6},
        ),
        ("- [ ] 1\n  ```bash\n  cat <<'END'\n- [ ] 9.9 box\nEND\n  ```\n", {1, 2, 3, 4, 5}),
        ("- [ ] 1\n  ~~~\nout\n  ~~~\n- [ ] 2\n", {1, 2, 3}),
        ("````md\n```bash\n- [ ] 1.1 x\n```\n````\n", {0, 1, 2, 3, 4}),
        ("<!--\n\n- [ ] 1.1 x\n-->\n- [ ] 1.2 y\n", {0, 1, 2, 3}),
    ],
    ids=["heredoc", "heredoc with an id", "tildes", "nested fences", "comment"],
)
def test_code_and_comments_hide_what_is_in_them(source: str, inside: set[int]) -> None:
    outline = read_outline(source)
    assert outline.masked == inside
    assert not outline.unclosed


@pytest.mark.parametrize(
    ("source", "line", "tasks"),
    [
        ("- [ ] 1.1 a\n  ```bash\n  x\n- [ ] 1.2 b\n  ```bash\n  y\n  ```\n", 1, 2),
        ("- [ ] 1.1 a\n  ```bash\n  x\n- [ ] 1.2 b\n  ```\n", 1, 2),
        ("- [ ] 1.1 a\n\n```bash\nx\n", 2, 1),
    ],
    ids=["next fence is another", "next task begins", "end of file"],
)
def test_a_fence_that_nothing_closes_is_reported_and_swallows_no_numbered_task(
    source: str, line: int, tasks: int
) -> None:
    outline = read_outline(source)
    assert line in outline.unclosed
    assert sum(block.kind == "item" for block in outline.blocks) == tasks


def test_a_code_span_in_a_quotation_may_run_over_headings_and_blank_lines() -> None:
    source = (
        '- [ ] 1.1 a\n  - **Verify**: `say "one\n\n## two\n- [ ] 2.2 three" && echo`\n- [ ] 1.2 b\n'
    )
    outline = read_outline(source)
    assert [block.line for block in outline.blocks] == [0, 5]
    assert outline.blocks[0].end == 5


def test_a_here_document_in_a_code_span_of_a_step_hides_what_is_in_it() -> None:
    span = (
        "`pr --body \"$(cat <<'EOF'\n## Why\n- **New**: the `x` flag\n\n- [ ] 9.9 odd \" quote\n"
        'EOF\n)"`'
    )
    source = f"- [ ] 1.1 a\n  - **Do**:\n    1. Open: {span}\n  - **Verify**: `y`\n- [ ] 1.2 b\n"
    outline = read_outline(source)
    assert [block.line for block in outline.blocks] == [0, 10]
    assert outline.blocks[0].end == 10


@pytest.mark.parametrize("stop", ["  - **Verify**: `x`", "  ```"])
def test_a_code_span_that_is_not_closed_before_the_next_field_hides_nothing(stop: str) -> None:
    outline = read_outline(f'- [ ] 1.1 a\n  - Say `tool "one\n{stop}\n- [ ] 1.2 b"`\n')
    assert 3 not in outline.masked
    assert [block.line for block in outline.blocks if block.kind == "item"] == [0, 3]
