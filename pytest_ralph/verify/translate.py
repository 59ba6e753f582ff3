"""The Lexicon, the words in which specs of several languages say what a command should do, in English.

Expectations are read in one language only (expectation.py); the table that brings the others there
is words/languages.txt.
"""

from __future__ import annotations

import re
from functools import cache

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases, words

# Where the verb comes last, the number or text it is said of is brought behind it.
_ORDER = (
    (regex(r"(\d+)\s*(?:件|行|個|つ)?\s*以上"), r" at least \1 "),
    (regex(r"(\d+)\s*(?:件|行|個|つ)?\s*以下"), r" at most \1 "),
    (
        regex(
            r"(`[^`\n]+`|\"[^\"\n]+\"|「[^」\n]+」|\d+)\s*(?:件|行)?\s*(?:を|が|と)\s*(?:返|出力|表示)\S*"
        ),
        r" returns \1 ",
    ),
    (regex(r"не равен нулю"), " non-zero "),
)
_FULL_WIDTH = str.maketrans(
    "，。；：（）“”「」＞＜＝０１２３４５６７８９", ',.;:()""""><=0123456789'
)
_OTHER_SCRIPT = regex("[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_LATIN_WORD = regex("[a-zà-ÿăđĩũơư\u1ea0-\u1ef9]{2,}")


def in_english(text: str) -> str:
    """`text` with the words that matter for an expectation in English; the rest, and code spans, as they are."""
    if not _is_foreign(text):
        return text
    text = text.translate(_FULL_WIDTH)
    for pattern, order in _ORDER:
        text = pattern.sub(order, text)
    parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
    pattern, english = _pattern()
    return "".join(
        part
        if index % 2
        else re.sub(r"[ \t]+", " ", pattern.sub(lambda match: english[match.lastgroup or ""], part))
        for index, part in enumerate(parts)
    )


def _is_foreign(text: str) -> bool:
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return True
    return not _signs().isdisjoint(_LATIN_WORD.findall(text.lower()))


@cache
def _sayings() -> dict[str, list[str]]:
    table = phrases("languages")
    del table["english"]
    return table


@cache
def _signs() -> frozenset[str]:
    """Words that only another language uses: seeing none of them saves the whole table."""
    entries = " ".join(saying for row in _sayings().values() for saying in row)
    return frozenset(_LATIN_WORD.findall(entries)) - words("languages", "english")


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for all sayings, longest first, and the English for each of its groups."""
    english: dict[str, str] = {}
    sayings: list[str] = []
    for meaning, row in _sayings().items():
        for saying in row:
            group = f"g{len(english)}"
            english[group] = f" {meaning} "
            # Chinese and Japanese do not set their words apart.
            edge = r"(?<!\w){}(?!\w)" if ord(saying.lstrip("(?:")[0]) < 0x2E80 else "{}"
            sayings.append(edge.format(f"(?P<{group}>{saying})"))
    sayings.sort(key=len, reverse=True)
    return re.compile("|".join(sayings), re.IGNORECASE), english
