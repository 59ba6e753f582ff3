"""Read a Verify field that is more than one code span: its passages and scripts, in order."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.shell.command import Command
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.bare_lines import read_bare_lines
from pytest_ralph.verify.clauses import tidied
from pytest_ralph.verify.directories import directories_of, directory_ahead, without_directory
from pytest_ralph.verify.doubt import claims_hits, may_find_nothing, may_mean_failure
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import EMPTY, Check, Expect
from pytest_ralph.verify.passages import Passage, Script, read_passages
from pytest_ralph.verify.scripts import read_script, withholds
from pytest_ralph.verify.spans import find_commands
from pytest_ralph.verify.stdout_kind import searches
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, one_of
from pytest_ralph.verify.work import comes_after_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.expect import Demands
    from pytest_ralph.verify.spans import Mention

_MANUAL = any_of("manual", r"\W*")
_LOOK = any_of("look", r"\W*")
# "Visual inspection; `make build` succeeds": the command begins a sentence of its own.
_SENTENCE_BEFORE = regex(
    r"(?:[.;]\s+|,\s+(?:and )?then\s+)(?:(?:and|then|also|plus|run)\s+)*$", re.IGNORECASE
)
_FIRST_SENTENCE = regex(r"[.;]\s")
_RESULT = any_of("result", r"\W*")
_RECORD = any_of("record", r"\W*", r"\s*(?::|\(|—|-|\d|on\b)|[\s>*_-]*[✅☑✓✔]")
# In front of a list: one of its commands is enough.
_ONE_IS_ENOUGH = regex(r"\W*(?:either|(?:any |at least )?one of|any of)\b", re.IGNORECASE)
# "1 in each" is about files, "shows all services" about what one command shows.
_EVERY = regex(
    r"(?<!\bin )(?<!\bshows )(?<!\blists )(?<!\bprints )(?<!\breports )"
    r"\b(?:both|each|every|all|either)\b",
    re.IGNORECASE,
)
# "… and `b` return 3", "… → 0 matches", "… returns nothing"
_PLURAL = regex(
    r"\W*(?:should |must |will )?(?:return|print|show|output|exit|give|list|report|find|are|have"
    r"|no|zero|0|returns(?= nothing)) ",
    re.IGNORECASE,
)
# `No output from …`, `At least 5: …`: an expectation in front of its command.
_LEAD = regex(
    r"\W*(?:we |the |it |process |program |command |script )*"
    r"(?:there (?:are|is|(?:should|must|will) be) )?"
    r"(?:expect\w* |no |zero |nothing|empty|at least|at most|more than"
    r"|less than|fewer than|exactly|returns? |exits? |\d+ |(?:must|should) )",
    re.IGNORECASE,
)
_LEAD_END = regex(
    r"(?:\b(?:from|of|for|by|when running|after running|in|with)\W*|:\s*)$", re.IGNORECASE
)
_DENIES = regex(r"\W*(?:there (?:are|is) )?(?:no|zero|nothing|0)\b", re.IGNORECASE)
_DIGIT = regex(r"\d")
# `No leftovers:`, `Check for stale imports:` in front of a search, which must find nothing.
_NONE_OF_IT = regex(
    r"\W*(?:(?:no|zero) [^:]*|(?:check|grep|search|look|scan)\w* for (?:any )?(?:other )?"
    rf"{one_of('unwanted')} (?:[\w-]+ ){{0,3}}{one_of('leftover')}):\s*",
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
# `The page works on a phone, `make lint` passes`; words that lead to a command claim nothing.
_CLAIM_BEFORE_COMMA = regex(
    rf"\W*(?!{one_of('leading')}\b)(?P<claim>\w[^`:]* [^`:]*),\s*", re.IGNORECASE
)
# `milk` appears in `./app list`
_APPEARS_IN = regex(
    r"[\s,;.]*(?:(?:and|then|verify|check|confirm|that)\s+)*"
    r"(?P<texts>`[^`]*`(?:(?:, | and |, and )`[^`]*`)*)"
    r"(?P<not> (?:no longer|does not|do not|doesn't|don't|is not|are not|isn't|aren't|never))?"
    r" (?:now )?(?:appears?|shows? up|(?:is |are )?"
    r"(?:listed|shown|visible|present|included|displayed))"
    r" in(?: the output of)? *",
    re.IGNORECASE,
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


def read(text: str) -> Reading:
    """Return what a field asks for; it has no checks where a person has to look."""
    reading = Reading()
    passages = read_passages(_RED_STEP.sub("", text))
    if _is_for_person(passages):
        return reading
    for passage in passages:
        if isinstance(passage, Script):
            for step in read_script(passage, reading.previous):
                reading.take_check(step.check, step.unread, mark="`")
            # What stands behind a script is no longer below the heading of it.
            reading.common = ""
        else:
            reading.take_passage(passage)
    reading.drop_alternatives_in_brackets()
    has_code = any(isinstance(one, Script) or one.has_code for one in passages)
    if has_code:
        return reading
    return _read_without_backticks(text)


def _read_without_backticks(text: str) -> Reading:
    reading = Reading()
    for line in read_bare_lines(text):
        reading.take_check(line.check, line.unread)
    return reading


def _is_for_person(passages: Sequence[Passage | Script]) -> bool:
    """Whether the field starts with words that leave all of it to a person."""
    if not passages or isinstance(passages[0], Script):
        return False
    return not passages[0].listed and _is_manual(passages[0])


def _is_manual(passage: Passage) -> bool:
    if _MANUAL.match(passage.lead):
        return True
    if not _LOOK.match(passage.lead):
        return False
    return not passage.has_code or not _SENTENCE_BEFORE.search(passage.lead)


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

    def take_check(self, check: Check | None, unread: Sequence[str], mark: str = "") -> None:
        """Take the check of a script or of a bare line, and the words that were not understood.

        A command that is left out is reported between two of `mark`.
        """
        if check is None:
            self.unread += unread
        elif comes_after_checks(check.command, self.commands):
            written = " ".join(check.command.split())
            self.unread.append(f"{mark}{written}{mark}")
        else:
            self.unread += unread
            self.asked.append(Asked(check._replace(directory=self.directory)))

    def take_passage(self, passage: Passage) -> None:
        self._read_passage(passage)
        words = passage.prose
        if not passage.listed:
            self.common = words if words.endswith(":") else ""
            self.directory = directory_ahead(words)
        self.previous = words

    def _read_passage(self, passage: Passage) -> None:
        words = passage.prose
        is_below = passage.listed or self.previous == self.common
        if is_below and withholds(self.common):
            self.unread.append(f"{self.common} {words}")
            return
        if _is_manual(passage):
            self.unread.append(words)
            return
        if self.asked and _RECORD.match(passage.lead):
            # A record of an earlier run asks for nothing.
            return
        if _LOOK.match(passage.lead):
            lead = _SENTENCE_BEFORE.sub("", passage.lead)
            look, *_ = _FIRST_SENTENCE.split(lead, maxsplit=1)
            self.unread.append(tidied(look))
        self._take_mentions(passage)

    def _take_mentions(self, passage: Passage) -> None:
        """Take the commands of a passage; without one, its words may be about the last command."""
        found = find_commands(passage, self.commands)
        if not found and self.asked:
            self._take_words(passage.prose)
            return
        states_result = _states_result(passage.lead)
        required: list[Mention] = []
        for mention in found:
            # "Expected: `make config` lists …": what a line of the script above shows.
            is_result = states_result and self._is_in_last(mention.command)
            if is_result or mention.is_optional:
                self.unread.append(_as_written(mention))
            else:
                required.append(mention)
        if not required:
            return
        known = len(self.asked)
        self._take_commands(required)
        if required[0] is not found[0]:
            # The words before an optional command are reported with it.
            return
        if len(required) > 1 or not _is_lead(required[0].before):
            self._take_claim(required[0], known)

    def _is_in_last(self, command: str) -> bool:
        """Whether a command is one of the lines of the script that was read last."""
        if not self.asked:
            return False
        return command in self.commands[-1].split("\n")

    def _take_words(self, words: str) -> None:
        """Read a passage without a command: `Expected: 3` is about the command before it."""
        if _JOINER.fullmatch(words):
            return
        last = self.asked[-1]
        check = last.check
        demands = read_expectations(check.command, words)
        if not words.endswith(":"):
            self.unread += demands.unread
        if _states_result(words):
            check = demands.added_to(check)
        elif demands.files and not demands.unread:
            # An item of its own: `dist/app` exists.
            check = check._replace(files=(*check.files, *demands.files))
        self.asked[-1] = last._replace(check=check)

    def _take_commands(self, found: Sequence[Mention]) -> None:
        """Take the commands of one passage, each with what is said of it."""
        before = found[0].before
        if self.asked and _states_result(before):
            self._take_words(before)
        is_only = len(found) == 1
        shared = found[-1].after if _speaks_of_all(found) else ""
        directories = directories_of(found, self.directory)
        is_choice = _ONE_IS_ENOUGH.match(self.common) is not None
        has_entered = False
        marked = _with_shared_denial(_with_alternatives(found))
        for mention, named in zip(marked, directories, strict=True):
            demands = self._demands_of(mention, shared, is_only)
            if demands is None:
                continue
            self.unread += demands.unread

            directory = self.directory if has_entered else named
            entered = _ENTERS_DIRECTORY.fullmatch(mention.command)
            if entered and not entered["path"].startswith(".."):
                # `cd web`, …, `cd api`: both lie in the root.
                directory = None
            check = Check(mention.command, directory=directory)
            check = demands.applied_to(check)
            is_alternative = mention.is_alternative or is_choice
            self.asked.append(Asked(check, is_alternative, mention.is_in_brackets))
            if entered:
                self.directory = _joined(directory, entered["path"])
                has_entered = True

    def _demands_of(self, mention: Mention, shared: str, is_only: bool) -> Demands | None:
        """Return what is said of a command right behind it, or else in another place.

        None stands for a command whose exit status might say the opposite of what the words mean,
        or says nothing about it.
        """
        demands = read_expectations(mention.command, without_directory(mention.after))
        if EMPTY in demands.expect and claims_hits(demands.unread):
            # "shows no old slot and shows the new one": there is nothing of one kind only.
            demands.expect.remove(EMPTY)
            demands.unread.append(tidied(mention.after))
        if not demands.expect:
            demands.expect += self._expected_elsewhere(mention, shared, is_only)
        if demands.expect:
            return demands
        command = Command.parse(mention.command)
        words = demands.unread
        if may_mean_failure(command, words) or may_find_nothing(command, words):
            self.unread.append(f"`{mention.command}` {'; '.join(words)}")
            return None
        return demands

    def _expected_elsewhere(self, mention: Mention, shared: str, is_only: bool) -> Sequence[Expect]:
        """Return what is said of a command in another place than right behind it."""
        command = mention.command
        expect = read_expectations(command, shared).expect
        if expect:
            return expect
        before = mention.before
        appearing = _APPEARS_IN.fullmatch(before)
        if appearing:
            verb = "does not show" if appearing["not"] else "shows"
            return read_expectations(command, f"{verb} {appearing['texts']}").expect
        if _NONE_OF_IT.fullmatch(before) and searches(Command.parse(command)):
            return [EMPTY]
        if _is_lead(before) and (is_only or _is_denied_alone(mention)):
            stated = read_expectations(command, _LEAD_END.sub("", before))
            if _DIGIT.search(before):
                self.unread += stated.unread
            return stated.expect
        if _EVERY.search(self.common):
            return read_expectations(command, self.common.rstrip(":")).expect
        return ()

    def _take_claim(self, first: Mention, index: int) -> None:
        """Take what is said before a command and is not about it.

        Files that must exist are checked after the command, the check at `index`; anything else is
        unread.
        """
        claim = _claim_before(first.before)
        if not claim:
            return
        demands = read_expectations(first.command, claim)
        files = demands.files
        asks_more = demands.expect or demands.unread
        if not files or asks_more or index == len(self.asked):
            self.unread.append(claim)
            return
        asked = self.asked[index]
        check = asked.check._replace(files=(*files, *asked.check.files))
        self.asked[index] = asked._replace(check=check)


def _states_result(words: str) -> bool:
    return bool(_RESULT.match(in_english(words)))


def _as_written(mention: Mention) -> str:
    last_sentence = mention.before.rpartition(". ")[2]
    return tidied(f"{last_sentence}`{mention.command}`{mention.after}")


def _joined(directory: str | None, path: str) -> str | None:
    """Return a path from a directory on, or None if that is not below the root."""
    joined = posixpath.normpath(posixpath.join(directory or "", path))
    return None if joined.startswith((".", "/")) else joined


def _speaks_of_all(found: Sequence[Mention]) -> bool:
    """Whether the words behind the last command are about each: "`A` and `B` return nothing"."""
    words = in_english(found[-1].after)
    if _EVERY.search(words):
        return True
    if not _PLURAL.match(words):
        return False
    program = Command.parse(found[0].command).last.program
    for mention in found[1:]:
        if not _JOINER.fullmatch(in_english(mention.before)):
            return False
        if Command.parse(mention.command).last.program != program:
            return False
    return True


def _with_alternatives(found: Sequence[Mention]) -> list[Mention]:
    """Return the commands; those in brackets that begin with "or" are alternatives."""
    marked: list[Mention] = []
    is_open = False
    for mention in found:
        if ")" in mention.before:
            is_open = False
        if mention.is_alternative and _INSTEAD_IN_BRACKETS.search(in_english(mention.before)):
            is_open = True
        if is_open:
            marked.append(mention._replace(is_alternative=True, is_in_brackets=True))
        else:
            marked.append(mention)
    _mark_lists(marked)
    return marked


def _mark_lists(found: list[Mention]) -> None:
    """Mark B as an alternative in `A, B or C`."""
    is_list = False
    for index, mention in reversed(list(enumerate(found))):
        if is_list and mention.before.strip() == ",":
            found[index] = mention._replace(is_alternative=True)
        is_list = found[index].is_alternative and not mention.is_in_brackets


def _claim_before(words: str) -> str:
    """Return what the words before a command say that the command may not check."""
    if _states_result(words):
        return ""
    claim = _CLAIM_BEFORE.fullmatch(words) or _CLAIM_BEFORE_COMMA.fullmatch(words)
    if claim:
        return tidied(claim["claim"])
    return tidied(words) if _AMOUNT.search(words) else ""


def _with_shared_denial(found: Sequence[Mention]) -> list[Mention]:
    """Return the commands; in `no output from `A` and `B`` the words are about both."""
    shared: list[Mention] = []
    denial = ""
    for mention in found:
        if not _JOINER.fullmatch(in_english(mention.before)):
            denial = mention.before if _is_denied_alone(mention) else ""
        shared.append(mention._replace(before=denial or mention.before))
    return shared


def _is_denied_alone(mention: Mention) -> bool:
    """`No output from `A`; `B` passes`: nothing is said of A behind it."""
    return _DENIES.match(mention.before) is not None and not tidied(mention.after)


def _is_lead(words: str) -> bool:
    if not _LEAD.match(words):
        return False
    return _LEAD_END.search(words) is not None
