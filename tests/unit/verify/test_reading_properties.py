"""Whatever is in a file: it is read whole, in time, or refused with a SpecError."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.verify.read import read_verify

PARTS = st.sampled_from(
    [
        "- [ ] 1.1 a",
        "- [x] T001 [P] b",
        "  - **Verify**: ",
        "**Verify**:",
        "### Task 2: c",
        "---",
        "ralph:",
        "```",
        "```bash",
        "~~~",
        "`",
        "``",
        "`make`",
        " returns 3",
        " or ",
        "(",
        ")",
        '"',
        "'",
        "\\`",
        "<!--",
        "-->",
        "> ",
        "\t",
        "\n",
        "\r\n",
        "\ufeff",
        "- ",
        "**",
        "é✓",
        "至少 2",
    ]
)
SOURCES = st.one_of(
    st.text(),
    st.lists(PARTS, max_size=40).map("".join),
    st.lists(PARTS, max_size=40).map("\n".join),
)


def reject_lines(message: str) -> None:
    assert "\n" not in message


@given(SOURCES)
@settings(max_examples=150, deadline=None)
def test_any_text_is_kept_as_it_is_or_refused(source: str) -> None:
    try:
        spec = Spec.parse(source)
    except SpecError as error:
        reject_lines(str(error))
        return
    assert spec.source == source
    lines = source.count("\n") + 1
    assert all(1 <= task.line <= task.end_line <= lines for task in spec.tasks)
    assert [task.line for task in spec.tasks] == sorted(task.line for task in spec.tasks)
    assert len({task.name for task in spec.tasks}) == len(spec.tasks)


@given(SOURCES)
@settings(max_examples=150, deadline=None)
def test_any_field_has_checks_or_a_reason(text: str) -> None:
    verify = read_verify(text)
    assert verify.text == text
    assert bool(verify.checks) + bool(verify.manual) == bool(text.strip())
    assert all(check.command.strip() for check in verify.checks)


FIELD = "- [ ] 1.1 a\n  - **Verify**: "
HOSTILE = {
    "backticks": FIELD + "`" * 200_000,
    "brackets": FIELD + "[" * 200_000,
    "parentheses": FIELD + "`make` " + "(" * 200_000,
    "spans": FIELD + "`make` or " * 20_000,
    "quotes": FIELD + "`make` " + "\"'" * 100_000,
    "spaces": "- [ ] 1.1 a" + " " * 200_000 + "[P",
    "markers": "- [ ] 1.1 " + "[P] " * 50_000,
    "heading": "## " + "# " * 100_000,
    "fences": "```x\n~~~~\n" * 30_000,
    "open spans": '- **Verify**: `"\n' * 15_000,
    "numbers": FIELD + "`make` returns " + "1." * 100_000,
    "files": "- [ ] 1.1 a\n  - **Files**: " + "a/" * 100_000,
    "nested quotes": "> " * 5_000 + "\n",
    "boxes": "- [ ] " * 40_000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_more_than_its_length_deserves(source: str) -> None:
    started = time.process_time()
    Spec.parse(source)
    # A tenth of this is normal; anything quadratic takes minutes.
    assert time.process_time() - started < 10
