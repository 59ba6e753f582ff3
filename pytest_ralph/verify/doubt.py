"""What words that were not understood may mean, so that their command is not judged by them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.shell.stdout import Stdout
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.clauses import normalise
from pytest_ralph.verify.stdout_kind import is_quiet_search, is_search, shows_contents
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.shell.command import Command

_ABSENCE = regex(
    r"(?:it )?(?:does not|doesn't|must not|should not|do not|no longer) "
    r"(?:contains?|includes?|lists?|shows?|creates?|exists?|appears?|mentions?)\b",
    re.IGNORECASE,
)
_FAILURE = regex(
    r"\W*(?:(?:[\w-]+ ){0,4}(?:[\w`:.]*test[\w`:.]*|groups?|cases?|specs?|suites?|assertions?)"
    r" (?:(?:for|of|in|from) (?:[\w-]+ ){1,4}|\w+ )?)?"
    r"fails\b(?! 0)(?! (?:tests?|cases?|specs?) )(?! (?:on|in) (?:windows|mac|linux|ci\b))"
    r"|\W*(?:exits (?!0|no |passes|normally|immediately|early)|(?:may|might|can|could) exits )"
)
# "→ one import and no other use", "shows all four places", "used for both"
_SOME_FOUND = any_of("some found", r"\W*", r"\b")
# "a failed write returns the old price" tells what the code does.
_FAILED_THING = regex(r"\ban? failed\b", re.IGNORECASE)
# "fails if the fix is reverted": not as it is.
_ONCE_UNDONE = regex(
    r"\bwithout (?:(?:the|this|its|their) )?(?:fix|change|patch)\b"
    r"|\b(?:if|when|once)\b.*\b(?:revert|remov|undo|delet|stash)\w*",
    re.IGNORECASE,
)
# "no hits outside `x`", "0 or only comments", "the hits, if any, are …": the search may find none.
_MAY_FIND_NOTHING = any_of("may find nothing", r"\b", r"\b")
_HEDGE = regex(r"\b(?:if any|or none|or nothing|or empty|or no)\b", re.IGNORECASE)
_CODE = regex(r"`[^`]*`")


def may_find_nothing(command: Command, unread: Sequence[str]) -> bool:
    """Whether words that were not understood leave open whether a search is to find something.

    Neither of its exit statuses says then how the task went.

    Who makes a search quiet asks for its exit status, and negates that if nothing may be found.
    """
    if not is_search(command) or is_quiet_search(command):
        return False
    is_hedged = any(map(_HEDGE.search, unread))
    if not is_hedged and claims_hits(unread):
        return False
    prose = [_CODE.sub("", words) for words in unread]
    return any(map(_MAY_FIND_NOTHING.search, prose))


def claims_hits(unread: Sequence[str]) -> bool:
    """Return whether words that were not understood say that something is found."""
    return any(map(_claims_hits, unread))


def _claims_hits(words: str) -> bool:
    """Whether words say that something is found; "lists all uses, if any" does not."""
    found = _SOME_FOUND.match(words)
    if found is None:
        return False
    return _MAY_FIND_NOTHING.search(words, found.end()) is None


def may_mean_failure(command: Command, unread: Sequence[str]) -> bool:
    """Whether words that were not understood may want a command to fail, or to list less."""
    if any(map(_tells_failure, unread)):
        return True
    if is_search(command) or shows_contents(command):
        # `cat f` no longer contains `x`: the file is still there.
        return False
    if command.stdout is Stdout.STATUS:
        return False
    return any(map(_ABSENCE.match, unread))


def _tells_failure(words: str) -> bool:
    if _FAILED_THING.search(words) or _ONCE_UNDONE.search(words):
        return False
    return _FAILURE.match(normalise(words)) is not None
