"""Titles, headlines and instructions say what matters, in whole words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_ralph import Failure, classify
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.failure.wording import (
    HEADLINES,
    headline,
    place_of,
    shorten,
    title,
    tool_hint,
    without_shell,
)

WORD = re.compile(r"[^\W\d_]{2}")
SAMPLES = Path(__file__).parents[2] / "samples" / "failures"
BAD_START = re.compile(r"^(?:/|\./|\.\./|~/|[\[({<]|\d{4}-\d\d|\d\d:\d\d:\d\d|\"\w+\":)")


def samples(family: str) -> list[dict[str, Any]]:
    lines = (SAMPLES / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(error="src/cart.py:12:5: F401 `os` imported but unused"),
         "cart.py: F401 `os` imported but unused"),
        (Failure(error="2026-11-16T17:00:00Z error: disk is full"), "disk is full"),
        (Failure(error="psycopg.errors.UndefinedTable: no table", failed_tests=("a.py::test_x",)),
         "test_x: UndefinedTable: no table"),
        (Failure(error="AssertionError: 3 != 4", failed_tests=("shop.tests.CartTest.test_total",)),
         "test_total: 3 != 4"),
        (Failure(error="Aborted (exit status 134)", failed_tests=("a.py::test_x",)),
         "Aborted (exit status 134)"),
        (Failure(error="would reformat /home/dev/shop/app.py"), "would reformat app.py"),
        (Failure(error="AssertionError: helo", kind="test_failure"), "tests failed: helo"),
        (Failure(error="`grep -q 'a long pattern that is not there' a.md` exited with status 1"),
         "`grep -q 'a long pattern…` exited with status 1"),
        (Failure(error="[ERROR] Could not find goal"), "Could not find goal"),
        (Failure(error='psql:seed.sql:3: ERROR:  relation "orders" is not there'),
         'seed.sql: relation "orders" is not there'),
        (Failure(error="ERROR 1045 (28000): Access denied for user"), "Access denied for user"),
        (Failure(error="2:11 triple-equals == should be ==="), "triple-equals == should be ==="),
        (Failure(error="3:9-3:13  warning  `host` may be insensitive"),
         "warning `host` may be insensitive"),
        (Failure(error="`-> Lockfile not found at a.lock"), "Lockfile not found at a.lock"),
        (Failure(error="1 is not 2", failed_tests=("[harbours] parse",)), "parse: 1 is not 2"),
        (Failure(error="^--^ SC2086 (info): Double quote it"), "SC2086 (info): Double quote it"),
        (Failure(error="FAIL: a.c (File size changed)"), "a.c (File size changed)"),
        (Failure(kind="test_failure", error="-  6", failed_tests=("cart.t",)),
         "cart.t: 6"),
        (Failure(kind="lint_error", error='{"errors": [{"rule": "x"}]}'), "lint errors"),
        (Failure(kind="format_error", error="src/app/main.py"), "main.py: not formatted"),
        (Failure(kind="format_error", error="unformatted: File would be reformatted",
                 files=("src/a.py",)), "a.py: not formatted"),
        (Failure(error="2:53  error  <img> has no alt text"), "img has no alt text"),
        (Failure(error="awk: sum.awk:4:     ^ syntax error"), "sum.awk: syntax error"),
        (Failure(error="line 3 column 16 - Warning: missing </b>"), "missing </b>"),
        (Failure(error="tests/test_a.py::test_b expected 422, got 500"), "expected 422, got 500"),
        (Failure(kind="format_error", error="+++ shop.py\t2026-11-17 09:47:13.655 +0000"),
         "shop.py: not formatted"),
        (Failure(error='Exception in thread "main" java.lang.IllegalStateException: bad row'),
         "IllegalStateException: bad row"),
        (Failure(error="make[1]: *** No rule to make target 'schema.json', needed by 'gen.h'."),
         "No rule to make target 'schema.json'"),
        (Failure(error="AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: "
                 "4 !== 5", failed_tests=("adds the prices",)), "adds the prices: 4 !== 5"),
        (Failure(error="PHP Fatal error:  Uncaught JsonException: Syntax error in /app/a.php:2"),
         "JsonException: Syntax error in a.php:2"),
        (Failure(error="1 | ERROR | [x] Line indented incorrectly"), "Line indented incorrectly"),
        (Failure(error="C:  3:  5: Style/Return: Redundant"), "Style/Return: Redundant"),
        (Failure(error="ERROR deploy.yaml could not be read"), "deploy.yaml could not be read"),
        (Failure(error="[9:47:04 AM] x Command not defined: biuld"), "Command not defined: biuld"),
        (Failure(error="/shop/main.nim(4, 11) Error: type mismatch"), "main.nim: type mismatch"),
        (Failure(error="main.c:1:10: fatal error: cart.h: No such file or directory"),
         "main.c: cart.h: No such file or directory"),
        (Failure(error="x.c:1:22: error: ‘count’ undeclared"), "x.c: ‘count’ undeclared"),
        (Failure(error="poetry.lock was not found."), "poetry.lock was not found."),
        (Failure(error="The connection to the server localhost:8080 was refused - is it up?"),
         "The connection to the server localhost:8080"),
        (Failure(error="a.c:1:18: error: unused variable 'count' [-Werror,-Wunused-variable]"),
         "a.c: unused variable 'count'"),
        (Failure(error="AssertionError: {'a': 1} != {'a': 2}", failed_tests=("cart.test_total",)),
         "test_total: {'a': 1} != {'a': 2}"),
        (Failure(error="! [rejected] main -> main (fetch first)"),
         "rejected: main -> main (fetch first)"),
        (Failure(error="cart.rb:1:1: C: [Correctable] Style/Return: Redundant return."),
         "cart.rb: Style/Return: Redundant return."),
        (Failure(error="1:12  ✖  Invalid hex color"), "Invalid hex color"),
        (Failure(error="==3037==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6"),
         "AddressSanitizer: heap-buffer-overflow"),
        (Failure(error="<internal:/usr/lib/rubygems/kernel_require.rb>:85:in `require': "
                 "cannot load such file -- sinatrra (LoadError)"),
         "cannot load such file -- sinatrra (LoadError)"),
        (Failure(error="[ERROR] Failed to execute goal on project cart: Could not find artifact x"),
         "Could not find artifact x"),
        (Failure(error="[ERROR] templates/: template: shop/a.yaml:7:20: executing x: nil pointer"),
         "a.yaml: executing x: nil pointer"),
        (Failure(error="WARNING: Retrying (Retry(total=0, read=None)) after connection lost by x"),
         "connection lost by x"),
        (Failure(error="request to https://registry.example/left-pad failed, reason: refused"),
         "request to registry.example failed, reason"),
        (Failure(error="Could not find a version that satisfies the requirement acme-core==1",
                 missing="acme-core"), "acme-core is missing"),
        (Failure(error="expect(received).toEqual(expected) // deep equality",
                 failed_tests=("names are unique",)), "names are unique: toEqual failed"),
        (Failure(kind="file_conflict", error="file_conflict (NON-RETRYABLE)"), "file conflict"),
        (Failure(kind="service_unavailable", error="ConnectionError: HTTPConnectionPool("
                 "host='127.0.0.1', port=5999): Max retries exceeded with url: /"),
         "service unavailable: ConnectionError"),
        (Failure(error="src/order.ts(6,3): error TS2322: Type 'string' is not assignable to type "
                 "'number'."), "Type 'string' is not assignable to type 'number'."),
        (Failure(error="KeyboardError: the key is not known to this keyboard layout",
                 failed_tests=("a.py::test_layout",)),
         "test_layout: the key is not known to this keyboard"),
        (Failure(error="AttributeError: 'NoneType' object has no attribute 'upper'",
                 failed_tests=("a.py::test_unknown_user",)), "test_unknown_user: AttributeError"),
        (Failure(error="assert 'bash: foo: command not found' == 'foo: not found'",
                 failed_tests=("a.py::test_message",)), "failed: test_message"),
        (Failure(error="run.sh: line 4: verson: unbound variable"),
         "run.sh: verson: unbound variable"),
        (Failure(error="0", command="grep -c retry src/a.py"),
         "`grep -c retry src/a.py` printed 0"),
        (Failure(kind="timeout", error="++++++ Timeout ++++++", command="pytest --timeout=1"),
         "`pytest --timeout=1`: timed out"),
        (Failure(kind="lint_error", error='[{"file": "a.js", "message": "Expected \'===\'."}]'),
         "Expected '==='."),
        (Failure(error="sh: line 1: 197 Segmentation fault ./app"), "Segmentation fault ./app"),
        (Failure(error="ModuleNotFoundError: No module named '_pytest.python_api'"),
         "No module named '_pytest.python_api'"),
        (Failure(error="make: *** [Makefile:13: all] Error 1"), "make all: Error 1"),
        (Failure(error="make[1]: *** [all] Error 1"), "make all: Error 1"),
        (Failure(error="a.sh and b.sh differ: -set -eu"), "a.sh and b.sh differ: -set -eu"),
        (Failure(error="`grep -c 'a long pattern that is not there' src/a.py` printed 0"),
         "`grep -c 'a long pattern that is not…` printed 0"),
        (Failure(error="`! grep -n echo deploy.sh` found a match: 3:echo $HOME"),
         "`! grep -n echo deploy.sh` found a match"),
        (Failure(error="^-- SC2148 (error): No shell"), "SC2148 (error): No shell"),
        (Failure(error="expected '12 passed, 1 skipped' in stdout, got '11 passed, 1 failed'"),
         "expected '12 passed, 1 skipped' in stdout"),
        (Failure(error="<title>Old</title> not found in page"), "Old not found in page"),
        (Failure(error="Error: **bold** [x](y)"), "bold [x](y)"),
        (Failure(error="<stdin>: a > b is not true"), "a > b is not true"),
        (Failure(error="python -m pytest: error: unrecognized arguments: --no-such-option"),
         "unrecognized arguments: --no-such-option"),
        (Failure(error="error:", command="./x"), "`./x`: failed"),
        (Failure("test_failure", error="FAIL", command="go test"), "`go test`: tests failed"),
        (Failure("format_error", error="a.txt: FAILED"), "a.txt: FAILED"),
        (Failure(error="… " + "a" * 90, command="./x"), "`./x`: failed"),
    ],
)  # fmt: skip
def test_a_title_carries_the_point(failure: Failure, expected: str) -> None:
    assert title(failure) == expected


@pytest.mark.parametrize("family", sorted(path.stem for path in SAMPLES.glob("*.jsonl")))
def test_titles_of_all_samples_read_well(family: str) -> None:
    bad = []
    for sample in samples(family):
        failure = classify(sample["output"], sample["exit_code"], sample["command"])
        text = title(failure)
        printed = " ".join(f"{failure.error} {' '.join(failure.failed_tests)}".split())
        # A path may have been shortened to its name, also one in brackets.
        last_word = text.removesuffix(" is missing").split()[-1].strip("().,'") if text else ""
        is_cut = re.search(rf"{re.escape(last_word)}(?![\w])", f"{printed} ") is None
        is_from_error = text.startswith(printed[:1]) or last_word in printed
        is_from_error = is_from_error and not text.endswith(headline(failure.kind))
        is_bad = not WORD.search(text) or len(text) > 50 or BAD_START.match(text)
        if is_bad or (is_cut and is_from_error):
            bad.append(f"{sample['name']}: {text!r} for {failure.error!r}")
    assert bad == []


@pytest.mark.parametrize("family", sorted(path.stem for path in SAMPLES.glob("*.jsonl")))
def test_do_texts_of_all_samples_read_well(family: str) -> None:
    bad = []
    for sample in samples(family):
        failure = classify(sample["output"], sample["exit_code"], sample["command"])
        place = place_of(failure)
        hint = tool_hint(failure)
        if "\n" in place + hint or len(hint) > 120 or re.search(r"disable|noqa|--force", hint):
            bad.append(f"{sample['name']}: {place!r} {hint!r}")
    assert bad == []


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("/usr/bin/bash: line 1: foo: command not found", "foo: command not found"),
        ("sh: 1: foo: command not found", "foo: command not found"),
        ("/opt/venv/bin/python3.12: No module named foo", "No module named foo"),
    ],
)
def test_a_headline_does_without_the_shell(error: str, shown: str) -> None:
    assert without_shell(error) == shown


def test_a_text_is_cut_at_a_word() -> None:
    assert shorten("one two three", 9) == "one two"
    assert shorten("one two", 9) == "one two"
    assert shorten("one two, three", 9) == "one two"
    assert shorten("one two three (four five)", 20) == "one two three"


def test_every_kind_has_a_headline() -> None:
    assert [row.name for row in Kinds.load() if row.name not in HEADLINES] == []
    assert headline("test_failure") == "tests failed"
    assert headline("some_new_kind") == "some new kind"


def test_a_hint_stands_near_its_error() -> None:
    error = "pyproject.toml changed significantly since poetry.lock was last generated"
    hint = "Run `poetry lock` to fix the lock file."
    near = Failure(error=error, raw_output=f"{error}.\n{hint}\n")
    assert tool_hint(near) == hint
    far = Failure(error=error, raw_output=f"{hint}\n" + "building\n" * 50 + error)
    assert tool_hint(far) == ""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("src/a.py:12:5: F401 unused", 12),
        ("Makefile:3: *** missing separator.", 3),
        ("src/a.ts(2,7): error TS2741: Property is missing", 2),
        ("symbol is not declared at bin/report.pl line 3.", 3),
        ("Connection to localhost:5432 refused", None),
        ("Cannot resolve com.acme:codec:9.1", None),
        ("Total() mismatch: got: map[a:1]", None),
    ],
)
def test_only_a_place_has_a_line(error: str, line: int | None) -> None:
    assert classify(error, 1, "./check").line == line


def test_a_place_is_a_test_or_a_file() -> None:
    assert place_of(Failure(failed_tests=("a.py::x", "a.py::y"))) == "a.py::x, a.py::y"
    assert place_of(Failure(failed_tests=tuple("abcde"))) == "a, b, c and 2 more"
    both = ("Dockerfile", "src/a.py")
    assert place_of(Failure(error="src/a.py:3: oops", files=both, line=3)) == "src/a.py line 3"
    assert place_of(Failure(error="oops on line 3", files=both, line=3)) == "Dockerfile"
    assert place_of(Failure(error="oops")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "help: use `# noqa: F401` to ignore it",
        "try disabling the rule with `eslint-disable`",
        "run with `RUST_BACKTRACE=1` to see a backtrace",
        "Run `jest -u` to update the snapshot",
        "Run with `--passWithNoTests` to exit with code 0",
        "worker 'gw1' crashed while running 'a.py::test_x'",
    ],
)
def test_a_hint_that_hides_the_failure_is_dropped(line: str) -> None:
    failure = Failure(error="1 error", raw_output=f"1 error\n{line}\n")
    assert tool_hint(failure) == ""
