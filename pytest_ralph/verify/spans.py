"""Which code spans of a passage are commands to run: a table of rules, tried in order.

A careful reader tells a command from a file name or a piece of code by what it looks like, and by
the words right before and right behind it. The first rule of RULES that applies to a span decides.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.shell.command import Command
from pytest_ralph.shell.programs import load_programs
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, likeness, without_prompt
from pytest_ralph.verify.directories import without_directory
from pytest_ralph.verify.passages import prose
from pytest_ralph.verify.placeholders import has_placeholder
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, one_of
from pytest_ralph.verify.work import comes_after_checks, is_work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.verify.passages import Passage, Piece

# A command is told from a name by the words close to it.
_NEAR = 8
# How many characters before a command are searched for its condition.
_CONDITION_LENGTH = 300
_BETWEEN = one_of("between")
_BEFORE_VERDICT = one_of("before verdict")
_NO_HEADING = one_of("no heading")
_CLAUSE_START = regex(r"[.;(]\s|\s\(")
_PARENTHESES = regex(r"\([^()]*\)")
_OR = any_of(
    "or",
    r"(?:^|[\s(,;])",
    r"(?!\w)(?:,[^,`]+,)?\W*(?:(?:verify|check|confirm|ensure)\b[^`.;]*\s(?=via|with|using))?"
    r"(?:(?:run|just|use|simply|better|preferably|via|with|the|using):?\s+)*\(?$",
)
_VERDICT = any_of("verdict", rf"\W*(?:{_BEFORE_VERDICT}\s+)*")
_LIST_JOINT = regex(r"[\s,/]*(?:and|or|then|and then)?[\s,]*", re.IGNORECASE)

# `(1) `make``, `b) `make test``
_NUMBERING = r"(?:^|[\s(;])(?:\d{1,2}|[a-hA-H]|[ivx]{1,4})\)\s*$"
# In front of a command line: the start of its clause, or words that lead to it.
_LEADS_TO = any_of("leads to", rf"{_NUMBERING}|(?:^|[^\w\s)])\s*$|\b", rf"\s+(?:{_BETWEEN}\s+)*$")
# `(unit) `make test`, (in `web`) `npm test``
_LABEL_IN_BRACKETS = regex(r"(?:^|[,;.:—–]|\b(?:and|then|plus))\s*\([^()]*\)\s*$", re.IGNORECASE)
_LEADS = (_OR, _LABEL_IN_BRACKETS, _LEADS_TO)
# `The `make check` command passes`
_ARTICLE = regex(r"\W*(?:that )?the\s*$", re.IGNORECASE)
_TASK_VERDICT = regex(
    r"\s*(?:(?:command|script|target|task|step|job|check|output)\s+)?"
    r"(?:(?:now|still|should|must)\s+)*"
    r"(?:pass|succeed|complete|finish|exits?\b|is (?:green|clean)\b|prints?\b|shows?\b|lists?\b)",
    re.IGNORECASE,
)
# `Exit code 2 from `x``, `no errors in `x``
_RESULT_OF = any_of(
    "result", r"\W*(?:the |no |zero |nothing |at \w+ )*", r"\b[^`]*\b(?:of|from|in|by|for)\s*$"
)
# `There are no matches for `x``
_NONE_IN = regex(
    r"\W*(?:there (?:are|is|(?:should|must|will) be) )?"
    r"(?:exactly |at (?:least|most) )?(?:no|zero|\d+) \w+ (?:of|from|in|by|for)\s*$",
    re.IGNORECASE,
)


class Use(Enum):
    """What a span is in the sentence."""

    RUN = auto()
    # Run, before the command that stands in front of it.
    FIRST = auto()
    # Run only under a condition, or with a value that only a person can fill in.
    OPTIONAL = auto()
    # A name, an example, some output.
    NAME = auto()


class Name(NamedTuple):
    """A span that is only named."""

    # How much it looks like a command.
    likeness: Likeness
    # Whether it is one of the texts that a command shows.
    is_shown: bool


class Span:
    """A code span of a passage and the words around it, in English."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        index: int,
        earlier: Sequence[str],
        name_before: Name | None,
    ) -> None:
        self.pieces = pieces
        self.index = index
        self.text = pieces[index].text
        self.before = in_english(prose(pieces[max(0, index - _NEAR) : index]))
        self.lead = in_english(prose(pieces[max(0, index - 1) : index]))
        self.following = pieces[index + 1 :]
        self.after = in_english(prose(self.following[:1]))
        # The commands of the field before it.
        self.earlier = earlier
        # The span before, if it is a name that this one is joined to: "mentions `a` and `b`".
        self.name_before = name_before if _LIST_JOINT.fullmatch(self.lead) else None

    @property
    def is_alone(self) -> bool:
        """Whether it is all of the field, but for punctuation."""
        words_around = prose([*self.pieces[: self.index], *self.following])
        return not self.earlier and not words_around.strip(" .:-")

    @cached_property
    def likeness(self) -> Likeness:
        return likeness(self.text)

    @cached_property
    def clause(self) -> str:
        """The part of the sentence that leads to the span."""
        return _CLAUSE_START.split(self.before)[-1]

    @cached_property
    def is_offered(self) -> bool:
        """Whether `or` stands right before the span."""
        return bool(_OR.search(self.before))

    @cached_property
    def is_asked_for(self) -> bool:
        """Whether it starts its clause, or stands behind words that lead to a command.

        "Fixes the crash in `npm run build`" mentions one in passing.
        """
        if self.text.lstrip().startswith("&&"):
            return True
        if any(lead.search(self.before) for lead in _LEADS):
            return True
        of_result = _RESULT_OF.match(self.clause) or _NONE_IN.match(self.clause)
        return of_result is not None

    @cached_property
    def said_after(self) -> str:
        """The words behind it without its directory and those in parentheses."""
        words = in_english(prose(self.following[:3]))
        behind_directory = without_directory(words)
        if behind_directory == words:
            behind_directory = self.after
        return _PARENTHESES.sub("", behind_directory)


