"""Split a shell command line into its simple commands without running it.

This is a reader, not a shell: expansions are noticed but never performed, so every word says
whether it is `literal`. The commands inside `$(…)`, `<(…)` and backticks, also those in here
documents, are listed before the command they belong to and are marked `nested`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_OPERATOR = re.compile(r"\|\||&&|;;|\|&|[;&|()\n]")
# Not the beginning of `<(…)`, which is a word.
_REDIRECTION = re.compile(r"(?![<>]\()(\d*)(<<<|<<-?|<>|>>|>\||>&|<&|&>>|&>|[<>])")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
# `app/(shop)/page.tsx`: people do not quote such paths, although a shell needs it.
_BARE = re.compile(r"(?:[^\s\\'\"`$;&|()<>*?\[\]{}~#!]+|(?<=/)\([\w.-]+\)(?=/))+")
# Blanks, continued lines and comments.
_SKIPPED = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n|(?<![^ \t\n;&|(])#[^\n]*)+")
_BRACES = re.compile(r"[^\s{}]{0,200}?(?:,|\.\.)[^\s{}]{0,200}\}")
# A here document with such a delimiter is not expanded.
_QUOTED = re.compile(r"[\\'\"]")
_OPTION_FOLLOWS = re.compile(r"[ \t]+-")
_ANSI_QUOTES = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
_EXPANSION = re.compile(r"\$[\w({@*#?$!-]")
_PLAIN_IN_QUOTES = re.compile(r"[^\"\\$`]+")
# What a backslash protects between double quotes; before anything else it is a character.
_ESCAPED_IN_QUOTES = re.compile(r"\\([\"\\$`\n])")
_NESTING = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[()]", re.DOTALL)
_MAX_DEPTH = 16

# Keywords in the place of a program: a command follows, or an operator.
_KEYWORDS = frozenset("if then else elif fi while until do done esac time { }".split())
# Keywords that are followed by other words.
_HEADS = frozenset(["for", "select", "case", "function"])
# How a word or an operator changes the number of open loops or parentheses.
_LOOPS = {"do": 1, "done": -1}
_PARENTHESES = {"(": 1, ")": -1}
_JOINS = {"\n": ";", ";;": ";", "|&": "|", "(": "", ")": ""}


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its quotes removed. `literal`: a shell would take it exactly as `text`."""

    text: str
    literal: bool = True


@dataclass(frozen=True, slots=True)
class Redirection:
    """`2> log` is the operator `>` on the descriptor `2` with the target `log`.

    `body` is the text of a here document, whose target is its delimiter.
    """

    descriptor: str
    operator: str
    target: str
    body: str = ""

    @property
    def takes_stdout(self) -> bool:
        """Whether what the command writes to stdout goes elsewhere."""
        if self.operator in ("&>", "&>>"):
            return True
        return self.operator in (">", ">>", ">|", ">&") and self.descriptor in ("", "1")


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command.

    `before` and `after` are the operators around it: `&&`, `||`, `|`, `;`, `&` or empty.
    `subshell` is how many parentheses it stands in, `looped` whether a loop repeats it, `source`
    its text as written.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    before: str = ""
    after: str = ""
    negated: bool = False
    nested: bool = False
    looped: bool = False
    subshell: int = 0
    source: str = ""

    @property
    def program(self) -> str:
        """The first word as written."""
        return self.words[0].text

    @property
    def texts(self) -> tuple[str, ...]:
        """The words without what they say about expansions."""
        return tuple(word.text for word in self.words)


def read_assignment(word: Word) -> tuple[str, Word] | None:
    """Return the name and the value of a word like `NAME=value`; None for any other word."""
    match = _ASSIGNMENT.match(word.text)
    if match is None:
        return None
    value = Word(word.text[match.end() :], word.literal)
    return match[1], value


def simple_commands(source: str) -> tuple[Simple, ...]:
    """Return the simple commands of a command line or script in written order. Never raises."""
    return tuple(_Reader(source).commands())


@dataclass
class _Draft:
    """A simple command while its words are read."""

    subshell: int
    start: int = 0
    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    negated: bool = False

    def add(self, word: Word, start: int) -> None:
        """Add a word: an assignment, a `!`, the program or one of its arguments."""
        if self.words:
            self.words.append(word)
            return
        if word.text == "!":
            self.negated = not self.negated
            return
        if not self.assignments:
            self.start = start

        assignment = read_assignment(word)
        if assignment:
            self.assignments.append(assignment)
        else:
            self.words.append(word)

    def finish(self, source: str) -> Simple:
        return Simple(
            tuple(self.words),
            tuple(self.assignments),
            tuple(self.redirections),
            negated=self.negated,
            subshell=self.subshell,
            source=source,
        )


