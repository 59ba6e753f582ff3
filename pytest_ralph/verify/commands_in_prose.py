"""The Mention of a command in prose: which code spans of a passage are run, and the words around each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, likeness, without_prompt
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.pieces import Passage, Piece

_BETWEEN = "|".join(phrases("prose")["between"])
_BEFORE_VERDICT = "|".join(phrases("prose")["before verdict"])
_NO_HEADING = "|".join(phrases("prose")["no heading"])
_ASIDE = any_of("aside", r"\W*", r"\b")
_BY_HAND = any_of("by hand", r"(?<!no )(?<!not )(?<!non-)\b", r"\b[^`.;]*$")
_INSTEAD = any_of("instead", r"\b", r"\s*$")
_OR = any_of(
    "or", r"(?:^|[\s(,;])", r"(?!\w)\W*(?:(?:run|just|use|simply|via|with|the|using)\s+)*\(?$"
)
# Not past the end of a sentence: `… prints no output; `make``.
_SHOWN = any_of("shown", r"\b", rf"(?:\s+(?:{_BETWEEN})){{0,3}}(?:(?![.;]\s)\W)*$")
# `Build output: `make``: a heading over the command, that only sounds like `prints: `x``.
_HEADING = any_of("heading", rf"(?:(?!(?:{_NO_HEADING})\s)[^\s`]+\s+)*", r"\s*:\s*")
# Nobody writes such a line to be shown.
_LOOKS_UP = regex(r"(?:! *)?(?:grep|egrep|rg|test|\[|jq|find|awk) +\S+ +\S")
_RUN = any_of("run", r"\b", r"\W*$")
# `test_model` imports and runs `fit_model`
_RUNS = regex(r"\b(?:runs|executes)\W*$", re.IGNORECASE)
_DO = any_of("do", r":\s*$|^\W*$|(?:\band|\bthen|,|;|&&|\+)\s*$|\b", r"\W*$")
_VERDICT = any_of("verdict", rf"\W*(?:(?:{_BEFORE_VERDICT})\s+)*")
_RESULT = any_of("outcome", "")
_SERVER = any_of("server", "", "$")
_LOOKING = any_of("looking", r"\b", r"\b")
_PARENTHESES = regex(r"\([^()]*\)")
_COLOUR = regex(
    r"\b(red|green)\b\s*(?:phase|state|step)?\s*[:—–-]\s*(?:\w+\s+){0,3}$", re.IGNORECASE
)
# `Use `x``; but `the page uses `x``.
_USE = regex(r"\W*(?:then )?use\W*$", re.IGNORECASE)
# `make setup` first if the lock file changed
_ON_CONDITION = regex(
    r"\W*(?:\([^()]*\)\s*)?(?:first |again |only )?(?:if|in case)\b", re.IGNORECASE
)
_JOINING = regex(r"\W*(?:and|or|then|and then)?\W*", re.IGNORECASE)
# A command is told from a name by the words close to it.
_NEAR = 8


class Mention(NamedTuple):
    """A command and the words around it that may be about it."""

    command: str
    before: str
    after: str
    # Whether `or` stands between the command before and this one.
    alternative: bool


def mentions(passage: Passage, lone: bool) -> list[Mention]:
    """The commands of a passage, in order. `lone`: no command has been mentioned before it."""
    pieces = passage.pieces
    codes = [index for index, piece in enumerate(pieces) if piece.kind == "code"]
    alone = (
        lone
        and len(codes) == 1
        and not _prose([p for p in pieces if p.kind == "prose"]).strip(" .:-")
    )
    chosen: list[int] = []
    for index in codes:
        if _is_run(pieces, index, bool(chosen), alone):
            chosen.append(index)
    if _is_tour(pieces, chosen):
        return []
    starts = [0, *(index + 1 for index in chosen[:-1])]
    ends = [*chosen[1:], len(pieces)]
    return _without_red(
        [_mention(pieces, *places) for places in zip(starts, chosen, ends, strict=False)]
    )


def _mention(pieces: Sequence[Piece], start: int, index: int, end: int) -> Mention:
    before = _prose(pieces[max(start, index - _NEAR) : index])
    after = _prose(pieces[index + 1 : min(end, index + 1 + 2 * _NEAR)])
    return Mention(
        without_prompt(pieces[index].text.strip()),
        before,
        after,
        bool(_OR.search(in_english(before))),
    )


def _is_run(pieces: Sequence[Piece], index: int, has_command: bool, alone: bool) -> bool:
    """Whether the code span at `index` is a command and meant to be run."""
    text = pieces[index].text
    like = likeness(text)
    if like is Likeness.NONE or alone:
        return like is not Likeness.NONE
    before = _prose(pieces[max(0, index - _NEAR) : index])
    clause = re.split(r"[.;(]\s", before)[-1]
    offered = has_command and bool(_OR.search(in_english(before)))
    if has_command and not offered and _ON_CONDITION.match(_prose(pieces[index + 1 : index + 2])):
        return False
    if _ASIDE.match(clause) or _INSTEAD.search(before) or (has_command and _BY_HAND.search(before)):
        return False
    if (
        _SHOWN.search(before)
        and not _USE.match(clause)
        and not (like is Likeness.SURE and _is_headed(clause, text))
    ):
        # `… shows npm test` names what is shown; only a pipeline is never just a name.
        return like is Likeness.SURE and not has_command and " | " in text
    if like is Likeness.SURE or (
        _RUN.search(before) and not (like is Likeness.WORD and _RUNS.search(before))
    ):
        return True
    if like is not Likeness.MAYBE or not (offered or _DO.search(before)):
        return False
    # `… exits 0, `3 passed`` goes on about the command before.
    told = has_command and bool(_RESULT.search(before.rpartition("`")[2]))
    return _is_judged(pieces[index + 1 :], in_silence=not told)


def _is_headed(clause: str, command: str) -> bool:
    """Whether the clause is a heading over the command: `Build output:`, or whatever it looks up: `The page has:`."""
    looked_up = _LOOKS_UP.match(command) and "`" not in clause and clause.rstrip().endswith(":")
    return bool(looked_up or _HEADING.fullmatch(clause))


def _is_judged(following: Sequence[Piece], in_silence: bool) -> bool:
    """Whether the words behind a span say how it went, or (`in_silence`) say nothing at all."""
    after = _PARENTHESES.sub("", following[0].text) if following else ""
    if not after.strip(" .,;"):
        return in_silence
    return bool(_VERDICT.match(in_english(after))) or _joins_a_command(after, following[1:])


def _joins_a_command(words: str, following: Sequence[Piece]) -> bool:
    """`make` and `make test`: what stands in one row with a command is one."""
    joined = bool(_JOINING.fullmatch(in_english(words))) and bool(following)
    return (
        joined and following[0].kind == "code" and likeness(following[0].text) is not Likeness.NONE
    )


def _is_tour(pieces: Sequence[Piece], chosen: Sequence[int]) -> bool:
    """Whether the one command only starts something that a person is then to look at."""
    if len(chosen) != 1 or not _SERVER.match(pieces[chosen[0]].text.strip()):
        return False
    return any(_LOOKING.search(piece.text) for piece in pieces if piece.kind == "prose")


def _without_red(found: list[Mention]) -> list[Mention]:
    """`RED: … fails. GREEN: … passes`: only the GREEN counts, for the task is done by then."""
    colours = [match[1].lower() if (match := _COLOUR.search(one.before)) else "" for one in found]
    if "green" not in colours:
        return found
    return [one for one, colour in zip(found, colours, strict=True) if colour != "red"]


def _prose(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text if piece.kind == "prose" else f"`{piece.text}`" for piece in pieces)
