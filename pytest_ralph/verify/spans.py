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
from pytest_ralph.verify.passages import prose
from pytest_ralph.verify.placeholders import has_placeholder
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, phrases
from pytest_ralph.verify.work import comes_after_checks, is_work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.verify.passages import Passage, Piece

# A command is told from a name by the words close to it.
_NEAR = 8
# How many characters before a command are searched for its condition.
_CONDITION_LENGTH = 300
_BETWEEN = "|".join(phrases("prose")["between"])
_BEFORE_VERDICT = "|".join(phrases("prose")["before verdict"])
_NO_HEADING = "|".join(phrases("prose")["no heading"])
_CLAUSE_START = regex(r"[.;(]\s|\s\(")
_PARENTHESES = regex(r"\([^()]*\)")
_OR = any_of(
    "or",
    r"(?:^|[\s(,;])",
    r"(?!\w)(?:,[^,`]+,)?\W*(?:(?:verify|check|confirm|ensure)\b[^`.;]*\s(?=via|with|using))?"
    r"(?:(?:run|just|use|simply|better|preferably|via|with|the|using):?\s+)*\(?$",
)
# "`a` or, failing that, `b`" says nothing about `a`.
_SECOND_CHOICE = regex(r"\bor,? (?:failing that|if (?:that|it) fails),?\s*$", re.IGNORECASE)
_EXAMPLE = any_of("example", r"(?:^|[\s(（,;])", r"[\s,:]*(?:the |a )?$")
_CONDITION_BEFORE = any_of("condition before", r"\W*(?:(?:and|or|then|but|y|e|et),?\s+)?", r"\b")
# `…, and if it is installed, `b` and `c``: what joins the clauses, or a capital, shows that the
# condition is about the commands behind it.
_JOINED_CONDITION = any_of(
    "condition before",
    r"(?:[\s,;](?:and|then|but|plus|also),?\s(?:(?:then|also),?\s)?|\s\+\s|\s(?=(?-i:[A-Z])))"
    r"(?P<condition>",
    r"\b[^`]*)(?:`[^`]*`(?:,?\s|,?\sand\s))*$",
)
_CONDITION_AFTER = any_of(
    "condition after", r"[\s(,—–-]*(?:\([^()]*\)\s*)?(?:first |again |only |also )?[\s(]*", r"\b"
)
_WHERE_AVAILABLE = any_of(
    "where available",
    r"\s*(?:passes|succeeds|works|builds|compiles|runs|(?:exits|returns)(?: with)? 0),?\s+",
    r"\b",
)
_INSTEAD = any_of("instead", r"\b", r"\s*$")
_BY_HAND = any_of("by hand", r"(?<!no )(?<!not )(?<!non-)\b", r"\b[^`.;]*$")
_DESCRIBED = any_of("described", r"\s*(?:(?:command|script|step|line|call)\s+)?", r"\b")
# `make check` passes (`make watch` to follow it)
_AID_BEFORE = regex(r"\(\s*$")
# `make check` (troubleshooting: `make clean`)
_ASIDE_BEFORE = any_of("aside", r"\(\s*(?:to )?", r"\s*:?\s*$")
# `make check`, if it fails, `make clean`
_BREAK = regex(r"\s*[,;:(—–-]")
_ON_FAILURE = any_of("on failure", r"[\s,;:(—–-]*\b", r"(?!\w)")
_AID_AFTER = regex(r"\s+to\s+\w", re.IGNORECASE)
_NOTED = any_of("noted", r"\W*(?:and|then|and then|to)\s+", r"\b")
_SHOWN = any_of("shown", r"\b", rf"(?:\s+(?:{_BETWEEN})){{0,3}}(?:(?![.;]\s)\W)*$")
# `Use `x``, but not `the page uses `x``.
_USE = regex(r"\W*(?:then )?use\W*$", re.IGNORECASE)
# `Build output: `make``: a heading over the command, which only looks like `prints: `x``.
_HEADING = any_of("heading", rf"(?:(?!(?:{_NO_HEADING})\s)[^\s`]+\s+)*", r"\s*:\s*")
# These look something up; they are never what a page shows.
_LOOKS_UP = regex(r"(?:! *)?(?:grep|egrep|rg|test|\[|jq|find|awk) +\S+ +\S")
_MADE_WITH = any_of("made with", r"\b", r"\s+(?:with|via|using|by|through)\s*$")
_TOOL_OF = regex(r"\b(?:via|using|with|through|by|in)\s+(?:the\s+)?$", re.IGNORECASE)
_STEP_BEFORE = regex(r"\b(?:after|before|since|until)(?: running)?\s*$", re.IGNORECASE)
_RUN = any_of("run", r"\b", r"\W*$")
_RUNS = regex(r"\b(?:runs|executes)\W*$", re.IGNORECASE)
# `(1) `make``, `b) `make test``
_NUMBERING = r"(?:^|[\s(;])(?:\d{1,2}|[a-hA-H]|[ivx]{1,4})\)\s*$"
# In front of a command line: the start of its clause, or words that lead to it.
_NUMBER_BEHIND = regex(r"(?<![^\s,;])\(?(?:\d{1,2}|[a-hA-H]|[ivx]{1,4})\)\s*$")
# "`make lint` Types: `make types`"
_LABEL = regex(r"\W*[A-Z][\w/-]*(?: [\w/&-]+){0,3}:\s*")
_LEADS_TO = any_of(
    "leads to", rf"{_NUMBERING}|(?:^|[^\w\s)])\s*$|\b", rf"\s+(?:(?:{_BETWEEN})\s+)*$"
)
# `Exit code 2 from `x``, `no errors in `x``
# `(unit) `make test`, (in `web`) `npm test``
_LABEL_IN_BRACKETS = regex(r"(?:^|[,;.:—–]|\b(?:and|then|plus))\s*\([^()]*\)\s*$", re.IGNORECASE)
_RESULT_OF = any_of(
    "result", r"^\W*(?:the |no |zero |nothing |at \w+ )*", r"\b[^`]*\b(?:of|from|in|by|for)\s*$"
)
# `There are no matches for `x``
_NONE_IN = regex(
    r"^\W*(?:there (?:are|is) )?(?:no|zero) \w+ (?:of|from|in|by|for)\s*$", re.IGNORECASE
)
_VERDICT = any_of("verdict", rf"\W*(?:(?:{_BEFORE_VERDICT})\s+)*")
_STATUS_BEHIND = regex(r"\W*(?:→|->|=>)?\s*(?:must |should )?exits?\b[^`]*\d", re.IGNORECASE)
# `git commit` is rejected: a check of a hook.
_STATED_OUTCOME = any_of(
    "stated outcome", r"\W*(?:(?:also|then|now|must|should|still|that) )*", r"\b"
)
_OUTCOME = any_of("outcome")
_LIST_JOINT = regex(r"[\s,]*(?:and|or)?[\s,]*", re.IGNORECASE)
_JOINING = regex(r"\W*(?:and|or|then|and then|y|e|i|et|und)?\W*", re.IGNORECASE)
# In front of everything else these are commands; anywhere else they are mostly values.
_CONSTANT = ("true", "false")
# "`true`, and the page looks right": the words are about something else.
_NEXT_CLAUSE = regex(
    r"[,.;:]\s|\s*[—–-]\s|\s*and\s+\w|\s+(?:should (?:not )?print|creates)\s", re.IGNORECASE
)
_SENTENCE_END = regex(r"[.;·•]\s|[。；]|\n")
_LAST_CLAUSE = regex(
    r"(?:^|[.;,—–+]|\((?=[^()]*$)|\b(?:and|then|plus)\b)"
    r"(?P<clause>(?:(?!\b(?:and|then|plus)\b|\([^()]*$)[^.;,—–+])*)$"
)
# What only joins a command to the next one.
_CONNECTIVE = regex(
    r"[\s,;]*\b(?:and then|(?:and )?finally|(?:and )?lastly|followed by|and|or|then|plus"
    r"|y|e|i|o|ou|et|puis|und|oder|dann|и|или|或者?|并且|且|和)(?: either)?"
    r"(?: (?:run|rerun|execute|运行|执行|実行))?\W*$",
    re.IGNORECASE,
)
_SERVER = any_of("server", "", "$")
_LOOKING = any_of("looking", r"\b", r"\b")


