"""What a statement about a command asks of it, once a pattern of expect.py has matched.

Each function returns the expectations, an empty sequence if the exit status says it already, or
None if the statement cannot be about this command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.amounts import (
    Amount,
    Answer,
    expect_amount,
    expect_nothing,
    expect_something,
)
from pytest_ralph.verify.model import Expect, OneOf
from pytest_ralph.verify.names import names_in
from pytest_ralph.verify.stdout_kind import (
    Prints,
    compares,
    counts_only,
    is_http,
    is_pytest,
    is_search,
    lists_names,
    prints,
    prints_in_turn,
    prints_nothing,
    searches,
    shows_contents,
)
from pytest_ralph.verify.vocabulary import words

if TYPE_CHECKING:
    from pytest_ralph.verify.clauses import Clause

_EACH = regex(r"\b(?:both|each|every|all|respectively)\b")
_TERSE_STATUS = regex(r"git status\b.*\s(?:--porcelain|--short|-s)\b")
# Placeholders and wildcards are not printed as they are written, nor is the time that a run took.
_NOT_LITERAL = regex(
    r"/.*\{.*,.*\}|^\S*\*\S*$|×|^<[^<>]+>$|<[A-Z][A-Z0-9]*_[A-Z0-9_]+>|[:=/@]<[\w -]+>$"
    r"|<(?:[nN]|count|number|total|version|date|time|id|sha|hash)>"
    r"|^v?\d+(?:\.[\dx]+)*\.x$|…|(?<!/)\.\.\.|^\w+ [<>]=? \d+$|\bin \d+(?:\.\d+)? ?m?s\b"
)
_DIRECTORY = regex(r"^([\w.-]+)/$")
# `python -c "import old"` → `ModuleNotFoundError`
_EXCEPTION = regex(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception)")
_RUNS_TESTS = regex(r"test|spec")
_PRINTS_STATUS = regex(r"\becho \"?\$\?\"?\W*$")
_ECHOED = regex(r"\|\|\s*echo\s+[\"']?([A-Za-z]+)")
_AT_ONE_END = regex(r"(?i)\b(?:starts|begins|ends) with\b")
_IS_NOT = regex(r"(?i)\b(?:is|are|be) not `[^`]*`$")
_PASSING = words("prose", "passing")
_FAILING = words("prose", "failing")
_DESCRIBING = words("prose", "describing")
_IN_OUTPUT = ("match", "result", "hit", "line", "occurrence", "output", "entr", "mention")


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
        # A directory is listed without the slash at its end.
        return [_DIRECTORY.sub(r"\1", value.text) for value in values if value.text]

    @property
    def indexes(self) -> list[str]:
        return re.split("[&/]", self.group("values") or self.group("created"))

    @property
    def word(self) -> str:
        """The word of the pattern's group, as it was written before it became lower case."""
        word = self.group("word")
        found = re.search(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", self.clause.source)
        return found[0] if found else word


Ask = Callable[[Statement], Answer]


def names_stream(words: str) -> bool:
    """Whether the words say where a text is written: "writes `done` to stderr"."""
    return "stdout" in words or "stderr" in words


def always(*expects: Expect) -> Ask:
    """Return an answer that is the same for every command."""
    return lambda _: expects


def bare_word(op: str) -> Ask:
    """Return an answer that compares the output with a word that has no quotes around it."""

    def ask(said: Statement) -> Answer:
        word = said.word
        if word.lower() in _DESCRIBING:
            return None
        names_output = "output" in said.clause.source.lower() or op == "not_contains"
        if prints(said.command) is Prints.STATUS and not names_output:
            # "Expected: red" of a tool describes its run.
            return None
        return [Expect("stdout", op, word)]

    return ask


def exit_status_in(said: Statement) -> Answer:
    return [Expect("exit", "in", OneOf((int(said.group("number")), int(said.group("other")))))]


def exit_status(said: Statement) -> Answer:
    if _is_one_case(said):
        return None
    return [Expect("exit", "==", int(said.group("number")))]


def failure(said: Statement) -> Answer:
    if is_http(said.command) or _is_one_case(said):
        # A client that receives an error response has still succeeded.
        return None
    return [Expect("exit", "nonzero")]


def _is_one_case(said: Statement) -> bool:
    """Whether "fails on old data" tells what the command does in one case, not what it does now.

    Tests have no input: they fail on what they test.
    """
    return bool(said.group("where")) and not _RUNS_TESTS.search(said.command)


def no_tests(said: Statement) -> Answer:
    """`pytest -k old` reports no tests ran: pytest has an exit status for that."""
    return [Expect("exit", "==", 5)] if is_pytest(said.command) else None


def failure_count(said: Statement) -> Answer:
    """The exit status says that some tests failed; how many is not checked."""
    if said.group("rest"):
        return [Expect("exit", "nonzero")]
    return []


def nonzero(said: Statement) -> Answer:
    noun = said.group("noun")
    counts = prints(said.command) in (Prints.COUNT, Prints.COUNTS)
    if _PRINTS_STATUS.search(said.command):
        return [Expect("stdout", "!=", 0)]
    if counts or noun.startswith(("count", "number", "total", "integer")):
        return [Expect("stdout", ">", 0)]
    if noun and not noun.startswith(("code", "status", "exit")):
        return None
    return [Expect("exit", "nonzero")]


def amount(said: Statement) -> Answer:
    number = _number(said.group("number"))
    noun = f"{said.group('unit')} {said.group('noun')}".strip()
    if not _states_amount(said, noun):
        return None

    op = said.group("op") or "=="
    if said.group("not"):
        op = "!="
    if op == "==" and _is_part_of_output(said, noun):
        return [Expect("stdout", "contains", number)]
    stated = Amount(op, number, noun, said.group("verb"), said.each)
    return expect_amount(said.command, stated)


def _states_amount(said: Statement, noun: str) -> bool:
    """Whether a number is an amount that the command prints; "returns 3 `x`" may be anything."""
    if noun.startswith("⟦") and not is_http(said.command):
        return False
    if said.group("verb") or said.group("op") or noun:
        return True
    return prints(said.command) in (Prints.COUNT, Prints.COUNTS)


def _is_part_of_output(said: Statement, noun: str) -> bool:
    """Whether a number stands somewhere in the output: "contains 200", "ends with 200"."""
    if noun or counts_only(said.command):
        return False
    return said.group("verb") == "contains" or bool(_AT_ONE_END.search(said.clause.source))


def amount_in(said: Statement) -> Answer:
    asked = amount(said)
    if not asked or asked[0].op != "==" or said.group("op"):
        return asked
    choices = OneOf((_number(said.group("number")), _number(said.group("other"))))
    return [asked[0]._replace(op="in", value=choices)]


def amount_between(said: Statement) -> Answer:
    if shows_contents(said.command) or prints(said.command) is Prints.STATUS:
        return None
    asked = amount(said)
    if not asked or asked[0].op != "==":
        return None
    low = asked[0]._replace(op=">=")
    high = asked[0]._replace(op="<=", value=_number(said.group("other")))
    return [low, high]


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def silence(said: Statement) -> Answer:
    if said.each and lists_names(said.command):
        # `ls a b`: "both empty" is about the files.
        return None
    is_result = prints(said.command) is not Prints.STATUS or compares(said.command)
    if said.clause.source == "empty" and not is_result:
        # "`npm test` runs (empty)": the suite is.
        return None
    return expect_nothing(said.command)


def exists(said: Statement) -> Answer:
    """`ls menu.md` exists: `ls` and `test` fail otherwise."""
    if lists_names(said.command) or prints_nothing(said.command):
        return []
    return None


def not_there(said: Statement) -> Answer:
    """`ls old.md` shows "file not found": what looks for a file fails without it."""
    if lists_names(said.command) or shows_contents(said.command):
        return [Expect("exit", "nonzero")]
    return None


def clean(said: Statement) -> Answer:
    if "clean" in said.clause.source.lower() and _TERSE_STATUS.search(said.command):
        return [Expect("stdout", "empty")]
    return None


def no_lines(said: Statement) -> Answer:
    if said.group("noun") in ("diff", "change", "changes", "differences"):
        return expect_nothing(said.command) if compares(said.command) else None
    if prints(said.command) is Prints.STATUS and not said.group("noun").startswith(_IN_OUTPUT):
        return None
    return expect_nothing(said.command)


def no_errors(said: Statement) -> Answer:
    """`… || echo "MISSING $f"` outputs no errors: not the word that announces one."""
    if is_search(said.command) and _is_about_hits(said):
        return expect_nothing(said.command)
    echoed = _ECHOED.search(said.command)
    if echoed is None:
        # The status of `cat build.log` says nothing about errors in that file.
        return None if shows_contents(said.command) else []
    if said.command.count("echo ") > 1 or "grep -E" in said.command:
        return [Expect("stdout", "not_contains", echoed[1])]
    return [Expect("stdout", "empty")]


def _is_about_hits(said: Statement) -> bool:
    """Whether "no errors" means what the search looks for, not how the search went."""
    if said.group("verb") == "with":
        return False
    stem = said.group("noun")[:4]
    return bool(said.group("verb")) or stem in said.command.lower()


def no_hits(said: Statement) -> Answer:
    """`grep …` returns no hard-coded prices: whatever it looks for, it must not find any."""
    return expect_nothing(said.command) if searches(said.command) else None


def results(said: Statement) -> Answer:
    if prints(said.command) is Prints.STATUS:
        return []
    return expect_something(said.command)


def whole_text(said: Statement) -> Answer:
    texts = said.texts
    if not texts or counts_only(said.command):
        return None
    if said.is_choice:
        return [Expect("stdout", "in", OneOf(texts))]
    if len(texts) > 1:
        return contained(said)
    if said.each and prints_in_turn(said.command):
        return [Expect("stdout", "each_line==", texts[0])]
    if searches(said.command):
        # It prints the whole line, with the name of the file or its number in front.
        return contained(said)
    if "only" in said.clause.source and prints(said.command) is Prints.LINES:
        return contained(said)
    return [Expect("stdout", "==", texts[0])]


def whole_text_or_nothing(said: Statement) -> Answer:
    if len(said.texts) != 1:
        return None
    return [Expect("stdout", "in", OneOf((said.texts[0], "")))]


def contained(said: Statement) -> Answer:
    texts = said.texts
    if not texts or said.is_choice or counts_only(said.command):
        return None
    if said.group("verb") == "creates" and not names_stream(said.clause.source):
        return None
    is_joined = said.group("verb") == "with" or said.clause.source.startswith("including")
    is_unclear = is_joined and not said.is_about_output
    if is_unclear and prints(said.command) is Prints.STATUS:
        # "fails with `x`" does not say on which stream, "runs all, including `x`" not whether.
        return None
    return [Expect("stdout", "contains", text) for text in texts]


def further_text(said: Statement) -> Answer:
    """`exits 0, "3 passed"`: a text on its own goes on about the output."""
    if not said.clause.goes_on:
        return None
    return contained(said)


def not_contained(said: Statement) -> Answer:
    texts = said.texts
    if not texts or counts_only(said.command):
        return None
    is_stated = said.group("negated") or said.group("verb") not in ("", "with")
    is_stated = is_stated or said.is_about_output
    if prints(said.command) is Prints.STATUS and not is_stated:
        # "passes with no `any` types" is about the code, not about the output.
        return None
    # "is not `main`" does not exclude `maintenance`.
    op = "!=" if _IS_NOT.search(said.clause.source) else "not_contains"
    return [Expect("stdout", op, text) for text in texts]


def outcome_word(said: Statement) -> Answer:
    """`Expected: PASS` of a tool: how its run went, not a word that it prints."""
    shown = prints(said.command)
    if shown is Prints.LINES or len(said.texts) != 1:
        return None
    is_result = said.group("verb") in ("returns", "is", "equals", "expect", "→", "=", "==")
    if is_result and _EXCEPTION.fullmatch(said.texts[0]):
        return failure(said)
    if shown is not Prints.STATUS:
        return None
    is_shouted = said.clause.values[int(said.indexes[0])].kind == "capitals"
    if not is_result and not (is_shouted and not said.group("verb")):
        return None
    word = said.texts[0]
    if word in said.command:
        return None
    if word.upper() in _PASSING:
        return []
    if word.upper() in _FAILING:
        return failure(said)
    return None


def matched(said: Statement) -> Answer:
    value = said.clause.values[int(said.indexes[0])]
    if value.kind == "regex":
        return [Expect("stdout", "matches", value.text)]
    return contained(said)


def no_file_name(said: Statement) -> Answer:
    if prints(said.command) is not Prints.LINES:
        return None
    return [Expect("stdout", "not_contains", said.word)]


def named_in_command(said: Statement) -> Answer:
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