# `…, and if it is installed, `b` and `c``: what joins the clauses, or a capital, shows that the
# condition is about the commands behind it.
_JOINED_CONDITION = any_of(
    "condition before",
    r"(?:[\s,;](?:and|then|but|plus|also),?\s(?:(?:then|also),?\s)?|\s\+\s|\s(?=(?-i:[A-Z])))"
    r"(?P<condition>",
    r"\b[^`]*)(?:`[^`]*`(?:,?\s|,?\sand\s))*$",
)
_ON_FAILURE = any_of("on failure", r"[\s,;:(—–-]*\b", r"(?!\w)")
_BREAK = regex(r"\s*[,;:(—–-]")


def _ends_here(span: Span) -> bool:
    """Whether the words behind a span are about it, not about the command that follows."""
    if span.is_offered:
        return False
    if _JOINED_CONDITION.match(span.after):
        return False
    if len(span.following) == 1:
        return True
    # `make check`, if it fails, `make clean`
    starts_clause = _BREAK.match(span.after) is not None
    return not (starts_clause and _ON_FAILURE.match(span.after))


def _follows_condition(span: Span) -> bool:
    return bool(_JOINED_CONDITION.search(span.clause[-_CONDITION_LENGTH:]))


def _follows_command(span: Span) -> bool:
    return bool(span.earlier)


def _is_for_failure(span: Span) -> bool:
    return _follows_command(span) and bool(_ON_FAILURE.match(span.lead))


_SHOWN = any_of("shown", r"\b", rf"(?:\s+{_BETWEEN}){{0,3}}(?:(?![.;,]\s)\W)*$")
# `Use `x``, but not `the page uses `x``.
_USE = regex(r"\W*(?:then )?use\W*$", re.IGNORECASE)
# `Build output: `make``: a heading over the command, which only looks like `prints: `x``.
_HEADING = any_of("heading", rf"(?:(?!{_NO_HEADING}\s)[^\s`]+\s+)*", r"\s*:\s*")
# These look something up; they are never what a page shows.
_LOOKS_UP = regex(r"(?:! *)?(?:grep|egrep|rg|test|\[|jq|find|awk) +\S+ +\S")


