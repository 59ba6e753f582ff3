"""The part of a command line that changes something outside this machine."""

from __future__ import annotations

import re

import pytest

from pytest_ralph.shell.programs import TABLE
from pytest_ralph.shell.remote import HINT, find_remote_change


def test_the_hint_covers_the_table() -> None:
    table = TABLE.read_text(encoding="utf-8")
    lists = re.findall(r"^(?:remote|clouds|http) = '+(.*?)'", table, re.MULTILINE | re.DOTALL)
    assert len(lists) == 3
    calls = [call for text in lists for call in text.split("," if "," in text else None)]
    assert [call for call in calls if not HINT.search(call)] == []


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("make build && git push origin main; echo done", "git push origin main"),
        ("npm publish", "npm publish"),
        ("npm run deploy", "npm run deploy"),
        ("make -C web deploy", "make -C web deploy"),
        ("find . -name '*.tgz' -exec npm publish '{}' +", "npm publish {} +"),
        ("./scripts/deploy.sh prod", "./scripts/deploy.sh prod"),
        ("oc apply -f x.yml", "oc apply -f x.yml"),
        ("jj git push", "jj git push"),
        ('eval "git push"', "git push"),
        ('bash -e <<< "make; git push origin"', "git push origin"),
        ('bash log.sh <<< "git push"', None),
        ('cat <<< "git push"', None),
        ("mvn release:perform", "mvn release:perform"),
        ("ls deploy", None),
        ("make release", None),
        ("make test", None),
        ("git status", None),
        ("true", None),
    ],
)
def test_the_changing_part_is_named(command: str, change: str | None) -> None:
    assert find_remote_change(command) == change


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("cd web && make ship", "make ship"),
        ("make ship-docs", None),
        ("make -C web ship", "make -C web ship"),
        ("./release.sh --yes 1.2", "./release.sh --yes 1.2"),
        ("./release.sh 1.2", None),
    ],
)
def test_a_project_adds_calls_of_its_own(command: str, change: str | None) -> None:
    assert find_remote_change(command, ("", "make ship", "release.sh --yes")) == change
