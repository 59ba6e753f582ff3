from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.failure.failure import CATEGORIES, TYPES
from pytest_ralph.failure.finding import VERDICTS
from pytest_ralph.failure.kinds import ACTIONS, Kinds, KindsError

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = """
    test_failure lint_error typecheck_error format_error build_error task_incomplete
    verification_mismatch timeout
    parse_error dependency_missing command_not_found permission_denied service_unavailable
    resource_exhausted crash
    circular_dependency file_conflict plan_invalid context_exhausted missing_context
    invalid_task circular_fix unknown
""".split()


def test_the_table_has_every_kind_of_the_contract_and_no_other() -> None:
    assert [row.name for row in Kinds.load()] != []
    assert {row.name for row in Kinds.load()} == set(CONTRACT)


@pytest.mark.parametrize("name", CONTRACT)
def test_every_row_is_complete(name: str) -> None:
    row = Kinds.load()[name]
    assert row.type in TYPES
    assert row.category in (*CATEGORIES, None)
    assert row.action in ACTIONS
    assert all((row.capture, row.guidance, row.advice, row.symptoms, row.summary))


@pytest.mark.parametrize(
    ("name", "type_", "category", "retryable"),
    [
        ("test_failure", "VERIFICATION_FAILED", None, True),
        ("lint_error", "VERIFICATION_FAILED", None, True),
        ("typecheck_error", "VERIFICATION_FAILED", None, True),
        ("format_error", "VERIFICATION_FAILED", None, True),
        ("task_incomplete", "VERIFICATION_FAILED", None, True),
        ("verification_mismatch", "VERIFICATION_FAILED", None, True),
        ("build_error", "BROKEN_BUILD", None, True),
        ("parse_error", "BROKEN_BUILD", None, True),
        ("crash", "BROKEN_BUILD", None, True),
        ("dependency_missing", "BROKEN_BUILD", "tool_error", False),
        ("command_not_found", "BROKEN_BUILD", "tool_error", False),
        ("timeout", "UNKNOWN", "timeout", True),
        ("permission_denied", "UNKNOWN", "tool_error", True),
        ("service_unavailable", "UNKNOWN", "tool_error", True),
        ("resource_exhausted", "UNKNOWN", "tool_error", True),
        ("file_conflict", "UNKNOWN", None, False),
        ("circular_dependency", "UNKNOWN", "invalid_task", False),
        ("plan_invalid", "UNKNOWN", "invalid_task", False),
        ("context_exhausted", "CONTEXT_EXHAUSTED", None, True),
        ("circular_fix", "CIRCULAR_FIX", None, False),
        ("unknown", "UNKNOWN", None, True),
    ],
)
def test_a_kind_has_one_type_category_and_verdict(
    name: str, type_: str, category: str | None, retryable: bool
) -> None:
    row = Kinds.load()[name]
    assert (row.type, row.category, row.retryable) == (type_, category, retryable)


def test_every_verdict_leads_to_a_kind_of_the_table() -> None:
    assert {verdict.kind for verdict in VERDICTS.values()} <= set(CONTRACT)


def test_a_kind_nobody_described_behaves_as_unknown() -> None:
    row = Kinds.load()["weather"]
    assert (row.name, row.type, row.action) == ("weather", "UNKNOWN", "retry_once")
    assert "weather" not in Kinds.load()


def test_a_project_changes_columns_and_adds_kinds(tmp_path: Path) -> None:
    table = tmp_path / "kinds.yaml"
    table.write_text(
        "flaky:\n  type: VERIFICATION_FAILED\n  summary: flaky test\ntimeout:\n  retryable: false\n"
    )
    kinds = Kinds.load(table)
    assert (kinds["flaky"].type, kinds["flaky"].summary) == ("VERIFICATION_FAILED", "flaky test")
    assert kinds["timeout"].retryable is False
    assert kinds["timeout"].guidance == Kinds.load()["timeout"].guidance


def test_an_empty_table_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text("# nothing yet\n")
    assert len(list(Kinds.load(tmp_path / "kinds.yaml"))) == len(CONTRACT)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("timeout:\n  retryable: maybe\n", 2, "retryable must be one of true, false, not maybe"),
        ("timeout:\n  retryable: 1\n", 2, "not 1"),
        ("timeout:\n  type: BROKEN\n", 2, "type must be one of BROKEN_BUILD"),
        ("timeout:\n  category: weather\n", 2, "category must be one of"),
        ("timeout:\n  retryable: true\n  retry: 3\n", 3, "unknown column 'retry'"),
        ("timeout:\n  advice: do it\n", 2, "advice must be a list of strings"),
        ("timeout:\n  guidance: [a]\n", 2, "guidance must be a string"),
        ("timeout:\n  action: dance\n", 2, "action must be one of rollback"),
        ("timeout: yes\n", 1, "a kind must be a name that maps to columns"),
        ("- timeout\n", 1, "must be a mapping"),
        ("timeout:\n  type: [\n", 3, ""),
        ("timeout:\n  type: UNKNOWN\n  type: UNKNOWN\n", 3, "duplicate"),
    ],
)
def test_a_bad_row_is_told_with_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    table = tmp_path / "kinds.yaml"
    table.write_text(text)
    with pytest.raises(KindsError) as raised:
        Kinds.load(table)
    assert str(raised.value).startswith(f"{table}:{line}: ")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KindsError, match="No such file"):
        Kinds.load(tmp_path / "gone.yaml")
