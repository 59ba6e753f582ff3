"""What the words behind a command ask of it: a table of patterns, tried in order.

A clause such as "should return at least 2" is first brought into fixed words (`returns >= 2`, see
clauses.py). The first pattern of PATTERNS that matches the whole clause says what it asks. Words
that no pattern knows ask nothing; they are returned as unread, because nothing checks them.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.shell.command import Command
from pytest_ralph.shell.stdout import Stdout
from pytest_ralph.text.regex import regex
from pytest_ralph.verify import amounts, statements
from pytest_ralph.verify.clauses import normalise, split_clauses
from pytest_ralph.verify.model import EMPTY, NONZERO, Expect
from pytest_ralph.verify.statements import Answer, Ask, Statement, names_stream
from pytest_ralph.verify.stdout_kind import (
    is_http,
    lists_names,
    prints_nothing,
    searches,
    shows_contents,
)
from pytest_ralph.verify.vocabulary import any_of, one_of, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.verify.clauses import Clause
    from pytest_ralph.verify.model import Check

# `make list  # expect 3`
_COMMENT = any_of("comment", r"\s#\s*(?P<words>(?:", r").*)$")
_ECHO = regex(r"\becho +(?P<quote>[\"']?)(?P<word>[A-Za-z][\w-]*)(?P=quote)\s*(?:$|[;&|)])")
_SAYS = r"(?:\b(?:prints?|outputs?|shows?|says?|returns?|echoes)|→|->|=>) "
# A word that ends its clause: "returns pong", "→ module".
_BARE_WORD = regex(
    r"(?P<verb>\b(?:prints?|outputs?|returns?) |(?:→|->|=>) )(?P<word>[a-z][a-z0-9_-]*)"
    r"(?=\s*(?:[,;]|\.?$))"
)
_DESCRIBING = words("prose", "describing")
_MERGED_STREAMS = regex(r"2>&1|&>|\|&")
_SYSTEM_ERROR = regex(r"(?i)^(?:no such file|command not found|permission denied|cannot access)")
_WITHOUT_SUBJECT = regex(r"[→⟦\d<>=]")
# What fixes the output once and for all, so that a second one contradicts it.
_WHOLE_OPS = frozenset(("==", "in", "empty", "lines==", "sum==", "each_line=="))
_LIMITS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_TEXT_OPS = frozenset(("==", "contains"))
_PRINTING = regex(r"(?:prints|shows)\b")
_PATH = regex(r"[\w.@~-]+(?:/[\w.@-]+)*/?")
# `make config; ./deploy` → `config` exits 0
_PART_SUCCEEDS = regex(r"(?:→ )?⟦(?P<value>\d+)⟧ exits 0")
# What may stand behind a statement without changing what it asks.
_AFTER_CHANGE = f"after {one_of('the change')}"
_TAIL = regex(f" (?:{one_of('tail')}|{_AFTER_CHANGE})$", re.IGNORECASE)
_TERSE_STATUS = regex(r"git status\b.*\s(?:--porcelain|--short|-s)\b")
# "in `src`" where the command looks into `src`.
_NAMED_PLACE = regex(r" (?:in|from|under|inside|within|of|for) ⟦(?P<value>\d+)⟧$")


@dataclass
class Demands:
    """What the words behind one command ask of it, and the words that were not understood."""

    expect: list[Expect] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def concern_output(self) -> bool:
        return any(one.stream != "exit" for one in self.expect)

    def applied_to(self, check: Check) -> Check:
        """Return the check with these expectations and files in place of its own."""
        return check._replace(expect=tuple(self.expect), files=tuple(self.files))

    def added_to(self, check: Check) -> Check:
        """Return the check with these too, unless they contradict its own."""
        expect = _consistent([*check.expect, *self.expect])
        return check._replace(expect=tuple(expect), files=(*check.files, *self.files))

    def move_to_stderr(self) -> None:
        for index, one in enumerate(self.expect):
            if one.stream == "stdout":
                self.expect[index] = one._replace(stream="stderr")

    def add(self, other: Demands) -> None:
        self.expect += other.expect
        self.files += other.files
        self.unread += other.unread


class Pattern(NamedTuple):
    """One way to state an expectation.

    `when` says whether such a statement can be about the command. `ask` returns what it asks, an
    empty sequence if the exit status says it already, or None if it is not about this command after
    all.
    `name` is also that of the sample in tests/samples/readings that needs the pattern.
    """

    name: str
    form: re.Pattern[str]
    ask: Ask
    when: Callable[[Statement], bool] | None = None

    def ask_of(self, said: Statement) -> Answer:
        if self.when is not None and not self.when(said):
            return None
        return self.ask(said)


def read_expectations(command_line: str, said: str) -> Demands:
    """Return what `said`, the words behind a command, and a comment in it ask of the command."""
    command = Command.parse(command_line)
    comment = _COMMENT.search(command_line)
    if comment:
        said = f"{said}\n{comment['words']}"
    said = _with_printed_words_quoted(command, said)
    demands = _read_clauses(command, said)
    if not _MERGED_STREAMS.search(command_line):
        demands.expect = _with_system_errors(demands.expect)
    demands.expect = _consistent(demands.expect)
    return demands


def _with_printed_words_quoted(command: Command, said: str) -> str:
    """Return the words with backticks around a bare word that is printed as it is.

    "prints ok" means that very word behind `… && echo ok`, and of a command that prints some text;
    of any other command it only says that all went well.
    """
    for echo in _ECHO.finditer(command.text):
        word = echo["word"]
        said = re.sub(rf"(?i)({_SAYS}){word}\b", rf"\1`{word}`", said)
    if command.stdout is not Stdout.TEXT or is_http(command):
        return said
    return _BARE_WORD.sub(_quote_bare_word, said)


def _quote_bare_word(found: re.Match[str]) -> str:
    word = found["word"]
    if word in _DESCRIBING or word.endswith("s"):
        return found[0]
    if word.startswith("non-"):
        return found[0]
    is_known = normalise(word) != word
    if is_known and word != "ok":
        return found[0]
    return f"{found['verb']}`{word}`"


def _read_clauses(command: Command, said: str) -> Demands:
    demands = Demands()
    is_about_output = False
    was_unread = False
    for clause in split_clauses(said):
        if clause.goes_on and was_unread and _WITHOUT_SUBJECT.match(clause.text):
            # "… opens the file → `ready`" says what comes of something that was not understood.
            demands.unread.append(clause.source)
            continue
        if clause.is_remark:
            _take_remark(command, clause, demands)
            continue
        asked = _read_clause(command, clause, clause.goes_on and is_about_output)
        demands.add(asked)
        was_unread = bool(asked.unread) and not _is_understood(command, clause)
        is_about_output = demands.concern_output or bool(_PRINTING.match(clause.text))
    return demands


def _is_understood(command: Command, clause: Clause) -> bool:
    """Whether it is known what a clause says, although nothing checks it.

    That is a count of tests, or that a part of the command succeeds.
    """
    part = _PART_SUCCEEDS.fullmatch(clause.text)
    if part:
        return _value_of(part, clause) in command.text
    if "⟦" in clause.text:
        return False
    if _COUNTED_THINGS.fullmatch(clause.text):
        return True
    return bool(amounts.OUTCOME_COUNT.search(clause.text))


def _value_of(match: re.Match[str], clause: Clause) -> str:
    """Return the text that a pattern with a group `value` has found in a clause."""
    return clause.values[int(match["value"])].text


def _take_remark(command: Command, clause: Clause, demands: Demands) -> None:
    """Report a remark that may ask for more than the command shows.

    Beside an expectation it explains how that comes about: "returns 3 (one for each dish)".
    """
    if demands.expect or demands.files:
        return
    asked = _read_clause(command, clause)
    if asked.expect or asked.unread:
        demands.unread.append(clause.source)


def _read_clause(command: Command, clause: Clause, is_about_output: bool = False) -> Demands:
    """Return what one clause asks.

    `is_about_output`: an earlier clause of the sentence is about the output.
    """
    files = _created_files(command, clause)
    if files:
        return Demands(files=files)
    texts = dict.fromkeys((clause.text, _without_tail(command, clause)))
    for text in texts:
        for pattern in PATTERNS:
            match = pattern.form.fullmatch(text)
            if match is None:
                continue
            statement = Statement(command, clause, match, is_about_output)
            asked = pattern.ask_of(statement)
            if asked is None:
                continue
            demands = Demands(list(asked))
            if "stderr" in clause.source:
                demands.move_to_stderr()
            if statement.group("rest"):
                demands.unread.append(clause.source)
            return demands
    return Demands(unread=[clause.source])


def _created_files(command: Command, clause: Clause) -> list[str]:
    """Return the paths of "creates `x.txt`", unless one of its texts is no path."""
    made = _CREATES.fullmatch(clause.text)
    if made is None or names_stream(clause.source):
        return []
    paths: list[str] = []
    for value in Statement(command, clause, made).values:
        if not _PATH.fullmatch(value.text):
            return []
        if value.kind == "quote" and "." not in value.text:
            # "writes "done"": a text, not a file.
            return []
        paths.append(value.text)
    return paths


def _without_tail(command: Command, clause: Clause) -> str:
    place = _NAMED_PLACE.search(clause.text)
    if place and _is_searched(_value_of(place, clause), command):
        return clause.text[: place.start()]
    return _TAIL.sub("", clause.text)


def _is_searched(place: str, command: Command) -> bool:
    """Whether a command looks into a place, or for a thing; `foo|bar` looks for more than `foo`."""
    return place in command.text and f"{place}|" not in command.text.replace("\\", "")


def _with_system_errors(expects: Sequence[Expect]) -> list[Expect]:
    """Move what the system says to stderr: `ls x` returns "No such file or directory"."""
    found: list[Expect] = []
    for one in expects:
        is_text = one.op in _TEXT_OPS
        if is_text and _SYSTEM_ERROR.search(str(one.value)):
            found.append(NONZERO)
            found.append(Expect("stderr", "contains", one.value))
        else:
            found.append(one)
    return found


def _consistent(expects: Sequence[Expect]) -> list[Expect]:
    """Return the expectations without repetition and without those that contradict an earlier one.

    "exit 0 = pass, exit 1 = fail" says what other statuses would mean, and "returns 6: one title
    and 5 names" how the number comes about.
    """
    kept: list[Expect] = []
    stated: set[str] = set()
    for one in expects:
        if any(_is_usual(one, limit) for limit in expects):
            continue
        is_status = one.stream == "exit"
        if is_status and one.value and NONZERO in kept:
            # "is rejected with exit code 3"
            kept[kept.index(NONZERO)] = one
        if is_status or one.op in _WHOLE_OPS:
            if one.stream in stated:
                continue
            stated.add(one.stream)
        if one in kept or _is_part_of_demanded(one, kept):
            continue
        kept.append(one)
    return kept


def _is_usual(one: Expect, limit: Expect) -> bool:
    """Whether a number is the usual one within a limit: "at least 30. Expected: 46"."""
    if one.stream != limit.stream or not isinstance(one.value, (int, float)):
        return False
    what, is_exact, _ = one.op.partition("==")
    relation = limit.op.removeprefix(what)
    if not is_exact or relation not in _LIMITS or not limit.op.startswith(what):
        return False
    return _LIMITS[relation](one.value, float(str(limit.value)))


def _is_part_of_demanded(one: Expect, kept: Sequence[Expect]) -> bool:
    """Whether a text that must not be there stands in one that must: `pass` in `2 passed`."""
    if one.op != "not_contains":
        return False
    demanded = [other for other in kept if other.op in _TEXT_OPS]
    return any(str(one.value) in str(other.value) for other in demanded)


_CREATES = regex(
    r"(?:creates |files? |directory |folder )*⟦(?P<values>[\d&]+)⟧"
    r"(?: (?:file|directory|folder|exists|exist|is creates))+"
    r"|creates (?:files? )?⟦(?P<created>[\d&]+)⟧"
)
_SUBJECT = (
    rf"(?:{_AFTER_CHANGE} )?"
    r"(?:(?:both|each|every|all|either|results?|counts?|value|number|lines?|response|body|answer"
    r"|reply|status|tests?|process|program|script|prints|expect|returns|shows|→|is|with|of"
    r"|output|at|by|red|green|new) )*?"
)
_VERB = r"(?:(?P<verb>returns|equals|is|prints|shows|contains|expect|→|with|creates|={1,3}) ?)"
_RESULT_VERB = r"(?:(?P<verb>returns|equals|is|expect|→|={1,2}) ?)"
_VALUES = r"⟦(?P<values>[\d&/]+)⟧"
_NUMBER = (
    r"(?:(?:count|value|number|total|integer) )?(?:of )?(?!(?<=all )[1-9])"
    r"(?P<op>>=|<=|>|<|!=|==?)? ?"
    r"(?P<number>\d+(?:\.\d+)?)(?P<unit>%|(?!(?:ish|xx)\b)[a-z]+)?"
)
# What is counted: up to four words, none of which says more of it ("1 line containing `x`").
_PLAIN_WORD = rf"(?!{one_of('restricting')}(?![\w-]))[a-z][\w'/.-]*"
_NOUN_WORD = rf"(?:{_PLAIN_WORD}|⟦[\d&/]+⟧)"
_NOUN = rf"(?: (?P<noun>{_NOUN_WORD}(?: {_NOUN_WORD}){{0,3}}))?"
# How a command fails; what it fails on or for is a case in which it does.
_HOW = (
    rf"(?: {one_of('how')})*(?: (?:instead of|rather than) .*)?"
    r"(?P<where> (?:on|for|in) (?:(?! because )[^⟦])*)?(?: (?:because|since|due) .*)?"
)
_THING = rf"(?P<noun>{one_of('thing')})"
_ERRORS = one_of("error")
# Words that may stand between a verb and the text it is about.
_BETWEEN = rf"(?:{_PLAIN_WORD} ){{0,4}}"
_AROUND = rf"(?: {one_of('around')})*"
# `the 3 new groups`
_TESTS = (
    rf"(?:(?!all\b){_PLAIN_WORD} |[1-9]\d* ){{0,4}}"
    r"(?:tests?|groups?|cases?|specs?|suites?|assertions?|scenarios?)"
)
# `… for an empty table`
_CASE = rf"(?: (?:for|of|in|from) {_PLAIN_WORD}(?: {_PLAIN_WORD}){{0,3}})?"
_CHECKED = one_of("checked")
_WORD = r"(?P<word>[a-z][\w./@-]*)"


# "returns 2 users"
_COUNTED_THINGS = regex(rf"(?:returns|shows|prints|contains|→) \d+(?: {_PLAIN_WORD}){{1,3}}")


def _form(text: str) -> re.Pattern[str]:
    return regex(_SUBJECT + text)


def _may_fail(said: Statement) -> bool:
    """An HTTP client that receives an error response has still succeeded."""
    if is_http(said.command):
        return False
    return statements.is_about_this_run(said)


def _is_raised(said: Statement) -> bool:
    if said.command.stdout is Stdout.LINES:
        return False
    return statements.names_exception(said) and _may_fail(said)


def _prints_what_can_be_counted(said: Statement) -> bool:
    return not said.is_of_tool and not shows_contents(said.command)


def _is_clean(said: Statement) -> bool:
    """`git status --short` is clean."""
    if "clean" not in said.clause.source.lower():
        return False
    return _TERSE_STATUS.search(said.command.text) is not None


def _may_be_missing(said: Statement) -> bool:
    """Whether it fails where there is no such file: `ls x`, `test -f x`, but not `test ! -f x`."""
    command = said.command
    if command.last.program in ("test", "["):
        return "!" not in command.text
    return lists_names(command) or shows_contents(command)


def _has_texts(said: Statement) -> bool:
    return said.has_texts


# Above each pattern stands what an author may have written.
PATTERNS = (
    # exit 1 = fail
    Pattern(
        "status that means failure",
        _form(rf"exits (?:\d+|nonzero) (?:=|means|→|is) (?:fails|{_ERRORS}).*"),
        statements.always(),
    ),
    # exits with a non-zero status
    Pattern(
        "exit status other than zero",
        _form(rf"(?:exits (?:=|is|→)? ?(?:nonzero|> ?0|!= ?0)|not exits 0){_HOW}"),
        statements.failure,
        when=_may_fail,
    ),
    # exits 0 or 1
    Pattern(
        "one of two exit statuses",
        _form(r"exits (?P<number>\d+) or (?P<other>\d+)"),
        statements.exit_status_in,
    ),
    # both exit 0
    Pattern(
        "exit status 0",
        _form(r"(?:passes )?exits (?:=|==|is|→)? ?0(?P<rest> .*)?"),
        statements.always(Expect("exit", "==", 0)),
    ),
    # exit code 2
    Pattern(
        "exit status",
        _form(rf"(?:passes )?exits (?:=|==|is|→)? ?(?P<number>\d+)(?: [=→] passes)?{_HOW}"),
        statements.exit_status,
        when=statements.is_about_this_run,
    ),
    # reports no tests ran
    Pattern(
        "no tests",
        _form(r"(?:no|0) (?:tests?|items) (?:ran|run|passes|collected|found|selected)"),
        statements.always(Expect("exit", "==", 5)),
        when=lambda said: said.command.last.program == "pytest",
    ),
    # shows 4 failures
    Pattern(
        "number of failures",
        _form(
            r"(?:0|(?P<rest>[1-9]\d*)) (?:fails|failures?)"
            r"(?: (?:tests?|cases?|specs?|assertions?))?"
        ),
        statements.failure_count,
    ),
    # is rejected
    Pattern(
        "must fail",
        _form(
            rf"(?:(?:fails|expect failures?){_HOW}(?P<rest> (?:contains )?⟦.*)?"
            r"|(?:compile|compilation|build) (?:errors?|failures?)|red)"
        ),
        statements.failure,
        when=_may_fail,
    ),
    # the three new groups `FAIL`
    Pattern(
        "tests that must fail",
        regex(
            rf"(?:(?:expect|→|is|shows) )*{_TESTS}{_CASE}"
            rf" (?:initially |all )?(?:fails|{_VALUES}){_HOW}"
        ),
        statements.tests_fail,
        when=lambda said: statements.runs_tests(said.command),
    ),
    # returns both fields
    Pattern(
        "names from the command",
        _form(
            rf"{_VERB}(?:(?:all (?P<number>\d+)|(?P<both>both)) (?:\w+ )?"
            r"(?:fields?|names?|keys?|files?|values?|entries|properties)(?: names?)?"
            r"|(?P<field>\w+) (?:field|key))"
        ),
        statements.named_in_command,
    ),
    # returns 2 or 3
    Pattern(
        "one of two numbers",
        _form(rf"{_VERB}?{_NUMBER} or (?P<other>\d+){_NOUN}"),
        amounts.amount_in,
    ),
    # expect 3-4
    Pattern(
        "number in a range",
        _form(rf"{_VERB}?{_NUMBER}\.\.(?P<other>\d+){_NOUN}"),
        amounts.amount_between,
        when=_prints_what_can_be_counted,
    ),
    # returns at least 2 lines
    Pattern("number", _form(rf"(?P<not>not )?{_VERB}?{_NUMBER}{_NOUN}"), amounts.amount),
    # at least 2 in the header section
    Pattern(
        "lower bound in a part",
        _form(
            rf"{_VERB}?{_NUMBER}{_NOUN}"
            rf"(?P<rest> in (?:{_NOUN_WORD} ){{0,3}}{one_of('part')})"
        ),
        amounts.amount,
        when=lambda said: said.op in (">", ">="),
    ),
    # prints a non-zero number
    Pattern("number other than zero", _form(rf"{_VERB}?nonzero{_NOUN}"), amounts.nonzero),
    # → files exist
    Pattern(
        "exists",
        _form(r"(?:files? |paths? |director(?:y|ies) |is )*exists?"),
        statements.always(),
        when=lambda said: lists_names(said.command) or prints_nothing(said.command),
    ),
    # shows no such file
    Pattern(
        "not there",
        _form(
            rf"{_VERB}?(?:files? |director(?:y|ies) )*"
            r"(?:not (?:found|exists?)|no such (?:file|directory)(?: or directory)?)"
        ),
        statements.always(NONZERO),
        when=_may_be_missing,
    ),
    # is clean
    Pattern(
        "clean working tree",
        _form("passes"),
        statements.always(EMPTY),
        when=_is_clean,
    ),
    # all checks pass
    Pattern(
        "passes",
        regex(
            rf"(?:(?:results?|status|expect|prints|shows|returns|→|output|red|green|{_CHECKED}) )*"
            rf"(?:passes(?: (?:{_CHECKED}|passes|exits))*|not fails)"
        ),
        statements.always(),
    ),
    # outputs nothing
    Pattern(
        "no output",
        _form(
            rf"{_VERB}?nothing(?: (?:printed|returned|found|shown|left))?"
            r"|not (?:returns|prints|shows|matches|contains) (?:anything|matches|results?|any \w+)"
        ),
        statements.silence,
    ),
    # returns no matches
    Pattern(
        "no lines",
        _form(
            rf"(?:exits )?{_VERB}?no (?!missing)(?P<kind>(?:{_PLAIN_WORD} ){{0,2}}){_THING}"
            r"(?: (?:found|remain|is|left|exist|exists|returned|returns|printed|shown|anywhere))*"
        ),
        statements.no_lines,
    ),
    # without errors
    Pattern(
        "no errors",
        _form(rf"{_VERB}?no (?:[\w/-]+ ){{0,2}}(?P<noun>{_ERRORS})"),
        statements.no_errors,
    ),
    # returns no hard-coded prices
    Pattern(
        "nothing of a kind",
        _form(
            rf"(?:(?P<verb>returns|shows|prints|expect|→) no {_PLAIN_WORD}(?: {_PLAIN_WORD}){{0,3}}"
            r"|not(?: (?:found|matches))?|is (?:all )?(?:gone|absent|removed))"
        ),
        statements.nothing,
        when=lambda said: searches(said.command),
    ),
    # is not empty
    Pattern(
        "some output",
        _form(rf"{_VERB}?something|(?:not is|not) nothing"),
        statements.always(Expect("stdout", "nonempty")),
    ),
    # returns results
    Pattern(
        "some results",
        _form(r"(?:returns|shows|prints) (?:results?|matches|hits|prints|entries|values?|a match)"),
        statements.results,
    ),
    # raises `ValueError`
    Pattern(
        "exception as the outcome",
        _form(rf"(?:{_RESULT_VERB}|(?:raises?|throws?) ){_BETWEEN}{_VALUES}{_HOW}"),
        statements.failure,
        when=_is_raised,
    ),
    # Expected: `PASS`
    Pattern(
        "outcome as a word",
        _form(rf"{_VERB}?{_BETWEEN}{_VALUES}{_HOW}"),
        statements.outcome_word,
        when=lambda said: said.is_of_tool,
    ),
    # does not show `ready`
    Pattern(
        "text that must not be there",
        _form(
            r"(?:(?P<negated>not) (?:[a-z]+ )?(?:returns|prints|shows|contains|matches|with|is)"
            rf"|{_VERB}?(?:no|not|0)) {_BETWEEN}(?:contains )?{_VALUES}{_AROUND}"
        ),
        statements.not_contained,
        when=_has_texts,
    ),
    # matches `^v[0-9]+`
    Pattern(
        "regular expression",
        _form(
            rf"(?:prints |shows |contains )?{_BETWEEN}matches"
            rf"(?: (?:regular expression|regexp?|pattern|\w+))? {_VALUES}"
        ),
        statements.matched,
    ),
    # returns `ok` or nothing
    Pattern(
        "text or nothing",
        _form(rf"(?:returns|is|equals|prints|shows) {_VALUES} or (?:\w+ )?nothing"),
        statements.whole_text_or_nothing,
        when=_has_texts,
    ),
    # equals `1.2`
    Pattern(
        "whole output",
        _form(rf"(?:returns|equals|is|={{1,3}}) {_VALUES}(?: or no \w+ \w+)?"),
        statements.whole_text,
        when=_has_texts,
    ),
    # both `2.1.0`
    Pattern(
        "text of each command",
        regex(rf"(?:both|each|all|every) {_VALUES}"),
        statements.whole_text,
        when=_has_texts,
    ),
    # prints a line with `ok`
    Pattern(
        "text in the output",
        _form(
            rf"(?!.*matches ⟦){_VERB}(?:[2-9] {_PLAIN_WORD} (?=⟦\d+&)|{_BETWEEN})"
            rf"(?:contains {_BETWEEN})?{_VALUES}{_AROUND}"
        ),
        statements.contained,
    ),
    # a `High water` text block prints
    Pattern(
        "text that is printed",
        regex(
            rf"{_VALUES}(?: {_PLAIN_WORD}){{0,2}} (?:prints|is (?:prints|shows))"
            r"(?P<rest> (?:in addition to|along with|besides) .*)?"
        ),
        statements.contained,
        when=_has_texts,
    ),
    # exits 0, "3 passed": a text on its own goes on about the output
    Pattern(
        "further text",
        regex(_VALUES),
        statements.contained,
        when=lambda said: said.clause.goes_on or names_stream(said.clause.source),
    ),
    # no old-theme
    Pattern(
        "no such name",
        _form(rf"{_VERB}?no (?P<word>(?!non-|pre-|un|off-|cross-|out-)[a-z]\w*[-_][\w.-]+)"),
        statements.bare_word("not_contains"),
        when=lambda said: said.command.stdout is Stdout.LINES,
    ),
    # output includes hello
    Pattern(
        "word in the output",
        regex(rf"(?:prints contains|expect|expect prints|expect contains) {_WORD}"),
        statements.bare_word("contains"),
    ),
    # should not print goodbye
    Pattern(
        "word that must not be there",
        regex(rf"(?:prints )?not (?:prints|contains|shows) {_WORD}"),
        statements.bare_word("not_contains"),
    ),
    # equals hello
    Pattern("whole word", regex(rf"(?:prints )?equals {_WORD}"), statements.bare_word("==")),
)