# "lists all targets (`a`, `b`)", "has three keys, `a` and `b`"
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten)"
_SHOWN_THINGS = any_of(
    "shown",
    r"\b",
    rf"(?:\s+(?:{_BETWEEN}|{one_of('around')}|at least|all|{_COUNT}))*"
    rf"(?:(?:(?![.;,]\s)\W)*$|\s+{_COUNT}\s+\w+\s*,\s*$)",
)


# "The new script `make docs` passes"
_SCRIPT_PASSES = regex(r"\s*(?:now |still |should |must )*(?:pass(?:es)?|succeeds?|exits? 0)\b")
# `check the log with `tail a.log``
_INSTRUMENT = regex(r"\b(?:the|its|all|any)\s+\w+\s+(?:with|via|using|by)\s*$", re.IGNORECASE)


def _is_shown(span: Span) -> bool:
    if _USE.match(span.clause):
        return False
    if span.likeness is Likeness.SURE:
        if _INSTRUMENT.search(span.lead) or _SCRIPT_PASSES.match(span.after):
            return False
        return bool(_SHOWN.search(span.lead)) and not _is_headed(span)
    return bool(_SHOWN.search(span.lead) or _SHOWN_THINGS.search(span.lead))


# `run`, but not `running`: "`redis` and `nginx` running" tells what is shown.
_PARTICIPLE = regex(r"\W*\w+ing\b")


def _is_in_a_row_of_texts(span: Span) -> bool:
    """`make help` lists `build`, `test` and `lint`: what is joined to a text is one."""
    if span.name_before is None or not span.name_before.is_shown:
        return False
    if span.likeness is Likeness.SURE or _STATUS_BEHIND.match(span.after):
        return False
    # `./fit` prints `done`, and `pytest` passes
    is_judged = _is_whole_command(span) and _is_judged(span)
    return not is_judged or bool(_PARTICIPLE.match(span.said_after))


def _is_headed(span: Span) -> bool:
    """Whether the clause is a heading over the command: `Build output:`, `The page has:`."""
    is_lead = span.clause.rstrip().endswith(":")
    if is_lead and _LOOKS_UP.match(span.text):
        return True
    return bool(_HEADING.fullmatch(span.clause))


# `git commit` is rejected: a check of a hook.
_STATED_OUTCOME = any_of(
    "stated outcome", r"\W*(?:(?:also|then|now|must|should|still|that) )*", r"\b"
)


def _changes_repository_afterwards(span: Span) -> bool:
    """`make check`, then `git commit`: what comes after the check.

    Where the first command of the field is one already, they prepare each other.
    """
    if _STATED_OUTCOME.match(span.said_after):
        return False
    return comes_after_checks(span.text, span.earlier)


def _is_bare_word(span: Span) -> bool:
    """Whether it is a tool that does nothing by itself."""
    if " " in span.text.strip() or "/" in span.text:
        return False
    return span.text not in load_programs().alone


def _may_be_any_word(span: Span) -> bool:
    """Whether it is a name that targets and scripts have too: `build`, but not `build.sh`."""
    if "." in span.text or span.text in _CONSTANT:
        return False
    return _is_bare_word(span)


def _is_command_line(span: Span) -> bool:
    return span.likeness is Likeness.SURE and span.is_asked_for


def _may_be_command_line(span: Span) -> bool:
    return span.likeness is Likeness.MAYBE and span.is_asked_for


def _is_part_of_result(span: Span) -> bool:
    if not span.earlier or _is_whole_command(span):
        return False
    return span.likeness is not Likeness.SURE


def _follows_sure_name(span: Span) -> bool:
    return span.name_before is not None and span.name_before.likeness is Likeness.SURE


