"""Checkpoints: a Verify field that only says "all commands pass" means commands of its task.

They are in the Do field, in the items above the fields, or in the title.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.fields import ITEM, read_fields
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.read import read_verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.candidates import TaskBlock
    from pytest_ralph.verify.model import Check, Verify

_NUMBERS = "two three four five six seven eight nine ten eleven twelve".split()
_SUCCESS = (
    r"(?:(?:exits?|returns?)(?: with)?(?: exit)?(?: code| status)? 0|pass(?:es)?|succeeds?"
    r"|completes? successfully)"
)
# A field with more words than these may ask for more than its commands can show: a person looks.
_ALL_COMMANDS = regex(
    r"(?:(?:re-?)?run )?(?:all|(?P<both>both)|every|each|(?:all )?the|these)(?: of)?"
    r"(?: the| these)?"
    rf"(?: (?P<count>\d{{1,2}}|{'|'.join(_NUMBERS)}))?(?: of the)? commands?"
    r"(?: (?:listed |given )?(?:above|in (?:the )?`?Do`?))?"
    rf"(?:(?:,? (?:they |all )?(?:must|should|and))?(?: all| each)? {_SUCCESS}"
    r"|,? and (?:check|verify|confirm) (?:the |their )?exit (?:codes?|status(?:es)?))"
    r"(?: (?:with(?:out| no)(?: any)? (?:errors?|failures?|warnings?|issues?)"
    r"|(?P<expected>with (?:the )?expected (?:outputs?|results?|values?)|as expected)))?"
    r"[\s.;✅✓✔☑!]*(?:(?<=[.;]\s)(?P<rest>[^`]+))?",
    re.IGNORECASE,
)


def read_checkpoint(block: TaskBlock, own_lines: Sequence[str], text: str) -> Verify | None:
    """Return the commands that the Verify field `text` refers to, or None if it names its own."""
    stated = _ALL_COMMANDS.fullmatch(text.strip())
    if stated is None:
        return None
    for source in _sources(block, own_lines):
        found = read_verify(source)
        count = _stated_count(stated)
        checks = _checks_among(found.checks, count)
        if not checks:
            continue
        if count is not None and count != len(checks):
            # One of them is not known.
            return read_verify(text)
        # Other words of the Do field are instructions, not expectations.
        unread = found.unread if stated["expected"] else ()
        if stated["rest"]:
            unread = (*unread, stated["rest"].strip())
        return found._replace(checks=checks, text=text, unread=unread)
    return read_verify(text)


def _checks_among(steps: Sequence[Check], count: int | None) -> tuple[Check, ...]:
    """Return the steps that check something; `count` is how many the author counts, if said."""
    # Imported here: few tasks are checkpoints.
    from pytest_ralph.verify.hazards import hazards
    from pytest_ralph.verify.work import is_work

    # The last of several runs of one command counts: the test that fails first passes then.
    last = {step.command: step for step in steps}
    checks = [step for step in last.values() if not is_work(step.command)]
    if len(checks) == count:
        return tuple(checks)
    # `eslint --fix` and the like only prepare the checks.
    reading = [
        check for check in checks if all(one.code != "changes-tree" for one in hazards(check))
    ]
    return tuple(reading or checks)


def _sources(block: TaskBlock, own_lines: Sequence[str]) -> list[str]:
    """Return the texts of a task that may hold the commands, the likeliest first."""
    steps = [field.text for field in block.fields if field.name in ("Do", "Steps")]
    title = block.title.title
    # `Quality checkpoint: make lint && make test`
    behind_colon = title.partition(": ")[2]
    items = [] if steps else [_items_above_fields(own_lines)]
    return [*steps, *items, title, behind_colon]


def _items_above_fields(own_lines: Sequence[str]) -> str:
    items: list[str] = []
    for number, line in enumerate(own_lines):
        if read_fields(own_lines, number, number + 1, ()):
            break
        if ITEM.match(line):
            items.append(line)
    return "\n".join(items)


def _stated_count(stated: re.Match[str]) -> int | None:
    """Return how many commands the words count."""
    if stated["both"]:
        return 2
    written = stated["count"]
    if not written:
        return None
    return int(written) if written.isdigit() else _NUMBERS.index(written.lower()) + 2
