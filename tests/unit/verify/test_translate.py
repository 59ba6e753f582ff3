"""What is asked in another language is read in English; what is quoted stays as it is written."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.translate import in_english


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("devuelve `devuelve 3`", "returns `devuelve 3`"),
        ('devuelve "devuelve" 3', 'returns "devuelve" 3'),
        ("devuelve `x` devuelve 3", "returns `x` returns 3"),
        ("doit renvoyer 0", "should returns 0"),
        ("returns 3", "returns 3"),
        ("all Jest suites pass", "all Jest suites pass"),
        ("shows zero TODOs", "shows zero TODOs"),
        ("", ""),
    ],
)
def test_sayings_are_translated_outside_of_quotes(text: str, english: str) -> None:
    assert " ".join(in_english(text).split()) == english
