"""The fields of a task: `**Do**: …`, `**Verify**: …`, and the paths that a Files field names."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    "dependencies": "Depends on",
    "timeout": "Timeout",
    "expect": "Expect",
    "executor": "Executor",
    "requirements": "Requirements",
    "design": "Design",
}
# The fields that change what is run, and labels that resemble them but are none of them.
_EFFECTIVE = {
    name.lower(): name
    for name in ("Verify", "Expect", "Timeout", "Depends on", "Executor", "Commit")
}
_OTHER_WORDS = frozenset(["expected", "expects", "execute"])
# "Verify" in several languages, alone or with a word that narrows it.
_VERIFY = regex(
    r"(?:how to |automated? |auto-?|ralph-|quick |final )?"
    r"(?:verify|verification|verifizieren|verifizierung|verifikation|verificar|verificaci[oó]n"
    r"|verifica[cç][aã]o|verifica"
    r"|v[ée]rifier|v[ée]rification|prüfen|prüfung|überprüfen|überprüfung|nachweis|проверка"
    r"|проверить"
    r"|перевірка|weryfikacja|verificatie|verifikasi|verifiering|ověření|doğrulama|kiểm tra"
    r"|kiểm chứng|xác minh"
    r"|검증|확인(?= 방법)|验证|驗證|検証|確認方法)"
    r"(?:方法|命令|步骤|步驟|コマンド|手順|[ \t]?방법|[ \t]?명령)?"
    r"(?:[ \t](?:commands?|cmd|steps?|script|checks?|tests?|with|by|via|red|green|refactor"
    r"|locally|again|all|this|now"
    r"|manually|visually"
    r"|befehl|comando|commande))*(?:[ \t]?#?\d{1,2})?(?:[ \t]after(?:[ \t][\w-]+){1,3})?",
    re.IGNORECASE,
)
# `Verify (unit):`, `**Commit** (one)`: a label may have a remark.
NOTE = r"(?:[ \t]*\([^()\n]{0,80}\))"
_START = r"(?P<indent>[ \t]*)(?P<bullet>(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
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
# `**Verify (by hand)**`
_REMARK = regex(r"[ \t]*\(([^()]{0,60})\)$")
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
_PLAIN = regex(
    _START
    + r"(?:[^\w\s\x00-\x7f]+[ \t]*)?(?P<mark>[_*])?(?P<name>[^\W\d_][^*_`\n:：()\[\]]{0,40}?)"
    + rf"(?P<note>{NOTE})?[ \t]*[:：][ \t]*"
)
_NEXT_LABEL = regex(
    r"(?<=\S)[ \t]+(?:"
    rf"(?P<mark>\*\*|__)(?P<bold>[^*_`\n:：]{{1,60}}?)"
    rf"(?:[ \t]*[:：][ \t]*(?P=mark)|(?P=mark){NOTE}?[ \t]*[:：])"
    rf"|(?P<plain>[A-Z][a-z]+(?: [a-z]+)?){NOTE}?:[ \t])"
)
# Without bold only these are labels there: `Files: 3` may be what a command prints.
_PLAIN_ENDS = ("Commit", "Depends on", "Done when")
_GOES_ON = ("Verify", "Expect")
# What a label within a line stands behind: the end of a sentence or of a code span.
_SENTENCE_BEFORE = regex(r"(?!(?:[-*+>]|\d{1,9}[.)])$).*[.;,|·•—–)`✅✔✓]$")
_HEADED = regex(r"(?P<indent>[ \t]*)#{2,6}[ \t]+(?P<name>[^\n:：]{1,60}?)[ \t]*[:：]?[ \t]*#*$")
# `**Verify** (in `web`):` says where; any other note behind a name is a remark.
_WHERE = regex(r"[ \t]*\((?:in|from|inside|within|under)[ \t]", re.IGNORECASE)
_RULE = regex(r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_BULLET = regex(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
# `- [ ] **Step 2: Run the test**` is beside the fields above it, not part of the last one.
_STEP = regex(r"[ \t]*(?:[-*+][ \t]+\[[ xX]\][ \t]+)?\*\*Step[ \t]\d", re.IGNORECASE)
# What stands under one of these labels is about the Verify field above it.
_RESULT = regex(
    r"[-*+][ \t]+(?:expect(?:ed|s)?(?:[ \t](?:output|results?))?"
    rf"|pass(?:[ \t](?:criteria|condition))?){NOTE}?[ \t]*[:：]",
    re.IGNORECASE,
)
# Emoji and signs before a name: `**✅ Verify**`.
_SIGNS = " \t\ufe0f✅✔☑✓🔍🔎🧪🔬🎯📋👀▶➤➡•"


class Field(NamedTuple):
    """One field. `label` is its name as written, `text` what is written behind it."""

    name: str
    label: str
    text: str


class _Label(NamedTuple):
    """The start of a field, as one line has it."""

    name: str
    label: str
    indent: int
    bulleted: bool
    known: bool
    rest: str


def read_fields(
    lines: Sequence[str], first: int, last: int, masked: Collection[int]
) -> tuple[Field, ...]:
    """Return the fields in lines[first:last].

    Lines in `masked` (code, comments) are part of a field's text but never start one.
    """
    fields: list[Field] = []
    # The field that is being read, and its first line.
    label: _Label | None = None
    start = first

    for number in range(first, last):
        line = lines[number]
        if number in masked or not line.strip():
            continue
        found = _read_label(line)

        if label is not None:
            if found is not None and not _is_beside(label, found):
                found = None
            if found is None and not _ends_field(label, lines, number):
                continue
            fields.append(_field(label, lines, start, number))
        label = found
        start = number

    if label is not None:
        fields.append(_field(label, lines, start, last))
    return tuple(fields)


def field_name(line: str) -> str:
    """Return the name of the well-known field that a line starts, or an empty string."""
    label = _read_label(line)
    if label is None or not label.known:
        return ""
    return label.name


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


def as_mapping(fields: Sequence[Field]) -> dict[str, str]:
    """Return the dedented texts by name; a name that occurs twice has both texts."""
    texts: dict[str, list[str]] = defaultdict(list)
    for field in fields:
        text = dedent(field.text).strip()
        texts[field.name].append(text)
    return {name: "\n".join(parts) for name, parts in texts.items()}


def _read_label(line: str) -> _Label | None:
    """Return the field label that a line starts with, if it does."""
    # Most lines have none of these characters, and are spared the patterns.
    label = None
    if "**" in line or "__" in line:
        label = _read_bold_label(line)
    if label is None and (":" in line or "：" in line):
        label = _read_plain_label(line)
    if label is None and "#" in line:
        label = _read_heading_label(line)
    return label


def _read_bold_label(line: str) -> _Label | None:
    """Read `**Verify**: …`; without a colon or a dash only a known name is a label."""
    match = _BOLD.match(line)
    if match is None:
        return None
    if match["colon"] or match["late"] or known_name(match["name"]):
        return _label(match, line)
    return None


def _read_plain_label(line: str) -> _Label | None:
    """Read `Verify: …` or `*Verify*: …`."""
    match = _ITALIC.match(line) or _PLAIN.match(line)
    if match is None or not known_name(match["name"]):
        return None
    return _label(match, line)


def _read_heading_label(line: str) -> _Label | None:
    """Read `#### Verify`."""
    match = _HEADED.match(line)
    if match is None:
        return None
    name = known_name(match["name"])
    if not name:
        return None
    indent = len(match["indent"])
    return _Label(name, match["name"], indent, bulleted=False, known=True, rest="")


def _label(match: re.Match[str], line: str) -> _Label:
    """Make the label of a matched line, with what its note and its marks say about the text."""
    label = match["name"].strip()
    note = match["note"] or ""
    name = known_name(label)
    rest = line[match.end() :]

    if line.lstrip().startswith("|"):
        # A row of a table of fields: `| **Verify** | `make` |`.
        rest = rest.strip(" \t|").replace("\\|", "|")
    if name == "Verify":
        rest = under_label(label, note, rest)
    if match["mark"] in ("_", "*"):
        # `_Verify: …_`: the mark that closes it stands at the end of the line.
        rest = rest.rstrip().removesuffix(match["mark"])

    return _Label(
        name=name or label,
        label=label,
        indent=_width(match["indent"]),
        bulleted=bool(match["bullet"]),
        known=bool(name),
        rest=rest,
    )


def under_label(label: str, note: str, text: str) -> str:
    """Return the text of a Verify field with what its label says about it.

    `Verify (in web)` says where it is done, `Verify (manually)` and `Verify (if there is a phone)`
    that a person has to look, or to decide.
    """
    if _WHERE.match(note):
        text = f"{note.strip()}: {text}"
    if _BY_HAND.search(label + note):
        return f"{MANUAL}: {text}"
    condition = _UNDER_CONDITION.search(label + note)
    if condition:
        return f"optional, {condition['condition'].strip()}: {text}"
    return text


def before_next_label(text: str) -> str:
    """Return the text of a Verify field up to a field that begins on the same line.

    "`make check` passes. **Commit (one)**: `git commit`"
    """
    for found in _NEXT_LABEL.finditer(text):
        name = known_name(found["bold"] or found["plain"])
        ends_field = name in _PLAIN_ENDS if found["plain"] else name not in ("", *_GOES_ON)
        if not ends_field:
            continue
        before = text[: found.start()]
        line = before[before.rfind("\n") + 1 :]
        is_quoted = before.count("`") % 2 == 1 or line.count('"') % 2 == 1
        if not is_quoted and _SENTENCE_BEFORE.match(line.strip()):
            return before.rstrip(" \t·•|—–")
    return text


def without_note(label: str) -> str:
    """Return `Expected` of `Expected (after step 2)`."""
    return _REMARK.sub("", label.strip())


def _width(indent: str) -> int:
    """Return how many columns an indentation takes."""
    return len(indent.expandtabs(4))


@lru_cache(maxsize=256)
def known_name(label: str) -> str:
    """Return the name of the well-known field with this label, or an empty string."""
    label = without_note(label).lower().lstrip(_SIGNS)
    if label in _KNOWN:
        return _KNOWN[label]
    return "Verify" if _VERIFY.fullmatch(label) else ""


def _is_beside(current: _Label, found: _Label) -> bool:
    """Return whether `found` starts a field beside `current`, not a line of its text."""
    # People do not count single spaces.
    if found.indent > current.indent + 1:
        return False
    if found.bulleted and not current.bulleted:
        return found.known
    return True


def _ends_field(current: _Label, lines: Sequence[str], number: int) -> bool:
    """Return whether a line without a label is past the field."""
    line = lines[number]
    content = line.lstrip()
    if _width(line[: len(line) - len(content)]) > current.indent:
        return False
    if content.startswith(("# ", "## ", "### ")):
        return True
    if _RULE.match(line) or _STEP.match(line):
        return True
    if not current.bulleted:
        return False
    if current.name == "Verify" and _RESULT.match(content):
        return False
    begins_paragraph = not lines[number - 1].strip()
    return begins_paragraph or _BULLET.match(line) is not None


def _field(label: _Label, lines: Sequence[str], start: int, end: int) -> Field:
    """Return the field whose label is on line `start`; blank lines at its end are not part."""
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    first = label.rest.rstrip()
    text = "\n".join([first, *lines[start + 1 : end]])
    if label.name == "Verify":
        text = before_next_label(text)
    return Field(label.name, label.label, text)


_SPAN = regex(r"(?<!`)`([^`\n]+)`(?!`)")
_REMARK_IN_TEXT = regex(r"\([^()]*\)")
_PATH = regex(
    r"[\w@.~/\[\]()*{}$,+-]*(?:/[\w@.~\[\]()*{}$,+-]*|\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?$"
)
_BARE_NAMES = frozenset(
    ("Makefile", "Dockerfile", "Justfile", "Procfile", "LICENSE", "README", "Gemfile", "Rakefile")
)
_NO_PATHS = frozenset(("n/a", "and/or", "e.g", "i.e", "etc."))
_LONGEST_PATH = 300


def read_files(text: str) -> tuple[str, ...]:
    """Return the paths a Files field names, without annotations such as `(new)`."""
    paths: dict[str, None] = {}
    for word in _possible_files(text):
        path = re.sub(r":\d+(?:-\d+)?$", "", word.strip().strip("*"))
        if _is_path(path):
            paths[path] = None
    return tuple(paths)


def _possible_files(text: str) -> list[str]:
    """Return the code spans and the list items of one word; without spans, every word."""
    names: list[str] = _SPAN.findall(text)
    without_spans = _SPAN.sub("`", text)
    around = _REMARK_IN_TEXT.sub(" ", without_spans)
    if not names:
        return re.split(r"[,;\s]+", around)

    for item in re.split(r"[,;\n]", around):
        words = item.split()
        if len(words) == 1:
            names += words
    return sorted(names, key=text.find)


def _is_path(word: str) -> bool:
    """Return whether a word looks like the path of a file or a directory."""
    if word in _BARE_NAMES:
        return True
    if word.lower() in _NO_PATHS or len(word) > _LONGEST_PATH:
        return False
    if not word.strip("./"):
        return False
    return _PATH.match(word) is not None
