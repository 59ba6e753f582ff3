"""A document read again only around what was put in says what it says when all of it is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.spec import edit
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.splice import spliced

SAMPLES = sorted((Path(__file__).parents[2] / "samples" / "specs").glob("*.md"))
FIX = "- [ ] {id}.77 [FIX {id}] Fix: it\n  - **Do**: Address the error: it\n  - **Verify**: `true`"
TASK = (
    "- [ ] 1.{n} Task {n}\n  - **Do**: Something\n  - **Files**: `a{n}`\n"
    "  - **Verify**: `test -e a{n}`\n\n"
)
PLAIN = (
    "# Tasks\n\n## Phase 1: One\n\n"
    + "".join(TASK.format(n=n) for n in range(1, 6))
    + "## Notes\n\nOurs.\n"
)
PIECES = (
    TASK.format(n=1),
    TASK.format(n=2),
    TASK.format(n=2),
    "- [x] 3.1 Done\n  - **Verify**: `true`\n",
    "* [ ] 4.1 Star\n  * **Do**: x\n",
    "  - [ ] 1.1.9 Nested\n    - **Verify**: `true`\n",
    "## Phase 2: Two\n",
    "### Task 5.1: Heading\n\n**Verify**: `true`\n\n",
    "- [ ] 6.1 Beside\n- **Do**: x\n- **Verify**: `true`\n",
    "\n",
    "```\n",
    "  ```bash\n",
    "~~~\n",
    "<!--\n",
    "-->\n",
    "> quoted\n",
    "text\n",
    "    code\n",
    "  - **Verify**: `bash -c 'a\n",
    "b'`\n",
    "1. [ ] 7.1 Numbered\n   - **Verify**: `true`\n",
    "---\n",
    "===\n",
    "\t- [ ] 8.1 Tab\n",
    "\r\n",
    "<div>\n",
)
ENDS = (
    "",
    "\n  - **Note**: more",
    "\nat the margin",
    "\n\n  text",
    "\n  ```\n  x\n  ```",
    "\n  ```",
    "\n  ~~~",
    "\n  - odd ` tick",
    "\n<!--",
    "\n  <!--",
    "\n- [ ] 9.9 Another\n  - **Verify**: `true`",
    "\n## Phase 9",
    "\n\n    code",
)


def both(source: str, at: int, block: str = FIX) -> tuple[Spec | None, Spec]:
    spec = Spec.parse(source)
    original = spec.tasks[at]
    put_in = edit.insertion(spec, original, block.format(id=original.id))
    text = edit.set_total(put_in.into(source), len(spec.tasks) + 1)
    quick = spliced(spec, original, put_in, text)
    return quick, Spec.parse(text)


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize(
    "source", [PLAIN, PLAIN.replace("\n", "\r\n"), f"---\ntotal_tasks: 5\n---\n{PLAIN}"]
)
def test_a_plain_document_is_read_again_only_around_the_new_task(source: str, at: int) -> None:
    quick, whole = both(source, at)
    assert quick == whole
    assert len(whole.tasks) == 6


def test_a_second_fix_stands_behind_the_first() -> None:
    quick, _ = both(PLAIN, 2)
    assert quick is not None
    again, whole = both(quick.source, 2, FIX.replace("77", "78"))
    assert again == whole
    assert [task.id for task in whole.tasks][2:5] == ["1.3", "1.3.77", "1.3.78"]


@pytest.mark.parametrize(
    "source",
    [
        PLAIN.replace("## Notes", "```"),
        PLAIN.replace("- [ ] 1.4", "  - [ ] 1.4"),
        PLAIN.replace("- [ ] 1.2", "## Task 1.2: x [ ]"),
        PLAIN.replace("- [ ] 1.3 Task 3", "- [ ] 1.3.77 Task 3"),
    ],
)
def test_what_is_not_plain_is_left_to_be_read_as_a_whole_or_comes_to_the_same(source: str) -> None:
    for at in range(len(Spec.parse(source).tasks)):
        quick, whole = both(source, at)
        assert quick is None or quick == whole


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_come_to_the_same(sample: Path) -> None:
    source = sample.read_text(encoding="utf-8")
    for at in range(len(Spec.parse(source).tasks)):
        quick, whole = both(source, at)
        assert quick is None or quick == whole


@settings(max_examples=150)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=12),
    end=st.sampled_from(ENDS),
    data=st.data(),
)
def test_whatever_a_document_is_made_of_it_comes_to_the_same(
    pieces: list[str], end: str, data: st.DataObject
) -> None:
    source = "".join(pieces)
    count = len(Spec.parse(source).tasks)
    if count:
        quick, whole = both(source, data.draw(st.integers(0, count - 1)), FIX + end)
        assert quick is None or quick == whole


def test_a_thousand_fixes_do_not_take_a_thousand_times_a_thousand() -> None:
    spec = Spec.parse("# Tasks\n\n" + "".join(TASK.format(n=n) for n in range(1_000)))
    original = spec.tasks[500]
    put_in = edit.insertion(spec, original, FIX.format(id=original.id))
    source = put_in.into(spec.source)
    started = time.process_time()
    Spec.parse(source)
    whole = time.process_time() - started
    assert spliced(spec, original, put_in, source) is not None
    assert time.process_time() - started - whole < whole / 2
