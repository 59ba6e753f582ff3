"""The Expectation, what the words behind a command ask of its exit status or of its output.

`returns 3`, `exits 0`, `>= 1`, `prints "OK"`, `no matches`. Words that no machine can check (`looks right`, `all
green`) ask for nothing: the command's exit status decides, as it does when nothing is said at all.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.clause import (
    ARTICLES,
    compares_each,
    counts_rows,
    is_conditional,
    is_placed,
    is_subject,
    kind_at,
    names_holder,
    next_of,
    number_of,
    stands_for_failure,
    unit_of,
)
from pytest_ralph.verify.model import Expect, OneOf
from pytest_ralph.verify.stdout_kind import (
    Prints,
    always_prints,
    compares,
    counts_only,
    echoes_words,
    ends_with_echo,
    filters,
    hides_zero,
    is_http,
    is_noisy,
    lists_changes,
    lists_names,
    prints,
    prints_in_turn,
    shows_contents,
    shows_http_status,
    summarises,
)
from pytest_ralph.verify.tokens import FAILING, PASSING, Kind, Saying, sayings
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.verify.model import Stream

# Quoted parts come first in both, so that what stands in them is never taken for an aside or the end of a clause.
_ASIDES = regex(r"`[^`]*`|\"[^\"]*\"|\((?P<aside>[^()`\"]*(?:[`\"][^`\"]*[`\"][^()`\"]*)*)\)")
_CLAUSE_ENDS = regex(r"`[^`]*`|\"[^\"]*\"|(?P<end>[;\n]|[.!?](?=\s|$))")
_TERSE_STATUS = regex(r"git status\b.*\s(?:--porcelain|--short|-s)\b")
_GOES_ON = any_of("result", r"\W*")
_TOLD = any_of("told", r"\W*")
_FAR = 4
# Verbs that may be about anything: a bare number behind them is not the output of a tool.
_LOOSE = frozenset(("with", "including", "includes", "containing", "has", "have", "is", "are"))
_SYMBOLS = frozenset(("→", "⇒", "->", "=>", ":", "="))
_PRINTING = frozenset(
    ("prints", "print", "printing", "outputs", "output", "shows", "displays", "echoes")
)
_DASHES = frozenset(("-", "–", "—"))
# What is not zero is printed, whatever the tool: `a non-zero count`.
_AMOUNTS = frozenset(("count", "number", "total"))
_BY_EYE = frozenset(("manual", "manually", "visual", "visually"))
# What is said to be so is not printed.
_GONE = frozenset(("gone", "removed", "deleted", "absent", "dropped"))
_PRINTED = frozenset(("result", "results", "match", "matches", "hit", "hits", "line", "lines"))
_STAYING = frozenset(("remain", "remains", "remaining", "left", "exist", "exists"))
_QUOTED = frozenset("`\"'“")
# Patterns and placeholders are not printed as they are written.
_GLOB = regex(
    r"/.*\{.*,.*\}|^\S*\*\S*$|^<[^<>]+>$|<[A-Z][A-Z0-9]*_[A-Z0-9_]+>|[:=/@]<[\w -]+>$|^v?\d+(?:\.\d+)*\.x$|…"
)
_JOINED = regex(r"2>&1|&>|\|&")
_SYSTEM_ERROR = regex(r"(?i)^(?:no such file|command not found|permission denied|cannot access)")
# Nobody states an expectation further behind the command than this.
_REACH = 1000


def read_expectations(command: str, words: str) -> tuple[Expect, ...]:
    """What `words`, which stand behind `command`, ask of it; an empty tuple if nothing a machine can check."""
    words = words[:_REACH]
    if not words.strip(" .,;:)\n"):
        return ()
    words = in_english(words)
    found: tuple[Expect, ...] = ()
    asides = (
        [match["aside"] for match in _ASIDES.finditer(words) if match["aside"]]
        if "(" in words
        else []
    )
    outside = (
        _ASIDES.sub(lambda match: " " if match["aside"] is not None else match[0], words)
        if asides
        else words
    )
    for clause in _clauses(outside):
        found += _Reader(command).read(sayings(clause))
    if not found:
        told = (_Reader(command).read(sayings(aside)) for aside in asides if _TOLD.match(aside))
        found = next(filter(None, told), ())
    if "stderr" in words:
        found = tuple(
            one._replace(stream="stderr") if one.stream == "stdout" else one for one in found
        )
    elif not _JOINED.search(command):
        found = tuple(_where_errors_go(one) for one in found)
    return _with_one_ending(dict.fromkeys(found))


def _where_errors_go(one: Expect) -> Expect:
    """`ls x` returns "No such file or directory": somewhere in what it says on stderr."""
    if (
        one.stream != "stdout"
        or one.op not in ("==", "contains")
        or not _SYSTEM_ERROR.search(str(one.value))
    ):
        return one
    return one._replace(stream="stderr", op="contains")


def _with_one_ending(found: Iterable[Expect]) -> tuple[Expect, ...]:
    """A command ends once: where two statuses are named that cannot both be, the second says what it would mean."""
    kept: list[Expect] = []
    for one in found:
        endings = [other for other in kept if other.stream == one.stream == "exit"]
        if not any(_excludes(one, other) for other in endings):
            kept.append(one)
    return tuple(kept)


def _excludes(one: Expect, other: Expect) -> bool:
    if one.op == other.op == "==":
        return one.value != other.value
    return {one.op, other.op} == {"==", "nonzero"} and 0 in (one.value, other.value)


def _clauses(words: str) -> Iterator[str]:
    """The first clause, and those after it that go on about the result (`. Expected: 3`)."""
    start = 0
    for match in _CLAUSE_ENDS.finditer(words):
        if match["end"]:
            if start == 0 or _GOES_ON.match(words, start):
                yield words[start : match.start()]
            start = match.end()
    if start == 0 or _GOES_ON.match(words, start):
        yield words[start:]


class _Reader:
    """Goes through the sayings of one clause once, remembering the verb it is under."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.shown = prints(command)
        self.found: list[Expect] = []
        self.verb: Kind | None = None
        # Words since the verb that are neither numbers nor values: past a few, the verb is no longer about them.
        self.far = 0
        self.negated = False
        self.each = self.each_line = False
        # The verb itself.
        self.said = ""
        # Whether it is said to pass: what it then does without is the tool's own affair.
        self.passes = False
        # Whether something may be printed after all: `no matches except …`.
        self.excepts = False

    def read(self, said: Sequence[Saying]) -> tuple[Expect, ...]:
        self.each = any(saying.kind is Kind.EACH for saying in said)
        self.each_line = any(saying.kind is Kind.EACH and " " in saying.text for saying in said)
        self.excepts = any(saying.kind is Kind.EXCEPT for saying in said) and not filters(
            self.command
        )
        at = len(said) if self._is_about_another(said) or is_conditional(said) else 0
        while at < len(said) and not self._turns_away(said, at):
            at += max(self._step(said, at), 1)
        return tuple(self.found)

    def _is_about_another(self, said: Sequence[Saying]) -> bool:
        """Whether a clause starts with a subject of its own: `— the page shows x`, `→ manual inspection shows x`."""
        if any(one.text in _BY_EYE for one in said[:2]):
            return True
        start = next((i for i, one in enumerate(said) if one.text not in _DASHES), 0)
        if start + 1 >= len(said) or said[start].text not in ARTICLES:
            return False
        subject = said[start + 1]
        return subject.kind in (Kind.OTHER, Kind.VALUE) and subject.text not in self.command.split()

    def _turns_away(self, said: Sequence[Saying], at: int) -> bool:
        """Whether the clause goes on about something else: a condition, another subject, a person's judgement."""
        kind = said[at].kind
        if kind is Kind.EACH:
            # `every hit is under x`, `3 hits, all `x` calls` say something of each of them.
            each = kind_at(said, at + 1)
            counted = any(one.op.startswith("lines") for one in self.found)
            return (each is Kind.THING and kind_at(said, at + 2) in (Kind.IS, Kind.HAS)) or (
                counted and each is Kind.VALUE
            )
        if kind not in (Kind.AND, Kind.OR):
            return kind is Kind.CONDITION
        after = next(
            (i for i in range(at + 1, len(said)) if said[i].kind not in (Kind.SMALL, Kind.EACH)),
            None,
        )
        if after is None or self._is_literal(said[after]):
            return False
        if kind is Kind.OR:
            return said[after].kind not in (Kind.NUMBER, Kind.VALUE, Kind.COMPARES)
        return is_subject(said, after)

    def _step(self, said: Sequence[Saying], at: int) -> int:
        """Take in the saying at `at`; how many sayings that used up."""
        kind = said[at].kind
        if kind in (Kind.IS, Kind.HAS) or (
            said[at].text == "matches" and kind_at(said, at + 1) is Kind.VALUE
        ):
            return self._verb(said[at])
        if kind is Kind.NUMBER:
            return self._number(said, at)
        if kind is Kind.VALUE:
            return self._value(said, at)
        if kind is Kind.COMPARES:
            return self._comparison(said, at)
        if kind is Kind.EXIT:
            return self._exit(said, at)
        if kind is Kind.NOT:
            return self._not(said, at)
        if kind is Kind.NONZERO:
            self._nonzero(said[at + 1] if at + 1 < len(said) else None)
            return 1
        if kind is Kind.NOTHING and self.verb is None and at and said[at - 1].kind is Kind.EACH:
            # `ls a b`: both exist, both empty.
            return 1 if lists_names(self.command) else self._state(said[at])
        if kind is Kind.OTHER and self.far == 0 and self._is_literal(said[at]):
            return self._value(said, at)
        return self._state(said[at])

    def _is_literal(self, saying: Saying) -> bool:
        """A word the command itself prints (`echo GONE`), or a file name where file names are listed."""
        if self.verb is None or saying.kind is not Kind.OTHER or not isinstance(saying.value, str):
            return False
        shouted = saying.value.isupper() and len(saying.value) > 2 and saying.value in self.command
        return shouted or ("." in saying.value[1:] and lists_names(self.command))

    def _state(self, saying: Saying) -> int:
        kind = saying.kind
        if (
            saying.text in ("nothing", "none")
            and self.verb is None
            and (self.found or saying.text == "none")
        ):
            # `>= 1 and nothing is broken`, `none of them` are about something else.
            return 1
        if kind is Kind.NOTHING or (saying.text == "clean" and _TERSE_STATUS.search(self.command)):
            self._empty()
        elif saying.text.endswith("an error") and is_http(self.command):
            # It is answered all the same.
            self.verb = None
        elif kind is Kind.SOMETHING:
            self._add("stdout", "nonempty")
        elif kind is Kind.FAILS and not self.negated and self.far < _FAR:
            self._add("exit", "nonzero")
        elif kind is Kind.PASSES:
            self.verb, self.passes = None, True
        elif kind in (Kind.OTHER, Kind.THING, Kind.VERDICT):
            self.far += 1
            self.negated = self.negated and self.far < 3
            self.verb = self.verb if self.far <= _FAR else None
        elif kind in (Kind.AND, Kind.OR):
            self.far = 0
        return 1

    def _verb(self, saying: Saying) -> int:
        if not (saying.text == ":" and self.verb and self.far == 0):
            self.verb, self.said = Kind.IS if saying.kind is Kind.IS else Kind.HAS, saying.text
            self.negated = self.negated and self.far == 0
        self.far = 0
        return 1

    def _number(self, said: Sequence[Saying], at: int) -> int:
        following = kind_at(said, at + 1)
        if following is Kind.VALUE and not is_http(self.command):
            # `0 FAIL`, `20 FAILED`: how many of them, which is nothing to look for, unless there must be none.
            self.negated, self.far = said[at].value == 0, 0
            return 1 if self.negated else 2
        if following is Kind.FAILS:
            # `214 pass, 0 fail`
            if said[at].value and not self.negated:
                self._add("exit", "nonzero")
            return 2
        if following is Kind.COMPARES_LAST and self.far == 0:
            op = "<=" if said[at + 1].text in ("or fewer", "or less", "or lower") else ">="
            self._amount(op, said, at, 2)
            return 2
        counted = self.shown in (Prints.COUNT, Prints.COUNTS)
        leads = counted and all(saying.kind in (Kind.EACH, Kind.SMALL) for saying in said[:at])
        if (
            (self.verb is None and not leads)
            or self.far > (1 if counted else 0)
            or (counted and self.found)
        ):
            return 1
        if self._counts_failures(said, at):
            self._add("exit", "nonzero")
            return 2
        if following is Kind.OR and at + 2 < len(said) and said[at + 2].kind is Kind.NUMBER:
            self._add("stdout", "in", OneOf((number_of(said[at]), number_of(said[at + 2]))))
            return 3
        if (
            following is Kind.AND
            and kind_at(said, at + 2) is Kind.NUMBER
            and unit_of(said, at + 2, 1) is None
        ):
            # `prints 6 and 7`
            self._texts([str(said[at].value), str(said[at + 2].value)], Kind.AND, names=True)
            return 3
        self._amount("!=" if self.negated else "==", said, at, 1)
        # `200 OK` is one answer.
        return 2 if following is Kind.VALUE else 1

    def _counts_failures(self, said: Sequence[Saying], at: int) -> bool:
        """`shows 5 failures` of a tool that ends with a status of its own."""
        if self.shown is not Prints.STATUS or not number_of(said[at]):
            return False
        return at + 1 < len(said) and said[at + 1].text in ("failure", "failures", "failed")

    def _comparison(self, said: Sequence[Saying], at: int) -> int:
        number = next_of(said, at + 1, Kind.NUMBER)
        counted = self.shown in (Prints.COUNT, Prints.COUNTS)
        if number is None or (self.verb is None and at > 0 and not counted):
            return 1
        if said[at].value == "between":
            return self._between(said, at, number)
        self._amount(str(said[at].value), said, number, 1)
        return number - at + 1

    def _between(self, said: Sequence[Saying], at: int, first: int) -> int:
        second = next_of(said, first + 2, Kind.NUMBER)
        if second is None or said[first + 1].kind is not Kind.AND:
            return 1
        self._amount(">=", said, first, second - first + 1)
        self._amount("<=", said, second, 1)
        return second - at + 1

    def _exit(self, said: Sequence[Saying], at: int) -> int:
        for index in range(at + 1, min(at + 5, len(said))):
            saying = said[index]
            if saying.kind in (Kind.NUMBER, Kind.NONZERO) and stands_for_failure(said, index + 1):
                return index - at + 3
            if (
                saying.kind is Kind.NUMBER and said[index - 1].kind in (Kind.NOT, Kind.COMPARES)
            ) or saying.kind is Kind.NONZERO:
                self._add("exit", "nonzero")
            elif saying.kind is Kind.NUMBER:
                self._add("exit", "==", saying.value)
            elif saying.kind in (Kind.SMALL, Kind.IS, Kind.EXIT, Kind.NOT, Kind.COMPARES, Kind.HAS):
                continue
            else:
                return 1
            return index - at + 1
        return 1

    def _not(self, said: Sequence[Saying], at: int) -> int:
        self.negated, self.far = True, 0
        if names_holder(said, at + 1):
            self.verb = Kind.HAS
            return 3
        for index in range(at + 1, min(at + 4, len(said))):
            saying = said[index]
            if saying.kind is Kind.NUMBER and saying.value == 0:
                self._nonzero()
                return index - at + 1
            if saying.kind is Kind.THING:
                return self._none_of(said, index) - at + 1
            if saying.kind is Kind.OTHER and _is_name(saying.text) and self.shown is Prints.LINES:
                self._add("stdout", "not_contains", saying.text)
                return index - at + 1
            if saying.kind not in (Kind.OTHER, Kind.SMALL, Kind.HAS):
                break
        return 1

    def _tells_how_it_went(self, saying: Saying) -> bool:
        """`Expected: PASS` of a test run, which prints no such word that anybody knows of."""
        word = str(saying.value)
        if self.verb is not Kind.IS or self.shown is not Prints.STATUS or word in self.command:
            return False
        return saying.text == word.lower() and word.upper() in PASSING | FAILING

    def _none_of(self, said: Sequence[Saying], at: int) -> int:
        """`no matches`; or, where changes are listed, `no change to x`. The index of the last saying used."""
        if compares_each(said, at + 1):
            return len(said) - 1
        if self.shown is Prints.STATUS and self._is_elsewhere(said, at):
            return at
        value = next_of(said, at + 1, Kind.VALUE) or next_of(said, at + 2, Kind.VALUE)
        if value is None or not lists_changes(self.command):
            self._empty(said[at].text)
            return at
        self._texts([str(said[value].value)], None, names=True)
        return value

    def _is_elsewhere(self, said: Sequence[Saying], at: int) -> bool:
        """`exits 0, no files changed`, `no files remain`: on the disk, not in what a tool prints."""
        ended = self.passes or any(one.stream == "exit" for one in self.found)
        stays = at + 1 < len(said) and said[at + 1].text in _STAYING
        return stays or (ended and said[at].text not in _PRINTED)

    def _value(self, said: Sequence[Saying], at: int) -> int:
        if self._tells_how_it_went(said[at]):
            if str(said[at].value).upper() in FAILING and not self.negated:
                self._add("exit", "nonzero")
            return 1
        before = said[at - 1].text if at else ""
        if (
            self.verb is None
            and self.found
            and kind_at(said, at - 1) is Kind.AND
            and said[at].text[:1] in _QUOTED
        ):
            # `exits 0, `3 passed``
            self.verb = Kind.HAS
        values = [at]
        joined: Kind | None = None
        while (following := values[-1] + 1) + 1 < len(said) and said[following].kind in (
            Kind.AND,
            Kind.OR,
        ):
            after = next_of(said, following + 1, Kind.VALUE)
            literal = after is None and self._is_literal(said[following + 1])
            after = following + 1 if literal else after
            if after is None or (is_subject(said, after) and not literal):
                break
            joined = Kind.OR if said[following].kind is Kind.OR else joined or Kind.AND
            values.append(after)
        if self._is_told_of(said, values[-1] + 1):
            return len(said) - at
        if not is_placed(said, at):
            texts = [str(said[index].value).strip() for index in values]
            named = before in ARTICLES and kind_at(said, values[-1] + 1) in (Kind.OTHER, Kind.THING)
            among = before == "only" and self.shown is Prints.LINES
            self._texts(
                [text for text in texts if text and not _GLOB.search(text)], joined, named or among
            )
        return values[-1] - at + 1

    def _is_told_of(self, said: Sequence[Saying], at: int) -> bool:
        """`→ `start` waits for `ready``, `→ `x` is gone`: what a person reads from what is shown."""
        following = takewhile(
            lambda one: one.kind not in (Kind.AND, Kind.OR, Kind.VALUE), said[at : at + 4]
        )
        if not self.negated and any(one.text in _GONE for one in following):
            return True
        verb = said[at] if at < len(said) else None
        told = verb is not None and verb.kind is Kind.OTHER and verb.text.endswith("s")
        return told and self.far == 0 and self.said in _SYMBOLS

    def _texts(self, texts: list[str], joined: Kind | None, names: bool) -> None:
        """`names`: the texts only say what a thing that is printed is called, as in "the `x` rule"."""
        whole = self.verb is Kind.IS and self.far == 0 and not names
        # Of a tool that prints what it likes, `→ x` says what to look out for.
        whole = whole and not (
            self.said in _SYMBOLS and (self.shown is Prints.STATUS or is_noisy(self.command))
        )
        if counts_only(self.command) or any(one.op == "empty" for one in self.found):
            return
        if self.negated:
            for text in (
                texts if self.far == 0 and not (self.passes and self.shown is Prints.STATUS) else ()
            ):
                self._add("stdout", "not_contains", text)
        elif whole and joined is Kind.OR:
            self._add("stdout", "in", OneOf(texts))
        elif whole and len(texts) == 1 and not self.said.startswith("expect"):
            # `Expected: OK` names what to look out for; `returns OK` says all that is printed.
            self._add("stdout", "each_line==" if self._by_turns() else "==", texts[0])
        elif self.verb is not None and joined is not Kind.OR:
            for text in texts:
                self._add("stdout", "contains", text)

    def _amount(self, op: str, said: Sequence[Saying], at: int, used: int) -> None:
        """A number and what it counts; what it is compared with depends on what the command prints."""
        number, unit = number_of(said[at]), unit_of(said, at, used)
        if (
            unit is Kind.MEASURE
            or echoes_words(self.command)
            or self._counts_contents(said, at, used, unit)
        ):
            return
        if op == "==" and (self.each_line or self._by_turns()):
            self._add("stdout", "each_line==", number)
        elif self.shown is Prints.COUNTS:
            self._counts(op, number)
        elif self.shown is Prints.COUNT:
            self._add("stdout", op, number)
        elif unit not in (Kind.VERDICT, Kind.PASSES):
            self._uncounted(op, number, unit)

    def _by_turns(self) -> bool:
        """`cat a && cat b` of which "both return 1"."""
        return self.each and prints_in_turn(self.command)

    def _counts_contents(
        self, said: Sequence[Saying], at: int, used: int, unit: Kind | None
    ) -> bool:
        """Whether a number counts something in a text that is shown (`the three sections`), not its lines."""
        if unit is Kind.THING:
            return summarises(self.command) or (
                self.shown is not Prints.LINES and counts_rows(said, at + used)
            )
        if at > 0 and (said[at - 1].text in ARTICLES or said[at - 1].kind is Kind.EACH):
            return kind_at(said, at + used) is Kind.OTHER
        described = self.shown is Prints.STATUS or (
            self.shown is Prints.LINES and shows_contents(self.command)
        )
        return described and kind_at(said, at + used) is Kind.OTHER

    def _uncounted(self, op: str, number: float, unit: Kind | None) -> None:
        if is_http(self.command):
            self._http(op, number)
        elif unit is not Kind.THING and op == "==" and number and shows_contents(self.command):
            # `cat count.txt` returns 3: what is in it.
            self._add("stdout", op, number)
        elif unit is Kind.THING or (self.shown is Prints.LINES and self.said not in _LOOSE):
            self._lines(op, number)
        elif self.said in _LOOSE and self.shown is not Prints.TEXT:
            return
        elif self.shown is Prints.STATUS and self.verb is Kind.IS:
            # `returns 0` or `returns 1` of a tool is its status; a larger number is something it counted.
            self._add("exit" if op == "==" and number <= 2 else "stdout", op, number)
        else:
            self._add("stdout", op, number)

    def _http(self, op: str, number: float) -> None:
        """A status that the command prints among other things; where it prints none, nobody can check it."""
        if op == "==" and shows_http_status(self.command):
            self._add("stdout", "contains", str(number))

    def _counts(self, op: str, number: float) -> None:
        if self.each and op == "==":
            self._add("stdout", "each_line==", number)
        elif op in ("==", ">="):
            self._add("stdout", f"sum{op}", number)
        else:
            self._add("stdout", "sum>=" if op == ">" else op, number + 1 if op == ">" else number)

    def _lines(self, op: str, number: float) -> None:
        if always_prints(self.command):
            return
        if number == 0 and op in ("==", "<="):
            self._empty()
        elif number == 0 and op in (">", "!="):
            self._add("stdout", "nonempty")
        elif op in ("==", ">="):
            self._add("stdout", f"lines{op}", number)
        elif op == ">":
            self._add("stdout", "lines>=", number + 1)

    def _nonzero(self, unit: Saying | None = None) -> None:
        amount = unit is not None and unit.text in _AMOUNTS
        if self.shown in (Prints.COUNT, Prints.COUNTS) or self.said in _PRINTING or amount:
            self._add("stdout", ">", 0)
        elif unit is not None and unit.kind is Kind.THING:
            self._lines(">", 0)
        else:
            self._add("exit", "nonzero")

    def _empty(self, thing: str = "") -> None:
        shown = self.shown
        if thing in ("diff", "change", "changes", "differences") and not compares(self.command):
            return
        # A command that echoes its own verdict, or heads its list, is never silent, whatever the prose says.
        if self.excepts or ends_with_echo(self.command) or always_prints(self.command):
            return
        if shown in (Prints.COUNT, Prints.COUNTS) and not hides_zero(self.command):
            self._add("stdout", "==" if shown is Prints.COUNT else "sum==", 0)
        else:
            self._add("stdout", "empty")

    def _add(self, stream: Stream, op: str, value: Any = None) -> None:
        self.found.append(Expect(stream, op, value))
        self.far = 0


def _is_name(word: str) -> bool:
    return any(mark in word for mark in "-_./") and not word.startswith(
        ("non-", "pre-", "un", "off-", "cross-", "out-")
    )
