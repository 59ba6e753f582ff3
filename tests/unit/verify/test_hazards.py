"""Hazards of a check are seen in the command as written, and harmless commands are left alone."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.hazards import hazards
from pytest_ralph.verify.model import Check, Expect


def codes(command: str, *expect: Expect, **options: bool) -> set[str]:
    return {hazard.code for hazard in hazards(Check(command, expect), **options)}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("npm test || true", "always-true"),
        ("npm test || :", "always-true"),
        ("npm test || echo failed", "always-true"),
        ("npm test && echo PASS || echo FAIL", "always-true"),
        ("pytest -q; echo done", "always-true"),
        ("if test -f a; then echo yes; else echo no; fi", "always-true"),
        ("pytest\necho $?", "always-true"),
        ("echo ok", "always-true"),
        ("true", "always-true"),
        ("exit 0", "always-true"),
        ("exit 1", "never-passes"),
        ("false", "never-passes"),
        ("make; exit 1", "never-passes"),
        ("echo pipefail; make | tail -1", "pipe-hides-status"),
        ("sh -c 'exit 1'", "never-passes"),
        ("python -c 'assert False'", "never-passes"),
        ("python -c 'import m; assert 0, 1'", "never-passes"),
        ("npm test 2>&1 | tail -20", "pipe-hides-status"),
        ("npm test 2>&1 | grep -q passed", "grep-hides-status"),
        ("pytest -q | tee out.log", "pipe-hides-status"),
        ("cd a && (make test) | head", "pipe-hides-status"),
        ('grep -c x f | awk \'{print ($1 > 1) ? "PASS" : "FAIL"}\'', "pipe-hides-status"),
        ("python -c \"import m; print('OK' if m.x else 'FAIL')\"", "prints-verdict"),
        ("ls /Users/someone/project/src", "machine-path"),
        ("test -f '/home/someone/x'", "machine-path"),
        ("type C:\\Users\\me\\x", "machine-path"),
        ("npx vitest --watch", "never-ends"),
        ("uv run vitest --watch", "never-ends"),
        ("pdm run vitest --watch", "never-ends"),
        ("git -C web push", "remote"),
        ("bash -c 'npm test || true'", "always-true"),
        ("tsc -w", "never-ends"),
        ("npm run dev", "never-ends"),
        ("tail -f app.log", "never-ends"),
        ("tail -n 5 -f app.log", "never-ends"),
        ("uvicorn app:app --port 8000", "never-ends"),
        ("python3 -m http.server 80", "never-ends"),
        ("docker compose up", "never-ends"),
        ("watch ls", "never-ends"),
        ("git push origin main", "remote"),
        ("test -f a && gh pr create --fill", "remote"),
        ("npx vercel --prod", "remote"),
        ("curl -X POST https://api.example.com/x", "remote"),
        ("terraform apply -auto-approve", "remote"),
        ("vim a.txt", "interactive"),
        ("git commit", "interactive"),
        ("docker exec -it db psql", "interactive"),
        ("python", "interactive"),
        ("npm init 2>&1", "interactive"),
        ("git rebase -i HEAD~3", "interactive"),
        ("npm start &", "background"),
        ("grep -q 'foo|bar' a.md", "grep-alternation"),
    ],
)
def test_a_hazard_is_named(command: str, code: str) -> None:
    assert code in codes(command)


def test_an_expected_file_is_checked() -> None:
    assert hazards(Check("true", files=("out.txt",))) == ()


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "npm test && echo PASS",
        "npm run build && npm test",
        "test -f a || exit 1",
        "pytest -q; exit $?",
        "pytest -q; status=$?; rm -f out.txt; exit $status",
        "test -f a || exit $status; echo ok",
        "grep -q -- --watch package.json",
        "if grep -q x f; then exit 1; fi",
        "python -c 'assert m.x'",
        "test -f a || { echo missing; exit 1; }",
        "if ! test -f a; then echo missing; exit 1; fi; echo ok",
        "set -e\npytest\necho done",
        "set -euo pipefail; npm test | tail -5",
        "set -o pipefail && npm test 2>&1 | tee log",
        "cat f | jq -e .ok",
        "ls | sort -c",
        "cat f | awk '{ if ($1 < 3) exit 1 }'",
        "! grep -q TODO src",
        "grep -qE 'foo|bar' a.md",
        "grep -q 'foo\\|bar' a.md",
        "grep -q 'a || b' a.md",
        "cd web && npx vitest run",
        "cd /tmp && ls",
        "timeout 5 npm run dev",
        "npm run dev & sleep 2; curl -f localhost:3000",
        "docker compose up -d",
        "npx jest --watchAll=false",
        "npm run lint -w packages/a",
        "git push --dry-run",
        "curl -X POST http://localhost:8000/x",
        "curl -d a=1 http://127.0.0.1/x",
        "curl -f http://api:8000/health",
        "git commit -m x --allow-empty",
        "while read -r f; do test -f $f || exit 1; done < list",
        "sleep 2 && curl -f localhost",
        "echo '{}' | jq -e . > /dev/null",
        "python -c \"assert 1, 'FAIL'; print('PASS')\"",
        "diff <(sort a) <(sort b)",
        "ls $HOME/x",
        "if true; then echo ok",
        "for f in a b; do true",
        "",
    ],
)
def test_a_sound_check_has_no_hazard(command: str) -> None:
    assert codes(command) == set()


def test_a_check_that_reads_the_output_is_not_held_to_the_status() -> None:
    output, status = Expect("stdout", ">=", 1), Expect("exit", "==", 0)
    for command in ("grep -c x f || true", "ls | wc -l", "test -f a && echo OK || echo FAIL"):
        assert codes(command, output) == set()
        assert codes(command, status) != set()
    assert codes("make | tail; true", Expect("exit", "nonzero")) == set()


def test_what_a_startup_task_starts_may_live_on() -> None:
    for command in ("npm run dev", "npm start &"):
        assert codes(command)
        assert codes(command, starts_service=True) == set()


@pytest.mark.parametrize(
    ("command", "severe"),
    [
        ("true", True),
        ("make || true", True),
        ("make; echo done", True),
        ("make | tail", False),
    ],
)
def test_only_a_check_that_cannot_fail_is_severe(command: str, severe: bool) -> None:
    assert [hazard.severe for hazard in hazards(Check(command))] == [severe]


def test_a_hazard_is_told_once_and_in_one_short_line() -> None:
    found = hazards(Check("git push a && git push b " + "x" * 500 + "\n make | tail " + "y" * 500))
    assert sorted(hazard.code for hazard in found) == ["pipe-hides-status", "remote"]
    assert all("\n" not in hazard.message and len(hazard.message) < 200 for hazard in found)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "`true` always passes: it checks nothing"),
        ("make || true", "`|| true` makes it pass whatever happens"),
        ("npm start &", "ends with `&`: a background process is stopped, not checked"),
        (
            "grep -q 'a|b' f",
            "grep without -E takes `|` in its pattern literally; use `grep -E` or `\\|`",
        ),
        ("vim a.txt", "`vim a.txt` waits for input, which it never gets"),
        ("ls /home/me/x", "`/home/me` exists on one machine only; use a path inside the project"),
        ("tsc -w", "`tsc -w` runs until it is stopped, so only the time limit ends it"),
        (
            "make | tail -3",
            "`| tail -3` hides the exit status of the command before it; use pipefail",
        ),
        (
            "python -c \"print('OK' if x else 'FAIL')\"",
            "`python` prints its result but always succeeds",
        ),
        ("git push", "`git push` changes something outside the project each time it is verified"),
    ],
)
def test_a_hazard_is_told_in_words_that_say_what_to_do(command: str, message: str) -> None:
    assert [hazard.message for hazard in hazards(Check(command))] == [message]
