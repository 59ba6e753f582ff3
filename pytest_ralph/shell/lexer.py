"""Room text: a shell command line read, never run: the simple commands in it and what joins them.

Not a shell: expansions are only noticed, not made, so a word says whether it is `literal`. Commands inside
`$(…)` and backticks are listed too, before the command they belong to, and marked `nested`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_OPERATOR = re.compile(r"\|\||&&|;;|\|&|[;&|()\n]")
_REDIRECT = re.compile(r"\d*(?:<<<|<<-?|<>|>>|>\||>&|<&|&>>|&>|[<>])")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_BARE = re.compile(r"[^\s\\'\"`$;&|()<>*?\[\]{}~#!]+")
_BLANK = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
_BRACES = re.compile(r"[^\s{}]{0,200}?(?:,|\.\.)[^\s{}]{0,200}\}")
_EXPANSION = re.compile(r"\$[\w({@*#?$!-]")
_NESTING = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[()]", re.DOTALL)
_DEEPEST = 16
_OPENING = frozenset(["if", "then", "else", "elif", "while", "until", "do", "{", "time"])
_CLOSING = frozenset(["fi", "done", "esac", "}"])
_LOOPS = frozenset(["for", "select", "case", "function"])


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its quotes removed. `literal`: a shell would take it exactly as `text`."""

    text: str
    literal: bool = True


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command. `before` and `after` are the operators around it (`&&`, `||`, `|`, `;`, `&` or empty)."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    before: str = ""
    after: str = ""
    negated: bool = False
    nested: bool = False
    redirected: bool = False

    @property
    def program(self) -> str:
        return self.words[0].text if self.words else ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


def simple_commands(source: str) -> tuple[Simple, ...]:
    """The simple commands of a command line or script, in the order they are written. Never raises."""
    return tuple(_Reader(source).commands())


