"""Translation of the words that matter in a Verify field from other languages into English.

Expectations are read in English only. Words are replaced by the table vocabulary/languages.txt;
what English says in another order is then moved, by the few rules of _ORDER.
"""

from __future__ import annotations

import re
from functools import cache

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases, rewriter, words

_FULL_WIDTH = str.maketrans("＞＜＝０１２３４５６７８９＋／", "><=0123456789+/") | str.maketrans(
    {
        "，": ", ",
        "、": ", ",
        "。": ". ",
        "；": "; ",
        "：": ": ",
        "！": "! ",
        "？": "? ",
        "（": " (",
        "）": ") ",
        "【": " (",
        "】": ") ",
    }
)
_SPAN = regex(r"(`[^`]*`)")
_QUOTED = regex(r"(`[^`]*`|\"[^\"\n]*\")")
# What other languages put a text into; German closes with the mark that opens in English.
_QUOTES = regex(
    r"「([^」\n]*)」|『([^』\n]*)』|《([^》\n]*)》|“([^”\n]*)”|«\s*([^»\n]*?)\s*»|„([^“”\"\n]*)[“”\"]"
)
_OTHER_SCRIPT = regex("[„«\u0400-\u04ff\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff01-\uff5e]")
_LATIN_WORD = regex("[a-zß-öø-ÿ\u0100-\u017fơư\u1ea0-\u1ef9]{2,}")
# What is left of a Japanese or Korean clause once its words are translated.
_PARTICLE = regex(
    r"(?<!\S)(?:(?:こと|[がはをにでともの])+|[을를이가은는로의에도]|으로|에서|에는|이어야|여야|이다)(?!\S)"
)
# A word of an entry, and what follows it if that may change its ending: `mostra(?:r|n)`.
_LETTER = "[a-zß-öø-ÿ\u0100-\u017fơư\u1ea0-\u1ef9]"
_TABLE_WORD = regex(rf"(?<= )(?P<word>{_LETTER}{{2,}})(?!{_LETTER})(?P<more>\[|\?|\(\?:(?! ))?")
_STEM = 4
# A shorter stem of plain letters starts English words too.
_PLAIN_STEM = 5
# Between two quoted texts.
_JOINTS = frozenset("と や 와 과 、".split())
_BLANKS = regex(r"[ \t]+")
_ENGLISH_ROW = "english"

_TEXT = r"(?:`[^`\n]+`|\"[^\"\n]+\")"
_NOUN = (
    r"(?:stdout|output|files?|lines?|matches|match|results?|errors?|warnings?|changes?|failures?)"
)
_PRINTS = r"(?:returns(?! nothing| empty)|prints|shows|contains)"
_END = r"(?=\s*(?:$|[.,;:!?)\n→]|(?:and|or|then|verify)\b))"
_FRENCH_NOT = r"(?:pas|plus|jamais)\b"
_PREFIX = r"(?:aus|zurück|an|mehr|op|terug|weer|ut)(?!\w)"
_DENIED = r"(?:(?:not|no|non|ne|does not)\s+)"
_NUMBER = r"(?<![\w.,-])\d+"
_COMPARED = r"(?:(?:at least|at most|more than|less than)\s+)?"
_VALUE = (
    rf"({_COMPARED}{_NUMBER}(?:\s+{_NOUN})?"
    rf"|{_TEXT}(?:\s*(?:,|and|or)\s*{_TEXT})*)"
)
_NO_VERB_BEFORE = r"(?<!prints )(?<!returns )(?<!shows )(?<!contains )"
# Words that are in English one by one, and what an author of English would have written. Each row
# has an example of what it finds, behind what the author wrote; all rows are tried in this order.
_ORDER = (
    # "3行以上": 3 lines at least
    (rf"({_NUMBER})\s*({_NOUN})?\s*(?:or more\b|at least{_END})", r" at least \1 \2 "),
    # "3行未満": 3 lines less than
    (rf"({_NUMBER})\s*({_NOUN})?\s*(?:less than{_END})", r" less than \1 \2 "),
    # "sollte mit Exit-Code 1 enden": should with exit code 1
    (r"\bshould\s+with exit code\b", " exit code "),
    # "退出码应为 2": exit code returns 2
    (
        r"\b(exits with|exit code)\s+(?:returns|should|c[óo]digo|codice|code|kod\w*)\s+(?=\d|non-)",
        r" \1 ",
    ),
    # "命中 1 行": matches 1 lines
    (r"\b(?:matches|appears|found)\s+(?:count\s+)?(?=(?:at \w+ |exactly )?\s*\d)", " returns "),
    # "hata yok": errors is absent
    (rf"(?:\bno\s+)?\b({_NOUN})\s+is absent\b", r" no \1 "),
    # "no encuentra nada": no found returns nothing
    (rf"\b{_DENIED}?(?:should\s+)?(?:{_PRINTS}|found)\s+returns nothing\b", " returns nothing "),
    # "ne doit rien retourner": ne should returns nothing
    (rf"\b{_DENIED}should\s+returns nothing\b", " returns nothing "),
    # "nic nie zwraca": returns nothing not returns
    (
        rf"\breturns nothing\s+{_DENIED}?(?:should\s+)?(?:(?:{_PRINTS}|found)\b|{_PREFIX})",
        " returns nothing ",
    ),
    # "boş dönmeli": returns empty returns
    (rf"\breturns empty\s+{_PRINTS}\b", " returns nothing "),
    # "gibt `stew` aus": returns `stew` aus
    (rf"\breturns\s+({_TEXT})\s+aus\b", r" prints \1 "),
    # "`soup` отсутствует": `soup` is absent
    (rf"{_VALUE}\s+is absent\b", r" does not contain \1 "),
    # "不应出现 `soup`": is absent `soup`
    (rf"\bis absent\s+(?={_TEXT})", " does not contain "),
    # "pusty wynik": returns empty results
    (rf"\breturns (?:nothing|empty)\s+{_NOUN}\b", " returns nothing "),
    # "`soup` içermemeli": `soup` does not contain
    (rf"{_NO_VERB_BEFORE}{_VALUE}\s+does not contain{_END}", r" does not contain \1 "),
    # "`5` を返す": `5` returns
    (rf"{_NO_VERB_BEFORE}{_VALUE}\s+({_PRINTS}){_END}", r" \2 \1 "),
    # "`soup` görünür": `soup` appears
    (rf"{_NO_VERB_BEFORE}{_VALUE}\s+appears{_END}", r" shows \1 "),
    # "非ゼロで終了": non-zero exits with
    (rf"({_NUMBER}|non-zero)\s+(?:exits with|exit code){_END}", r" exit code \1 "),
    # "no debe mostrar": no should shows
    (rf"\b(?:no|not)\s+(?:should\s+)?({_PRINTS})(?:\s+any\b)?", r" does not \1 "),
    # "bevat `soup` niet": contains `soup` not
    (rf"({_PRINTS})\s+({_TEXT})\s+not{_END}", r" does not \1 \2 "),
    # "n'affiche pas": n' shows pas
    (
        rf"\bn(?:e|')\s+(?:should\s+)?({_PRINTS}|fails)\s+{_FRENCH_NOT}(?:\s+d(?:e|')\s*)?",
        r" does not \1 ",
    ),
    # "não retorna nenhuma linha": does not returns no lines
    (rf"\bdoes not {_PRINTS}\s+(?:any\s+)?(?:no\s+)?({_NOUN})\b", r" returns no \1 "),
)


