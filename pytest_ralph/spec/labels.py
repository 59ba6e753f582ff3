"""The labels that start a field: `**Verify**: …`, `- Verify (in web): …`, `#### Verify`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pytest_ralph.text.markdown import LIST_MARKER
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import any_of

# Labels that start a field in any case, with or without bold, and the names of those fields.
_KNOWN = {
    "do": "Do",
    "steps": "Steps",
    "file": "Files",
    "files": "Files",
    "done when": "Done when",
    "commit": "Commit",
    "depends on": "Depends on",
    "depends": "Depends on",
    "depends-on": "Depends on",
    "dependencies": "Depends on",
    "timeout": "Timeout",
    "expect": "Expect",
    "executor": "Executor",
    "requirements": "Requirements",
    "design": "Design",
}
# `verify` in any language of the vocabulary, alone or with words that narrow it: `Quick verify 2`.
_VERIFY = any_of(
    "verify label",
    r"(?:how to |automated? |auto-?|ralph-|quick |final )?",
    r"(?:方法|方式|命令|步骤|步驟|コマンド|手順|[ \t]?방법|[ \t]?명령)?"
    r"(?:[ \t](?:commands?|cmd|steps?|script|checks?|tests?|with|by|via|red|green|refactor|locally"
    r"|again|all|this|now|manually|visually|befehl|comando|commande))*"
    r"(?:[ \t]?#?\d{1,2})?(?:[ \t]after(?:[ \t][\w-]+){1,3})?",
)
# The fields that change what is run, and labels that resemble them but are none of them.
_EFFECTIVE = {
    "verify": "Verify",
    "expect": "Expect",
    "timeout": "Timeout",
    "depends on": "Depends on",
    "executor": "Executor",
    "commit": "Commit",
}
_OTHER_WORDS = frozenset(["expected", "expects", "execute"])
# Emoji and signs before a name: `**✅ Verify**`.
_SIGNS = " \t\ufe0f✅✔☑✓🔍🔎🧪🔬🎯📋👀▶➤➡•"

# `Verify (unit):`, `**Commit** (one)`: a label may have a remark.
NOTE = r"(?:[ \t]*\([^()\n]{0,80}\))"
_START = rf"(?P<indent>[ \t]*)(?P<bullet>{LIST_MARKER}[ \t]+)?(?:\[[ xX]\][ \t]+)?"
_BOLD = regex(
    _START
    + r"(?:[^\w\s*_`\[(<\"'-]+[ \t]*)?(?P<mark>\*\*|__)(?P<name>[^*_`\n:：][^*`\n:：]{0,60}?)"
    r"[ \t]*(?P<colon>[:：])?[ \t]*(?P=mark)"
    rf"(?P<note>{NOTE})?[ \t]*(?P<late>[:：]|[–—-](?=[ \t]))?[ \t]*"
)
# `*Verify*: …`; only a known name, because much else is written in italics.
_ITALIC = regex(
    _START
    + r"(?P<mark>[*_])(?P<name>[^\W\d_][^*_`\n:：()]{0,40})[ \t]*(?P<colon>[:：])?(?P=mark)(?!\w)"
    rf"(?P<note>{NOTE})?[ \t]*(?(colon)|[:：])[ \t]*"
)
_PLAIN = regex(
    _START
    + r"(?:[^\w\s\x00-\x7f]+[ \t]*)?(?P<mark>[_*])?(?P<name>[^\W\d_][^*_`\n:：()\[\]]{0,40}?)"
    + rf"(?P<note>{NOTE})?[ \t]*[:：][ \t]*"
)
_HEADED = regex(r"(?P<indent>[ \t]*)#{2,6}[ \t]+(?P<name>[^\n:：]{1,60}?)[ \t]*[:：]?[ \t]*#*$")

# `**Verify (by hand)**`
_REMARK = regex(r"[ \t]*\(([^()]{0,60})\)$")
# `**Verify** (in `web`):` says where; any other note behind a name is a remark.
_WHERE = regex(r"[ \t]*\((?:in|from|inside|within|under)[ \t]", re.IGNORECASE)
_BY_HAND = regex(
    r"\([^()]*\b(?:manual|by (?:hand|eye)\b)|[ \t](?:manual|visual)ly\b", re.IGNORECASE
)
_UNDER_CONDITION = any_of(
    "label condition",
    r"\((?:[^()]*,)?[ \t]*(?:(?:this|it|these)[ \t]+)?(?P<condition>",
    r"(?![\w-])[^()]*)\)",
)
# The text of a field that a person has to check begins with this.
MANUAL = "(manual)"

_NEXT_LABEL = regex(
    r"(?<=\S)[ \t]+(?:"
    rf"(?<=[|｜] )(?P<column>[^\W\d_a-z][\w ]{{0,30}}){NOTE}?[:：]"
    rf"|(?P<mark>\*\*|__)(?P<bold>[^*_`\n:：]{{1,60}}?)"
    rf"(?:[ \t]*[:：][ \t]*(?P=mark)|(?P=mark){NOTE}?[ \t]*[:：])"
    rf"|(?P<plain>[A-Z][a-z]+(?: [a-z]+)?){NOTE}?:[ \t])"
)
# Without bold only these are labels there: `Files: 3` may be what a command prints.
_PLAIN_ENDS = ("Commit", "Depends on", "Done when")
# With bold every known name is one but these, which are about the same check.
_GOES_ON = ("", "Verify", "Expect")
# Behind a bar every name is one, but for these and what is expected of the command before it.
_SAME_CHECK = ("Verify", "Expect")
_EXPECTED = any_of("result")
# What a label within a line stands behind: the end of a sentence or of a code span.
# A bar in a row of a table is none.
_SENTENCE_BEFORE = regex(r"(?!(?:[-*+>]|\d{1,9}[.)])$|\|).*[.;,|｜·•—–)`✅✔✓]$")


class Label(NamedTuple):
    """The start of a field. `label` is its name as written, `rest` the text behind it."""

    name: str
    label: str
    indent: int
    bulleted: bool
    known: bool
    rest: str


def _read_bold_label(line: str) -> Label | None:
    """Read `**Verify**: …`; without a colon or a dash only a known name is a label."""
    match = _BOLD.match(line)
    if match is None:
        return None
    if match["colon"] or match["late"] or known_name(match["name"]):
        return _label(match, line)
    return None


def _read_plain_label(line: str) -> Label | None:
    """Read `Verify: …` or `*Verify*: …`."""
    match = _ITALIC.match(line) or _PLAIN.match(line)
    if match is None or not known_name(match["name"]):
        return None
    return _label(match, line)


def _read_heading_label(line: str) -> Label | None:
    """Read `#### Verify`."""
    match = _HEADED.match(line)
    if match is None:
        return None
    name = known_name(match["name"])
    if not name:
        return None
    indent = len(match["indent"])
    return Label(name, match["name"], indent, bulleted=False, known=True, rest="")


# What a line must contain to be read in each of these ways; most lines contain none of it.
_READERS = (
    ("**", _read_bold_label),
    ("__", _read_bold_label),
    (":", _read_plain_label),
    ("：", _read_plain_label),
    ("#", _read_heading_label),
)


def read_label(line: str) -> Label | None:
    """Return the field label that a line starts with, if it does."""
    for characters, read in _READERS:
        label = read(line) if characters in line else None
        if label is not None:
            return label
    return None


def _label(match: re.Match[str], line: str) -> Label:
    """Make the label of a matched line, with what its note and its marks say about the text."""
    label = match["name"].strip()
    name = known_name(label)
    rest = line[match.end() :]

    if line.lstrip().startswith("|"):
        # A row of a table of fields: `| **Verify** | `make` |`.
        rest = rest.strip(" \t|").replace("\\|", "|")
    if name == "Verify":
        rest = under_note(match["note"], rest, label)
    if match["mark"] in ("_", "*"):
        # `_Verify: …_`: the mark that closes it stands at the end of the line.
        rest = rest.rstrip().removesuffix(match["mark"])

    return Label(
        name=name or label,
        label=label,
        indent=indentation(match["indent"]),
        bulleted=bool(match["bullet"]),
        known=bool(name),
        rest=rest,
    )


def under_note(note: str | None, text: str, label: str = "") -> str:
    """Return the text of a Verify field with what its label, or the note behind it, says.

    `Verify (in web)` says where it is done, `Verify (manually)` and `Verify (if there is a phone)`
    that a person has to look, or to decide.
    """
    note = note or ""
    if _WHERE.match(note):
        text = f"{note.strip()}: {text}"
    written = label + note
    if _BY_HAND.search(written):
        return f"{MANUAL}: {text}"
    condition = _UNDER_CONDITION.search(written)
    if condition:
        return f"optional, {condition['condition'].strip()}: {text}"
    return text


def before_next_label(text: str) -> str:
    """Return the text of a Verify field up to a field that begins on the same line.

    "`make check` passes. **Commit (one)**: `git commit`"
    """
    for found in _NEXT_LABEL.finditer(text):
        before = text[: found.start()]
        if _starts_field(found) and _is_end_of_sentence(before):
            return before.rstrip(" \t·•|｜—–")
    return text


def _starts_field(found: re.Match[str]) -> bool:
    """Whether a label within a line starts a field that is not about the same check."""
    is_behind_bar = found.string.endswith(("|", "｜"), 0, found.start())
    if is_behind_bar:
        name = found["column"] or found["bold"] or found["plain"]
        return known_name(name) not in _SAME_CHECK and _EXPECTED.match(f"{name}:") is None
    if found["plain"]:
        return known_name(found["plain"]) in _PLAIN_ENDS
    return known_name(found["bold"]) not in _GOES_ON


def _is_end_of_sentence(text: str) -> bool:
    """Whether a sentence or a code span ends here, and no code span or quotation is open."""
    last_line = text.rpartition("\n")[2]
    return not is_quoted(text) and _SENTENCE_BEFORE.match(last_line.strip()) is not None


def is_quoted(text: str) -> bool:
    """Whether a code span, or a quotation on the last line, is open at the end of a text."""
    last_line = text.rpartition("\n")[2]
    return text.count("`") % 2 == 1 or last_line.count('"') % 2 == 1


@lru_cache(maxsize=256)
def known_name(label: str) -> str:
    """Return the name of the well-known field with this label, or an empty string."""
    label = without_note(label).lower().lstrip(_SIGNS)
    if label in _KNOWN:
        return _KNOWN[label]
    return "Verify" if _VERIFY.fullmatch(label) else ""


@lru_cache(maxsize=256)
def misspelt(label: str) -> str:
    """Return the field that an unknown label was probably meant to be, or an empty string."""
    label = label.lower()
    if label in _OTHER_WORDS or known_name(label):
        return ""
    # Imported here: many specs have known fields only.
    from difflib import get_close_matches

    for close in get_close_matches(label, _EFFECTIVE, n=1, cutoff=0.8):
        return _EFFECTIVE[close]
    return ""


def without_note(label: str) -> str:
    """Return `Expected` of `Expected (after step 2)`."""
    return _REMARK.sub("", label.strip())


def indentation(indent: str) -> int:
    """Return how many columns an indentation takes."""
    return len(indent.expandtabs(4))