@dataclass
class _Reader:
    source: str
    depth: int = 0
    at: int = 0
    parentheses: int = 0
    # What stood in the words read since the last simple command: sources of `$(…)` and backticks.
    inner: list[str] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)

    def commands(self) -> list[Simple]:
        found: list[Simple] = []
        before = ""
        while self.at < len(self.source):
            simple, operator = self._simple()
            found += self._inner_commands()
            if simple is not None:
                found.append(replace(simple, before=before, after=operator, nested=self.depth > 0))
            if simple is not None or operator in ("&&", "||", "|"):
                before = operator
        return found

    def _inner_commands(self) -> list[Simple]:
        sources, self.inner = self.inner, []
        if self.depth == _DEEPEST:
            return []
        return [
            command for source in sources for command in _Reader(source, self.depth + 1).commands()
        ]

    def _simple(self) -> tuple[Simple | None, str]:
        """The next simple command, and the operator that ends it (empty at the end of the source)."""
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        negated = redirected = False
        operator = ""
        while self.at < len(self.source):
            if self._skip_blank():
                continue
            if redirect := _REDIRECT.match(self.source, self.at):
                self._redirect(redirect)
                redirected = True
                continue
            if match := _OPERATOR.match(self.source, self.at):
                operator = self._operator(match)
                break
            word = self._word()
            if not words and word.literal and word.text in _OPENING | _CLOSING:
                continue
            if not words and word.text == "!":
                negated = not negated
            elif not words and (assigned := _ASSIGNMENT.match(word.text)):
                assignments.append((assigned[1], Word(word.text[assigned.end() :], word.literal)))
            else:
                words.append(word)
        # `pattern)` of a case, and the head of a loop, are no commands.
        if not words or words[0].text in _LOOPS or (operator == ")" and self.parentheses < 0):
            self.parentheses = max(self.parentheses, 0)
            return None, _joins(operator)
        return Simple(
            tuple(words), tuple(assignments), negated=negated, redirected=redirected
        ), _joins(operator)

    def _skip_blank(self) -> bool:
        if blank := _BLANK.match(self.source, self.at):
            self.at = blank.end()
        elif self.source[self.at] == "#" and (
            self.at == 0 or self.source[self.at - 1] in " \t\n;&|("
        ):
            end = self.source.find("\n", self.at)
            self.at = len(self.source) if end < 0 else end
        else:
            return False
        return True

    def _redirect(self, match: re.Match[str]) -> None:
        self.at = match.end()
        while self.at < len(self.source) and self._skip_blank():
            pass
        if self.at < len(self.source) and not _OPERATOR.match(self.source, self.at):
            target = self._word()
            if match[0].lstrip("0123456789") in ("<<", "<<-"):
                self.heredocs.append(target.text)

    def _operator(self, match: re.Match[str]) -> str:
        self.at = match.end()
        self.parentheses += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "\n":
            for delimiter in self.heredocs:
                end = re.compile(rf"^\t*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(
                    self.source, self.at
                )
                self.at = end.end() if end else len(self.source)
            self.heredocs.clear()
        return match[0]

    def _word(self) -> Word:
        parts: list[str] = []
        literal = True
        start = self.at
        while self.at < len(self.source):
            char = self.source[self.at]
            if bare := _BARE.match(self.source, self.at):
                parts.append(bare[0])
                self.at = bare.end()
            elif char.isspace() or char in ";&|()<>":
                break
            else:
                text, plain = self._special(char, first=self.at == start)
                parts.append(text)
                literal = literal and plain
        # A character no rule takes must not hold the reader up.
        self.at = max(self.at, start + 1)
        return Word("".join(parts), literal)

    def _special(self, char: str, *, first: bool) -> tuple[str, bool]:
        """What starts with a quote, a backslash, a `$` or a pattern character: its text, and whether it is literal."""
        if char == "'":
            return self._until("'"), True
        if char == '"':
            return self._double()
        if char == "\\":
            self.at += 2
            return self.source[self.at - 1 : self.at].replace("\n", ""), True
        if char in "$`":
            return self._expansion(char), False
        self.at += 1
        return char, char in "#!]" or (char == "~" and not first) or (
            char in "{}" and self._lone_brace()
        )

    def _lone_brace(self) -> bool:
        """`{}` and `{` are taken as they are; `{a,b}` is expanded."""
        return not _BRACES.match(self.source, self.at)

    def _until(self, quote: str) -> str:
        end = self.source.find(quote, self.at + 1)
        end = len(self.source) if end < 0 else end
        text = self.source[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double(self) -> tuple[str, bool]:
        parts: list[str] = []
        literal = True
        self.at += 1
        while self.at < len(self.source) and (char := self.source[self.at]) != '"':
            if char == "\\" and self.source[self.at + 1 : self.at + 2] in tuple('"\\$`\n'):
                parts.append(self.source[self.at + 1 : self.at + 2].replace("\n", ""))
                self.at += 2
            elif char in "$`" and self._expands(char):
                parts.append(self._expansion(char))
                literal = False
            else:
                parts.append(char)
                self.at += 1
        self.at += 1
        return "".join(parts), literal

    def _expands(self, char: str) -> bool:
        return char == "`" or bool(_EXPANSION.match(self.source, self.at))

    def _expansion(self, char: str) -> str:
        """`$x`, `${…}`, `$(…)`, `$'…'` or backticks, as written; the source of a command in it is remembered."""
        start = self.at
        if char == "`":
            self.inner.append(self._until("`"))
        elif self.source.startswith("$((", start):
            self.at = _matching(self.source, start + 1)
        elif self.source.startswith("$(", start):
            self.at = _matching(self.source, start + 1)
            self.inner.append(self.source[start + 2 : self.at - 1])
        elif self.source.startswith("${", start):
            end = self.source.find("}", start)
            self.at = len(self.source) if end < 0 else end + 1
        else:
            self.at += 1
        return self.source[start : self.at]


def _joins(operator: str) -> str:
    return {"\n": ";", ";;": ";", "|&": "|", "(": "", ")": ""}.get(operator, operator)


def _matching(source: str, start: int) -> int:
    """The place just after the parenthesis that closes the one at `start`."""
    depth = 0
    for match in _NESTING.finditer(source, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(source)
