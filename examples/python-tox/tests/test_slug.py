from slug import slug


def test_words_are_joined() -> None:
    assert slug("Specs that heal") == "specs-that-heal"


def test_nothing_else_is_left() -> None:
    assert slug("  What now?! ") == "what-now"
