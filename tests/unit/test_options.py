"""The option table: every row can be used by what follows from it."""

from __future__ import annotations

import pytest

from pytest_ralph.options import COMMAND_LINE, EVERYWHERE, OPTIONS, Option
from pytest_ralph.settings import SETTINGS, default_value

BY_NAME = {option.name: option for option in OPTIONS}


def test_every_name_occurs_once() -> None:
    assert len(BY_NAME) == len(OPTIONS)


def test_flag_and_key_follow_from_the_name() -> None:
    option = BY_NAME["max-fixes"]
    assert (option.flag, option.key) == ("--ralph-max-fixes", "ralph_max_fixes")
    assert (BY_NAME["ralph"].flag, BY_NAME["ralph"].key) == ("--ralph", "ralph")


def test_only_valued_options_take_the_next_word() -> None:
    assert BY_NAME["timeout"].takes_value
    assert not BY_NAME["recovery"].takes_value
    assert not BY_NAME["lint"].takes_value
    # It is not on the command line at all.
    assert not BY_NAME["kinds"].takes_value


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: str(option.name))
def test_every_row_is_complete(option: Option) -> None:
    assert option.help
    assert option.where
    assert set(option.where) <= set(EVERYWHERE)


@pytest.mark.parametrize("option", SETTINGS, ids=lambda option: str(option.name))
def test_every_default_is_a_legal_value(option: Option) -> None:
    default_value(option)


def test_the_help_shows_what_is_on_the_command_line(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest("--help").stdout.str().split()
    for option in OPTIONS:
        is_shown = any(word.startswith(option.flag) for word in shown)
        assert is_shown == (COMMAND_LINE in option.where), option.name
