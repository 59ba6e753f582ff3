"""Translation of the words that matter in a Verify field from other languages into English.

Expectations are read in English only. The table is vocabulary/languages.txt.
"""

from __future__ import annotations

from functools import cache

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases, rewriter, words

_PRINTED = r"(`[^`\n]+`|\"[^\"\n]+\"|「[^」\n]+」|\d+)\s*(?:件|行)?\s*(?:を|が|と)"
# Where a language puts the verb last, the number or text it is about is moved behind it.
_WORD_ORDER = (
    (regex(r"(\d+)\s*(?:件|行|個|つ)?\s*以上"), r" at least \1 "),
    (regex(r"(\d+)\s*(?:件|行|個|つ)?\s*以下"), r" at most \1 "),
    (regex(r"(\d+)\s*(?:件|行|個|つ)?\s*未[満满]"), r" less than \1 "),
    (regex(r"(\d+)\s*(?:개|건|줄|행)?\s*이상"), r" at least \1 "),
    (regex(r"(\d+)\s*(?:개|건|줄|행)?\s*이하"), r" at most \1 "),
    (regex(r"(\d+)\s*(?:개|건|줄|행)?\s*미만"), r" less than \1 "),
    (regex(rf"{_PRINTED}\s*返\S*"), r" returns \1 "),
    (regex(rf"{_PRINTED}\s*(?:出力|表示)\S*"), r" shows \1 "),
    (regex(rf"{_PRINTED}\s*含ま(?:ない|れない|れていない)\S*"), r" does not contain \1 "),
    (regex(rf"{_PRINTED}\s*含\S*"), r" contains \1 "),
    (regex(r"не равен нулю"), " non-zero "),
)
_FULL_WIDTH = str.maketrans(
    "，、。；：（）“”「」＞＜＝０１２３４５６７８９", ',,.;:()""""><=0123456789'
)
_OTHER_SCRIPT = regex(
    "[\u3000-\u303f\uff00-\uffef\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
_LATIN_WORD = regex("[a-zà-ÿăđĩũơư\u1ea0-\u1ef9]{2,}")
# What is left of a Japanese clause once its words are translated.
_PARTICLE = regex(r"(?<!\S)(?:こと|[がはをにでともの])+(?!\S)")
_QUOTED = regex(r"(`[^`]*`|\"[^\"]*\")")
_BLANKS = regex(r"[ \t]+")
_ENGLISH_ROW = "english"


def in_english(text: str) -> str:
    """Return `text` with the words of the table in English; other words and code spans stay."""
    if not _is_foreign(text):
        return text
    text = text.translate(_FULL_WIDTH)
    for pattern, order in _WORD_ORDER:
        text = pattern.sub(order, text)
    translate = rewriter("languages", without=_ENGLISH_ROW)
    parts = _QUOTED.split(text)
    for index in range(0, len(parts), 2):
        translated = _PARTICLE.sub("", translate(parts[index]))
        parts[index] = _BLANKS.sub(" ", translated)
    return "".join(parts)


def _is_foreign(text: str) -> bool:
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return True
    return not _foreign_words().isdisjoint(_LATIN_WORD.findall(text.lower()))


@cache
def _foreign_words() -> frozenset[str]:
    """Return the words of the table that English does not use.

    Most fields hold none of them, and are spared the whole table.
    """
    found: set[str] = set()
    for key, row in phrases("languages").items():
        if key != _ENGLISH_ROW:
            found.update(_LATIN_WORD.findall(" ".join(row)))
    return frozenset(found - words("languages", _ENGLISH_ROW))
