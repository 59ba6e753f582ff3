"""What a statement about a command asks of it, once a pattern of expect.py has matched.

Each function returns the expectations, an empty sequence if the exit status says it already, or
None if the statement cannot be about this command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_ralph.shell.stdout import Stdout
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.clauses import split_indexes
from pytest_ralph.verify.model import EMPTY, NONZERO, Expect, OneOf, parse_number
from pytest_ralph.verify.names import names_in
from pytest_ralph.verify.stdout_kind import (
    compares,
    counts_only,
    hides_zero,
    is_http,
    is_search,
    iterates,
    lists_names,
    prints_body,
    prints_columns,
    prints_in_turn,
    prints_nothing,
    prints_per_file,
    prints_something,
    prints_sql_table,
    searches,
    shows_contents,
)
from pytest_ralph.verify.vocabulary import words

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Command
    from pytest_ralph.verify.clauses import Clause, Value

_EACH = regex(r"\b(?:both|each|every|all|respectively)\b")
# "each line is `x`", "every value is 1"
_OF_LINES = regex(r"\b(?:each|every|all) (?:of )?(?:lines?|values?|rows?|entry|entries|prints)\b")
_ONE_OF = regex(r"(?i)\b(?:any|some|one|either) of\b")
_LISTS = regex(r"(?i)\blists? no files\b")
_READS = regex(r"(?i)(?:it |should |must |will )*reads?\b")
# Placeholders and wildcards are not printed as they are written, nor is the time that a run took.
_NOT_LITERAL = regex(
    "|".join(
        (
            r"/.*\{.*,.*\}",
            r"^\S*\*\S*$",
            "×",
            # `<name>`, `<YOUR_NAME>`, `port=<port>`
            r"^<[^<>=]+>$",
            r"<[A-Z][A-Z0-9]*_[A-Z0-9_]+>",
            r"[:=/@]<[\w -]+>$",
            r"^(?!(?i:usage))(?!.*</).*[\s,(]<[a-z][\w -]*>",
            r"<(?:[nN]|count|number|total|version|date|time|id|sha|hash)>",
            # "ok. N passed"
            r"\b[NXM] (?:\w+ )?(?:passed|failed|tests?|files?|lines?|warnings?|errors?|items?"
            r"|seconds?|rows?)\b",
            # "12/N", "in XX files"
            r"\b(?:[NX]/[NXM\d]|\d+/[NXM]|XX+|NN+)\b",
            r"[:=] ?[NXM]$",
            # Go pads the lines of its packages.
            r"^ok\s+\S+/\S+$",
            r"^v?\d+(?:\.[\dx]+)*\.x$",
            r"…|(?<!/)\.\.\.",
            r"^[\w.-]+ ?[<>]=? ?v?\d[\d.]*$",
            r"\bin \d+(?:\.\d+)? ?m?s\b",
        )
    )
)
# `${USER}`, `{count} files`, `YYYY-MM-DD`: printed as they are only where sources are shown.
_FILLED_IN = regex(r"\$\{?[A-Za-z_]\w+|\bYYYY\b|(?<![/\w])\{[a-z_]+\}|^\\n$")
# `Wrote 52 files …`: enough of a text to look for, and what stands for the rest of it.
_OPEN_END = regex(r"(?P<start>.{6,}\w[^\w\s<>….]?)\s*(?:…|\.\.\.|<[\w -]+>)")
# `\d`, in what no program prints.
_CHARACTER_CLASS = regex(r"\\[dws]")
# What makes a text a regular expression: `^x`, `x$`, `\d`, `\.`, `.*`, `[a-z]`, `[ab]+`, `{2}`.
_REGEX_ONLY = regex(
    r"^(?!.*\[\[:)(?:\^|.*(?:\w\$$|\\[dwsb.]|\.[*+]|\[[^\]]*\w-\w[^\]]*\]|\][*+{]|\)[*+?]|\{\d))"
)
_FILE_NAME = regex(r"(?:[\w.-]+/)*[\w.-]*[A-Za-z_-]\.[a-z]{1,5}")
# In quotes, these are what is printed.
_PRINTED = frozenset(("complete", "done", "ready", "true"))
# "outputs exactly `done`"
_OUTPUT = regex(r"(?i)\b(?:stdout|prints|outputs|output is)\b")
# `ok: true`
_FIELD = regex(r"[a-z]\w*: [\"']?[\w.-]+[\"']?")
_EXCEPTION = regex(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception)(?:: .*)?")
_RUNS_TESTS = regex(r"test|spec")
_SYSTEM = regex(r"\b(?:windows|macos|mac|linux|ci|node \d|python \d)")
_ECHOED = regex(r"\|\|\s*echo\s+[\"']?([A-Za-z]+)")
_IS_NOT = regex(r"(?i)\b(?:is|are|be) not `[^`]*`$")
# Of a commit; only its beginning may be written.
_HASH_LENGTH = 40
_PASSING = words("prose", "passing")
_FAILING = words("prose", "failing")
_DESCRIBING = words("prose", "describing")
_OF_ALL = words("prose", "of all")
RESULT_VERBS = frozenset(("returns", "is", "equals", "expect", "→", "=", "=="))
_INCLUDES = regex(r"(?:now |also )*includes? ")
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_DIFFERENCES = frozenset(("diff", "change", "changes", "differences"))
_IN_OUTPUT = ("match", "result", "hit", "line", "occurrence", "output", "entr", "mention")


class Statement(NamedTuple):
    """A clause about a command that a pattern has matched."""

    command: Command
    clause: Clause
    match: re.Match[str]
    # Whether an earlier clause of the sentence is about the output.
    is_about_output: bool = False

    def group(self, name: str) -> str:
        """Return what a group of the pattern matched, or an empty string."""
        return self.match.groupdict().get(name) or ""

    @property
    def verb(self) -> str:
        return self.group("verb")

    @property
    def noun(self) -> str:
        """What is counted, with its unit."""
        return f"{self.group('unit')} {self.group('noun')}".strip()

    @property
    def op(self) -> str:
        """How an amount is compared."""
        op = self.group("op")
        if self.group("not"):
            return _OPPOSITE.get(op, "!=")
        return op if op not in ("", "=") else "=="

    @property
    def number(self) -> int | float:
        return parse_number(self.group("number"))

    @property
    def other_number(self) -> int | float:
        return parse_number(self.group("other"))

    @property
    def is_of_each(self) -> bool:
        return bool(_EACH.search(self.clause.text))

    @property
    def is_of_each_line(self) -> bool:
        if prints_per_file(self.command):
            return True
        if not self.is_of_each:
            return False
        is_of_both = "both" in self.clause.text
        if prints_in_turn(self.command) or (iterates(self.command) and not is_of_both):
            return True
        return _OF_LINES.search(self.clause.text) is not None

    @property
    def is_of_tool(self) -> bool:
        """Whether the command is a tool whose result is its exit status, whatever it prints."""
        return self.command.stdout is Stdout.STATUS

    @property
    def is_choice(self) -> bool:
        return "/" in self.group("values")

    @property
    def values(self) -> list[Value]:
        written = self.group("values") or self.group("created")
        if not written:
            return []
        return [self.clause.values[index] for index in split_indexes(written)]

    @property
    def texts(self) -> list[str]:
        """The values as they are printed, or none if one of them is not printed as written."""
        if counts_only(self.command):
            return []
        values = self.values
        names_files = any(_FILE_NAME.fullmatch(value.text) for value in values)
        if self.is_of_tool and names_files and _READS.match(self.clause.source):
            # "reads `stove.cfg`": what it takes in.
            return []
        if prints_body(self.command):
            # "returns 200 and `ok`": the status is not in the output.
            values = [value for value in values if value.kind != "number"]
        if not all(map(self._is_literal, values)):
            return []
        return list(filter(None, map(self._as_printed, values)))

    def _is_literal(self, value: Value) -> bool:
        """Whether this command may print a value as it is written."""
        if value.kind == "name" and not lists_names(self.command):
            return False
        if value.kind == "number" and searches(self.command):
            # "→ 3 and 9": the numbers of the lines.
            return False
        text = _without_open_end(value.text)
        if _NOT_LITERAL.search(text):
            return False
        if _FILLED_IN.search(text):
            return _is_of_source(self.command)
        # JSON has quotes around a name, and maybe no blank behind it.
        return not (prints_body(self.command) and _FIELD.fullmatch(text))

    def _as_printed(self, value: Value) -> str:
        text = _without_open_end(value.text)
        if value.kind == "directory" or lists_names(self.command):
            # A directory is listed without the slash at its end.
            return text.removesuffix("/")
        return text

    @property
    def are_cut(self) -> bool:
        """Whether only the beginning of a text is known: `Wrote 52 files …`."""
        return any(_without_open_end(value.text) != value.text for value in self.values)

    @property
    def has_texts(self) -> bool:
        return bool(self.texts)

    @property
    def word(self) -> str:
        """The word of the pattern's group, as it was written before it became lower case."""
        word = self.group("word")
        found = re.search(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", self.clause.source)
        return found[0] if found else word


def _without_open_end(text: str) -> str:
    cut = _OPEN_END.fullmatch(text)
    if cut is None or not _NOT_LITERAL.search(text):
        return text
    return cut["start"]


# What is expected: nothing if the exit status says it already, None if that cannot be said.
Answer: TypeAlias = Sequence[Expect] | None
Ask: TypeAlias = Callable[[Statement], Answer]
_ZERO = {
    Stdout.COUNT: Expect("stdout", "==", 0),
    Stdout.COUNTS: Expect("stdout", "sum==", 0),
}


def names_stream(words: str) -> bool:
    """Whether the words say where a text is written: "writes `done` to stderr"."""
    return "stdout" in words or "stderr" in words


def always(*expects: Expect) -> Ask:
    """Return an answer that is the same for every command."""
    return lambda _: expects


def exit_status_in(said: Statement) -> Answer:
    return [Expect("exit", "in", OneOf((said.number, said.other_number)))]


def exit_status(said: Statement) -> Answer:
    return [Expect("exit", "==", said.number)]


failure = always(NONZERO)


def is_about_this_run(said: Statement) -> bool:
    """Whether it tells what the command does now; "fails on old data" tells one case of it.

    Tests have no input: they fail on what they test.
    """
    if not said.group("where"):
        return True
    return _RUNS_TESTS.search(said.command.text) is not None


def runs_tests(command: Command) -> bool:
    if command.last.role == "test":
        return True
    return _RUNS_TESTS.search(command.text) is not None


def tests_fail(said: Statement) -> Answer:
    """`the 3 new groups FAIL`: how many do is not checked."""
    if _SYSTEM.search(said.group("where")):
        # "old tests fail on Windows" tells nothing about this system.
        return None
    for value in said.values:
        if value.text.upper() not in _FAILING:
            return None
    return [NONZERO]


def failure_count(said: Statement) -> Answer:
    """The exit status says that some tests failed; how many is not checked."""
    return [NONZERO] if said.group("rest") else []


def expect_something(command: Command) -> Answer:
    """Return what "prints something" asks of a command."""
    if searches(command):
        # A search that finds something exits with 0.
        return []
    return [Expect("stdout", "nonempty")]


def expect_nothing(command: Command) -> Answer:
    """Return what "prints nothing" asks of a command: a count is 0, anything else is empty."""
    if prints_something(command):
        return None
    if is_search(command) and prints_nothing(command):
        # `grep -q` never prints anything: its status says whether it has found something.
        return [] if command.last.negated else [NONZERO]
    if hides_zero(command):
        return [EMPTY]
    return [_ZERO.get(command.stdout, EMPTY)]


def silence(said: Statement) -> Answer:
    command = said.command
    if said.is_of_each and lists_names(command):
        # `ls a b`: "both empty" is about the files.
        return None
    is_of_further = said.is_of_each and said.clause.goes_on
    if is_of_further and shows_contents(command):
        # `git diff`: "keys only, all empty" is about what it shows.
        return None
    may_be_suite = said.is_of_tool and not compares(command)
    if may_be_suite and said.clause.source in ("empty", "none"):
        # "`npm test` runs (empty)": the suite is.
        return None
    is_guess = command.stdout is Stdout.COUNT and not counts_only(command)
    if is_guess and not prints_something(command):
        # `awk '… {print NR}'`: whether it counts is only a guess.
        return [EMPTY]
    return expect_nothing(command)


def no_lines(said: Statement) -> Answer:
    command = said.command
    if not _is_all_it_prints(said):
        return None
    if said.noun in _DIFFERENCES:
        is_of_output = compares(command)
    elif said.is_of_tool:
        is_listed = _LISTS.search(said.clause.source) is not None
        is_of_output = is_listed or said.noun.startswith(_IN_OUTPUT)
    else:
        is_of_output = True
    return expect_nothing(command) if is_of_output else None


def _is_all_it_prints(said: Statement) -> bool:
    """Whether the command prints nothing but the kind of thing that is denied.

    "no selector changes" of a difference, and "no map files" of a directory, are some of them.
    """
    kind = said.group("kind").split()
    if "new" in kind:
        return False
    command = said.command
    if not kind or is_search(command) or command.last.program == "find":
        return True
    written = command.text.lower()
    return all(word in _OF_ALL or word in written for word in kind)


def no_errors(said: Statement) -> Answer:
    """`… || echo "MISSING $f"` outputs no errors: not the word that announces one."""
    command = said.command
    if is_search(command) and said.verb != "with":
        is_about_hits = said.noun[:4] in command.text.lower()
        return expect_nothing(command) if is_about_hits else None
    echoed = _ECHOED.search(command.text)
    if echoed is None:
        # The status of `cat build.log` says nothing about errors in that file.
        return None if shows_contents(command) else []
    prints_more = command.text.count("echo ") > 1 or "grep -E" in command.text
    if prints_more:
        return [Expect("stdout", "not_contains", echoed[1])]
    return [EMPTY]


def nothing(said: Statement) -> Answer:
    return expect_nothing(said.command)


def results(said: Statement) -> Answer:
    return [] if said.is_of_tool else expect_something(said.command)


def names_exception(said: Statement) -> bool:
    """`python -c "import old"` → `ModuleNotFoundError`: it fails."""
    return any(map(_EXCEPTION.fullmatch, said.texts))


def outcome_word(said: Statement) -> Answer:
    """`Expected: PASS` of a tool: how its run went, not a word that it prints."""
    if len(said.texts) != 1:
        return None
    word = said.texts[0]
    if word in said.command.text:
        return None
    if said.verb and said.verb not in RESULT_VERBS:
        return None
    is_quoted = said.values[0].kind in ("span", "quote")
    if (is_quoted and word in _PRINTED) or _OUTPUT.search(said.clause.source):
        return None
    if not said.verb and said.values[0].kind not in ("capitals", "literal"):
        return None
    if word.upper() in _PASSING:
        return []
    if word.upper() in _FAILING and is_about_this_run(said):
        return [NONZERO]
    return None


def not_contained(said: Statement) -> Answer:
    if any(value.kind == "regex" or _is_pattern(value.text) for value in said.values):
        # "does not match `^tmp`": there is no operator for it.
        return None
    is_whole = _IS_NOT.search(said.clause.source) is not None
    is_denied = said.group("negated") or is_whole or said.verb not in ("", "with")
    is_of_output = is_denied or said.is_about_output
    if said.is_of_tool and not is_of_output:
        # "passes with no `any` types" is about the code.
        return None
    op = "not_contains"
    if is_whole:
        # "is not `main`" does not exclude `maintenance`.
        op = "!="
    return [Expect("stdout", op, text) for text in said.texts]


def matched(said: Statement) -> Answer:
    value = said.values[0]
    if value.kind == "regex" or _is_pattern(value.text):
        return [Expect("stdout", "matches", value.text)]
    is_file = _FILE_NAME.fullmatch(value.text) is not None
    if is_file and not lists_names(said.command):
        # "matches `expected.txt`": what is in that file.
        return None
    return contained(said)


def _is_pattern(text: str) -> bool:
    """Whether a text is a regular expression, and can be nothing else: `^v\\d+`."""
    if not _REGEX_ONLY.search(text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def whole_text_or_nothing(said: Statement) -> Answer:
    return [Expect("stdout", "in", OneOf((*said.texts, "")))]


def whole_text(said: Statement) -> Answer:
    texts = said.texts
    if said.is_choice:
        return [Expect("stdout", "in", OneOf(texts))]
    if len(said.values) > 1 or said.are_cut:
        return contained(said)
    if said.is_of_each_line:
        return [Expect("stdout", "each_line==", texts[0])]
    if said.is_of_each and said.command.stdout is not Stdout.TEXT:
        # "all `OK`": one of several things that are printed beside others.
        return None
    if _prints_more_than_text(said) or _CHARACTER_CLASS.search(texts[0]):
        return contained(said)
    return [Expect("stdout", "==", texts[0])]


def _prints_more_than_text(said: Statement) -> bool:
    """Whether a text cannot be the whole output although it is said to be.

    A search prints the whole line, with the name of the file or its number in front.
    """
    if searches(said.command) or prints_sql_table(said.command) or prints_columns(said.command):
        return True
    kind = said.values[0].kind
    if kind == "hash":
        # Its beginning, or in front of the name of a file.
        is_short = len(said.texts[0]) < _HASH_LENGTH
        return is_short or said.command.last.program.endswith("sum")
    if kind == "capitals" and prints_body(said.command):
        # "returns OK": maybe in a field of an answer.
        return True
    return "only" in said.clause.source and said.command.stdout is Stdout.LINES


def contained(said: Statement) -> Answer:
    if said.is_choice or not said.has_texts:
        return None
    if _OF_LINES.search(said.clause.text) or _ONE_OF.search(said.clause.source):
        # "every line starts with `x`", "shows one of `a`, `b`"
        return None
    if not said.is_about_output and _may_not_be_printed(said):
        return None
    if said.verb == "creates" and not names_stream(said.clause.source):
        return None
    return [_contained_text(said.command, text) for text in said.texts]


def _is_of_source(command: Command) -> bool:
    """Whether what it prints is written in files, or comes from a server."""
    return searches(command) or shows_contents(command) or is_http(command)


def _contained_text(command: Command, text: str) -> Expect:
    """Return what "prints `total: \\d+`" asks; a search finds such a pattern in sources."""
    if not _is_of_source(command) and _CHARACTER_CLASS.search(text) and _is_pattern(text):
        return Expect("stdout", "matches", text)
    return Expect("stdout", "contains", text)


def _may_not_be_printed(said: Statement) -> bool:
    source = said.clause.source
    if _INCLUDES.match(source) and said.command.last.role == "test":
        # "`npm test` now includes `auth.test.ts`": which tests are run.
        return True
    # "fails with `x`" does not say on which stream, "runs all, including `x`" not whether.
    if names_stream(source):
        return False
    is_joined = said.verb == "with" or source.startswith("including")
    return is_joined and said.is_of_tool


def named_in_command(said: Statement) -> Answer:
    """`grep -E '^(name|model):' f` returns both fields: the two that the command looks for."""
    names = names_in(said.command)
    field = said.group("field")
    if field:
        names = [name for name in names if name.strip(":").lower() == field]
    else:
        count = 2 if said.group("both") else said.number
        if len(names) != count:
            return None
    return [Expect("stdout", "contains", name) for name in names] or None


def bare_word(op: str) -> Ask:
    """Return an answer that compares the output with a word that has no quotes around it."""

    def ask(said: Statement) -> Answer:
        if said.word.lower() in _DESCRIBING:
            return None
        names_output = op == "not_contains" or "output" in said.clause.source.lower()
        if said.is_of_tool and not names_output:
            # "Expected: red" of a tool describes its run.
            return None
        return [Expect("stdout", op, said.word)]

    return ask