_AFTER = regex(r"\bafter(?: running| executing)?\s*$", re.IGNORECASE)
# `npm test` passes. After `make build`, …
_BEGINS_WITH_AFTER = regex(
    r"(?:^|[.;:]\s+)(?:and |then |but )?after(?: running| executing)?\s*$", re.IGNORECASE
)


def _is_step(span: Span) -> bool:
    """Whether it is a command that changes something for those beside it to look at."""
    if not span.earlier or is_work(span.text):
        return False
    return span.likeness is Likeness.SURE


_ENDING = frozenset(("format", "lint", "test", "types"))


def _may_wait_for_user(span: Span) -> bool:
    return Command.parse(span.text).last.role not in _ENDING


_RUNS = regex(r"\b(?:runs|executes)\W*$", re.IGNORECASE)


def _is_run_by_reader(span: Span) -> bool:
    # "`test_model` imports and runs `fit_model`" names a function.
    if _RUNS.search(span.before):
        return False
    return not _is_in_a_row_of_words(span)


def _is_in_a_row_of_words(span: Span) -> bool:
    """`certs` and `contact`: two words that are no known programs are names of parts."""
    if span.likeness is not Likeness.WORD or len(span.following) < 2:
        return False
    if not _JOINING.fullmatch(span.after):
        return False
    return likeness(span.following[1].text) is Likeness.WORD


def _is_not_part_of_command(span: Span) -> bool:
    # "`make config` → `config` exits 0" names a part of the command before.
    return f" {span.text}" not in span.before


_JOINING = regex(r"\W*(?:and|or|then|and then|y|e|i|et|und)?\W*", re.IGNORECASE)


def _is_judged(span: Span) -> bool:
    """Whether the words behind it say how it went."""
    return _may_be_command_line(span) and bool(_VERDICT.match(span.said_after))


def _is_in_a_row(span: Span) -> bool:
    """`make` and `make test`: what is joined to a command is one."""
    if not _may_be_command_line(span) or _may_be_any_word(span):
        return False
    if len(span.following) < 2 or not _JOINING.fullmatch(span.said_after):
        return False
    joined = span.following[1]
    return likeness(joined.text) is not Likeness.NONE


# In front of everything else these are commands; anywhere else they are mostly values.
_CONSTANT = ("true", "false")
# "`true`, and the page looks right": the words are about something else.
_NEXT_CLAUSE = regex(
    r"[,.;:]\s|\s*[—–-]\s|\s*and\s+\w|\s+(?:should (?:not )?print|creates)\s", re.IGNORECASE
)
_OUTCOME = any_of("outcome")


def _stands_by_itself(span: Span) -> bool:
    """Nothing is said behind it, and nothing before makes it a result of another command."""
    if not _may_be_command_line(span):
        return False
    if span.name_before is not None:
        # "no change to `react`, `prisma`": packages.
        return False
    if not span.earlier and _is_whole_command(span):
        return True
    if span.said_after.strip(" .,;"):
        return False
    if _may_be_any_word(span):
        return False
    last_words = span.before.rpartition("`")[2]
    return not _OUTCOME.search(last_words)


def _is_whole_command(span: Span) -> bool:
    """`pytest`, or `true` if the words behind it are about something else."""
    if span.text in _CONSTANT:
        return bool(_NEXT_CLAUSE.match(span.said_after))
    return span.text in load_programs().alone


_STATUS_BEHIND = regex(r"\W*(?:→|->|=>)?\s*(?:must |should )?exits?\b[^`]*\d", re.IGNORECASE)


