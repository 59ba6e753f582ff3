"""A command line is read into simple commands; what a shell would expand is not literal."""

from __future__ import annotations

import pytest

from pytest_ralph.shell.lexer import simple_commands
from tests.growth import growth


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("black --check .", [["black", "--check", "."]]),
        ("cd web && npx eslint .", [["cd", "web"], ["npx", "eslint", "."]]),
        ("A=1 make -j2 lint # not this", [["make", "-j2", "lint"]]),
        ("grep -c 'a b' \"c d\" e\\ f", [["grep", "-c", "a b", "c d", "e f"]]),
        ('echo "a \\"b\\" \\$c \\d"', [["echo", 'a "b" $c \\d']]),
        ('echo "a\\\nb"', [["echo", "ab"]]),
        ("echo a#b '#c' \\# d", [["echo", "a#b", "#c", "#", "d"]]),
        ('test -z "$(gofmt -l .)"', [["gofmt", "-l", "."], ["test", "-z", "$(gofmt -l .)"]]),
        ("echo `date -u`", [["date", "-u"], ["echo", "`date -u`"]]),
        ("for f in *.sh; do bash -n $f; done", [["bash", "-n", "$f"]]),
        ("if ! test -f a; then exit 1; fi", [["test", "-f", "a"], ["exit", "1"]]),
        ("case $x in a) ls;; *) pwd;; esac", [["ls"], ["pwd"]]),
        ("(cd a && make) 2>&1 | tail -5", [["cd", "a"], ["make"], ["tail", "-5"]]),
        ("cat > f <<'EOF'\nrm -rf x\nEOF\nls", [["cat"], ["ls"]]),
        ("a \\\n  --b", [["a", "--b"]]),
        ("a\nb\r\nc", [["a"], ["b"], ["c"]]),
        ("find . -exec shfmt -d {} +", [["find", ".", "-exec", "shfmt", "-d", "{}", "+"]]),
        ("echo a\\\nb '' c", [["echo", "ab", "", "c"]]),
        ("echo } a${b}c d", [["echo", "}", "a${b}c", "d"]]),
        ("", []),
        ("'never closed", [["never closed"]]),
        ('x "never closed $(', [["x", "never closed $("]]),
    ],
)
def test_the_simple_commands_of_a_line_are_found_in_order(
    line: str, expected: list[list[str]]
) -> None:
    assert [list(command.texts) for command in simple_commands(line)] == expected


@pytest.mark.parametrize(
    "word",
    [
        "$X",
        '"$X"',
        "${X}",
        "$(x)",
        "`x`",
        "*.py",
        "a?",
        "[ab]",
        "~/x",
        "{a,b}",
        "{1..3}",
        '"a $(b)"',
    ],
)
def test_a_word_that_a_shell_would_expand_is_not_literal(word: str) -> None:
    assert not simple_commands(f"echo {word}")[-1].words[1].literal


@pytest.mark.parametrize(
    "word", ["a", "'$X'", "'*'", "\\$X", '"5$"', "a~b", "{}", "#", "a=b", "--x=1", "@scope/pkg"]
)
def test_a_word_that_a_shell_would_take_as_it_is_is_literal(word: str) -> None:
    assert simple_commands(f"echo x{word}")[-1].words[1].literal


def test_each_command_knows_what_joins_it_to_its_neighbours() -> None:
    joins = [
        (command.program, command.before, command.after)
        for command in simple_commands("a && b | c || d; e &")
    ]
    assert joins == [
        ("a", "", "&&"),
        ("b", "&&", "|"),
        ("c", "|", "||"),
        ("d", "||", ";"),
        ("e", ";", "&"),
    ]


def test_negation_redirection_nesting_and_assignments_are_kept() -> None:
    inner, outer = simple_commands("! A=1 grep -q x $(ls) > out")
    assert inner.nested
    assert not inner.negated
    assert (outer.negated, bool(outer.redirections), outer.nested) == (True, True, False)
    assert [(name, word.text) for name, word in outer.assignments] == [("A", "1")]


@pytest.mark.parametrize(
    "piece",
    [
        "$(",
        "`",
        '"',
        "'",
        "(",
        ")",
        "a)",
        "{,",
        "{a",
        "<<E\n",
        "\\",
        "$((",
        "x;",
        "${",
        "[[ ",
        "#\n",
    ],
)
def test_hostile_lines_are_read_in_linear_time(piece: str) -> None:
    assert growth(lambda count: simple_commands(piece * count), 2_000, 16_000) < 24
