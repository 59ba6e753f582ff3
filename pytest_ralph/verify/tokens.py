"""The Sayings in a clause of prose: its numbers, comparisons, quoted values and the verbs around them."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases, words

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


class Kind(Enum):
    """What a word or a few words do in an expectation."""

    NUMBER = auto()
    # A text between quotes or backticks, or one that is written like a constant.
    VALUE = auto()
    # `at least`, `>=`; and `or more`, which stands behind its number.
    COMPARES = auto()
    COMPARES_LAST = auto()
    # `returns`: the value is the whole output. `shows`: the value is somewhere in it.
    IS = auto()
    HAS = auto()
    EXIT = auto()
    FAILS = auto()
    PASSES = auto()
    NOTHING = auto()
    SOMETHING = auto()
    NONZERO = auto()
    NOT = auto()
    EACH = auto()
    AND = auto()
    OR = auto()
    # `lines`, `files`: what is counted. `errors`, `tests`: what only the tool counts. `seconds`: not output at all.
    THING = auto()
    VERDICT = auto()
    MEASURE = auto()
    CONDITION = auto()
    EXCEPT = auto()
    SMALL = auto()
    OTHER = auto()


class Saying(NamedTuple):
    """One of them, with its number, its text or its operator."""

    kind: Kind
    text: str
    value: int | float | str | None = None


_TABLE = phrases("sayings")
_MEANINGS = {
    saying: Kind[name] for name, row in _TABLE.items() if name in Kind.__members__ for saying in row
}
_COMPARISONS = {
    saying: op for op in (">=", ">", "<=", "<", "!=", "between") for saying in _TABLE[op]
}
_VALUE_WORDS = words("sayings", "VALUE")
PASSING = words("sayings", "passing")
FAILING = words("sayings", "failing")
_LITERALS = words("sayings", "literal")
_NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBERS)}
_LEX = regex(
    r"`(?P<span>[^`]*)`|\"(?P<quote>[^\"]*)\"|“(?P<curly>[^”]*)”|(?<!\w)'(?P<single>[^']*)'(?!\w)"
    r"|(?P<symbol>>=|<=|!=|={1,3}>?|->|[≥⩾≤≠→⇒<>:,&/+–—]|-(?=\s))"
    r"|(?P<ratio>\b\d+/\d+\b(?: [A-Z]{2,}\b)?|\b\d+[-–]\d+\b(?![.-]\d))|(?P<shout>\b[A-Z]{3,}(?: [A-Z]{3,})+\b)"
    r"|(?P<version>\bv?\d+\.\d+\.\d[\w.+-]*|\bv\d[\w.]*)"
    r"|(?P<number>\d+(?:[,_]\d+)*(?:\.\d+)?)(?P<unit>%|[A-Za-z]+)?"
    r"|(?P<word>[^\W\d][\w'’./-]*(?:=[^\W\d]\w*)?)"
)
_QUOTES = ("span", "quote", "curly", "single")
_COMPARISON = regex(r"\s*(?:[<>]=?|[=!]=|=|≥|≤)?\s*\d+\+?\s*")
_LONGEST = 5
_FIRST_WORDS = frozenset(
    saying.split()[0] for saying in (*_MEANINGS, *_COMPARISONS) if " " in saying
)


def sayings(clause: str) -> tuple[Saying, ...]:
    """The sayings of a clause, the longest phrases first."""
    return tuple(_join([word for match in _LEX.finditer(clause) for word in _words(match)]))


def _words(match: re.Match[str]) -> Iterator[Saying]:
    quoted = match[match.lastgroup] if match.lastgroup in _QUOTES else ""
    if quoted and _COMPARISON.fullmatch(quoted):
        # `>= 7` in backticks says what it says without them.
        yield from (_word(inner) for inner in _LEX.finditer(quoted))
    else:
        yield _word(match)


def _word(match: re.Match[str]) -> Saying:
    kind = match.lastgroup
    text = match[0]
    if kind in _QUOTES:
        return Saying(Kind.VALUE, text, match[kind])
    if kind == "version":
        return Saying(Kind.VALUE, "", text.rstrip(".,"))
    if kind == "shout":
        return Saying(
            Kind.OTHER if _VALUE_WORDS.isdisjoint(text.split()) else Kind.VALUE, text.lower(), text
        )
    if kind == "ratio":
        # `15/15`, `15/15 PASS` of something only the tool itself counts; `10-20` is no number either.
        return Saying(Kind.VERDICT, text)
    if match["number"]:
        return Saying(Kind.NUMBER, (match["unit"] or "").lower(), _number(match["number"]))
    if kind == "word":
        return _plain_word(text.rstrip(".'’-/"), text.endswith("/"))
    return Saying(Kind.OTHER, text)


def _plain_word(text: str, is_directory: bool) -> Saying:
    if is_directory or (text.isupper() and len(text) > 1 and ("_" in text or text in _VALUE_WORDS)):
        return Saying(Kind.VALUE, text.lower(), text)
    return Saying(Kind.OTHER, text.lower().replace("’", "'"), text)


def _number(text: str) -> int | float:
    text = text.replace(",", "").replace("_", "")
    return float(text) if "." in text else int(text)


def _join(words: list[Saying]) -> Iterator[Saying]:
    at = 0
    while at < len(words):
        if words[at].kind is not Kind.OTHER:
            yield words[at]
            at += 1
            continue
        longest = _LONGEST if words[at].text in _FIRST_WORDS else 1
        for length in range(min(longest, len(words) - at), 0, -1):
            found = _meaning(words[at : at + length])
            if found:
                break
        else:
            found, length = words[at], 1
        yield found
        at += length


def _meaning(words: list[Saying]) -> Saying | None:
    if any(word.kind is not Kind.OTHER for word in words):
        return None
    text = " ".join(word.text for word in words)
    if text in _COMPARISONS:
        return Saying(Kind.COMPARES, text, _COMPARISONS[text])
    if text in _NUMBER_WORDS:
        return Saying(Kind.NUMBER, "", _NUMBER_WORDS[text])
    if text in _LITERALS:
        return Saying(Kind.VALUE, text, text)
    return Saying(_MEANINGS[text], text) if text in _MEANINGS else None
