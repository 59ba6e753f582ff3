"""spec room: the Sayings in a clause of prose: its numbers, comparisons, quoted values and the verbs around them."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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
    SMALL = auto()
    OTHER = auto()


class Saying(NamedTuple):
    """One of them, with its number, its text or its operator."""

    kind: Kind
    text: str
    value: int | float | str | None = None


def _table(**rows: str) -> dict[str, Kind]:
    return {saying.strip(): Kind[name] for name, row in rows.items() for saying in row.split("|")}


_MEANINGS = _table(
    IS="""returns|return|returned|returning|equals|equal|gives|give|yields|yield|evaluates to|is|are|be|results in|resolves to
    |counts|totals|expect|expects|expected|=|==|===|→|⇒|->|=>|:|value is|reads""".replace("\n    ", ""),
    HAS="""shows|show|showing|prints|print|printing|outputs|output|displays|display|contains|contain|containing|includes|include
    |including|lists|list|mentions|has|have|reports|report|says|echoes|emits|finds|find|logs|with|matches the|responds with""".replace(
        "\n    ", ""
    ),
    EXIT="""exits|exit|exited|exiting|exit code|exit status|exits with|exit with|exits with code|exits with status|exits code
    |return code|returns code|return value|exit value|rc|returns exit|returns exit code|with exit code|with code|error code""".replace(
        "\n    ", ""
    ),
    FAILS="""fails|fail|failing|must fail|should fail|will fail|expect failure|expected failure|expected to fail|expect fail
    |is rejected|errors out|exits with error|exits with an error""".replace("\n    ", ""),
    PASSES="passes|pass|passing|succeeds|succeed|works|completes|green|clean",
    NOTHING="nothing|empty|no output|silent|silently|empty output|empty result|no longer returns|no longer finds",
    SOMETHING="non-empty|nonempty|not empty|is not empty|are not empty|not be empty|some output|any output|something",
    NONZERO="non-zero|nonzero|not zero|not 0|non zero",
    NOT="""no|not|without|never|doesn't|does not|don't|do not|must not|should not|cannot|free of|excludes|no longer|isn't
    |is not|are not""".replace("\n    ", ""),
    EACH="each|every|both|per file|all|respectively|each line|every line|all lines|each count|every count",
    AND="and|,|&|plus|as well as|&&",
    OR="or|/",
    COMPARES_LAST="or more|or greater|or higher|or above|or fewer|or less|or lower|+",
    CONDITION="if|unless|when|once|until|because|since|while|before|after|where|instead|e.g|i.e|like|via|using|so|then|which|against|first|second|third|latter|former",
    SMALL="""a|an|the|of|at|only|just|exactly|should|must|will|can|to|it|its|this|that|these|still|now|also|back|value|number|count
    |total|result|integer|string|text|word|version|literal|either|any|in|on|for|stdout|status|code|http|-|–|—|there|them|more|same
    |by|message|least one|following|line containing|appropriate|correct|correctly|command|commands""".replace(
        "\n    ", ""
    ),
    THING="""result|results|match|matches|hit|hits|line|lines|occurrence|occurrences|entry|entries|file|files|row|rows|reference
    |references|instance|instances|record|records|directory|directories|folder|folders|item|items|name|names|commit|commits|path
    |paths|branch|branches|module|modules|usages|usage|diff|changes|differences|mention|mentions|import|imports""".replace(
        "\n    ", ""
    ),
    VERDICT="""error|errors|warning|warnings|failure|failures|failed|passed|problem|problems|issue|issues|vulnerability
    |vulnerabilities|violation|violations|test|tests|spec|specs|suite|suites|assertion|assertions|offenses|regressions|success|ok
    |successful|conflicts|type|checks|check""".replace("\n    ", ""),
    MEASURE="s|sec|secs|second|seconds|ms|milliseconds|min|mins|minute|minutes|hour|hours|mb|kb|gb|px|%|kib|mib|tokens|coverage|percent|st|nd|rd|th",
)
_OPERATORS = {
    ">=": ">=|≥|⩾|at least|minimum|min|minimum of|no fewer than|no less than|not less than|greater than or equal to",
    ">": ">|more than|greater than|larger than|higher than|over|above|exceeds",
    "<=": "<=|≤|at most|maximum|max|maximum of|no more than|not more than|up to|less than or equal to",
    "<": "<|less than|fewer than|smaller than|lower than|under|below",
    "!=": "!=|≠|not equal to|other than",
}
_COMPARISONS = {saying: op for op, row in _OPERATORS.items() for saying in row.split("|")}
_NUMBER_WORDS = {
    word: n for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_VALUE_WORDS = frozenset(
    """
    PASS PASSED OK FAIL FAILED MISSING ERROR APPROVED PENDING SUCCESS DONE TRUE FALSE YES NO VALID INVALID READY CLEAN
    PONG HEALTHY UP DOWN NULL NONE MATCH WARNING WARN TODO FIXME HACK XXX PRESENT ABSENT FOUND COMPLETE GREEN RED
    EXISTS UNKNOWN BLOCKED OPEN MERGED CLOSED MERGEABLE
    """.split()
)
_LITERALS = frozenset(("true", "false", "null", "undefined", "pong", "ok"))
_LEX = re.compile(
    r"`(?P<span>[^`]*)`|\"(?P<quote>[^\"]*)\"|“(?P<curly>[^”]*)”|(?<!\w)'(?P<single>[^']*)'(?!\w)"
    r"|(?P<symbol>>=|<=|!=|={1,3}>?|->|[≥⩾≤≠→⇒<>:,&/+–—]|-(?=\s))"
    r"|(?P<version>\bv?\d+\.\d+\.\d[\w.+-]*|\bv\d[\w.]*)"
    r"|(?P<number>\d[\d,_]*(?:\.\d+)?)(?P<unit>%|[A-Za-z]+)?"
    r"|(?P<word>[^\W\d][\w'’./-]*)"
)
_QUOTES = ("span", "quote", "curly", "single")
_COMPARISON = re.compile(r"\s*(?:[<>]=?|[=!]=|=|≥|≤)?\s*\d+\+?\s*")
_LONGEST = 5
_FIRST_WORDS = frozenset(saying.split()[0] for saying in (*_MEANINGS, *_COMPARISONS) if " " in saying)


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
