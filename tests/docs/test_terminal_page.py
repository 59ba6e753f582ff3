"""The page's tables are those of the code."""

from __future__ import annotations

from pytest_ralph.session.interactive import CHOICES, QUESTION, VIEWS
from pytest_ralph.session.reporting import WORDS
from tests.docs.literal import DOCS
from tests.docs.tables import code, rows

PAGE = DOCS / "terminal.md"


def test_every_letter_and_word_is_explained() -> None:
    told = {code(letter)[0]: code(word)[0] for letter, word, _ in rows(PAGE, "letter")}
    ours = {letter: word for _, letter, (word, _) in WORDS.values()}
    assert told == {".": "PASSED", "F": "FAILED", "s": "SKIPPED", **ours}


def test_every_answer_is_explained() -> None:
    answers = [code(answer)[0] for answer, _ in rows(PAGE, "answer") if code(answer)]
    assert answers == [*CHOICES, *VIEWS]
    assert QUESTION.format(decided="fix").strip() in PAGE.read_text(encoding="utf-8")