_LISTS_TASKS = any_of("lists tasks")
# `make docs` is added to CI and passes
_AND_PASSES = regex(
    r"^[^.`]*\b(?:and|now) (?:it |now )*(?:passes|succeeds|works|exits|is green|0)\b",
    re.IGNORECASE,
)
# Said to pass in passing: `The new script `make docs` passes`, but not `until `make docs` passes`.
_PASSES = regex(
    r"\s*(?:(?:command|script|target|task|job)\s+)?(?:(?:now|still|also|should|must)\s+)*"
    r"(?:pass(?:es)?|succeeds?|exits? 0|(?:is|stays|remains) (?:green|clean))\b",
    re.IGNORECASE,
)
_ONLY_IN_CASE = regex(
    r"\b(?:until|before|unless|whether|when|if|once|after|where|while|soon as)\b[^`.;,]*$",
    re.IGNORECASE,
)


def _is_sure(span: Span) -> bool:
    return span.likeness is Likeness.SURE


def _is_said_to_pass(span: Span) -> bool:
    return _is_sure(span) and not _ONLY_IN_CASE.search(span.clause)


_NO_COMMAND_RULE = "not a command line"
_SHOWN_RULE = "shown"
_ROW_RULE = "in a row of texts"


# `make ios` passes if a simulator is available
_WENT_WELL = (
    r"(?:(?:is )?(?:clean|green)|passes|succeeds|works|builds|compiles|runs"
    r"|(?:exits|returns)(?: with)? 0)"
)


# Behind a command: which of two is the better one, and why.
_PREFERRED = regex(r"\W*use\s+`[^`]*`,?\s+(?:not|never|instead of|rather than)\b", re.IGNORECASE)


def _is_preferred(span: Span) -> bool:
    if not span.earlier:
        return False
    return _PREFERRED.match(f"{span.clause}`{span.text}`{span.after}") is not None


class SpanRule(NamedTuple):
    """One reason to run a span or not; tests/samples/readings has a sample of the same name.

    `before` must be found in the words before the span, `clause` at the start of its clause and
    `after` at the start of the words behind it; `when` says what else must be true of it.
    """

    name: str
    use: Use
    before: re.Pattern[str] | None = None
    clause: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    when: Callable[[Span], bool] | None = None

    def applies(self, span: Span) -> bool:
        if self.before and not self.before.search(span.before):
            return False
        if self.clause and not self.clause.match(span.clause):
            return False
        if self.after and not self.after.match(span.after):
            return False
        return self.when is None or self.when(span)


