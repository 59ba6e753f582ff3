"""What the words behind a command ask of it: a table of patterns, tried in order.

A clause such as "should return at least 2" is first brought into fixed words (`returns >= 2`, see
clauses.py). The first pattern of PATTERNS that matches the whole clause says what it asks. Words
that no pattern knows ask nothing; they are returned as unread, because nothing checks them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.amounts import expect_amount, expect_lines, expect_nothing
from pytest_ralph.verify.clauses import split_clauses
from pytest_ralph.verify.model import Expect, OneOf
from pytest_ralph.verify.names import names_in
from pytest_ralph.verify.stdout_kind import (
    Prints,
    compares,
    counts_only,
    ends_with_echo,
    filters,
    is_http,
    lists_changes,
    lists_names,
    prints,
    prints_in_turn,
    shows_contents,
)
from pytest_ralph.verify.vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.verify.clauses import Clause

_EACH = regex(r"\b(?:both|each|every|all|respectively)\b")
_EACH_LINE = regex(r"\b(?:each|every|all) (?:lines?|counts?)\b")
_TERSE_STATUS = regex(r"git status\b.*\s(?:--porcelain|--short|-s)\b")
_MERGED_STREAMS = regex(r"2>&1|&>|\|&")
_SYSTEM_ERROR = regex(r"(?i)^(?:no such file|command not found|permission denied|cannot access)")
# Placeholders and wildcards are not printed as they are written.
_NOT_LITERAL = regex(
    r"/.*\{.*,.*\}|^\S*\*\S*$|^<[^<>]+>$|<[A-Z][A-Z0-9]*_[A-Z0-9_]+>|[:=/@]<[\w -]+>$"
    r"|^v?\d+(?:\.\d+)*\.x$|…"
)
_PRINTS_STATUS = regex(r"\becho \"?\$\?\"?\W*$")
_PATH = regex(r"[\w.@~-]+(?:/[\w.@-]+)*/?")
_ECHOED = regex(r"\|\|\s*echo\s+[\"']?([A-Za-z]+)")
_SEARCH = regex(r"(?:^|[|;&]\s*)(?:grep|egrep|fgrep|rg|ls|git grep)\b[^|;&]*$")
_PLACE = regex(
    r" (?:in|from|for|of|via|using|on|after|before|by|across|against|per|at|into|inside|within|as expected"
    r"|instead|overall|total|everywhere|anywhere|here|again|because|since)(?: .*)?$"
)


@dataclass
class Demands:
    """What the words behind one command ask of it, and the words that were not understood."""

    expect: list[Expect] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


class Statement(NamedTuple):
    """A clause about a command that a pattern has matched."""

    command: str
    clause: Clause
    match: re.Match[str]
    # Whether an earlier clause of the sentence is about the output.
    is_about_output: bool = False

    def group(self, name: str) -> str:
        """Return what a group of the pattern matched, or an empty string."""
        return self.match.groupdict().get(name) or ""

    @property
    def each(self) -> bool:
        return bool(_EACH.search(self.clause.text))

    @property
    def each_line(self) -> bool:
        return bool(_EACH_LINE.search(self.clause.text))

    @property
    def is_choice(self) -> bool:
        return "/" in self.group("values")

    @property
    def texts(self) -> list[str]:
        """The values that are printed as they are written."""
        values = [self.clause.values[int(index)] for index in self.indexes]
        if any(value.kind == "name" for value in values) and not lists_names(self.command):
            return []
        if any(_NOT_LITERAL.search(value.text) for value in values):
            return []
        return [value.text for value in values if value.text]

    @property
    def indexes(self) -> list[str]:
        return re.split("[&/]", self.group("values") or self.group("created"))


class Pattern(NamedTuple):
    """One way to state an expectation.

    `ask` returns what the statement asks, an empty sequence if the exit status says it already, or
    None if the pattern does not apply to this command. `name` is also that of the sample in
    tests/samples/readings that needs the pattern.
    """

    name: str
    form: re.Pattern[str]
    ask: Callable[[Statement], Sequence[Expect] | None]


def read_expectations(command: str, said: str) -> Demands:
    """Return what `said`, the words behind `command`, asks of it."""
    demands = Demands()
    for clause in split_clauses(said):
        _take(command, clause, demands)
    if "stderr" in said:
        demands.expect = [_on_stderr(one) for one in demands.expect]
    elif not _MERGED_STREAMS.search(command):
        demands.expect = _with_system_errors(demands.expect)
    demands.expect = _consistent(demands.expect)
    return demands


def _take(command: str, clause: Clause, demands: Demands) -> None:
    """Add to `demands` what one clause says."""
    if made := _CREATES.fullmatch(clause.text):
        statement = Statement(command, clause, made)
        paths = [clause.values[int(index)].text for index in statement.indexes]
        if all(_PATH.fullmatch(path) for path in paths):
            demands.files += paths
            return
    is_about_output = clause.goes_on and any(one.stream != "exit" for one in demands.expect)
    for text in (clause.text, _PLACE.sub("", clause.text)):
        for pattern in PATTERNS:
            match = pattern.form.fullmatch(text)
            if match is None:
                continue
            asked = pattern.ask(Statement(command, clause, match, is_about_output))
            if asked is not None:
                demands.expect += asked
                return
    if not clause.is_remark:
        demands.unread.append(clause.source)


def _on_stderr(one: Expect) -> Expect:
    if one.stream == "stdout":
        return one._replace(stream="stderr")
    return one


def _with_system_errors(expects: Sequence[Expect]) -> list[Expect]:
    """Move what the system says to stderr: `ls x` returns "No such file or directory"."""
    found: list[Expect] = []
    for one in expects:
        is_text = one.stream == "stdout" and one.op in ("==", "contains")
        if is_text and _SYSTEM_ERROR.search(str(one.value)):
            found.append(Expect("exit", "nonzero"))
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
    for one in expects:
        subject = _subject_of(one)
        is_stated = subject is not None and any(_subject_of(other) == subject for other in kept)
        if not is_stated and one not in kept:
            kept.append(one)
    return kept


def _subject_of(one: Expect) -> str | None:
    """Return what an expectation fixes once and for all, so that a second one contradicts it."""
    if one.stream == "exit":
        return "exit status"
    if one.op in ("==", "in", "empty", "lines==", "sum==", "each_line=="):
        return "whole output"
    return None


def _nothing_to_ask(_: Statement) -> Sequence[Expect]:
    return []


def _exit_status(said: Statement) -> Sequence[Expect]:
    return [Expect("exit", "==", int(said.group("number")))]


def _exit_status_in(said: Statement) -> Sequence[Expect]:
    return [Expect("exit", "in", OneOf((int(said.group("number")), int(said.group("other")))))]


def _nonzero_status(_: Statement) -> Sequence[Expect]:
    return [Expect("exit", "nonzero")]


def _failure(said: Statement) -> Sequence[Expect] | None:
    if is_http(said.command):
        # A client that receives an error response has still succeeded.
        return None
    return [Expect("exit", "nonzero")]


def _failure_count(said: Statement) -> Sequence[Expect]:
    if int(said.group("number")) == 0:
        return []
    return [Expect("exit", "nonzero")]


def _nonzero(said: Statement) -> Sequence[Expect] | None:
    noun = said.group("noun")
    counts = prints(said.command) in (Prints.COUNT, Prints.COUNTS)
    if _PRINTS_STATUS.search(said.command):
        return [Expect("stdout", "!=", 0)]
    if counts or noun.startswith(("count", "number", "total", "integer")):
        return [Expect("stdout", ">", 0)]
    if said.group("verb") == "prints":
        return [Expect("stdout", ">", 0)]
    if not noun or noun.startswith(("code", "status", "exit")):
        return [Expect("exit", "nonzero")]
    return expect_lines(said.command, ">", 0)


def _amount(said: Statement) -> Sequence[Expect] | None:
    number = _number(said.group("number"))
    noun = f"{said.group('unit')} {said.group('noun')}".strip()
    counts = prints(said.command) in (Prints.COUNT, Prints.COUNTS)
    if not said.group("verb") and not said.group("op") and not counts and not noun:
        return None
    if noun.startswith("⟦") and not is_http(said.command):
        return None
    op = said.group("op") or "=="
    if said.group("not"):
        op = "!="
    if said.group("verb") == "contains" and not noun and not counts:
        return [Expect("stdout", "contains", number)]
    if said.each_line and op == "==":
        return [Expect("stdout", "each_line==", number)]
    return expect_amount(said.command, op, number, noun, said.group("verb"), said.each)


def _amount_in(said: Statement) -> Sequence[Expect] | None:
    asked = _amount(said)
    if not asked or asked[0].op != "==" or said.group("op"):
        return asked
    choices = OneOf((_number(said.group("number")), _number(said.group("other"))))
    return [asked[0]._replace(op="in", value=choices)]


def _amount_between(said: Statement) -> Sequence[Expect] | None:
    if shows_contents(said.command) or prints(said.command) is Prints.STATUS:
        return None
    asked = _amount(said)
    if not asked or asked[0].op != "==":
        return None
    low = asked[0]._replace(op=">=")
    high = asked[0]._replace(op="<=", value=_number(said.group("other")))
    return [low, high]


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _silence(said: Statement) -> Sequence[Expect] | None:
    if said.each and lists_names(said.command):
        # `ls a b`: "both empty" is about the files.
        return None
    return expect_nothing(said.command)


def _clean(said: Statement) -> Sequence[Expect] | None:
    if "clean" in said.clause.source.lower() and _TERSE_STATUS.search(said.command):
        return [Expect("stdout", "empty")]
    return None


def _no_lines(said: Statement) -> Sequence[Expect] | None:
    if said.group("noun") in ("diff", "change", "changes", "differences"):
        return expect_nothing(said.command) if compares(said.command) else None
    if prints(said.command) is Prints.STATUS and not said.group("noun").startswith(_IN_OUTPUT):
        return None
    return expect_nothing(said.command)


def _no_errors(said: Statement) -> Sequence[Expect] | None:
    """`… || echo "MISSING $f"` outputs no errors: not the word that announces one."""
    echoed = _ECHOED.search(said.command)
    if echoed is None:
        return []
    if said.command.count("echo ") > 1 or "grep -E" in said.command:
        return [Expect("stdout", "not_contains", echoed[1])]
    return [Expect("stdout", "empty")]


def _output(_: Statement) -> Sequence[Expect]:
    return [Expect("stdout", "nonempty")]


def _results(said: Statement) -> Sequence[Expect]:
    if prints(said.command) is Prints.STATUS or _SEARCH.search(said.command):
        # A search that finds something exits with 0.
        return []
    return [Expect("stdout", "nonempty")]


def _whole_text(said: Statement) -> Sequence[Expect] | None:
    texts = said.texts
    if not texts or counts_only(said.command):
        return None
    if said.is_choice:
        return [Expect("stdout", "in", OneOf(texts))]
    if len(texts) > 1:
        return _contained(said)
    if said.each and prints_in_turn(said.command):
        return [Expect("stdout", "each_line==", texts[0])]
    if "only" in said.clause.source and prints(said.command) is Prints.LINES:
        return _contained(said)
    return [Expect("stdout", "==", texts[0])]


def _whole_text_or_nothing(said: Statement) -> Sequence[Expect] | None:
    if len(said.texts) != 1:
        return None
    return [Expect("stdout", "in", OneOf((said.texts[0], "")))]


def _contained(said: Statement) -> Sequence[Expect] | None:
    texts = said.texts
    if not texts or said.is_choice or counts_only(said.command):
        return None
    if said.group("verb") == "with" and prints(said.command) is Prints.STATUS:
        # "fails with `x`" does not say on which stream.
        return None
    return [Expect("stdout", "contains", text) for text in texts]


def _further_text(said: Statement) -> Sequence[Expect] | None:
    """`exits 0, "3 passed"`: a text on its own goes on about the output."""
    if not said.clause.goes_on:
        return None
    return _contained(said)


def _not_contained(said: Statement) -> Sequence[Expect] | None:
    texts = said.texts
    if not texts or counts_only(said.command):
        return None
    is_stated = said.group("negated") or said.group("verb") not in ("", "with")
    is_stated = is_stated or said.is_about_output
    if prints(said.command) is Prints.STATUS and not is_stated:
        # "passes with no `any` types" is about the code, not about the output.
        return None
    return [Expect("stdout", "not_contains", text) for text in texts]


def _outcome_word(said: Statement) -> Sequence[Expect] | None:
    """`Expected: PASS` of a tool: how its run went, not a word that it prints."""
    if prints(said.command) is not Prints.STATUS or len(said.texts) != 1:
        return None
    is_result = said.group("verb") in ("returns", "is", "equals", "expect", "→", "=", "==")
    is_shouted = said.clause.values[int(said.indexes[0])].kind == "capitals"
    if not is_result and not (is_shouted and not said.group("verb")):
        return None
    word = said.texts[0]
    if word in said.command:
        return None
    if word.upper() in _PASSING:
        return []
    if word.upper() in _FAILING:
        return [Expect("exit", "nonzero")]
    return None


def _matched(said: Statement) -> Sequence[Expect] | None:
    value = said.clause.values[int(said.indexes[0])]
    if value.kind == "regex":
        return [Expect("stdout", "matches", value.text)]
    return _contained(said)


def _bare_word(said: Statement) -> Sequence[Expect] | None:
    word = _as_written(said, said.group("word"))
    if word.lower() in _DESCRIBING:
        return None
    return [Expect("stdout", "contains", word)]


def _shouted_word(said: Statement) -> Sequence[Expect] | None:
    if not _as_written(said, said.group("word")).isupper():
        return None
    return _bare_word(said)


def _no_bare_word(said: Statement) -> Sequence[Expect] | None:
    word = _as_written(said, said.group("word"))
    if word.lower() in _DESCRIBING:
        return None
    return [Expect("stdout", "not_contains", word)]


def _whole_word(said: Statement) -> Sequence[Expect] | None:
    word = _as_written(said, said.group("word"))
    if word.lower() in _DESCRIBING:
        return None
    return [Expect("stdout", "==", word)]


def _as_written(said: Statement, word: str) -> str:
    found = re.search(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", said.clause.source)
    return found[0] if found else word


def _no_file_name(said: Statement) -> Sequence[Expect] | None:
    if prints(said.command) is not Prints.LINES:
        return None
    return [Expect("stdout", "not_contains", _as_written(said, said.group("names")))]


def _named_in_command(said: Statement) -> Sequence[Expect] | None:
    """`grep -E '^(name|model):' f` returns both fields: the two that the command looks for."""
    count = said.group("number")
    if said.group("both"):
        count = "2"
    names = names_in(said.command)
    wanted = [name for name in names if not count or len(names) == int(count)]
    if said.group("field"):
        wanted = [name for name in names if name.strip(":").lower() == said.group("field")]
    if not wanted:
        return None
    return [Expect("stdout", "contains", name) for name in wanted]


def _excepted(said: Statement) -> Sequence[Expect] | None:
    """`no matches except the heading`: some output is allowed, unless it is filtered out."""
    if filters(said.command):
        return expect_nothing(said.command)
    return None


def _no_change_to(said: Statement) -> Sequence[Expect] | None:
    if not lists_changes(said.command):
        return None
    return _not_contained(said)


def _echoed(said: Statement) -> Sequence[Expect] | None:
    word = _as_written(said, said.group("word"))
    if ends_with_echo(said.command) and re.search(rf"\b{re.escape(word)}\b", said.command):
        return [Expect("stdout", "contains", word)]
    return None


_PASSING = words("prose", "passing")
_FAILING = words("prose", "failing")
_DESCRIBING = words("prose", "describing")
_IN_OUTPUT = ("match", "result", "hit", "line", "occurrence", "output", "entr", "mention")
_CREATES = regex(
    r"(?:creates |files? |directory |folder )*⟦(?P<values>[\d&]+)⟧(?: (?:file|exists|exist|is creates))+"
    r"|creates (?:files? )?⟦(?P<created>[\d&]+)⟧"
)
_SUBJECT = (
    r"(?:(?:both|each|every|all|either|results?|counts?|value|number|lines?|response|status|tests?"
    r"|prints|expect|returns|shows|→|is|with|of|output|at|by|red|green) )*?"
)
_VERB = r"(?:(?P<verb>returns|equals|is|prints|shows|contains|expect|→|with|creates|={1,3}) ?)"
_VALUES = r"⟦(?P<values>[\d&/]+)⟧"
_NUMBER = (
    r"(?:(?:count|value|number|total) )?(?:of )?(?!(?<=all )[1-9])(?P<op>>=|<=|>|<|!=|==?)? ?"
    r"(?P<number>\d+(?:\.\d+)?)(?P<unit>%|[a-z]+)?"
)
_NOUN = r"(?: (?P<noun>[a-z⟦].*))?"
_THING = (
    r"(?P<noun>match|matches|lines?|results?|hits?|occurrences?|entries|files?|references?|instances?"
    r"|director(?:y|ies)|items?|paths?|usages?|mentions?|imports?|diff|changes?|differences|rows?)"
)
_ERRORS = (
    r"(?:errors?|failures?|fails|issues?|problems?|violations?|regressions?|conflicts?|exceptions?"
    r"|offenses|vulnerabilities|crashes|findings?|leaks?|complaints?|diagnostics?)"
)
# Words that may stand between a verb and the text it is about.
_BETWEEN = r"(?:(?!(?:in|from|under|at|for|using|via|on|to|by|no|not|nothing|something|<|>|is|how) )[a-z][\w'/-]* ){0,4}"
_AROUND = (
    r"(?: (?:lines?|messages?|text|string|words?|entry|entries|fields?|columns?|rules?|headers?"
    r"|headings?|keys?|values?|sections?|rows?|status|states?|options?|flags?|commands?|labels?|jobs?"
    r"|tags?|property|routes?|endpoints?|types?|errors?|names?|files?|tables?|once|appears?|present"
    r"|first|last|too|again|somewhere|version|badge|branch|found|output|banner|prefix|title|(?:sub)?commands?|arguments?"
    r"|parameters?|variables?|functions?|class|classes|methods?|modules?|packages?|services?|steps?"
    r"|exports?|imports?|attributes?|settings?|links?|items?|targets?|tasks?|scripts?|dependency"
    r"|dependencies|directories|directory|extension|permission|role|users?))*"
)
_WORD = r"(?P<word>[a-z][\w./@-]*)"


def _form(text: str) -> re.Pattern[str]:
    return regex(_SUBJECT + text)


PATTERNS = (
    Pattern(
        "status that means failure",
        _form(rf"exits (?:\d+|nonzero) (?:=|means|→|is) (?:fails|{_ERRORS}).*"),
        _nothing_to_ask,
    ),
    Pattern(
        "exit status other than zero",
        _form(r"exits (?:=|is|→)? ?(?:nonzero|not \d|> ?0|!= ?0).*"),
        _nonzero_status,
    ),
    Pattern(
        "one of two exit statuses",
        _form(r"exits (?P<number>\d+) or (?P<other>\d+)"),
        _exit_status_in,
    ),
    Pattern(
        "exit status", _form(r"(?:passes )?exits (?:=|==|is|→)? ?(?P<number>\d+)\b.*"), _exit_status
    ),
    Pattern("number of failures", _form(r"(?P<number>\d+) (?:fails|failures?)"), _failure_count),
    Pattern(
        "must fail",
        _form(r"(?:fails|fails failure|expect failures?)(?: (?!if|when|unless|on |for )\S.*)?"),
        _failure,
    ),
    Pattern(
        "nothing but exceptions",
        _form(rf"{_VERB}?(?:nothing|no {_THING}) (?:except|apart|besides|aside|!=)\b.*"),
        _excepted,
    ),
    Pattern(
        "names from the command",
        _form(
            rf"{_VERB}(?:(?:all (?P<number>\d+)|(?P<both>both)) (?:\w+ )?"
            r"(?:fields?|names?|keys?|files?|values?|entries|properties)(?: names?)?"
            r"|(?P<field>\w+) (?:field|key))"
        ),
        _named_in_command,
    ),
    Pattern(
        "one of two numbers", _form(rf"{_VERB}?{_NUMBER} or (?P<other>\d+){_NOUN}"), _amount_in
    ),
    Pattern(
        "number in a range", _form(rf"{_VERB}?{_NUMBER}\.\.(?P<other>\d+){_NOUN}"), _amount_between
    ),
    Pattern("number", _form(rf"(?P<not>not )?{_VERB}?{_NUMBER}{_NOUN}"), _amount),
    Pattern("number other than zero", _form(rf"{_VERB}?nonzero{_NOUN}"), _nonzero),
    Pattern("clean working tree", _form("passes"), _clean),
    Pattern("passes", _form(r"(?:[\w/-]+ ){0,3}passes(?: .*)?|not fails"), _nothing_to_ask),
    Pattern(
        "no output",
        _form(
            rf"{_VERB}?nothing(?: (?:printed|returned|found|shown|left))?"
            r"|not (?:returns|prints|shows|matches|contains) (?:anything|matches|results?|any \w+)"
        ),
        _silence,
    ),
    Pattern(
        "no change to a file", _form(rf"{_VERB}?no {_THING} (?:to|in|<) {_VALUES}"), _no_change_to
    ),
    Pattern(
        "no lines",
        _form(
            rf"{_VERB}?no (?:[a-z][\w-]* ){{0,2}}{_THING}"
            r"(?: (?:found|remain|is|left|exist|exists|returned|returns|printed|shown|anywhere))*"
        ),
        _no_lines,
    ),
    Pattern(
        "no errors", _form(rf"{_VERB}?no (?:[\w/-]+ ){{0,2}}{_ERRORS}(?: \w+){{0,2}}"), _no_errors
    ),
    Pattern("some output", _form(rf"{_VERB}?something|(?:not is|not) nothing"), _output),
    Pattern(
        "some results",
        _form(r"(?:returns|shows|prints) (?:results?|matches|hits|prints|entries|values?|a match)"),
        _results,
    ),
    Pattern("outcome as a word", _form(rf"{_VERB}?{_VALUES}"), _outcome_word),
    Pattern(
        "text that must not be there",
        _form(
            r"(?:(?P<negated>not) (?:[a-z]+ )?(?:returns|prints|shows|contains|matches|with|is)"
            rf"|{_VERB}?(?:no|not|0)) {_BETWEEN}(?:contains )?{_VALUES}{_AROUND}"
        ),
        _not_contained,
    ),
    Pattern("regular expression", _form(rf"matches (?:\w+ )?{_VALUES}"), _matched),
    Pattern(
        "text or nothing",
        _form(rf"(?:returns|is|equals|prints|shows) {_VALUES} or (?:\w+ )?nothing"),
        _whole_text_or_nothing,
    ),
    Pattern(
        "whole output", _form(rf"(?:returns|equals|is|={{1,3}}) {_VALUES}(?: or .*)?"), _whole_text
    ),
    Pattern("text of each command", regex(rf"(?:both|each|all|every) {_VALUES}"), _whole_text),
    Pattern(
        "text in the output",
        _form(rf"{_VERB}{_BETWEEN}(?:contains )?{_VALUES}{_AROUND}"),
        _contained,
    ),
    Pattern("further text", regex(_VALUES), _further_text),
    Pattern(
        "no such name",
        _form(rf"{_VERB}?no (?P<names>(?!non-|pre-|un|off-|cross-|out-)[a-z]\w*[-_][\w.-]+)"),
        _no_file_name,
    ),
    Pattern("word that is echoed", _form(rf"{_VERB}{_WORD}"), _echoed),
    Pattern(
        "word in the output",
        regex(rf"(?:prints contains|expect|expect prints|expect contains) {_WORD}"),
        _bare_word,
    ),
    Pattern("word in capitals", regex(rf"contains {_WORD}"), _shouted_word),
    Pattern(
        "word that must not be there",
        regex(rf"(?:prints )?not (?:prints|contains|shows) {_WORD}"),
        _no_bare_word,
    ),
    Pattern("whole word", regex(rf"(?:prints )?equals {_WORD}"), _whole_word),
)
