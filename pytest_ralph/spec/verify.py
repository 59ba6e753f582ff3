"""spec room: a Verify field as a careful person reads it: which words are commands, and what is asked of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.bareline import read_bare_lines
from pytest_ralph.spec.commandline import Likeness, likeness, without_prompt
from pytest_ralph.spec.expectation import read_expectations
from pytest_ralph.spec.lexicon import in_english
from pytest_ralph.spec.pieces import Passage, Script, read_pieces
from pytest_ralph.spec.script import runnable
from pytest_ralph.spec.task import Check, Verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.pieces import Piece

_MANUAL = re.compile(
    r"\W*(?:(?:this is|needs|requires|requiring|human|purely|do an?)\s+)?(?:manual(?:ly)?|visual(?:ly)?(?:\s+\w+)?|by hand|by eye"
    r"|eyeball|human review|human inspection|code review|peer review|n/?a\b|none\b|tbd\b|not applicable|-+$)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\W*(?:if|when|unless|otherwise|in case|on failure|fallback|should that fail)\b", re.IGNORECASE)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|not|without|replaces|formerly|was)\s*$", re.IGNORECASE)
_OR = re.compile(
    r"(?:^|[\s(,;])(?:or|oder|ou|o|или|或者?|または|alternatively|either)(?!\w)\W*(?:(?:run|just|use|simply|via|with|the|using)\s+)*\(?$",
    re.IGNORECASE,
)
_OUTPUT_VERB = re.compile(
    r"\b(?:contain|include|show|print|output|display|say|mention|list|report|echo|log|emit|read)(?:s|ing|ed)?"
    r"(?:\s+(?:the|a|an|string|text|line|message|word|value|both|only|like|something|just|with)){0,3}\W*$"
    r"|\b(?:has|have|named|called|defines?|exports?|uses?|adds?|references?|documents?|script|scripts|string|text|label|titled)\W*$",
    re.IGNORECASE,
)
_RUN = re.compile(
    r"\b(?:run|runs|running|execute|executes|executing|invoke|invoking|call|via|using|command|commands|with|by|through|start|do|rerun"
    r"|re-run|ejecutar|corre|exécuter|lancer|ausführen|rodar|execute o|выполнить|运行|執行|执行|実行)\W*$|:\s*$|^\W*$|(?:\band|\bthen|,|;|&&|\+)\s*$",
    re.IGNORECASE,
)
_RUN_WORD = re.compile(
    r"\b(?:run|runs|running|execute|executes|executing|invoke|command|rerun|re-run)\W*$", re.IGNORECASE
)
_VERDICT = re.compile(
    r"\W*(?:now |still |should |must |both |all |each |also |then |also )*(?:pass|succeed|exit|return|green|work|clean|fail|complete|print|show|list|display|find|"
    r"output|run|build|compile|report|is green|are green|is clean|ok\b|or\b|→|->|=|>|<|≥|≤)",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\([^()]*\)")
_EVERY = re.compile(r"\b(?:both|each|every|all|either)\b", re.IGNORECASE)
_RESULT = re.compile(r"\W*(?:expect|should|must|output|result|returns|it should|stdout|exit)", re.IGNORECASE)
_LEAD = re.compile(r"\W*(?:expect|no |zero |nothing|empty|at least|exactly|\d+ )", re.IGNORECASE)
_LEAD_END = re.compile(r"\b(?:from|of|for|by|when running|after running|in|with)\W*$", re.IGNORECASE)
_RED = re.compile(r"\W*(?:verify\s+)?red\b", re.IGNORECASE)
_GREEN = re.compile(r"\W*(?:verify\s+)?green\b", re.IGNORECASE)
_COLOUR = re.compile(r"\b(red|green)\b\s*(?:phase|state|step)?\s*[:—–-]\s*(?:\w+\s+){0,3}$", re.IGNORECASE)
_SERVER = re.compile(
    r"(?:(?:npm|pnpm|yarn|bun|deno|just|make)\s+(?:run\s+|task\s+)?(?:dev|start|serve|preview|run)\S*|npx\s+(?:vite|serve|next dev)"
    r"|(?:next|astro|nuxt|vite|gatsby)\s+dev|flask run.*|streamlit run .*|uvicorn .*|rails s(?:erver)?|.*\brunserver|expo start.*"
    r"|python3? -m http\.server.*|cargo (?:tauri )?(?:run|dev).*|docker[ -]compose up|electron \.)$"
)
_LOOKING = re.compile(
    r"\b(?:open|visit|navigate|browser|click|see|visually|manually|observe|look|page|screen|ui|tap|hover|scroll|localhost|devtools)\b",
    re.IGNORECASE,
)
_DIRECTORY = re.compile(
    r"\b(?:from|in|inside|within|under)\s+(?:the\s+)?(?P<a>[`\"']?[\w.@-][\w./@-]*[`\"']?)\s+(?:directory|folder|dir\b|package|workspace)"
    r"|\b(?:from|inside|within)\s+(?:the\s+)?(?P<b>`?[\w.@-]+/[\w./@-]*`?|`[\w.@-]+`)",
    re.IGNORECASE,
)
# A command is told from a name by the words close to it.
_NEAR = 8
_NO_DIRECTORY = frozenset(
    "root project repo repository same current working this any test output temp temporary the base main".split()
)


class _Found(NamedTuple):
    """A command and the words around it that may be about it."""

    command: str
    before: str
    after: str
    # Whether `or` stands between the command before and this one.
    alternative: bool = False


@dataclass
class _Reading:
    """What has been understood so far while going through the pieces of a field."""

    checks: list[Check] = field(default_factory=list)
    alternatives: list[bool] = field(default_factory=list)
    # Said before a list, about all of its items.
    common: str = ""
    # The prose just before, which tells a fence of output from a script.
    said: str = ""

    def add(self, check: Check, alternative: bool = False) -> None:
        self.checks.append(check)
        self.alternatives.append(alternative)

    @property
    def any_is_enough(self) -> bool:
        joints = self.alternatives[1:]
        return bool(joints) and joints[-1] and (all(joints) or len(joints) == 2)


@lru_cache(maxsize=1024)
def read_verify(text: str) -> Verify:
    """The checks of a Verify field, or the reason why a person has to look; nothing at all for an empty field."""
    stripped = text.strip()
    if not stripped:
        return Verify(text=text)
    if stripped[0] == stripped[-1] == "`" and stripped.count("`") == 2 and "\n" not in stripped:
        command = without_prompt(stripped[1:-1].strip())
        return _verify(text, [Check(command)] if likeness(command) >= Likeness.WORD else [])
    pieces = _without_red(read_pieces(text))
    first = pieces[0] if pieces else None
    if isinstance(first, Passage) and _MANUAL.match(in_english(_lead(first))):
        return _verify(text, [])
    reading = _Reading()
    for piece in pieces:
        _take(piece, reading)
    checks = reading.checks
    if not checks and all(isinstance(piece, Passage) and not _codes(piece) for piece in pieces):
        checks = list(read_bare_lines(text))
    return _verify(text, checks, any_is_enough=reading.any_is_enough)


def _verify(text: str, checks: Sequence[Check], any_is_enough: bool = False) -> Verify:
    if checks:
        return Verify(tuple(checks), "any" if any_is_enough else "all", text=text)
    return Verify(manual=" ".join(text.split())[:500], text=text)


def _take(piece: Passage | Script, reading: _Reading) -> None:
    if isinstance(piece, Script):
        if command := runnable(piece, reading.said):
            reading.add(Check(command))
        return
    lead = in_english(_lead(piece))
    if _MANUAL.match(lead) and piece.listed:
        return
    found = _commands(piece, lone=not reading.checks)
    if found and reading.checks:
        _take_result(found[0].before, reading)
    if found:
        _take_commands(piece, found, reading)
    elif reading.checks:
        _take_result(piece.prose, reading)
    if not piece.listed:
        reading.common = piece.prose if piece.prose.endswith(":") else ""
    reading.said = piece.prose


def _take_result(words: str, reading: _Reading) -> None:
    """`Expected: 3` in a passage of its own is about the command before it."""
    last = reading.checks[-1]
    if not last.expect and _RESULT.match(in_english(words)):
        reading.checks[-1] = replace(last, expect=read_expectations(last.command, words))


def _take_commands(piece: Passage, found: Sequence[_Found], reading: _Reading) -> None:
    shared = found[-1].after if _EVERY.search(found[-1].after) else ""
    directory = _directory(found)
    for one in found:
        expect = read_expectations(one.command, one.after)
        if not expect and shared:
            expect = read_expectations(one.command, shared)
        if not expect and len(found) == 1 and _LEAD.match(one.before) and _LEAD_END.search(one.before):
            expect = read_expectations(one.command, one.before)
        if not expect and piece.listed and _EVERY.search(reading.common):
            expect = read_expectations(one.command, reading.common.rstrip(":"))
        reading.add(Check(one.command, expect, directory), one.alternative)


def _commands(piece: Passage, lone: bool) -> list[_Found]:
    """The code spans of a passage that are commands, each with the words around it."""
    codes = [index for index, part in enumerate(piece.pieces) if part.kind == "code"]
    alone = lone and len(codes) == 1 and not piece.prose.replace(f"`{piece.pieces[codes[0]].text}`", "").strip(" .:-")
    chosen: list[int] = []
    for index in codes:
        if _is_command(piece.pieces, index, bool(chosen), alone):
            chosen.append(index)
    if _is_tour(piece, chosen):
        return []
    found = []
    for position, index in enumerate(chosen):
        start = chosen[position - 1] + 1 if position else 0
        end = chosen[position + 1] if position + 1 < len(chosen) else len(piece.pieces)
        before = _prose(piece.pieces[max(start, index - _NEAR) : index])
        after = _prose(piece.pieces[index + 1 : min(end, index + 1 + 2 * _NEAR)])
        command = without_prompt(piece.pieces[index].text.strip())
        found.append(_Found(command, before, after, bool(_OR.search(in_english(before)))))
    colours = [match[1].lower() if (match := _COLOUR.search(one.before)) else "" for one in found]
    return [one for one, colour in zip(found, colours, strict=True) if colour != "red" or "green" not in colours]


def _is_command(pieces: Sequence[Piece], index: int, has_command: bool, alone: bool) -> bool:
    text = pieces[index].text
    like = likeness(text)
    if like is Likeness.NONE:
        return False
    if alone:
        return True
    before = _prose(pieces[max(0, index - _NEAR) : index])
    after = _PARENTHESES.sub("", pieces[index + 1].text) if index + 1 < len(pieces) else ""
    clause = re.split(r"[.;(]\s", before)[-1]
    if _ASIDE.match(clause) or _INSTEAD.search(before):
        return False
    if _OUTPUT_VERB.search(before):
        # `… shows npm test` names what is shown; only a pipeline is never just a name.
        return like is Likeness.SURE and not has_command and " | " in text
    if like is Likeness.SURE:
        return True
    if like is Likeness.WORD:
        return bool(_RUN_WORD.search(before))
    return bool(_RUN_WORD.search(before)) or bool(
        _RUN.search(before) and (_VERDICT.match(in_english(after)) or not after.strip(" .,;"))
    )


def _is_tour(piece: Passage, chosen: Sequence[int]) -> bool:
    """Whether the command only starts something that a person is then to look at."""
    if len(chosen) != 1 or not _SERVER.match(piece.pieces[chosen[0]].text.strip()):
        return False
    words = " ".join(part.text for part in piece.pieces if part.kind == "prose")
    return bool(_LOOKING.search(words))


def _directory(found: Sequence[_Found]) -> str | None:
    """The directory the words right before or right behind the commands say to run them in."""
    before, after = found[0].before, found[-1].after
    match = _DIRECTORY.search(before) or _DIRECTORY.match(after.lstrip(" (,;—–-"))
    if match is None:
        return None
    name = (match["a"] or match["b"]).strip("`\"'").rstrip("/")
    if name.lower() in _NO_DIRECTORY or not name:
        return None
    return name


def _without_red(pieces: Sequence[Passage | Script]) -> Sequence[Passage | Script]:
    """Of a RED and GREEN pair only the GREEN counts: the task is done, so the test passes."""
    if not any(isinstance(piece, Passage) and _GREEN.match(piece.prose) for piece in pieces):
        return pieces
    return [piece for piece in pieces if not (isinstance(piece, Passage) and _RED.match(piece.prose))]


def _lead(passage: Passage) -> str:
    return passage.pieces[0].text if passage.pieces and passage.pieces[0].kind == "prose" else ""


def _codes(passage: Passage) -> list[Piece]:
    return [piece for piece in passage.pieces if piece.kind == "code"]


def _prose(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text if piece.kind == "prose" else f"`{piece.text}`" for piece in pieces)