RULES = (
    SpanRule(
        "lists its tasks",
        Use.RUN,
        after=regex(
            r"\s*(?:now |also |should |must |output )*(?:list|show|print|include)", re.IGNORECASE
        ),
        when=lambda span: _LISTS_TASKS.fullmatch(span.text) is not None,
    ),
    SpanRule(_NO_COMMAND_RULE, Use.NAME, when=lambda span: span.likeness is Likeness.NONE),
    SpanRule(
        "example",
        Use.NAME,
        before=any_of("example", r"(?:^|[\s(（,;])", r"[\s,:]*(?:the |a )?$"),
    ),
    SpanRule("placeholder", Use.OPTIONAL, when=lambda span: has_placeholder(span.text)),
    SpanRule("alone in the field", Use.RUN, when=lambda span: span.is_alone),
    # `make ios` if a simulator is available
    SpanRule(
        "condition behind",
        Use.OPTIONAL,
        after=any_of(
            "condition after",
            rf"\s*(?:{_WENT_WELL}\b)?"
            r"[\s(,—–-]*(?:\([^()]*\)\s*)?(?:first |again |only |also )?[\s(]*",
            r"\b",
        ),
        when=_ends_here,
    ),
    SpanRule("on failure", Use.OPTIONAL, when=_is_for_failure),
    # If a simulator is available, `make ios`
    SpanRule(
        "condition before",
        Use.OPTIONAL,
        clause=any_of("condition before", r"\W*(?:(?:and|or|then|but|y|e|et),?\s+)?", r"\b"),
    ),
    SpanRule("condition between", Use.OPTIONAL, when=_follows_condition),
    # `./app` tells the user to run `./app init`
    SpanRule(
        "advised",
        Use.NAME,
        before=any_of("advised", r"\b", r"\b[^`.;]*\bto (?:re-?)?run:?\s*$"),
    ),
    SpanRule("instead", Use.NAME, before=any_of("instead", r"\b", r"\s*$")),
    SpanRule(
        "by hand",
        Use.OPTIONAL,
        before=any_of("by hand", r"(?<!no )(?<!not )(?<!non-)\b", r"\b[^`.;]*$"),
    ),
    SpanRule(
        "described",
        Use.NAME,
        after=any_of("described", r"\s*(?:(?:command|script|step|line|call)\s+)?", r"\b"),
        when=lambda span: _AND_PASSES.search(span.said_after) is None,
    ),
    SpanRule(
        "observed",
        Use.OPTIONAL,
        after=any_of("noted", r"\W*(?:and|then|and then|to)\s+", r"\b"),
    ),
    SpanRule(
        "rollback",
        Use.OPTIONAL,
        before=any_of("rollback", r"\b", r"\s*:\s*$"),
        when=lambda span: is_work(span.text),
    ),
    # `make tui`, press T
    SpanRule(
        "used",
        Use.OPTIONAL,
        after=any_of("used", r"\s*(?:[,—–-]|\band\b|\bthen\b)\s*(?:(?:and|then) )*"),
        when=_may_wait_for_user,
    ),
    # `make check` (run `make setup` first)
    SpanRule(
        "in advance",
        Use.OPTIONAL,
        after=any_of("in advance", r"\s*", r"\s*(?:[).;]|$)"),
        when=_follows_command,
    ),
    # `make check` (troubleshooting: `make clean`)
    SpanRule(
        "aside in front",
        Use.OPTIONAL,
        before=any_of("aside", r"\(\s*(?:to )?", r"\s*:?\s*$"),
        when=_follows_command,
    ),
    # `make check` passes (`make watch` to follow it)
    SpanRule(
        "aid in brackets",
        Use.OPTIONAL,
        before=regex(r"\(\s*(?:use|run|with)?\s*$", re.IGNORECASE),
        after=regex(r"\s+to\s+\w", re.IGNORECASE),
        when=_follows_command,
    ),
    SpanRule(_SHOWN_RULE, Use.NAME, when=_is_shown),
    SpanRule(_ROW_RULE, Use.NAME, when=_is_in_a_row_of_texts),
    SpanRule(
        "made with",
        Use.OPTIONAL,
        before=any_of("made with", r"\b", r"\s+(?:with|via|using|by|through)\s*$"),
        when=lambda span: is_work(span.text),
    ),
    SpanRule("changes the repository", Use.OPTIONAL, when=_changes_repository_afterwards),
    SpanRule(
        "in a row with a name",
        Use.NAME,
        when=_follows_sure_name,
    ),
    # Use `git status`, not `git diff`: …
    SpanRule("one rather than another", Use.NAME, when=_is_preferred),
    SpanRule("next step", Use.RUN, before=_BEGINS_WITH_AFTER, when=_is_step),
    # `ls dist` is empty after `make clean`
    SpanRule("step first", Use.FIRST, before=_AFTER, when=_is_step),
    SpanRule(
        "step before",
        Use.NAME,
        before=regex(r"\b(?:after|before|since|until)(?: running)?\s*$", re.IGNORECASE),
        when=_follows_command,
    ),
    # `via curl`
    SpanRule(
        "tool of another",
        Use.NAME,
        before=regex(r"\b(?:via|using|with|through|by|in)\s+(?:the\s+)?$", re.IGNORECASE),
        when=_is_bare_word,
    ),
    # `./app x` → stderr: `no such file`, exit code: 2
    SpanRule(
        "part of the result",
        Use.NAME,
        before=any_of("result label", r"\b", r"\s*[:=]\s*$"),
        when=_is_part_of_result,
    ),
    SpanRule(
        "behind an arrow",
        Use.NAME,
        before=regex(r"(?:→|->|=>)\s*$"),
        when=_is_part_of_result,
    ),
    SpanRule("command line", Use.RUN, when=_is_command_line),
    SpanRule("said to pass", Use.RUN, after=_PASSES, when=_is_said_to_pass),
    SpanRule("with an article", Use.RUN, clause=_ARTICLE, after=_TASK_VERDICT, when=_is_sure),
    SpanRule(
        "told to run",
        Use.RUN,
        before=any_of("run", r"\b", r"\W*$"),
        when=_is_run_by_reader,
    ),
    SpanRule("exit status behind", Use.RUN, after=_STATUS_BEHIND, when=_is_not_part_of_command),
    SpanRule("judged", Use.RUN, when=_is_judged),
    SpanRule("in a row with a command", Use.RUN, when=_is_in_a_row),
    SpanRule("by itself", Use.RUN, when=_stands_by_itself),
)


