def test_that_has_nothing_to_do_with_a_spec() -> None:
    assert sum([1, 2]) == 3
