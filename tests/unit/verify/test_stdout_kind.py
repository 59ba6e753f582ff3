"""What an expectation needs to know about the output of a command."""

from __future__ import annotations

from pytest_ralph.shell.command import Command
from pytest_ralph.verify.read import read_verify
from pytest_ralph.verify.stdout_kind import ends_with_echo


def test_stages_are_cut_outside_quotes_only() -> None:
    stages = Command.parse("a 'b|c' | d && e \"f;g\" ; h 2>&1 || i &>x").stages
    assert [stage.source for stage in stages] == [
        "a 'b|c'",
        "d",
        'e "f;g"',
        "h 2>&1",
        "i &>x",
    ]


def test_a_command_may_echo_its_own_verdict() -> None:
    assert ends_with_echo(Command.parse("make && echo PASS"))
    assert not ends_with_echo(Command.parse("echo PASS"))


def test_a_count_behind_a_launcher_is_compared() -> None:
    (check,) = read_verify("`timeout 60 grep -c x f` returns 0").checks
    (expect,) = check.expect
    assert (expect.stream, expect.op, expect.value) == ("stdout", "==", 0)