def in_english(text: str) -> str:
    """Return `text` with the words of the table in English; other words and code spans stay."""
    if not _is_foreign(text):
        return text
    parts = _QUOTED.split(_with_plain_quotes(text))
    # Every other part is a text in quotes.
    for index in range(0, len(parts), 2):
        parts[index] = _words_in_english(parts[index])
    english = "".join(parts)
    for pattern, order in _order():
        english = pattern.sub(order, english)
    return _BLANKS.sub(" ", english)


def _words_in_english(text: str) -> str:
    if text.strip() in _JOINTS:
        return " and "
    translate = rewriter("languages", without=_ENGLISH_ROW)
    english = translate(text.translate(_FULL_WIDTH))
    return _BLANKS.sub(" ", _PARTICLE.sub("", english))


def _with_plain_quotes(text: str) -> str:
    parts = _SPAN.split(text)
    for index in range(0, len(parts), 2):
        parts[index] = _QUOTES.sub(_plainly_quoted, parts[index])
    return "".join(parts)


def _plainly_quoted(quoted: re.Match[str]) -> str:
    return f'"{quoted[quoted.lastindex or 0]}"'


@cache
def _order() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), order) for pattern, order in _ORDER]


def _is_foreign(text: str) -> bool:
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return True
    whole, stems = _foreign_words()
    for token in _LATIN_WORD.findall(text.lower()):
        if token in whole:
            return True
        if token.startswith(stems.get(token[:_STEM], ())):
            return True
    return False


@cache
def _foreign_words() -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """Return the words of the table that English does not use, and what others start with.

    Most fields hold none of them, and are spared the whole table. The stems are by their first
    letters.
    """
    english = words("languages", _ENGLISH_ROW)
    whole: set[str] = set()
    stems: dict[str, tuple[str, ...]] = {}
    for found in _TABLE_WORD.finditer(_foreign_entries()):
        word = found["word"]
        if not found["more"]:
            whole.add(word)
            continue
        stem = word[:-1] if found["more"] == "?" else word
        shortest = _PLAIN_STEM if stem.isascii() else _STEM
        is_english = f"{stem}-" in english
        if len(stem) >= shortest and not is_english:
            known = stems.get(stem[:_STEM], ())
            stems[stem[:_STEM]] = (*known, stem)
    return frozenset(whole - english), stems


def _foreign_entries() -> str:
    rows = [""]
    for key, row in phrases("languages").items():
        if key != _ENGLISH_ROW:
            rows += row
    return " | ".join(rows)