class Use(Enum):
    """What a span is in the sentence."""

    RUN = auto()
    # Run only under a condition, or with a value that only a person can fill in.
    OPTIONAL = auto()
    # A name, an example, some output.
    NAME = auto()


class Span:
    """A code span and the words around it, in English."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        index: int,
        earlier: Sequence[str],
        alone: bool,
        name_before: Likeness | None,
    ) -> None:
        self.text = pieces[index].text
        self.before = in_english(prose(pieces[max(0, index - _NEAR) : index]))
        self.lead = in_english(prose(pieces[max(0, index - 1) : index]))
        self.after = in_english(prose(pieces[index + 1 : index + 2]))
        self.following = pieces[index + 1 :]
        # Whether the span before is a name that this one is joined to: "mentions `a` and `b`".
        is_joined = bool(_LIST_JOINT.fullmatch(self.lead))
        self.follows_name = is_joined and name_before is Likeness.SURE
        self.follows_word = is_joined and name_before is not None
        # The commands of the field before it, and whether this is all of the field.
        self.earlier = earlier
        self.has_command = bool(earlier)
        self.alone = alone

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
    def said_after(self) -> str:
        """The words behind it without those in parentheses."""
        return _PARENTHESES.sub("", self.after)

    @cached_property
    def is_judged(self) -> bool:
        """Whether the words behind it say how it went."""
        return bool(_VERDICT.match(self.said_after))


class SpanRule(NamedTuple):
    """One reason to run a span or not; tests/samples/readings has a sample of the same name."""

    name: str
    applies: Callable[[Span], object]
    use: Use


def _is_conditional(span: Span) -> bool:
    """`make ios` if a simulator is available."""
    if span.is_offered:
        return False
    if _JOINED_CONDITION.match(span.after):
        # It is about the next command.
        return False
    after = span.after
    if _BREAK.match(after) and _ON_FAILURE.match(after) and len(span.following) > 1:
        return False
    return bool(_CONDITION_AFTER.match(after) or _WHERE_AVAILABLE.match(after))


def _is_behind_condition(span: Span) -> bool:
    """If a simulator is available, `make ios`."""
    if span.has_command and _ON_FAILURE.match(span.lead):
        return True
    if _CONDITION_BEFORE.match(span.clause):
        return True
    return bool(_JOINED_CONDITION.search(span.clause[-_CONDITION_LENGTH:]))


def _is_aid(span: Span) -> bool:
    """Whether it stands in brackets behind a command, with what it is good for."""
    if not span.has_command:
        return False
    if _ASIDE_BEFORE.search(span.lead):
        return True
    if not _AID_BEFORE.search(span.lead):
        return False
    return bool(_AID_AFTER.match(span.after))


def _is_tool_of_another(span: Span) -> bool:
    """`via curl`: one that does nothing by itself."""
    is_bare = " " not in span.text.strip() and "/" not in span.text
    if not is_bare or span.text in load_programs().alone:
        return False
    return bool(_TOOL_OF.search(span.before))


def _is_shown(span: Span) -> bool:
    if not _SHOWN.search(span.lead) or _USE.match(span.clause):
        return False
    if span.likeness is Likeness.SURE:
        return not _is_headed(span)
    return True


def _is_headed(span: Span) -> bool:
    """Whether the clause is a heading over the command: `Build output:`, `The page has:`."""
    is_lead = span.clause.rstrip().endswith(":")
    if is_lead and _LOOKS_UP.match(span.text):
        return True
    return bool(_HEADING.fullmatch(span.clause))


def _changes_repository_afterwards(span: Span) -> bool:
    """`make check`, then `git commit`: what comes after the check.

    Where the first command of the field is one already, they prepare each other.
    """
    if _STATED_OUTCOME.match(span.said_after):
        return False
    return comes_after_checks(span.text, span.earlier)


def _is_asked_for(span: Span) -> bool:
    """Whether it starts its clause, or stands behind words that lead to a command.

    "Fixes the crash in `npm run build`" mentions one in passing.
    """
    if span.is_offered or span.text.lstrip().startswith("&&"):
        return True
    if _LABEL_IN_BRACKETS.search(span.before):
        return True
    if _LEADS_TO.search(span.before):
        return True
    return bool(_RESULT_OF.search(span.clause) or _NONE_IN.match(span.clause))


def _is_told_to_run(span: Span) -> bool:
    if not _RUN.search(span.before):
        return False
    # "`test_model` imports and runs `fit_model`": a function.
    return not _RUNS.search(span.before)


def _has_status_behind(span: Span) -> bool:
    # "`make config` → `config` exits 0" names a part of the command before.
    if f" {span.text}" in span.before:
        return False
    return bool(_STATUS_BEHIND.match(span.after))


def _is_treated_as_one(span: Span) -> bool:
    """Whether the sentence treats what may be a command line as one."""
    if span.likeness is not Likeness.MAYBE or not _is_asked_for(span):
        return False
    return span.is_judged or _is_in_a_row(span) or _stands_by_itself(span)


def _is_in_a_row(span: Span) -> bool:
    """`make` and `make test`: what is joined to a command is one."""
    if len(span.following) < 2:
        return False
    if not _JOINING.fullmatch(span.said_after):
        return False
    return likeness(span.following[1].text) is not Likeness.NONE


def _stands_by_itself(span: Span) -> bool:
    """Nothing is said behind it, and nothing before makes it a result of another command."""
    if span.follows_word:
        # "no change to `react`, `prisma`": packages.
        return False
    if not span.has_command and _is_whole_command(span):
        return True
    if span.said_after.strip(" .,;"):
        return False
    last_words = span.before.rpartition("`")[2]
    return not _OUTCOME.search(last_words)


def _is_whole_command(span: Span) -> bool:
    """`pytest`, or `true` if the words behind it are about something else."""
    if span.text in _CONSTANT:
        return bool(_NEXT_CLAUSE.match(span.said_after))
    return span.text in load_programs().alone


RULES = (
    SpanRule("not a command line", lambda span: span.likeness is Likeness.NONE, Use.NAME),
    SpanRule("example", lambda span: _EXAMPLE.search(span.before), Use.NAME),
    SpanRule("placeholder", lambda span: has_placeholder(span.text), Use.OPTIONAL),
    SpanRule("alone in the field", lambda span: span.alone, Use.RUN),
    SpanRule("condition behind", _is_conditional, Use.OPTIONAL),
    SpanRule("condition before", _is_behind_condition, Use.OPTIONAL),
    SpanRule("instead", lambda span: _INSTEAD.search(span.before), Use.NAME),
    SpanRule("by hand", lambda span: _BY_HAND.search(span.before), Use.OPTIONAL),
    SpanRule("described", lambda span: _DESCRIBED.match(span.after), Use.NAME),
    SpanRule("observed", lambda span: _NOTED.match(span.after), Use.OPTIONAL),
    SpanRule("aid in brackets", _is_aid, Use.OPTIONAL),
    SpanRule("shown", _is_shown, Use.NAME),
    SpanRule(
        "made with",
        lambda span: _MADE_WITH.search(span.before) and is_work(span.text),
        Use.OPTIONAL,
    ),
    SpanRule("changes the repository", _changes_repository_afterwards, Use.OPTIONAL),
    SpanRule("in a row with a name", lambda span: span.follows_name, Use.NAME),
    SpanRule(
        "step before",
        lambda span: span.has_command and _STEP_BEFORE.search(span.before),
        Use.NAME,
    ),
    SpanRule("tool of another", _is_tool_of_another, Use.NAME),
    SpanRule(
        "command line",
        lambda span: span.likeness is Likeness.SURE and _is_asked_for(span),
        Use.RUN,
    ),
    SpanRule("told to run", _is_told_to_run, Use.RUN),
    SpanRule("exit status behind", _has_status_behind, Use.RUN),
    SpanRule("treated as a command", _is_treated_as_one, Use.RUN),
)


class Mention(NamedTuple):
    """A command of a passage and the words around it that may be about it."""

    command: str
    before: str
    after: str
    # Whether `or` stands between the command before and this one.
    is_alternative: bool = False
    # Whether it is named but not required, so that it is only reported.
    is_optional: bool = False


def find_commands(passage: Passage, earlier: Sequence[str]) -> list[Mention]:
    """Return the commands of a passage, in order; `earlier` are those of the field before it."""
    pieces = passage.pieces
    codes = [index for index, piece in enumerate(pieces) if piece.kind == "code"]
    words_around = prose([piece for piece in pieces if piece.kind == "prose"])
    alone = not earlier and len(codes) == 1 and not words_around.strip(" .:-")
    chosen: list[tuple[int, Use]] = []
    known = list(earlier)
    name_before: Likeness | None = None
    for index in codes:
        span = Span(pieces, index, known, alone, name_before)
        use = use_of(span)
        if use is Use.NAME:
            name_before = span.likeness
            continue
        name_before = None
        if _only_starts_a_server(pieces, index):
            use = Use.OPTIONAL
        if use is Use.RUN:
            known.append(span.text)
        chosen.append((index, use))
    return _mentions(pieces, chosen)


def use_of(span: Span) -> Use:
    """Return what the first rule that applies says."""
    for rule in RULES:
        if rule.applies(span):
            return rule.use
    return Use.NAME


def _mentions(pieces: Sequence[Piece], chosen: Sequence[tuple[int, Use]]) -> list[Mention]:
    """Return the chosen commands, each with the words between it and its neighbours."""
    found: list[Mention] = []
    start = 0
    for (index, use), following in zip_longest(chosen, chosen[1:]):
        is_optional = use is Use.OPTIONAL
        before = prose(pieces[max(start, index - _NEAR) : index])
        if is_optional:
            _, before = _split_lead(before, is_optional=True)
        after = _words_behind(pieces, index, following)
        command = without_prompt(pieces[index].text.strip())
        is_alternative = bool(_OR.search(in_english(before)))
        found.append(Mention(command, before, after, is_alternative, is_optional))
        start = index + 1
    return found


def _words_behind(pieces: Sequence[Piece], index: int, following: tuple[int, Use] | None) -> str:
    """Return the words behind a command that are not about the command that follows it."""
    reach = index + 1 + 2 * _NEAR
    if following is None:
        return prose(pieces[index + 1 : reach])
    next_index, next_use = following
    words = prose(pieces[index + 1 : min(next_index, reach)])
    on_failure = _ON_FAILURE.match(in_english(words))
    if on_failure and next_use is Use.OPTIONAL:
        return ""
    words = _NUMBER_BEHIND.sub("", words)
    english = in_english(words)
    if _CONNECTIVE.search(english):
        words = _CONNECTIVE.sub("", english)
    words = _SECOND_CHOICE.sub("", words)
    if _LABEL.fullmatch(words):
        return ""
    own_words, _ = _split_lead(words, is_optional=next_use is Use.OPTIONAL)
    return own_words


def _split_lead(words: str, is_optional: bool) -> tuple[str, str]:
    """Split the words between two commands into those about the first and those about the second.

    "`a` returns 3. Check the rest: `b`" says nothing more about `a`. An optional command takes the
    last clause with it, so that it can be reported.
    """
    ends = list(_SENTENCE_END.finditer(words))
    if ends:
        return words[: ends[-1].start()], words[ends[-1].end() :]
    if not is_optional:
        return words, ""
    condition = _JOINED_CONDITION.search(words, max(0, len(words) - _CONDITION_LENGTH))
    if condition:
        return words[: condition.start()], condition["condition"]
    last_clause = _LAST_CLAUSE.search(words)
    if last_clause:
        return words[: last_clause.start()], last_clause["clause"]
    return words, ""


def _only_starts_a_server(pieces: Sequence[Piece], index: int) -> bool:
    """Whether a command starts something that a person, or a later step, is to look at."""
    command = pieces[index].text.strip()
    words_behind = _PARENTHESES.sub("", prose(pieces[index + 1 : index + 2]))
    if _STATUS_BEHIND.match(words_behind):
        # `docker compose up migrate` → exit 0: this one ends.
        return False
    if Command.parse(command).last.never_ends:
        return True
    if not _SERVER.match(command):
        return False
    words = [piece.text for piece in pieces if piece.kind == "prose"]
    return any(map(_LOOKING.search, words))
