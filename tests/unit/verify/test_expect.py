"""The words behind a command ask something of its exit status or its output, or nothing at all."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Expect
from pytest_ralph.verify.read import read_verify

COUNT = "grep -c x f"
COUNTS = "grep -c x a b"
LINES = "grep -n x f"
STATUS = "make check"
TEXT = "jq -r .a f"
Wanted = list[tuple[Any, ...]]


def expected(command: str, words: str) -> Wanted:
    found = read_expectations(command, words).expect
    return [(one.stream, one.op, *(() if one.value is None else (one.value,))) for one in found]


def test_a_number_that_must_not_be_is_compared_so() -> None:
    assert expected(TEXT, "should not return 3") == [("stdout", "!=", 3)]
    assert expected(COUNT, "does not return 3") == [("stdout", "!=", 3)]


@pytest.mark.parametrize(
    "words",
    [
        "completes (exit 0 = pass, exit non-zero = fail)",
        "runs (exit 1 means failure, exit 0 means pass)",
        "ends; exit code 0 = success, exit code 2 = errors",
    ],
)
def test_a_command_ends_once_whatever_other_statuses_would_mean(words: str) -> None:
    assert expected(STATUS, words) == [("exit", "==", 0)]


def test_a_status_that_is_taken_back_is_unread() -> None:
    demands = read_expectations(STATUS, "exits 3, or exits 4 where the lamp is out")
    assert demands.expect == []
    assert demands.unread == ["exits 3", "or exits 4 where the lamp is out"]


def test_a_status_that_stands_for_something_good_is_asked_for() -> None:
    assert expected("grep -q x f", "exit 1 = clean") == [("exit", "==", 1)]


@pytest.mark.parametrize(
    "words", ["exits 0, no temp files remain", "exits 0, no files changed outside lib"]
)
def test_what_is_gone_from_the_disk_is_not_looked_for_in_what_a_tool_prints(words: str) -> None:
    assert expected("./clean.sh", words) == [("exit", "==", 0)]
    assert expected("./clean.sh", words.replace("exits 0", "succeeds")) == []
    assert expected("./clean.sh", "exits 0, no results") == [("exit", "==", 0), ("stdout", "empty")]
    assert expected(LINES, "no matches remain") == [("stdout", "empty")]


def test_what_the_system_says_of_a_missing_file_is_on_stderr() -> None:
    missing = "No such file or directory"
    assert expected("ls build/old", f'returns "{missing}"') == [
        ("exit", "nonzero"),
        ("stderr", "contains", missing),
    ]
    assert expected("ls build/old 2>&1", f'shows "{missing}"') == [("stdout", "contains", missing)]


def test_an_amount_that_is_not_zero_is_printed_and_no_status() -> None:
    query = 'sqlite3 shop.db "SELECT COUNT(*) FROM orders"'
    assert expected(query, "returns a non-zero count") == [("stdout", ">", 0)]
    assert expected("./orders.sh", "returns non-zero rows") == []
    assert expected("./orders.sh", "returns a non-zero code") == [("exit", "nonzero")]


@pytest.mark.parametrize(
    "words",
    ["creates 3 files", "writes `out` with 3 lines", "lists 3 files", "prints 5 files processed"],
)
def test_files_that_a_tool_makes_are_no_lines_that_it_prints(words: str) -> None:
    demands = read_expectations("./gen.sh", words)
    assert demands.expect == []
    assert demands.unread


def test_a_status_other_than_two_may_be_zero() -> None:
    assert expected(STATUS, "exit code is not 2") == []
    assert expected(STATUS, "exit code is not 0") == [("exit", "nonzero")]


@pytest.mark.parametrize(
    "words", ["passes without warnings", "prints no warnings", "0 warnings", "with no warnings"]
)
def test_that_there_are_no_warnings_is_not_told_by_the_status(words: str) -> None:
    assert read_expectations(STATUS, words).unread == [words]


def test_a_search_that_is_ideally_empty_is_for_a_person() -> None:
    for words in ("(ideally empty)", "(probably none)"):
        assert read_verify(f"`{LINES}` {words}").manual


def test_a_log_that_is_empty_is_not_the_output() -> None:
    demands = read_expectations(STATUS, "exits 0 and the log is empty")
    assert demands.unread == ["the log is empty"]
    assert demands.expect == [Expect("exit", "==", 0)]


def test_a_search_that_should_not_match_finds_nothing() -> None:
    assert expected(LINES, "should not match") == [("stdout", "empty")]
    assert expected(STATUS, "should not match") == []


@pytest.mark.parametrize("case", ["only with -v", "when it is verbose", "where colour is on"])
def test_what_is_printed_in_one_case_only_is_not_asked_for(case: str) -> None:
    assert expected(STATUS, f"prints `soup` ({case})") == []


@pytest.mark.parametrize(
    "words", ["between 2", "between 2 and more", "exit code", "exit status of the tool is fine"]
)
def test_half_a_comparison_asks_nothing(words: str) -> None:
    assert expected(STATUS, words) == []


@pytest.mark.parametrize(
    "command", ["ls", "fd x src", "tree src", "find . -name x", "git ls-files"]
)
def test_a_file_name_is_looked_for_where_names_are_listed(command: str) -> None:
    assert expected(command, "shows a.txt") == [("stdout", "contains", "a.txt")]
    assert expected(STATUS, "shows a.txt") == []


@pytest.mark.parametrize("word", ["out-of-date", "non-ascii", "pre-built", "off-topic"])
def test_a_word_that_only_looks_like_a_name_is_nothing_to_look_for(word: str) -> None:
    assert expected("ls src", "shows no old-file.txt") == [
        ("stdout", "not_contains", "old-file.txt")
    ]
    assert expected("grep -rl old src", f"shows no {word} files") == [("stdout", "empty")]


@pytest.mark.parametrize(
    ("words", "op", "number"),
    [
        ("returns 3", "==", 3),
        ("returns `3`", "==", 3),
        ("should return 0", "==", 0),
        ("equals 4", "==", 4),
        ("is 4", "==", 4),
        ("= 4", "==", 4),
        ("== 4", "==", 4),
        ("-> 4", "==", 4),
        ("→ 4", "==", 4),
        (": 4", "==", 4),
        ("outputs exactly 2", "==", 2),
        ("shows 3 files created", "==", 3),
        ("gives a count of 5", "==", 5),
        ("returns one", "==", 1),
        ("returns 1,200", "==", 1200),
        ("— expected: 3", "==", 3),
        ("returns 2 (one in each half)", "==", 2),
        ("(expect 0)", "==", 0),
        ("(0)", "==", 0),
        ("returns no matches", "==", 0),
        ("is empty", "==", 0),
        (">= 1", ">=", 1),
        ("≥1", ">=", 1),
        ("`>= 7`", ">=", 7),
        ("returns at least two", ">=", 2),
        ("returns 2 or more", ">=", 2),
        ("shows 5+", ">=", 5),
        ("(should be 5+)", ">=", 5),
        ("returns a minimum of 3", ">=", 3),
        ("> 0", ">", 0),
        ("is greater than 0", ">", 0),
        ("is non-zero", ">", 0),
        ("is not 0", ">", 0),
        ("<= 4", "<=", 4),
        ("at most 4", "<=", 4),
        ("returns 4 or fewer", "<=", 4),
        ("< 500 lines", "<", 500),
        ("reports fewer than 200", "<", 200),
        ("!= 0", "!=", 0),
        ("returns 0 or 1", "in", (0, 1)),
        ("(6 lines: a heading + 5 names)", "==", 6),
        ("returns 2, and the other page lists `x`", "==", 2),
        ("returns 2: one for `x`", "==", 2),
    ],
)
def test_a_command_that_counts_is_compared_with_a_number(
    words: str, op: str, number: object
) -> None:
    assert expected(COUNT, words) == [("stdout", op, number)]


@pytest.mark.parametrize(
    ("command", "words", "wanted"),
    [
        (COUNTS, "returns 2", [("stdout", "sum==", 2)]),
        (COUNTS, ">= 2", [("stdout", "sum>=", 2)]),
        (COUNTS, "> 2", [("stdout", "sum>=", 3)]),
        (COUNTS, "each return 1", [("stdout", "each_line==", 1)]),
        (COUNTS, "all zero", [("stdout", "sum==", 0)]),
        (COUNT, "is between 3 and 5", [("stdout", ">=", 3), ("stdout", "<=", 5)]),
        (
            "for f in a b; do grep -c x $f; done",
            "— every line must be 1",
            [("stdout", "each_line==", 1)],
        ),
        (LINES, "returns 3", [("stdout", "lines==", 3)]),
        (LINES, "returns 3 matches", [("stdout", "lines==", 3)]),
        (LINES, "finds at least 2 lines", [("stdout", "lines>=", 2)]),
        (LINES, "shows more than 2 results", [("stdout", "lines>=", 3)]),
        (LINES, "returns 0 results", [("stdout", "empty")]),
        (LINES, "> 0 hits", []),
        ("find src -name x", "> 0 hits", [("stdout", "nonempty")]),
        ("kubectl get pods", "shows 3 pods Running", []),
        (LINES, "shows exactly 3 arguments", []),
        (
            "ls d",
            "shows 8 directories, no old-name",
            [("stdout", "lines==", 8), ("stdout", "not_contains", "old-name")],
        ),
        (STATUS, "returns 0", [("exit", "==", 0)]),
        (STATUS, "returns 7", [("stdout", "==", 7)]),
        (STATUS, "shows 0", [("stdout", "==", 0)]),
        (TEXT, "returns 0", [("stdout", "==", 0)]),
        ("jq .v a && jq .v b", "both return 2", [("stdout", "each_line==", 2)]),
        ("jq .v a && jq .v b", 'both return "1.2.0"', [("stdout", "each_line==", "1.2.0")]),
        ("cd x && jq .v a", 'both return "1.2.0"', [("stdout", "==", "1.2.0")]),
        ("cat f", "shows 3 lines", [("stdout", "lines==", 3)]),
        ("cat f", "shows 3 sections", []),
        ("rg -c x a b", "prints nothing", [("stdout", "empty")]),
        ("cat count", "returns 3", [("stdout", "==", 3)]),
        ("cat range", "(should show 48-120)", []),
        (
            "grep -l x *.md",
            "returns a.md and b.md",
            [("stdout", "contains", "a.md"), ("stdout", "contains", "b.md")],
        ),
        ("git diff --name-only", "shows a.md", [("stdout", "contains", "a.md")]),
        ("grep -n x *.js", "→ 3 hits, all `x()` calls", [("stdout", "lines==", 3)]),
        ("make test", "shows 5 pass, 0 fail", []),
        ("make test", "exits 0 with 5 pass, 0 fail", [("exit", "==", 0)]),
        ("make test", "shows 4 pass, 1 fail", [("exit", "nonzero")]),
        ("make", "succeeds (empty app)", []),
        ("make", "succeeds (empty output)", [("stdout", "empty")]),
        ("npm list x", "shows v6.3.x", []),
        ("grep -c x a b", "prints nothing", [("stdout", "sum==", 0)]),
        ("grep x f | head", "→ ≥ 1 relevant", []),
        ("make | tail -5", "shows 3 sections", []),
        (LINES, "→ exit 0 and all four decisions appear", [("exit", "==", 0)]),
        ("python3 check.py", "→ `all fine`", [("stdout", "contains", "all fine")]),
        ("test -f a", "→ true", []),
        ("git diff", "shows the three sentences that moved", []),
        ("ls d", "shows 3 scripts", [("stdout", "lines==", 3)]),
        ("(Get-ChildItem d | Measure-Object).Count", "returns 3", [("stdout", "==", 3)]),
        ("Select-String x f | Select-Object -ExpandProperty Count", "> 0", [("stdout", ">", 0)]),
    ],
)
def test_the_command_decides_what_a_number_means(command: str, words: str, wanted: Wanted) -> None:
    assert expected(command, words) == wanted


@pytest.mark.parametrize(
    "words",
    [
        "exits 0",
        "exits with 0",
        "exits with code 0",
        "exit code 0",
        "returns exit code 0",
        "returns exit 0",
        "should exit 0.",
        "exit status is 0",
        "(exit 0)",
        "exits zero",
        "→ exit 0",
    ],
)
def test_an_exit_status_is_read(words: str) -> None:
    assert expected(STATUS, words) == [("exit", "==", 0)]


@pytest.mark.parametrize(
    "words",
    [
        "exits non-zero",
        "exits with a nonzero status",
        "exit code != 0",
        "returns non-zero",
        "fails",
        "must fail",
        "should still fail with AssertionError",
        "(must fail)",
        "FAILS (red phase)",
        "is expected to fail",
        "shows the tests fail",
        "(all must fail)",
        "(expect failures)",
        "(RED: should fail, nothing is there yet)",
        "expects 5 failures",
        "shows 10 failures",
        "→ false",
        "returns an error",
        "should give an error",
        "Expected: FAIL (nothing there yet)",
    ],
)
def test_a_command_may_have_to_fail(words: str) -> None:
    assert expected(STATUS, words) == [("exit", "nonzero")]


@pytest.mark.parametrize(
    "words",
    [
        "returns nothing",
        "returns empty",
        "prints nothing",
        "outputs nothing.",
        "produces no output",
        "is empty",
        "no matches",
        "finds no remaining references",
        "returns zero matches",
        "no longer returns results",
        "should be silent",
        "(no output)",
        "→ none",
    ],
)
def test_silence_is_read(words: str) -> None:
    assert expected(LINES, words) == [("stdout", "empty")]


@pytest.mark.parametrize(
    "words", ["is non-empty", "is not empty", "prints something", "shows some output"]
)
def test_any_output_is_read(words: str) -> None:
    assert expected(TEXT, words) == [("stdout", "nonempty")]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ('returns "1.2.0"', [("stdout", "==", "1.2.0")]),
        ("returns `true`", [("stdout", "==", "true")]),
        ("returns null", [("stdout", "==", "null")]),
        ("equals v1.2.0", [("stdout", "==", "v1.2.0")]),
        ("→ PONG", [("stdout", "contains", "PONG")]),
        ("returns `OPEN` or `MERGED`", [("stdout", "in", ("OPEN", "MERGED"))]),
        ('returns "APPROVED" or no open remarks', [("stdout", "==", "APPROVED")]),
        ("shows 1.2.0", [("stdout", "contains", "1.2.0")]),
        ('prints "all good"', [("stdout", "contains", "all good")]),
        ("prints 'ok'", [("stdout", "contains", "ok")]),
        ("output contains `a` and `b`", [("stdout", "contains", "a"), ("stdout", "contains", "b")]),
        ("shows: one/, two/", [("stdout", "contains", "one"), ("stdout", "contains", "two")]),
        ("returns JSON with `id`", [("stdout", "contains", "id")]),
        ("returns the `id` column", [("stdout", "contains", "id")]),
        ("and confirm that it prints `id`", [("stdout", "contains", "id")]),
        ("shows every entry in `list.md`", []),
        ("— the page shows `x`", []),
        ("— the `x` block reads `y`", []),
        ("every hit is on a line like `x`", []),
        ("exits 0, `3 passed`", [("exit", "==", 0), ("stdout", "contains", "3 passed")]),
        ("exits 0, `a.md` is new", [("exit", "==", 0)]),
        ("returns a `*.example.org` address", []),
        ("→ first line is `x = 1`", [("stdout", "contains", "x = 1")]),
        ("shows the two new runs", []),
        ("shows one `a` and a single `b` line", []),
        ("shows `a`, `b` is gone", [("stdout", "contains", "a")]),
        ("shows the four columns, `/x` returns 200", []),
        ("prints a non-zero integer", [("stdout", ">", 0)]),
        ("returns 6 rows", []),
        ("matches `id: 3`", [("stdout", "contains", "id: 3")]),
        ("shows BUILD SUCCEEDED", [("stdout", "contains", "BUILD SUCCEEDED")]),
        ("shows the REST API", []),
        (
            "shows `passed` with no `failed`",
            [("stdout", "contains", "passed"), ("stdout", "not_contains", "failed")],
        ),
        ("shows 20 FAILED", []),
        ("shows 0 `FAIL` lines", [("stdout", "not_contains", "FAIL")]),
        ("returns nothing: `id` is gone", [("stdout", "empty")]),
        ("shows the note, or the report says `none needed`", []),
        ("runs and looking at the table shows `id`", []),
        ("shows usage including `--json`", [("stdout", "contains", "--json")]),
        ("Expected: `ready (3)`, then it waits", [("stdout", "contains", "ready (3)")]),
        ('returns "Done! It works."', [("stdout", "==", "Done! It works.")]),
        ("does not contain `x`", [("stdout", "not_contains", "x")]),
        (
            "shows no IN_PROGRESS or PENDING states",
            [("stdout", "not_contains", "IN_PROGRESS"), ("stdout", "not_contains", "PENDING")],
        ),
        ("prints `OK` and exits 0", [("stdout", "contains", "OK"), ("exit", "==", 0)]),
        (
            "exits 2 and prints `usage` to stderr",
            [("exit", "==", 2), ("stderr", "contains", "usage")],
        ),
    ],
)
def test_texts_are_read(words: str, wanted: Wanted) -> None:
    assert expected(TEXT, words) == wanted


@pytest.mark.parametrize(
    ("command", "words", "wanted"),
    [
        ("make && echo READY", "prints READY", [("stdout", "contains", "READY")]),
        ("cd a && echo PASS", "→ PASS", [("stdout", "contains", "PASS")]),
        ("make && echo PASS", "→ PASS", [("stdout", "contains", "PASS")]),
        ("make && echo $?", "exits 0 with empty output", [("exit", "==", 0)]),
        (
            "ls out",
            "contains a.js and b.js",
            [("stdout", "contains", "a.js"), ("stdout", "contains", "b.js")],
        ),
        ("git status --porcelain", "is clean", [("stdout", "empty")]),
        ("git diff", "shows no changes", [("stdout", "empty")]),
        ("diff a b", "shows no differences", [("stdout", "empty")]),
        ("make", "shows no differences", []),
        ("git diff --stat", "shows only 3 files changed", []),
        ("git status", "shows no ignored files", []),
        ("git status -s", "shows no files", [("stdout", "empty")]),
        ("git status", "shows NO change to `a.py`", [("stdout", "not_contains", "a.py")]),
        (LINES, "shows no matches in `docs/`", []),
        (LINES, "returns only `a.py`", [("stdout", "contains", "a.py")]),
        ("node --test", "→ `# fail 0`", [("stdout", "contains", "# fail 0")]),
        ("node -p 1", "→ `1.2.0`", [("stdout", "contains", "1.2.0")]),
        ("make || echo FINE", "— must find zero errors", []),
        ("make; echo $x", "returns 3", [("stdout", "==", 3)]),
        ("docker ps", "shows no results", []),
        ("git status", "→ only the two .md files modified", []),
        ("git status --short", "shows only 2 files", [("stdout", "lines==", 2)]),
        ("ls a.py b.py", "— both exist, both empty", []),
        (LINES, 'shows it below a "Done" heading', []),
        (LINES, 'shows it under a "Done" heading', []),
        (LINES, "returns no matches except in the changelog", []),
        (LINES, "returns nothing apart from the two notes", []),
        ("wc -l src/*.py", "— no file over 400 lines", []),
        ("sed -n 1,9p a.py", "-> `start` waits for `ready`, and `stop` clears it", []),
        ("cat key.pub", "→ outputs `cache-1:<PUBLIC_KEY>`", [("stdout", "contains", "cache-1:")]),
        ("cat a.rs", "contains `Vec<String>`", [("stdout", "contains", "Vec<String>")]),
        ("curl localhost/old", "returns an error", []),
        ("sed -n 1,9p a.py", "→ manual inspection shows every `start()` is guarded", []),
        ("cat a.py", "→ the old `start` helper is gone", []),
        (LINES, "shows that `start` is removed", []),
        (
            "cat a b",
            "→ neither file contains `x` or `y`",
            [("stdout", "not_contains", "x"), ("stdout", "not_contains", "y")],
        ),
        ("cat log", "shows no line containing `ERROR`", [("stdout", "not_contains", "ERROR")]),
        ("kubectl get pods", "— all 9 show Ready=True", []),
        ("jq -r .a f", "returns `a=true`", [("stdout", "==", "a=true")]),
        ("ls -a", "-> includes `.env` and/or `b.md` only if you made them", []),
        (
            "jq length a.json b.json",
            "prints 6 and 7",
            [("stdout", "contains", "6"), ("stdout", "contains", "7")],
        ),
        (COUNT, "returns 3 and 0 errors are left", [("stdout", "==", 3)]),
        (
            "python a.py",
            "→ `all fine`, and no HTTP output such as `is off` appears",
            [("stdout", "contains", "all fine")],
        ),
        ("curl localhost", "returns 201", []),
        ("curl -I localhost", "returns 200", [("stdout", "contains", "200")]),
        ("curl -I localhost", "shows 200 OK", [("stdout", "contains", "200")]),
    ],
)
def test_what_the_command_is_matters(command: str, words: str, wanted: Wanted) -> None:
    assert expected(command, words) == wanted


@pytest.mark.parametrize(
    "words",
    [
        "",
        "passes",
        "succeeds",
        "all green",
        "shows all checks passing",
        "shows the new section",
        "returns a match",
        "returns usage information",
        "shows PR URL",
        "(syntax check)",
        "(always fails)",
        "is clean",
        "with no errors",
        "shows 0 errors",
        "→ 12 tests pass",
        "shows 8 passed",
        "(expect 15/15 PASS)",
        "(expect 17 tools)",
        "Expected: PASS",
        "passes with no `any` types",
        "finishes in under 5 seconds",
        "with > 80% coverage",
        "should show Python 3.10+",
        "— all should mention 5 layers",
        "returns the same count as before",
        "does not fail",
        "if it returns 3, stop",
        "first is silent, second prints `x`",
        "Later, 3 files are left",
        "→ all pass including 2 new",
        "where permissions are 600",
    ],
)
def test_what_no_machine_can_check_asks_for_nothing(words: str) -> None:
    assert expected(STATUS, words) == []


@pytest.mark.parametrize(
    ("command", "words", "wanted"),
    [
        (COUNT, "gibt 3 zurück", [("stdout", "==", 3)]),
        (COUNT, "liefert mindestens 2", [("stdout", ">=", 2)]),
        (LINES, "gibt nichts aus", [("stdout", "empty")]),
        (STATUS, "endet mit Code 0", [("exit", "==", 0)]),
        (STATUS, "schlägt fehl", [("exit", "nonzero")]),
        (TEXT, "enthält `x`", [("stdout", "contains", "x")]),
        (COUNT, "devuelve 0", [("stdout", "==", 0)]),
        (COUNT, "debe devolver al menos 2", [("stdout", ">=", 2)]),
        (LINES, "sin coincidencias", [("stdout", "empty")]),
        (LINES, "(vacío)", [("stdout", "empty")]),
        (STATUS, "termina con código 0", [("exit", "==", 0)]),
        (TEXT, "muestra `x`", [("stdout", "contains", "x")]),
        (COUNT, "renvoie au moins 2", [("stdout", ">=", 2)]),
        (LINES, "n'affiche rien", [("stdout", "empty")]),
        (STATUS, "code de sortie 0", [("exit", "==", 0)]),
        (COUNT, "retorna pelo menos 2", [("stdout", ">=", 2)]),
        (TEXT, "não contém `x`", [("stdout", "not_contains", "x")]),
        (COUNT, "restituisce 3", [("stdout", "==", 3)]),
        (COUNT, "возвращает 3", [("stdout", "==", 3)]),
        (COUNT, "не менее 2", [("stdout", ">=", 2)]),
        (STATUS, "завершается с ошибкой", [("exit", "nonzero")]),
        (COUNT, "返回 0", [("stdout", "==", 0)]),
        (COUNT, "至少 2", [("stdout", ">=", 2)]),
        (STATUS, "退出码为 0", [("exit", "==", 0)]),
        (LINES, "无输出", [("stdout", "empty")]),
        (LINES, "有输出", [("stdout", "nonempty")]),
        (TEXT, "输出包含 `x`", [("stdout", "contains", "x")]),
        (COUNT, "が 2 を返す", [("stdout", "==", 2)]),
        (COUNT, "が 3 件以上", [("stdout", ">=", 3)]),
        (LINES, "は何も出力しない", [("stdout", "empty")]),
        (STATUS, "通过", []),
        (COUNT, "trả về ít nhất 2", [("stdout", ">=", 2)]),
        (LINES, "출력 없음", [("stdout", "empty")]),
        (STATUS, "ist grün", []),
        (LINES, "没有错误", []),
        (STATUS, "退出码为 0，不再报告 `x`", [("exit", "==", 0), ("stdout", "not_contains", "x")]),
    ],
)
def test_other_languages_say_the_same(command: str, words: str, wanted: Wanted) -> None:
    assert expected(command, words) == wanted


def test_alternatives_are_shown_as_a_list() -> None:
    (expect,) = read_expectations("curl -s -w '%{http_code}' x", "returns 0 or 1").expect
    assert str(expect.value) == "[0, 1]"
