"""What a number behind a command can be compared with."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.stdout_kind import Prints, ends_with_echo, prints, split_stages


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -c x f", Prints.COUNT),
        ("grep -ic 'a b' f", Prints.COUNT),
        ("rg --count x f", Prints.COUNT),
        ("cat f | grep -c x", Prints.COUNT),
        ("ls | wc -l", Prints.COUNT),
        ("grep -c x f | head -1", Prints.COUNT),
        ("jq '.a | length' f", Prints.COUNT),
        ("curl -s -o /dev/null -w '%{http_code}' localhost", Prints.COUNT),
        ("grep -c x a b", Prints.COUNTS),
        ("grep -c x src/*.py", Prints.COUNTS),
        ("grep -rc x src", Prints.COUNTS),
        ("grep -c -e x -e y f", Prints.COUNT),
        ("cat f | grep -c x - g", Prints.COUNTS),
        ("cat f | grep -c x -", Prints.COUNT),
        ("env grep -n x f", Prints.LINES),
        ("time ls src", Prints.LINES),
        ("LC_ALL=C ls src", Prints.LINES),
        ("grep -c -e x f g", Prints.COUNTS),
        ("grep -c -f patterns f", Prints.COUNT),
        ("grep -n x f", Prints.LINES),
        ("git grep x", Prints.LINES),
        ("ls src", Prints.LINES),
        ("git status --porcelain", Prints.LINES),
        ("grep -q x f", Prints.STATUS),
        ("pytest -q", Prints.STATUS),
        ("sudo -E ./run.sh", Prints.STATUS),
        ("jq -r .version f", Prints.TEXT),
        ("cd a && python3 -c 'print(1)'", Prints.TEXT),
        ("", Prints.STATUS),
    ],
)
def test_the_last_stage_says_what_is_printed(command: str, expected: Prints) -> None:
    assert prints(command) is expected


def test_stages_are_cut_outside_quotes_only() -> None:
    assert split_stages("a 'b|c' | d && e \"f;g\" ; h 2>&1 || i &>x") == [
        "a 'b|c'",
        "d",
        'e "f;g"',
        "h 2>&1",
        "i &>x",
    ]


def test_a_command_may_echo_its_own_verdict() -> None:
    assert ends_with_echo("make && echo PASS")
    assert not ends_with_echo("echo PASS")
