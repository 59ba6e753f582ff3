"""The words around a command, split into clauses and brought into a few fixed words.

People say one thing in many ways: "should return at least two", "gives ≥ 2", "returns 2 or more".
Here each becomes `returns >= 2`, so that the patterns of expect.py have one form to know. Texts
between quotes or backticks become `⟦0⟧`, `⟦1⟧`; several of them joined become `⟦0&1⟧` or `⟦0/1⟧`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, rewriter, words

if TYPE_CHECKING:
    from collections.abc import Sequence

# An expectation is never stated further behind its command than this.
_REACH = 1000
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_COMPARISON = regex(r"\s*(?:[<>]=?|[=!]=|=|≥|≤)?\s*\d+\+?\s*")
_VALUES = regex(
    r"`(?P<span>[^`]*)`|\"(?P<quote>[^\"]*)\"|“(?P<curly>[^”]*)”"
    r"|(?<![\w])'(?P<single>[^'\n]*)'(?!\w)"
    r"|(?:(?<=match )|(?<=matches )|(?<=matching )|(?<=regex )|(?<=pattern )|(?<=expression ))"
    r"/(?P<regex>[^/\n]+)/"
    r"|(?<=[→>] )(?P<token>(?!exit|rc|status|code|http|\d+/\d+)[\w.-]+[=:@_/][^\s,;`)]*[\w/])"
    r"|(?:(?<=prints )|(?<=outputs )|(?<=shows ))"
    r"(?P<pair>(?!(?:key|name)=|\w+=value)[A-Za-z]\w*=[\w./-]*\w)"
    r"|(?P<hash>\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}\b)"
    r"|(?P<version>\bv?\d+\.\d+\.\d+(?:[\w.+-]*\w)?|\bv\d+(?:\.\w+)*)"
    r"|(?P<capitals>(?<![\w.-])[A-Z][A-Z_]+(?: [A-Z]{3,})*(?![\w:-]))"
    r"|(?P<name>(?<![\w./-])[\w.-]*\w\.(?!g\.|e\.)[a-z]{1,5}(?![\w/(]))"
    r"|(?P<directory>(?<![\w./])[\w.-]+/(?=[\s,]|$))"
)
_CAPITALS = words("prose", "capitals")
_LITERAL = any_of("literal", r"(?<![\w-])(?P<literal>", r")(?![\w-])")
_TWO_DOTS = regex(r"(\d)\.\.(\d)")
_NUMBER_WORD = regex(rf"\b(?:{'|'.join(_NUMBERS)})\b")
_THOUSANDS = regex(r"(?<=\d),(?=\d{3}\b)")
_OR_MORE = regex(r"(\d+)( [a-z]+)?(?: ?\+| or (?:more|greater|higher|above)| at least)(?!\w| \d)")
# `3 (at least)`: what is in the brackets belongs to the number.
_BEFORE_BOUND = r"(?<![\w.])(?P<number>[`*]*\d[\d,]*[`*]*) ?\(\W*"
_LOWER_BOUND = any_of("lower bound", _BEFORE_BOUND, r"\W*\)")
_UPPER_BOUND = any_of("upper bound", _BEFORE_BOUND, r"\W*\)")
_OR_FEWER = regex(r"(\d+)( [a-z]+)? (?:or (?:fewer|less|lower|below)|at most)\b(?! \d)")
_VERB = r"(?:is|are|returns|shows|prints|contains|exists|appears?|exits|fails|passes|not)\b"
_JOINED = regex(
    r"⟦([\d&/]+)⟧(?:,? (and|or|nor|as well as|and/or) |( ?[,/&+] ?))⟦([\d&/]+)⟧" rf"(?! {_VERB})"
)
_JOINT = regex(r"[&/]")
_REFERENCE = regex(r"⟦([\d&/]+)⟧")
_BRACKETS = regex(r"\(([^()]*)\)")
# The bracket that closes "(`grep x f` → empty)" has its opening one before the command.
_BRACKET_ENDS = regex(
    r"`[^`]*`|\"[^\"]*\"|'[^'\n]*'(?!\w)"
    r"|\((?:[^()`\"]|`[^`]*`|\"[^\"]*\")*\)|(?P<lone>\))"
)
# "prints the version (`1.2`)": the brackets say what it is.
_IN_APPOSITION = regex(
    r"(?P<said>\b(?:prints?|outputs?|returns?|shows?|reports?) (?:[a-z-]+ ){1,4}?[a-z-]+)"
    r" \((?P<value>⟦\d+⟧)\)"
)
# `[done]` at the end says how far the author has come, `[Story: A-1]` what it belongs to.
_TAG = regex(r"(?<=[\w)]) +\[[a-z]+(?: ?: ?[\w ,.-]+|-\d+)?\]\W*$", re.IGNORECASE)
# "terminates with 3": it would be taken for two clauses.
_ENDS_WITH_STATUS = regex(
    r"\b(?:terminates|finishes|completes|stops|quits|aborts|dies|fails) with (?=\d+\b(?!%| \w))",
    re.IGNORECASE,
)
# "drops from 14 to 3": how it is now.
_NOW_AT = regex(
    r"\b(?:drops|falls|goes|went|shrinks|decreases|grows|rises|increases|down|up) from [\d,]+"
    r"(?: \w+)? to (?=[\d<>≥≤a])",
    re.IGNORECASE,
)
# "12 before, 0 after"
_BEFORE_AND_AFTER = regex(r"\b\d+ before\b[^\d;.]*\b(?P<now>\d+) after\b", re.IGNORECASE)
# "no line with `x`" says no more than "no `x`".
_NO_LINE_WITH = regex(
    r"\b(?P<no>no|zero|without) (?:lines?|rows?|entry|entries) with (?=⟦)",
    re.IGNORECASE,
)
# A bar ends one if a label follows: "passes | Expected: 3".
_SENTENCE_END = regex(
    r"([;\n·•]|(?<= )\|(?= [A-Z][\w ]{0,30}: )|(?i:(?<!min)(?<!max))[.!?](?=\s|$))"
)
# "with" and "including" start a clause of their own: "exits 0 with all tests passing".
_CLAUSE_END = regex(
    r",(?!\d)|(?:^| )(?:and|(?<!nothing )but|AND|&&|&|--|[—–-]) "
    r"|(?<=[\d⟧])\s(?=[✅✓✔☑] )"
    r"|(?:(?<=\d)|(?<=nothing)|(?<=empty)|(?<=matches)|(?<=lines)): "
    r"|(?i:(?<!exit)(?<!exits))(?<!starts)(?<!begins)(?<!ends)(?<!start)(?<!begin)(?<!end)(?<!responds)(?<!compared)"
    r"(?!(?:(?<=finishes)|(?<=completes)|(?<=terminates)) with (?:an? )?(?:errors?|failures?)\b)"
    r"(?!(?:(?<=fails)|(?<=stops)) with (?:an? )?(?:exit )?(?:code|status)(?: of)? \d)"
    # "7 → 0" tells how it was and how it is.
    r"(?!(?<=\d) (?:→|->|=>) \d)(?= (?:with|including|→|->|=>) )"
)
_BETWEEN = regex(r"\bbetween (\d+) ?(?:and|-|–|to) ?(\d+)\b")
_RANGE = regex(r"(?<![\w.-])(\d+) ?(?:-|–|to) ?(\d+)(?![\w.-]*[-–]|[\w])")
# "prints 6 and 7", "prints 41 and `True`": two texts, not two amounts.
_LISTED_NUMBER = regex(
    r"(?<![<>=.\d⟦&/])(?<![<>=] )(?<!exit )(?<!exits )(?<!with )(?<!code )(?<!status )"
    rf"\b(\d+)(?= and (?:\d+\W*$|⟦\d+⟧(?! {_VERB})))"
)
# "3, 4 or 5"
_FURTHER_CHOICE = regex(r"(?<=\d), (?=\d+,? or \d)")
_LAST_NUMBER = regex(r"(?<=⟧ and )(\d+)(?=\W*$)")
_RESULT = any_of("result", r"\W*")
# `Pass: 3 lines` states what is expected; "pass: 3" would be a verdict.
_PASS_LABEL = any_of("pass label", r"^\W*", r"\s*:")
_TOLD = any_of("told", r"\W*")
# "shows `ready` (not `starting`)"
_CONTRAST = regex(r"\W*not ⟦\d+⟧\W*")
# `(or so)`: a remark that takes back a part of what stands before it.
_DOUBTING = any_of("doubting", r"\W*", r"(?!\w)")
_ALLOWED_BESIDE = any_of("allowed beside", r"\W*")
# The same for a clause: "returns 3, or 4 on another system".
_RETRACTING = any_of("retracting", r"\W*(?:with\b[^`]*\s)?", r"\b")
# "after the edit < 800": that is now.
_AFTER_CHANGE = any_of("the change", r"\W*after (?:the |this )?", r"\b")
_LIMIT = regex(r"\W*[<>≤≥]=? ?\d")
_MEASURED = regex(r"\d ?(?:[^\W\d]+|%)?\s*$")
_GREEN_LATER = any_of("green later", r"\W*")
# "fails first, then passes": only how it ends is asked for.
_GREEN_NOW = regex(
    r"\W*(?:(?:and )?then|now|afterwards)\s+(?:it )?"
    r"(?:pass(?:es)?|succeeds?|(?:is |turns )?green)\b"
    r"|\W*pass(?:es)?\s+(?:after|afterwards|now|then|once)\b",
    re.IGNORECASE,
)
_RED = regex(r"(?:→ )?(?:[\w-]+ ){0,4}(?:fails|red|exits)\b")
# In parentheses, one or two words only label the command: `(unit tests)`.
_LABEL_LENGTH = 2
# "returns nothing — PASS": how it went when somebody tried.
_RECORDED = regex(rf"(?<=\S) ?[—–-]+ (?:{'|'.join(words('prose', 'passing'))})(?=\W*(?:$|\n))")
# "0 matches ✅"
_LAST_MARK = regex(r"(?<=[\w⟧])(?<!all) *[✅✓✔☑]\W*$")
_FURTHER_DENIAL = regex(r"\W*(?:and )?(?:no|not|never|without) ⟦[\d&/]+⟧\W*")
_EMPTY = regex(r"[\W_]*")


class Value(NamedTuple):
    """A text that a clause refers to, and how it was written (`span`, `quote`, `name`, …)."""

    text: str
    kind: str


class Clause(NamedTuple):
    """One statement about a command.

    `text` is in the fixed words, or empty if it says nothing that can be asked of the command;
    `values` are the texts it refers to, and `source` is how it was written.
    """

    text: str
    values: Sequence[Value]
    source: str
    # Whether it goes on behind another clause of the same sentence.
    goes_on: bool = False
    # Whether it stands in parentheses and only describes something: `(as in the guide)`.
    is_remark: bool = False


def split_clauses(words_after: str) -> list[Clause]:
    """Return the clauses of the sentence behind a command and of those that go on about it."""
    text = _RECORDED.sub("", in_english(words_after[:_REACH]))
    text = _LOWER_BOUND.sub(r">= \g<number>", text)
    text = _UPPER_BOUND.sub(r"<= \g<number>", text)
    text = _BRACKET_ENDS.sub(_end_clause, text)
    splitter = _Splitter()
    text = splitter.take_values(_TAG.sub("", text))
    text = _IN_APPOSITION.sub(r"\g<said> \g<value>", text)
    text = _ENDS_WITH_STATUS.sub("exits ", text)
    text = _NOW_AT.sub("returns ", text)
    text = _BEFORE_AND_AFTER.sub(r"returns \g<now>", text)
    text = _NO_LINE_WITH.sub(r"\g<no> ", text)
    sentences = _BRACKETS.sub(_without_remark, text)
    found = splitter.split_sentences(sentences)
    return found + splitter.split_brackets(text, found)


def _end_clause(brackets: re.Match[str]) -> str:
    """Return brackets as they are; a lone one ends a clause."""
    return "," if brackets["lone"] else brackets[0]


def _without_remark(brackets: re.Match[str]) -> str:
    is_of_text = brackets.string[: brackets.start()].rstrip().endswith("⟧")
    if is_of_text and _ALLOWED_BESIDE.match(brackets[1]):
        return " "
    return brackets[0] if _DOUBTING.match(brackets[1]) else " "


class _Splitter:
    """Splits the words behind one command, and keeps the texts that they refer to."""

    def __init__(self) -> None:
        self.values: list[Value] = []

    def take_values(self, text: str) -> str:
        """Return `text` with each quoted or literal text replaced by its place in `values`."""
        text = _VALUES.sub(self._take_value, text)
        return _LITERAL.sub(self._take_value, text)

    def _take_value(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        text = match[kind]
        if _COMPARISON.fullmatch(text):
            # `>= 7` means the same with and without backticks.
            return text
        if kind == "capitals" and not _is_printed(text):
            return text
        return self._take(text.strip(), kind)

    def _take_number(self, match: re.Match[str]) -> str:
        return self._take(match[0], "number")

    def _take(self, text: str, kind: str) -> str:
        """Add a value, and return what stands for it in the text."""
        self.values.append(Value(text, kind))
        return f"⟦{len(self.values) - 1}⟧"

    def split_sentences(self, text: str) -> list[Clause]:
        """Return the clauses of the first sentence, and of those that tell a result."""
        first, *further = _SENTENCE_END.split(text)
        found: list[Clause] = []
        joints = ["", *further[::2]]
        sentences = [first, *further[1::2]]
        for joint, written in zip(joints, sentences, strict=True):
            sentence = _PASS_LABEL.sub("expected", written)
            if _GREEN_LATER.match(self._source(sentence)):
                found.clear()
            if not joint or _RESULT.match(sentence):
                found += self._split_sentence(sentence)
            elif joint == ";" and found and _FURTHER_DENIAL.fullmatch(sentence):
                found.append(self._clause(sentence)._replace(goes_on=True))
            elif not _EMPTY.fullmatch(sentence):
                found.append(self._clause(sentence)._replace(text=""))
        return found

    def split_brackets(self, text: str, found: Sequence[Clause]) -> list[Clause]:
        """Return what brackets tell of a result, and remarks; `found` are the other clauses."""
        has_value = any(_REFERENCE.search(clause.text) for clause in found)
        told: list[Clause] = []
        for brackets in _BRACKETS.finditer(text):
            inside = brackets[1]
            is_contrast = has_value and _CONTRAST.fullmatch(inside) is not None
            is_more = is_contrast or _is_limit(brackets)
            if is_more or _TOLD.match(inside):
                clauses = self._split_sentence(inside)
                told += [clause._replace(goes_on=clause.goes_on or is_more) for clause in clauses]
                continue
            is_label = len(inside.split()) <= _LABEL_LENGTH
            if not is_label and not _DOUBTING.match(inside):
                told.append(self._clause(inside)._replace(is_remark=True))
        return told

    def _split_sentence(self, sentence: str) -> list[Clause]:
        """Return the clauses of a sentence; none says anything if one takes the others back."""
        sentence = _BETWEEN.sub(r"\1..\2", sentence)
        sentence = _RANGE.sub(r"\1..\2", sentence)
        sentence = _LISTED_NUMBER.sub(self._take_number, sentence)
        sentence = _LAST_NUMBER.sub(self._take_number, sentence)
        sentence = _FURTHER_CHOICE.sub(" or ", sentence)
        sentence = _join_values(sentence)

        clauses: list[Clause] = []
        for piece in _CLAUSE_END.split(sentence):
            if _EMPTY.fullmatch(piece):
                continue
            clause = self._clause(piece)
            clauses.append(clause._replace(goes_on=bool(clauses)))
        clauses = _from_green(clauses)

        start = 0
        if clauses and _AFTER_CHANGE.match(clauses[0].source):
            start = 1
        if any(_RETRACTING.match(clause.source) for clause in clauses[start:]):
            return [clause._replace(text="") for clause in clauses]
        return clauses

    def _clause(self, words: str) -> Clause:
        return Clause(normalise(words), self.values, self._source(words))

    def _source(self, words: str) -> str:
        """Return words as they were written."""
        written = _REFERENCE.sub(self._quote, words)
        written = _TWO_DOTS.sub(r"\1-\2", written)
        return tidied(written.strip().removeprefix("->"))

    def _quote(self, reference: re.Match[str]) -> str:
        indexes = split_indexes(reference[1])
        texts = [self.values[index].text for index in indexes]
        return ", ".join(f"`{text}`" for text in texts)


def _from_green(clauses: list[Clause]) -> list[Clause]:
    """Return how a sentence ends that starts with a failure: "fails first, then passes"."""
    # "RED first, then GREEN": words in capitals are in backticks by now.
    plain = [clause.source.replace("`", "") for clause in clauses]
    if len(plain) < 2 or not _RED.match(normalise(plain[0])):
        return clauses
    for index, written in enumerate(plain):
        if _GREEN_NOW.match(written):
            return clauses[index:]
    return clauses


def _is_limit(brackets: re.Match[str]) -> bool:
    """Whether brackets compare the number right before them: `142 lines (< 150)`."""
    if not _LIMIT.match(brackets[1]):
        return False
    before = brackets.string[: brackets.start()]
    return _MEASURED.search(before) is not None


def _is_printed(capitals: str) -> bool:
    """Whether a word in capitals is a text such as `PASS`, not an abbreviation."""
    return "_" in capitals or not _CAPITALS.isdisjoint(capitals.split())


def normalise(text: str) -> str:
    """Return the text in the fixed words of vocabulary/english.txt."""
    text = _THOUSANDS.sub("", text.lower())
    text = _NUMBER_WORD.sub(lambda match: str(_NUMBERS.index(match[0])), text)
    text = _OR_MORE.sub(r">= \1\2", text)
    text = _OR_FEWER.sub(r"<= \1\2", text)
    text = _LAST_MARK.sub("", text)
    text = rewriter("english")(text)
    text = re.sub(r"[*_:]+", " ", text)
    return " ".join(text.split()).lstrip(" .,#)").rstrip(" .,!(")


def _join_values(text: str) -> str:
    """Return `text` with each list of values (`⟦0⟧, ⟦1⟧ and ⟦2⟧`) as one."""
    while match := _JOINED.search(text):
        joint = "/" if match[2] in ("or", "and/or") else "&"
        indexes = [*_JOINT.split(match[1]), *_JOINT.split(match[4])]
        before = text[: match.start()]
        behind = text[match.end() :]
        text = f"{before}⟦{joint.join(indexes)}⟧{behind}"
    return text


def split_indexes(joined: str) -> list[int]:
    """Return the places of the values in `0&1` or `0/1`."""
    return [int(index) for index in _JOINT.split(joined)]


def tidied(words: str) -> str:
    """Return words on one line, without punctuation or a lone bracket around them."""
    written = " ".join(words.split()).strip(" .,;:—–-")
    if written.count("(") != written.count(")"):
        return written.strip(" ()")
    return written
