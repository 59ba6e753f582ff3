"""Read a Verify field that is more than one code span: its passages and scripts, in order."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.shell.command import Command
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.bare_lines import read_bare_lines, with_backticks
from pytest_ralph.verify.clauses import tidied
from pytest_ralph.verify.directories import directory_ahead, directory_of, without_directory
from pytest_ralph.verify.doubt import may_find_nothing, may_mean_failure
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import EMPTY, Check, Expect, OneOf
from pytest_ralph.verify.passages import Passage, Script, read_passages
from pytest_ralph.verify.scripts import is_condition_above, read_script
from pytest_ralph.verify.spans import find_commands
from pytest_ralph.verify.stdout_kind import searches
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of
from pytest_ralph.verify.work import comes_after_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.expect import Demands
    from pytest_ralph.verify.spans import Mention

_MANUAL = any_of("manual", r"\W*")
_LOOK = any_of("look", r"\W*")
# "Visual inspection; `make build` succeeds": the command begins a sentence of its own.
_SENTENCE_BEFORE = regex(r"[.;]\s+(?:(?:and|then|also|plus|run)\s+)*$", re.IGNORECASE)
_FIRST_SENTENCE = regex(r"[.;]\s")
_RESULT = any_of("result", r"\W*")
_RECORD = any_of("record", r"\W*", r"\s*(?::|\(|—|-|\d|on\b)|[\s>*_-]*[✅☑✓✔]")
# "1 in each" is about files.
_EVERY = regex(r"(?<!\bin )\b(?:both|each|every|all|either)\b", re.IGNORECASE)
# "… and `b` return 3", "… → 0 matches", "… returns nothing"
_PLURAL = regex(
    r"\W*(?:should |must |will )?(?:return|print|show|output|exit|give|list|report|find|are|have"
    r"|no|zero|0|returns(?= nothing)) ",
    re.IGNORECASE,
)
# `No output from …`, `At least 5: …`: an expectation in front of its command.
_LEAD = regex(
    r"\W*(?:there (?:are|is) )?(?:expect\w* |no |zero |nothing|empty|at least|at most|more than"
    r"|less than|fewer than|exactly|returns? |exits? |\d+ )",
    re.IGNORECASE,
)
_LEAD_END = regex(
    r"(?:\b(?:from|of|for|by|when running|after running|in|with)\W*|:\s*)$", re.IGNORECASE
)
_DIGIT = regex(r"\d")
# `No leftovers:`, `Check for stale imports:` in front of a search, which must find nothing.
_NONE_OF_IT = regex(
    r"\W*(?:(?:no|zero) [^:]*|(?:check|grep|search|look|scan)\w* for (?:any )?(?:other )?"
    r"(?:remaining|leftover|left-over|stale|residual|lingering|dangling|orphaned|stray|hard-?coded"
    r"|leaked|forbidden) (?:[\w-]+ ){0,3}"
    r"(?:references?|imports?|us(?:ag)?es?|mentions?|occurrences?|issues?|instances?|calls?|names?"
    r"|links?|paths?|todos?|code|secrets?|credentials?|passwords?|keys?|values?|urls?)):\s*",
    re.IGNORECASE,
)
# `Coverage is at least 80%:` asks for something that the command behind it may not check.
_AMOUNT = regex(
    r"\d+ ?%|[<>≥≤]=? ?\d|\b(?:at least|at most|more than|less than|under|over) \d", re.IGNORECASE
)
# `All suites pass, and `make docs` is quiet`: a claim beside the command, not about it.
_CLAIM_BEFORE = regex(
    r"(?P<claim>(?=.*\w`?\s+`?\w)(?:[^`]|`[^`]*`)*?)[\s,;.]*"
    r"(?:\b(?:and|then|plus|after|after running)\s*|[;.]\s*)+",
    re.IGNORECASE | re.DOTALL,
)
# `RED: … fails. GREEN: … passes`: only GREEN counts, because the task is done by then.
_COLON = r"\b[^:\n`]{0,20}[:—–-]"
_RED_STEP = regex(rf"\bred{_COLON}.*?(?=\bgreen{_COLON})", re.IGNORECASE | re.DOTALL)
# "`make lint` (or `make check`)": what the brackets name instead.
_INSTEAD_IN_BRACKETS = any_of("or", r"\(\s*", r"(?!\w)[^()]*$")
# The directory that the commands behind `cd web` run in.
_ENTERS_DIRECTORY = regex(r"cd (?P<path>[\w.][\w./@-]*)")
# A line between two scripts that only joins them.
_JOINER = regex(r"\W*(?:and|and then|then|plus|also)\W*", re.IGNORECASE)


class Asked(NamedTuple):
    """A check that a field asks for."""

    check: Check
    # Whether it is an alternative to the one before.
    is_alternative: bool = False
    # Whether it is one in brackets: "`make lint` (or `make check`)".
    is_in_brackets: bool = False


@dataclass
class Reading:
    """What has been understood so far while going through the passages of a field."""

    asked: list[Asked] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    # What a passage before a list says about all of its items.
    common: str = ""
    # The directory that a passage names for what follows it.
    directory: str | None = None
    # The prose just before: it tells a fence of output from a script.
    previous: str = ""

    @property
    def checks(self) -> list[Check]:
        return [one.check for one in self.asked]

    @property
    def commands(self) -> list[str]:
        return [one.check.command for one in self.asked]

    def replace_check(self, index: int, check: Check) -> None:
        self.asked[index] = self.asked[index]._replace(check=check)

    @property
    def any_is_enough(self) -> bool:
        """Whether the field says `A or B`, or `A, B or C` in one sentence."""
        further = self.asked[1:]
        return bool(further) and all(one.is_alternative for one in further)

    @property
    def mixes_alternatives(self) -> bool:
        """Whether only some of the checks are alternatives, so that what is enough is unclear."""
        has_alternative = any(one.is_alternative for one in self.asked[1:])
        return has_alternative and not self.any_is_enough

    def drop_alternatives_in_brackets(self) -> None:
        """Leave out what stands in brackets as an alternative to one of several commands."""
        if not self.mixes_alternatives:
            return
        for one in reversed(self.asked[1:]):
            if one.is_in_brackets:
                self.asked.remove(one)
                self.unread.append(f"or `{one.check.command}`")


def read(text: str) -> Reading:
    """Return what a field asks for; it has no checks where a person has to look."""
    reading = Reading()
    passages = read_passages(_RED_STEP.sub("", text))
    if _is_for_person(passages):
        return reading
    for passage in passages:
        if isinstance(passage, Script):
            _take_script(passage, reading)
        else:
            _take_passage(passage, reading)
    reading.drop_alternatives_in_brackets()
    has_code = any(isinstance(one, Script) or one.has_code for one in passages)
    if not has_code:
        return _read_without_backticks(text)
    return reading


def _read_without_backticks(text: str) -> Reading:
    reading = Reading()
    for line in read_bare_lines(text):
        if line.check and comes_after_checks(line.check.command, reading.commands):
            reading.unread.append(line.check.command)
            continue
        reading.unread += line.unread
        if line.check is not None:
            reading.asked.append(Asked(line.check))
    if not reading.asked and not reading.unread:
        marked = with_backticks(text)
        return read(marked) if marked else reading
    return reading


def _is_for_person(passages: Sequence[Passage | Script]) -> bool:
    """Whether the field starts with words that leave all of it to a person."""
    first = passages[0] if passages else None
    return isinstance(first, Passage) and not first.listed and _is_manual(first)


def _is_manual(passage: Passage) -> bool:
    if _LOOK.match(passage.lead):
        return not (passage.has_code and _SENTENCE_BEFORE.search(passage.lead))
    return bool(_MANUAL.match(passage.lead))


def _states_result(words: str) -> bool:
    return bool(_RESULT.match(in_english(words)))


def _take_script(script: Script, reading: Reading) -> None:
    check, unread = read_script(script, reading.previous)
    if check is not None and comes_after_checks(check.command, reading.commands):
        reading.unread.append(f"`{' '.join(check.command.split())}`")
        return
    reading.unread += unread
    if check is not None:
        reading.asked.append(Asked(check._replace(directory=reading.directory)))


def _take_passage(passage: Passage, reading: Reading) -> None:
    words = passage.prose
    if _is_manual(passage):
        reading.unread.append(words)
        return
    if is_condition_above(reading.common):
        reading.unread.append(f"{reading.common} {words}")
        return
    if reading.asked and _RECORD.match(passage.lead):
        # A record of an earlier run asks for nothing.
        return
    if _LOOK.match(passage.lead):
        reading.unread.append(tidied(_FIRST_SENTENCE.split(passage.lead, maxsplit=1)[0]))
    _take_mentions(passage, reading)
    if not passage.listed:
        reading.common = words if words.endswith(":") else ""
        reading.directory = directory_ahead(words)
    reading.previous = words


def _take_mentions(passage: Passage, reading: Reading) -> None:
    """Take the commands of a passage; without one, its words may be about the command before."""
    found = find_commands(passage, reading.commands)
    if not found and reading.asked:
        _take_words(passage.prose, reading)
        return
    required: list[Mention] = []
    states_result = _states_result(passage.lead)
    for mention in found:
        if states_result and _is_in_last(mention.command, reading):
            # "Expected: `make config` lists …": what a line of the script above shows.
            reading.unread.append(_as_written(mention))
        elif mention.is_optional:
            reading.unread.append(_as_written(mention))
        else:
            required.append(mention)
    if not required:
        return
    known = len(reading.asked)
    _take_commands(required, reading)
    first = required[0]
    if first is not found[0]:
        # The words before an optional command are reported with it.
        return
    is_lead = len(required) == 1 and _is_lead(first.before)
    if not is_lead:
        _take_claim(first, reading, known)


def _is_in_last(command: str, reading: Reading) -> bool:
    """Whether a command is one of the lines of the script that was read last."""
    return bool(reading.asked) and command in reading.asked[-1].check.command.split("\n")


def _as_written(mention: Mention) -> str:
    return tidied(f"{mention.before.rpartition('. ')[2]}`{mention.command}`{mention.after}")


def _take_words(words: str, reading: Reading) -> None:
    """Read a passage without a command: `Expected: 3` is about the command before it."""
    if _JOINER.fullmatch(words):
        return
    last = reading.asked[-1].check
    demands = read_expectations(last.command, words)
    if not words.endswith(":"):
        reading.unread += demands.unread
    if _states_result(words) and not last.expect:
        reading.replace_check(-1, demands.applied_to(last))


def _take_commands(found: Sequence[Mention], reading: Reading) -> None:
    if reading.asked and _states_result(found[0].before):
        _take_words(found[0].before, reading)
    shared = found[-1].after if _speaks_of_all(found) else ""
    directory = directory_of(found) or reading.directory
    in_brackets = _alternatives_in_brackets(found)
    alternatives = _alternatives(found, in_brackets)
    for mention, is_alternative, is_inside in zip(found, alternatives, in_brackets, strict=True):
        demands = _demands_of(mention, shared, len(found) == 1, reading)
        if not demands.expect:
            command = Command.parse(mention.command)
            if may_mean_failure(command, demands.unread):
                # Its exit status would say the opposite of what the words mean.
                reading.unread.append(f"`{mention.command}` {'; '.join(demands.unread)}")
                continue
            if may_find_nothing(command, demands.unread):
                demands.expect.append(Expect("exit", "in", OneOf((0, 1))))
        reading.unread += demands.unread
        entered = _ENTERS_DIRECTORY.fullmatch(mention.command)
        if entered and not entered["path"].startswith(".."):
            # `cd web`, …, `cd api`: both lie in the root.
            directory = None
        check = demands.applied_to(Check(mention.command, directory=directory))
        reading.asked.append(Asked(check, is_alternative, is_inside))
        if entered:
            directory = _joined(directory, entered["path"])
            reading.directory = directory


def _joined(directory: str | None, path: str) -> str | None:
    """Return a path from a directory on, or None if that is not below the root."""
    joined = posixpath.normpath(posixpath.join(directory or "", path))
    return None if joined.startswith((".", "/")) else joined


def _demands_of(mention: Mention, shared: str, is_only: bool, reading: Reading) -> Demands:
    """Return what is said of a command right behind it, or else in another place."""
    demands = read_expectations(mention.command, without_directory(mention.after))
    if not demands.expect:
        demands.expect += _expected_elsewhere(mention, shared, is_only, reading)
    return demands


def _speaks_of_all(found: Sequence[Mention]) -> bool:
    """Whether the words behind the last command are about each: "`A` and `B` return nothing"."""
    words = in_english(found[-1].after)
    if _EVERY.search(words):
        return True
    if not _PLURAL.match(words):
        return False
    programs = {Command.parse(mention.command).last.program for mention in found}
    if len(programs) > 1:
        return False
    return all(_JOINER.fullmatch(in_english(mention.before)) for mention in found[1:])


def _alternatives_in_brackets(found: Sequence[Mention]) -> list[bool]:
    """Return for each command whether it stands in brackets that begin with "or"."""
    inside: list[bool] = []
    is_open = False
    for mention in found:
        begins = mention.is_alternative and _INSTEAD_IN_BRACKETS.search(in_english(mention.before))
        is_open = bool(begins) or (is_open and ")" not in mention.before)
        inside.append(is_open)
    return inside


def _alternatives(found: Sequence[Mention], in_brackets: Sequence[bool]) -> list[bool]:
    """Return for each command whether it is an alternative to the one before.

    In `A, B or C` B is one too.
    """
    alternatives: list[bool] = []
    is_list = False
    for mention, is_aside in zip(reversed(found), reversed(in_brackets), strict=True):
        is_in_list = is_list and mention.before.strip() == ","
        is_alternative = mention.is_alternative or is_in_list or is_aside
        alternatives.append(is_alternative)
        is_list = is_alternative and not is_aside
    return alternatives[::-1]


def _take_claim(first: Mention, reading: Reading, index: int) -> None:
    """Take what is said before a command and is not about it.

    Files that must exist are checked after the command, the check at `index`; anything else is
    unread.
    """
    claim = _claim_before(first.before)
    if not claim:
        return
    demands = read_expectations(first.command, claim)
    is_about_files = demands.files and not demands.expect and not demands.unread
    if is_about_files and index < len(reading.asked):
        check = reading.asked[index].check
        reading.replace_check(index, check._replace(files=(*demands.files, *check.files)))
    else:
        reading.unread.append(claim)


def _claim_before(words: str) -> str:
    """Return what the words before a command say that the command may not check."""
    if _states_result(words):
        return ""
    claim = _CLAIM_BEFORE.fullmatch(words)
    if claim:
        words = claim["claim"]
    elif not _AMOUNT.search(words):
        return ""
    return tidied(words)


def _expected_elsewhere(
    mention: Mention, shared: str, is_only: bool, reading: Reading
) -> Sequence[Expect]:
    """Return what is said of a command in another place than right behind it."""
    expect = read_expectations(mention.command, shared).expect
    if expect:
        return expect
    if searches(Command.parse(mention.command)) and _NONE_OF_IT.fullmatch(mention.before):
        return [EMPTY]
    if is_only and _is_lead(mention.before):
        stated = read_expectations(mention.command, _LEAD_END.sub("", mention.before))
        if _DIGIT.search(mention.before):
            reading.unread += stated.unread
        return stated.expect
    if _EVERY.search(reading.common):
        return read_expectations(mention.command, reading.common.rstrip(":")).expect
    return ()


def _is_lead(words: str) -> bool:
    if not _LEAD.match(words):
        return False
    return bool(_LEAD_END.search(words))
