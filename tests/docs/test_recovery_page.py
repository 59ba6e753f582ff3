"""The recovery page shows the decision table, the repairs, and a readable table of kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import Failure
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.fixing.repairs import FINDERS
from pytest_ralph.healing.budget import Budget
from pytest_ralph.healing.decide import RULES, TaskHistory, budget_spent
from pytest_ralph.options import OPTIONS
from tests.docs.literal import DOCS, blocks
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from pathlib import Path

PAGE = DOCS / "recovery.md"


def test_the_table_has_a_row_for_each_rule_in_the_same_order() -> None:
    shown = [code(cells[2])[0] for cells in rows(PAGE, "situation")]

    history = TaskHistory(repair="chmod", spent=budget_spent(Budget(0)))
    assert shown == [answer(Failure(), history).action for _, answer in RULES]


def test_every_repair_is_on_the_page() -> None:
    named = sorted(code(cells[0])[0] for cells in rows(PAGE, "repair"))
    option = next(option for option in OPTIONS if option.name == "repair")

    found = {name for names in FINDERS.values() for name in names}
    assert named == sorted(found) == sorted(option.choices)
    # These choose new versions or download a lot, so that a person has to ask for them.
    assert found.difference(str(option.default).split(",")) == {"lock", "playwright"}


def test_a_kind_of_the_project_is_found_by_its_indicator(tmp_path: Path) -> None:
    (sample,) = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    (tmp_path / "kinds.yaml").write_text(sample)

    kinds = Kinds.load(tmp_path / "kinds.yaml")

    assert kinds["license_error"].type == "VERIFICATION_FAILED"
    assert "licence tool" in kinds["license_error"].guidance
