"""A Clause, the sayings of one part of a sentence: what stands beside what in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.verify.tokens import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.tokens import Saying

ARTICLES = frozenset(("the", "a", "an", "its", "this", "these", "those"))
# Behind these a text says where something is, and before them and a noun what it is called.
_PLACES = frozenset(
    (
        "in",
        "from",
        "under",
        "inside",
        "within",
        "across",
        "against",
        "below",
        "above",
        "beneath",
        "behind",
    )
)


def kind_at(said: Sequence[Saying], at: int) -> Kind | None:
    return said[at].kind if at < len(said) else None


def stands_for_failure(said: Sequence[Saying], at: int) -> bool:
    """`exit 1 = fail` tells what a status would mean, not that it is hoped for."""
    if at + 1 >= len(said) or said[at].text not in ("=", "means"):
        return False
    return said[at + 1].kind is Kind.FAILS or said[at + 1].text in (
        "failure",
        "failures",
        "failed",
        "error",
        "errors",
    )


def compares_each(said: Sequence[Saying], at: int) -> bool:
    """`no file over 400 lines`, `no matches other than x` say something of each of them."""
    if kind_at(said, at) is not Kind.COMPARES:
        return False
    return said[at].value == "!=" or next_of(said, at + 1, Kind.NUMBER) is not None


def names_holder(said: Sequence[Saying], at: int) -> bool:
    """`no line contains `x``: what holds a text, and the text."""
    if kind_at(said, at) not in (Kind.THING, Kind.OTHER) or kind_at(said, at + 1) is not Kind.HAS:
        return False
    return (
        said[at + 1].text.startswith(("contain", "includ")) and kind_at(said, at + 2) is Kind.VALUE
    )


def is_placed(said: Sequence[Saying], at: int) -> bool:
    """Whether the value at `at` says where something is: `in `x``, `under a "Done" heading`."""
    at -= 1
    while at > 0 and said[at].text in ARTICLES:
        at -= 1
    return at >= 0 and said[at].text in _PLACES


def is_conditional(said: Sequence[Saying]) -> bool:
    """`includes `x` only if it was there before`"""
    return any(
        one.text == "only" and kind_at(said, at + 1) is Kind.CONDITION
        for at, one in enumerate(said)
    )


def is_subject(said: Sequence[Saying], at: int) -> bool:
    """Whether a part that is joined on begins with what it is about: `… and the page shows x`, `… and x is gone`."""
    kind, following = said[at].kind, kind_at(said, at + 1)
    if kind is Kind.OTHER:
        # `and a single `x``: only a word that describes it.
        return following is not Kind.VALUE
    if kind is Kind.VALUE or said[at].text == "nothing":
        return following in (Kind.IS, Kind.HAS) and said[at + 1].text.endswith(("s", "are"))
    return False


def number_of(saying: Saying) -> int | float:
    assert isinstance(saying.value, int | float)
    return saying.value


def next_of(said: Sequence[Saying], start: int, kind: Kind) -> int | None:
    """The index of the next saying of this kind with only small words before it."""
    for index in range(start, min(start + 4, len(said))):
        if said[index].kind is kind:
            return index
        if said[index].kind not in (Kind.SMALL, Kind.EACH):
            return None
    return None


def unit_of(said: Sequence[Saying], at: int, used: int) -> Kind | None:
    """What the number at `at` counts: said right behind it, or one word on (`3 new files`)."""
    if said[at].text:
        return Kind.MEASURE
    thing: Kind | None = None
    for saying in said[at + used : at + used + 2]:
        if saying.kind in (Kind.VERDICT, Kind.PASSES, Kind.MEASURE):
            return saying.kind
        if saying.kind not in (Kind.OTHER, Kind.SMALL, Kind.THING):
            break
        thing = thing or (Kind.THING if saying.kind is Kind.THING else None)
    return thing


def counts_rows(said: Sequence[Saying], at: int) -> bool:
    """Rows of a table, which has a heading and a frame too."""
    return any(one.text in ("row", "rows", "record", "records") for one in said[at : at + 2])