# "`a` or, failing that, `b`" says nothing about `a`.
_SECOND_CHOICE = regex(r"\bor,? (?:failing that|if (?:that|it) fails),?\s*$", re.IGNORECASE)
_NUMBER_BEHIND = regex(r"(?<![^\s,;])\(?(?:\d{1,2}|[a-hA-H]|[ivx]{1,4})\)\s*$")
# "`make lint` Types: `make types`"
_LABEL = regex(r"\W*[A-Z][\w/-]*(?: [\w/&-]+){0,3}:\s*")
_SENTENCE_END = regex(r"[.;·•]\s|[。；]|\n")
# `a` returns 3 (see `b`)
_OPEN_BRACKETS = regex(r"(?P<before>.*\w.*)\((?P<inside>[^()]*)$", re.DOTALL)
_LAST_CLAUSE = regex(
    r"(?:^|[.;,—–+]|\((?=[^()]*$)|\b(?:and|then|plus)\b)"
    r"(?P<clause>(?:(?!\b(?:and|then|plus)\b|\([^()]*$)[^.;,—–+])*)$"
)
# What only joins a command to the next one.
_CONNECTIVE = any_of(
    "connective",
    r"[\s,;]*\b",
    r"(?: either)?(?: (?:run|rerun|execute|运行|执行|実行))?\W*$",
)
_SERVER = any_of("server", "", "$")
_LOOKING = any_of("looking", r"\b", r"\b")


class Mention(NamedTuple):
    """A command of a passage and the words around it that may be about it."""

    command: str
    before: str
    after: str
    # Whether `or` stands between the command before and this one.
    is_alternative: bool = False
    # Whether it is named but not required, so that it is only reported.
    is_optional: bool = False
    # Whether it is an alternative in brackets: "`make lint` (or `make check`)".
    is_in_brackets: bool = False


def find_commands(passage: Passage, earlier: Sequence[str]) -> list[Mention]:
    """Return the commands of a passage, in order; `earlier` are those of the field before it."""
    known = list(earlier)
    chosen: list[tuple[Span, Use]] = []
    name_before: Name | None = None
    for index, piece in enumerate(passage.pieces):
        if piece.kind == "prose":
            continue
        span = Span(passage.pieces, index, known, name_before)
        rule = _rule_of(span)
        use = rule.use if rule else Use.NAME
        if use is Use.FIRST and not (chosen and _may_come_second(*chosen[-1])):
            use = Use.NAME
        if use is Use.NAME:
            name_before = Name(span.likeness, _is_text(span, rule))
            continue
        name_before = None
        if _only_starts_a_server(span):
            use = Use.OPTIONAL
        if use in (Use.RUN, Use.FIRST):
            known.append(span.text)
        chosen.append((span, use))
    return _in_order(_mentions(chosen), [use for _, use in chosen])


def _may_come_second(span: Span, use: Use) -> bool:
    """Whether nothing in front of a command says what is expected of it."""
    if _RESULT_OF.match(span.clause) or _NONE_IN.match(span.clause):
        return False
    return use is Use.RUN