@dataclass
class _Reader:
    """Reads one source from left to right; `at` is the place of the next character."""

    source: str
    depth: int = 0
    at: int = 0
    parentheses: int = 0
    loops: int = 0
    # Sources of `$(…)`, `<(…)` and backticks in the words read since the last simple command.
    inner: list[str] = field(default_factory=list)
    # Where the here documents of the current line end; 0 if it has none.
    heredocs_end: int = 0

    def commands(self) -> list[Simple]:
        """Read the source to its end."""
        found: list[Simple] = []
        before = ""
        while self.at < len(self.source):
            simple, operator = self._simple()
            found += self._inner_commands()
            if simple is not None:
                nested = self.depth > 0
                found.append(replace(simple, before=before, after=operator, nested=nested))
            if simple is not None or operator in ("&&", "||", "|"):
                before = operator
        return found

    def _inner_commands(self) -> list[Simple]:
        """Read the commands of the substitutions noted since the last simple command."""
        sources = self.inner
        self.inner = []
        if self.depth == _MAX_DEPTH:
            return []

        found: list[Simple] = []
        for source in sources:
            found += _Reader(source, self.depth + 1).commands()
        return found

    def substitutions(self) -> list[str]:
        """Return the sources of `$(…)` and backticks in a text that a shell only expands."""
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "\\":
                self.at += 2
            elif char == "`" or _EXPANSION.match(self.source, self.at):
                self._expansion(char)
            else:
                self.at += 1
        return self.inner

    def _simple(self) -> tuple[Simple | None, str]:
        """Read up to the next operator: the command, if there is one, and that operator."""
        draft = _Draft(self.parentheses)
        operator = ""
        end = len(self.source)
        while self.at < len(self.source):
            if self._skip_blanks():
                continue
            redirection = self._redirection()
            if redirection is not None:
                draft.redirections.append(redirection)
                continue
            match = _OPERATOR.match(self.source, self.at)
            if match:
                end = self.at
                operator = self._operator(match)
                break
            start = self.at
            word = self._word()
            if word.text == "{" and [one.text for one in draft.words[:-1]] == ["function"]:
                # The body of `function name {` is a command like any other.
                draft = _Draft(self.parentheses)
            elif draft.words or not self._is_keyword(word):
                draft.add(word, start)

        # The `pattern)` of a case and the head of a loop are not commands.
        is_pattern = self.parentheses < 0
        self.parentheses = max(self.parentheses, 0)
        joined = _JOINS.get(operator, operator)
        if is_pattern or not draft.words:
            return None, joined
        if draft.words[0].text in _HEADS:
            return None, joined
        simple = draft.finish(self.source[draft.start : end].strip())
        return replace(simple, looped=self.loops > 0), joined

    def _is_keyword(self, word: Word) -> bool:
        """Return whether a word in the place of a program is a keyword, and count open loops."""
        self.loops = max(self.loops + _LOOPS.get(word.text, 0), 0)
        if word.text == "time" and _OPTION_FOLLOWS.match(self.source, self.at):
            # The launcher of that name, which has options.
            return False
        return word.text in _KEYWORDS

    def _skip_blanks(self) -> bool:
        """Skip blanks and comments; return whether there were any."""
        skipped = _SKIPPED.match(self.source, self.at)
        if skipped is None:
            return False
        self.at = skipped.end()
        return True

    def _redirection(self) -> Redirection | None:
        """Read a redirection with its target, if one starts here."""
        match = _REDIRECTION.match(self.source, self.at)
        if not match:
            return None
        self.at = match.end()
        start = self.at
        target = self._target()
        body = ""
        if target and match[2] in ("<<", "<<-"):
            body = self._heredoc(target)
            if not _QUOTED.search(self.source, start, self.at):
                self.inner += _Reader(body).substitutions()
        return Redirection(match[1], match[2], target, body)

    def _target(self) -> str:
        """Read the word behind a redirection, which may be missing."""
        self._skip_blanks()
        if self.at == len(self.source) or _OPERATOR.match(self.source, self.at):
            return ""
        return self._word().text

    def _operator(self, match: re.Match[str]) -> str:
        self.at = match.end()
        self.parentheses += _PARENTHESES.get(match[0], 0)
        if match[0] == "\n":
            self.at = max(self.at, self.heredocs_end)
            self.heredocs_end = 0
        return match[0]

    def _heredoc(self, delimiter: str) -> str:
        """Return the here document that follows the current line, and those found before."""
        line_end = self.source.find("\n", self.at)
        start = self.heredocs_end or line_end + 1
        if start == 0:
            return ""
        last_line = re.compile(rf"^\t*{re.escape(delimiter)}[ \t]*$", re.MULTILINE)
        match = last_line.search(self.source, start)
        if match is None:
            self.heredocs_end = len(self.source)
            return self.source[start:]
        self.heredocs_end = match.end()
        return self.source[start : match.start()]

    def _word(self) -> Word:
        """Read one word, up to a blank or an operator."""
        parts: list[str] = []
        literal = True
        start = self.at
        while self.at < len(self.source):
            char = self.source[self.at]
            bare = _BARE.match(self.source, self.at)
            if bare:
                parts.append(bare[0])
                self.at = bare.end()
            elif self.source.startswith(("<(", ">("), self.at):
                parts.append(self._parenthesised())
                literal = False
            elif char.isspace() or char in ";&|()<>":
                break
            else:
                text, plain = self._special(char, first=self.at == start)
                parts.append(text)
                literal = literal and plain
        # Always advance, also over a character that no rule takes.
        self.at = max(self.at, start + 1)
        return Word("".join(parts), literal)

    def _special(self, char: str, *, first: bool) -> tuple[str, bool]:
        """Read a quote, backslash, `$` or pattern character: its text, and if it is literal."""
        if char == "'":
            return self._until("'"), True
        if char == '"':
            return self._double()
        if char == "\\":
            self.at += 2
            return self.source[self.at - 1 : self.at].replace("\n", ""), True
        ansi = _ANSI_QUOTES.match(self.source, self.at)
        if ansi:
            self.at = ansi.end()
            return ansi[1], "\\" not in ansi[1]
        if char in "$`":
            return self._expansion(char), False

        self.at += 1
        if char in "{}":
            # `{}` and `{` are taken as they are; `{a,b}` is expanded.
            return char, not _BRACES.match(self.source, self.at)
        if char == "~":
            return char, not first
        return char, char in "#!]"

    def _until(self, closing: str) -> str:
        """Read what has no escapes, up to the character that closes it."""
        end = self.source.find(closing, self.at + 1)
        if end < 0:
            end = len(self.source)
        text = self.source[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double(self) -> tuple[str, bool]:
        """Read a double-quoted text: its content, and whether it is literal."""
        parts: list[str] = []
        literal = True

        self.at += 1
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == '"':
                break
            plain = _PLAIN_IN_QUOTES.match(self.source, self.at)
            escaped = _ESCAPED_IN_QUOTES.match(self.source, self.at)
            if plain:
                parts.append(plain[0])
                self.at = plain.end()
            elif escaped:
                parts.append(escaped[1].replace("\n", ""))
                self.at = escaped.end()
            elif char == "`" or _EXPANSION.match(self.source, self.at):
                parts.append(self._expansion(char))
                literal = False
            else:
                parts.append(char)
                self.at += 1
        self.at += 1
        return "".join(parts), literal

    def _expansion(self, char: str) -> str:
        """Read `$x`, `${…}`, `$(…)` or backticks as written; note the commands in it."""
        start = self.at
        if char == "`":
            self.inner.append(self._until("`"))
        elif self.source.startswith("$((", start):
            self.at = _matching(self.source, start + 1)
            self._note_substitutions(self.source[start + 3 : self.at])
        elif self.source.startswith("$(", start):
            return self._parenthesised()
        elif self.source.startswith("${", start):
            self._until("}")
            self._note_substitutions(self.source[start + 2 : self.at])
        else:
            self.at += 1
        return self.source[start : self.at]

    def _note_substitutions(self, text: str) -> None:
        """Note the commands inside of `${x:-$(…)}` and `$((…))`."""
        if "$(" in text and self.depth < _MAX_DEPTH:
            self.inner += _Reader(text, self.depth + 1).substitutions()

    def _parenthesised(self) -> str:
        """Read `$(…)` or `<(…)` as written and note the commands in it."""
        start = self.at
        self.at = _matching(self.source, start + 1)
        self.inner.append(self.source[start + 2 : self.at - 1])
        return self.source[start : self.at]


def _matching(source: str, start: int) -> int:
    """Return the place just after the parenthesis that closes the one at `start`."""
    depth = 0
    for match in _NESTING.finditer(source, start):
        depth += _PARENTHESES.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(source)
