"""The Fields of a task (`**Do**: …`, `**Verify**: …`), found line by line in what the task occupies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# Written in any case and with or without bold, these names start a field. The value is how the name is kept.
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
    "requirements": "Requirements",
    "design": "Design",
}
# The word for "verify" as specs in several languages write it, alone or with a word that narrows it.
_VERIFY = regex(
    r"(?:how to |automated? |auto-?|ralph-|quick |final )?"
    r"(?:verify|verification|verifizieren|verifizierung|verifikation|verificar|verificaci[oó]n|verifica[cç][aã]o|verifica"
    r"|v[ée]rifier|v[ée]rification|prüfen|prüfung|überprüfen|überprüfung|nachweis|проверка|проверить"
    r"|перевірка|weryfikacja|verificatie|verifikasi|verifiering|ověření|doğrulama|kiểm tra|kiểm chứng|xác minh"
    r"|검증|확인(?= 방법)|验证|驗證|検証|確認方法)(?:方法|命令|步骤|步驟|コマンド|手順|[ \t]?방법|[ \t]?명령)?"
    r"(?:[ \t](?:commands?|cmd|steps?|script|checks?|tests?|with|by|via|red|green|refactor|locally|again|all|this|now"
    r"|manually|visually"
    r"|befehl|comando|commande))*(?:[ \t]?#?\d{1,2})?",
    re.IGNORECASE,
)
_START = r"(?P<indent>[ \t]*)(?P<bullet>(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
_BOLD = regex(
    _START
    + r"(?:[^\w\s*_`\[(<\"'-]+[ \t]*)?(?P<mark>\*\*|__)(?P<name>[^*_`\n:：][^*`\n:：]{0,60}?)"
    r"[ \t]*(?P<colon>[:：])?[ \t]*(?P=mark)"
    r"(?P<note>[ \t]*\([^()\n]{0,80}\))?[ \t]*(?P<late>[:：]|[–—-](?=[ \t]))?[ \t]*"
)
# `*Verify*: …`; only a name that is known, for much else is written in italics.
_ITALIC = regex(
    _START
    + r"(?P<mark>[*_])(?P<name>[^\W\d_][^*_`\n:：()]{0,40})[ \t]*(?P<colon>[:：])?(?P=mark)(?!\w)"
    r"(?P<note>[ \t]*\([^()\n]{0,80}\))?[ \t]*(?(colon)|[:：])[ \t]*"
)
# `**Verify (by hand)**`
_REMARK = regex(r"[ \t]*\(([^()]{0,60})\)$")
_BY_HAND = regex(r"\([^()]*\bmanual|[ \t](?:manual|visual)ly\b", re.IGNORECASE)
_MANUAL = "(manual)"
_PLAIN = regex(
    _START
    + r"(?:[^\w\s\x00-\x7f]+[ \t]*)?(?P<mark>[_*])?(?P<name>[^\W\d_][^*_`\n:：()\[\]]{0,40}?)"
    + r"(?P<note>[ \t]*\([^()\n]{0,80}\))?[ \t]*[:：][ \t]*"
)
_HEADED = regex(r"(?P<indent>[ \t]*)#{2,6}[ \t]+(?P<name>[^\n:：]{1,60}?)[ \t]*[:：]?[ \t]*#*$")
# `**Verify** (in `web`):` says where; any other note behind a name is a remark.
_WHERE = regex(r"[ \t]*\((?:in|from|inside|within|under)[ \t]", re.IGNORECASE)
_RULE = regex(r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_BULLET = regex(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_INLINE_VERIFY = regex(
    r"[ \t.;,—–(-](?:\*\*|__)(?P<name>Verif(?:y|ication))[ \t]*:?(?:\*\*|__)[ \t]*:?[ \t]*"
    r"|[.;—–|(-][ \t]*Verif(?:y|ication):[ \t]*(?=`)",
    re.IGNORECASE,
)
_BEHIND = regex(
    r"[·•|;.,][ \t]*(?:\*\*|__)Verif(?:y|ication)[ \t]*:?(?:\*\*|__)[ \t]*:?[ \t]*", re.IGNORECASE
)
_SPAN = regex(r"(?<!`)`([^`\n]+)`(?!`)")
_PATH = regex(
    r"[\w@.~/\[\]()*{}$,+-]*(?:/[\w@.~\[\]()*{}$,+-]*|\.[A-Za-z]\w{0,9})(?::\d+(?:-\d+)?)?$"
)
_BARE_NAMES = frozenset(
    ("Makefile", "Dockerfile", "Justfile", "Procfile", "LICENSE", "README", "Gemfile", "Rakefile")
)
_NO_PATHS = frozenset(("n/a", "and/or", "e.g", "i.e", "etc."))


# What a name is adorned with: `**✅ Verify**`.
_SIGNS = " \t\ufe0f✅✔☑✓🔍🔎🧪🔬🎯📋👀▶➤➡•"


class Field(NamedTuple):
    """One field: its name, and its text exactly as written after the name."""

    name: str
    # As written, for telling `Verify RED` from `Verify GREEN`.
    label: str
    text: str


class _Opening(NamedTuple):
    name: str
    label: str
    indent: int
    bulleted: bool
    known: bool
    rest: str


def read_fields(
    lines: Sequence[str], first: int, last: int, masked: Collection[int]
) -> tuple[Field, ...]:
    """The fields in lines[first:last]; lines in `masked` (code, comments) are content, never names."""
    return tuple(_read(lines, first, last, masked))


def field_name(line: str) -> str:
    """The name of the well-known field a line starts, or an empty string."""
    opening = _opening(line)
    return opening.name if opening and opening.known else ""


def as_mapping(fields: Sequence[Field]) -> dict[str, str]:
    """Fields by name, dedented; a name that occurs twice keeps both texts."""
    found: dict[str, str] = {}
    for field in fields:
        text = dedent(field.text).strip()
        found[field.name] = f"{found[field.name]}\n{text}" if field.name in found else text
    return found


def verify_text(fields: Sequence[Field]) -> str:
    """The text of the Verify field that counts: of RED and GREEN the GREEN one, and none by hand beside another."""
    verifies = [field for field in fields if field.name == "Verify"]
    if len(verifies) > 1:
        green = [field for field in verifies if re.search(r"\bgreen\b", field.label, re.IGNORECASE)]
        not_red = [
            field for field in verifies if not re.search(r"\bred\b", field.label, re.IGNORECASE)
        ]
        verifies = green or not_red or verifies
        verifies = [field for field in verifies if not field.text.startswith(_MANUAL)] or verifies
    if not verifies:
        return next(filter(None, (_behind(field.text.partition("\n")[0]) for field in fields)), "")
    return "\n".join(field.text for field in verifies)


def _behind(line: str) -> str:
    """`**Effort**: M · **Verify**: …`: the text of a Verify field that begins on the line of another one."""
    match = _BEHIND.search(line)
    return (
        line[match.end() :].strip() if match and line.count("`", 0, match.start()) % 2 == 0 else ""
    )


def read_files(text: str) -> tuple[str, ...]:
    """The paths a Files field names, without annotations such as `(new)`."""
    spans = _SPAN.findall(text)
    words = spans or re.split(r"[,;\s]+", re.sub(r"\([^()]*\)", " ", text))
    paths = (re.sub(r":\d+(?:-\d+)?$", "", word.strip().strip("*")) for word in words)
    return tuple(dict.fromkeys(path for path in paths if _is_path(path)))


def _is_path(word: str) -> bool:
    if (
        word.lower() in _NO_PATHS
        or len(word) > 300
        or " " in word
        or "://" in word
        or word.startswith("-")
    ):
        return False
    return word in _BARE_NAMES or (bool(_PATH.match(word)) and word.strip("./") != "")


def _read(lines: Sequence[str], first: int, last: int, masked: Collection[int]) -> Iterator[Field]:
    opening: _Opening | None = None
    start = first
    for number in range(first, last):
        line = lines[number]
        if number in masked or not line.strip():
            continue
        found = _opening(line)
        if found is not None and (opening is None or _is_next(opening, found)):
            if opening is not None:
                yield _field(opening, lines, start, number)
            opening, start = found, number
        elif opening is not None and number > start and _ends(opening, lines, number):
            yield _field(opening, lines, start, number)
            opening = None
    if opening is not None:
        yield _field(opening, lines, start, last)


def _opening(line: str) -> _Opening | None:
    """The field name a line starts with, if it does."""
    if "**" in line or "__" in line:
        match = _BOLD.match(line)
        if match and (match["colon"] or match["late"] or _canonical(match["name"])):
            return _make(match, line)
    elif ":" in line or "：" in line:
        match = _ITALIC.match(line) or _PLAIN.match(line)
        if match and _canonical(match["name"]):
            return _make(match, line)
    if "#" in line and (match := _HEADED.match(line)) and _canonical(match["name"]):
        return _Opening(
            _canonical(match["name"]), match["name"], len(match["indent"]), False, True, ""
        )
    return None


def _make(match: re.Match[str], line: str) -> _Opening:
    label = match["name"].strip()
    canonical = _canonical(label)
    rest = line[match.end() :]
    if canonical == "Verify" and match["note"] and _WHERE.match(match["note"]):
        rest = f"{match['note'].strip()}: {rest}"
    if canonical == "Verify" and _BY_HAND.search(f"{label}{match['note'] or ''}"):
        rest = f"{_MANUAL}: {rest}"
    if match["mark"] in ("_", "*") and match.re.pattern == _PLAIN.pattern:
        rest = rest.rstrip().removesuffix(match["mark"])
    indent = (
        len(match["indent"]) if "\t" not in match["indent"] else len(match["indent"].expandtabs(4))
    )
    return _Opening(canonical or label, label, indent, bool(match["bullet"]), bool(canonical), rest)


@lru_cache(maxsize=256)
def _canonical(name: str) -> str:
    name = _REMARK.sub("", name.strip().lower()).lstrip(_SIGNS)
    if name in _KNOWN:
        return _KNOWN[name]
    return "Verify" if _VERIFY.fullmatch(name) else ""


def _is_next(current: _Opening, found: _Opening) -> bool:
    """Whether `found` is a field beside `current`, not a line of its content."""
    if found.indent > current.indent + (1 if current.bulleted else 0):
        return False
    if found.bulleted and not current.bulleted:
        return found.known
    return True


def _ends(current: _Opening, lines: Sequence[str], number: int) -> bool:
    """Whether an ordinary line is past the field: a rule, a heading, the next bullet, a paragraph outside."""
    line = lines[number]
    indent = len(line) - len(line.lstrip())
    if indent <= current.indent and (
        _RULE.match(line) or line.lstrip().startswith(("# ", "## ", "### "))
    ):
        return True
    if not current.bulleted or indent > current.indent:
        return False
    return bool(_BULLET.match(line)) or not lines[number - 1].strip()


def _field(opening: _Opening, lines: Sequence[str], start: int, end: int) -> Field:
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    text = opening.rest.rstrip()
    if end > start + 1:
        text = "\n".join([text, *lines[start + 1 : end]])
    return Field(opening.name, opening.label, text)


def inline_verify(title_line: str) -> str:
    """`- [ ] T001 Do this. **Verify**: …` on one line: the text after the name."""
    match = _INLINE_VERIFY.search(title_line)
    return title_line[match.end() :] if match else ""