def _in_order(found: Sequence[Mention], uses: Sequence[Use]) -> list[Mention]:
    """Return the commands in the order in which they are run."""
    ordered: list[Mention] = []
    for mention, use in zip(found, uses, strict=True):
        if use is Use.FIRST:
            second = ordered.pop()
            words = _AFTER.sub("", second.after).rstrip(" (")
            # `ls dist` after `make clean` is empty
            after = words if words.strip() else mention.after
            ordered += [mention._replace(before="", after=""), second._replace(after=after)]
        else:
            ordered.append(mention)
    return ordered


def _is_text(span: Span, rule: SpanRule | None) -> bool:
    """Whether a name is one of the texts that something shows, or of the steps that it runs."""
    if rule is None:
        return not _is_run_by_reader(span)
    if rule.name == _NO_COMMAND_RULE:
        return _is_shown(span)
    return rule.name in (_SHOWN_RULE, _ROW_RULE)


def _rule_of(span: Span) -> SpanRule | None:
    """Return the first rule that applies; without one, a span is a name."""
    for rule in RULES:
        if rule.applies(span):
            return rule
    return None


def _only_starts_a_server(span: Span) -> bool:
    """Whether a command starts something that a person, or a later step, is to look at."""
    if _STATUS_BEHIND.match(span.said_after):
        # `docker compose up migrate` → exit 0: this one ends.
        return False
    command = span.text.strip()
    if Command.parse(command).last.never_ends:
        return True
    if not _SERVER.match(command):
        return False
    words = [piece.text for piece in span.pieces if piece.kind == "prose"]
    return any(map(_LOOKING.search, words))


def _mentions(chosen: Sequence[tuple[Span, Use]]) -> list[Mention]:
    """Return the chosen commands, each with the words between it and its neighbours."""
    found: list[Mention] = []
    start = 0
    for (span, use), following in zip_longest(chosen, chosen[1:]):
        start = max(start, span.index - _NEAR)
        before = prose(span.pieces[start : span.index])
        is_optional = use is Use.OPTIONAL
        if is_optional:
            _, before = _split_lead(before, is_optional)
        after = _words_behind(span, following)
        is_alternative = bool(_OR.search(in_english(before)))
        command = without_prompt(span.text.strip())
        found.append(Mention(command, before, after, is_alternative, is_optional))
        start = span.index + 1
    return found


def _words_behind(span: Span, following: tuple[Span, Use] | None) -> str:
    """Return the words behind a command that are not about the command that follows it."""
    reach = 2 * _NEAR
    if following is None:
        return prose(span.following[:reach])
    next_span, next_use = following
    is_optional = next_use is Use.OPTIONAL
    distance = next_span.index - span.index - 1
    words = prose(span.following[: min(distance, reach)])
    if is_optional and _ON_FAILURE.match(in_english(words)):
        return ""
    words = _NUMBER_BEHIND.sub("", words)
    english = in_english(words)
    if _CONNECTIVE.search(english):
        words = _CONNECTIVE.sub("", english)
    words = _SECOND_CHOICE.sub("", words)
    if _LABEL.fullmatch(words):
        return ""
    own_words, _ = _split_lead(words, is_optional)
    return own_words


def _split_lead(words: str, is_optional: bool) -> tuple[str, str]:
    """Split the words between two commands into those about the first and those about the second.

    "`a` returns 3. Check the rest: `b`" says nothing more about `a`. An optional command takes the
    last clause with it, so that it can be reported.
    """
    brackets = _OPEN_BRACKETS.match(words)
    if brackets:
        return brackets["before"], brackets["inside"]
    ends = list(_SENTENCE_END.finditer(words))
    if ends:
        end = ends[-1]
        return words[: end.start()], words[end.end() :]
    if not is_optional:
        return words, ""
    condition = _JOINED_CONDITION.search(words, max(0, len(words) - _CONDITION_LENGTH))
    if condition:
        return words[: condition.start()], condition["condition"]
    last_clause = _LAST_CLAUSE.search(words)
    if last_clause:
        return words[: last_clause.start()], last_clause["clause"]
    return words, ""
