"""The tables of words: where an entry may start, and which one wins."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.vocabulary import _first_letters, phrases, rewriter


@pytest.mark.parametrize(
    ("entry", "letters"),
    [
        ("Returns", "r"),
        ("(?:die|das) datei", "d"),
        ("(?:im|the)? file", "it "),
        ("(?:(?:a|b)|c)", "abc"),
        ("(?:an )?(?:empty|blank)", "aeb"),
        ("が?通る", "が通"),
        ("[处個] ?命中", "处個"),
        ("(?<!不)含", "含"),
        (r"(?:(?<=\d)|(?<=\d )) ?行", " 行"),
        ("(?=x)", ""),
    ],
)
def test_an_entry_is_tried_at_its_first_letters(entry: str, letters: str) -> None:
    assert _first_letters(entry) == set(letters)


@pytest.mark.parametrize("table", ["english", "languages"])
def test_it_is_known_how_every_entry_starts(table: str) -> None:
    entries = [entry for row in phrases(table).values() for entry in row]
    assert [entry for entry in entries if not _first_letters(entry)] == []


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("3 命中", "3  matches "),
        ("0 命中", " returns nothing "),
        ("pre-returns a value", "pre-returns a value"),
        ("не содержит x", " does not contain  x"),
        ("содержит x", " contains  x"),
    ],
)
def test_the_entry_with_most_letters_wins(text: str, english: str) -> None:
    assert rewriter("languages", without="english")(text) == english
