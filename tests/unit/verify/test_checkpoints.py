"""A checkpoint is verified by the commands that its field refers to."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.checkpoints import read_checkpoint, refers_to_commands

DO = "Check the build:\n1. `npm run lint`\n2. `npm test`"


@pytest.mark.parametrize(
    "text",
    [
        "All commands exit 0",
        "All commands above exit 0.",
        "All 4 commands must pass",
        "Both commands succeed",
        "all of the checks above pass",
        "Every command exits with 0",
    ],
)
def test_a_field_may_refer_to_commands_elsewhere(text: str) -> None:
    assert refers_to_commands(text)
    verify = read_checkpoint(text, DO, "Quality checkpoint")
    assert [check.command for check in verify.checks] == ["npm run lint", "npm test"]
    assert verify.text == text


@pytest.mark.parametrize("text", ["All tests pass", "`make` exits 0", "All pages look right", ""])
def test_other_fields_refer_to_nothing(text: str) -> None:
    assert not refers_to_commands(text)


def test_the_title_is_read_when_do_has_no_command() -> None:
    verify = read_checkpoint("All commands exit 0", "Look around", "Run `make lint` && `make test`")
    assert [check.command for check in verify.checks] == ["make lint", "make test"]


def test_without_commands_elsewhere_a_checkpoint_is_manual() -> None:
    assert read_checkpoint("All commands exit 0", "Look around").manual == "All commands exit 0"
