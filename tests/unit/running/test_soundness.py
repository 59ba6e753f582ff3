"""An expectation counts only if the command really ran: samples with real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running.checks import CheckResult, RunContext, run_check
from pytest_ralph.running.runner import Runner
from pytest_ralph.verify.model import Check, Expect

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = Expect("stdout", "empty")
ZERO = Expect("stdout", "==", 0)
NO_ERROR_WORD = Expect("stdout", "not_contains", "ERROR")
FAILS = Expect("exit", "nonzero")
EXITS_0 = Expect("exit", "==", 0)
PYTHON_DIES = "python3 -c 'raise ValueError(1)'"

NEVER_RAN = [
    ("nosuchtool --list", NOTHING),
    ("./missing.sh", NO_ERROR_WORD),
    ("./plain.txt", NO_ERROR_WORD),
    ("nosuchtool src | wc -l", ZERO),
    ("nosuchtool src 2>/dev/null | wc -l", ZERO),
    ("cat f | nosuchtool | wc -l", ZERO),
    ("./missing.sh | wc -l", ZERO),
    ("./plain.txt 2>/dev/null | wc -l", ZERO),
    ("cd sub && ./missing.sh 2>/dev/null | wc -l", ZERO),
    ("timeout 9 nosuchtool 2>/dev/null | wc -l", ZERO),
    ("echo $(nosuchtool 2>/dev/null | wc -l)", ZERO),
    ("nosuchtool", FAILS),
    ("! nosuchtool", None),
    ("kill -9 $$", NOTHING),
    ("sh -c 'kill -SEGV $$'; exit $?", NOTHING),
    ("kill -9 $$", FAILS),
    (PYTHON_DIES, NOTHING),
    (f"{PYTHON_DIES} 2>&1", NO_ERROR_WORD),
    (f"{PYTHON_DIES} | wc -l", ZERO),
    ("grep -rn TODO no/such/dir", NOTHING),
    ("grep -rn TODO no/such/dir | wc -l", ZERO),
    ("! grep -rn TODO no/such/dir", NOTHING),
    ("grep '[' f", NOTHING),
    ("diff f no-such-file", NOTHING),
    ("git log nosuchbranch", NOTHING),
    ("git log nosuchbranch | wc -l", ZERO),
    ("git -C no-such-directory status", NOTHING),
    ("sh -c 'kill -SEGV $$' | wc -l", ZERO),
    ("sh -c 'kill -SEGV $$' | cat", None),
    ("nosuchtool 2>/dev/null | cat", None),
    ("./missing.sh 2>/dev/null | cat", None),
    ("nosuchtool | grep -q x", FAILS),
    ("[ $(nosuchtool 2>/dev/null | wc -l) -eq 0 ]", None),
    ("x=$(nosuchtool)", NOTHING),
    ("cat <(nosuchtool)", NOTHING),
    ("cat no-such-file", NOTHING),
    ("cat no-such-file | wc -l", ZERO),
    ("cat no-such-file | grep -c x", ZERO),
    ("sort no-such-file | uniq -d", NOTHING),
    ("tail -3 no-such-file", NO_ERROR_WORD),
    ("sed -n 1p no-such-file", NOTHING),
    ("grep x < no-such-file", NOTHING),
    ("sort < no-such-file | wc -l", ZERO),
    ("cat f > no-such-directory/copy", NOTHING),
    ("python3 no_such_file.py", NOTHING),
    ("if true; then echo", NOTHING),
    ("echo 'x", FAILS),
    ("bash -c 'if then'", NOTHING),
    ("sh -c 'if then'", NOTHING),
    ("bash -c 'if then'", FAILS),
    ("bash -c 'if then' 2>&1", NO_ERROR_WORD),
    ("bash -c 'echo \"x'", NOTHING),
    ("./broken.sh", NOTHING),
    ("./broken.sh", FAILS),
    ("./broken.sh", Expect("stdout", "contains", "0")),
    ("! ./broken.sh", None),
    ("bash broken.sh", NOTHING),
    ("bash -n broken.sh", NOTHING),
    ("sh broken.sh", NOTHING),
    (". ./broken.sh", NOTHING),
    ("cd sub && bash ../broken.sh", NOTHING),
    ("bash broken.sh | wc -l", ZERO),
    ("sh broken.sh | wc -l", ZERO),
    ("cat broken.sh | bash | wc -l", ZERO),
    ("echo $(bash broken.sh | wc -l)", ZERO),
    ("./calls.sh", NOTHING),
    ("grep -q TODO missing.py", FAILS),
    ("grep x no-such-file", FAILS),
    ("grep -r x no/such/dir", FAILS),
    ("test -f f && grep -q x no-such-file", FAILS),
    ("grep -q a no-such-file && grep -q b f", FAILS),
    ("grep x no-such-file | grep y", FAILS),
    ("diff f no-such-file", FAILS),
    ('test -z "$(grep -rn TODO no/such/dir)"', None),
    ('[ -z "$(cat no-such-file)" ]', None),
    ('test -z "$(git log nosuchbranch)"', None),
    ('! [ "$(sed -n 1p no-such-file)" ]', None),
    ("nosuchtool | cat", EXITS_0),
    ("! nosuchtool", EXITS_0),
    ("! grep x no-such-file", EXITS_0),
    ("sh -c 'kill -SEGV $$' | cat", EXITS_0),
    ("nosuchtool | grep x", Expect("exit", "==", 1)),
    ("make -f no-such.mk -n", NOTHING),
    ("perl -e 'die 1'", NO_ERROR_WORD),
    ("sh -c 'echo no database >&2; exit 3'", NOTHING),
]

REALLY_RAN = [
    ("grep -c x f", ZERO),
    ("grep x f", NOTHING),
    ("grep x f | wc -l", ZERO),
    ("! grep x f", NOTHING),
    ("diff f g", Expect("stdout", "contains", "a")),
    ("grep -rn TODO no/such/dir", Expect("exit", "==", 2)),
    ("grep -rn TODO no/such/dir 2>/dev/null | wc -l", ZERO),
    ("grep -rn TODO no/such/dir || true", NOTHING),
    ("nosuchtool", Expect("exit", "==", 127)),
    ("nosuchtool", Expect("exit", "in", (1, 127))),
    ("set -o pipefail; nosuchtool | cat", Expect("exit", "==", 127)),
    ("false | cat", EXITS_0),
    ("yes | head -1", EXITS_0),
    ("nosuchtool 2>/dev/null || echo absent", Expect("stdout", "==", "absent")),
    ("nosuchtool 2>/dev/null; cat f | wc -l", Expect("stdout", "==", 1)),
    ("command -v nosuchtool", NOTHING),
    ("command -v nosuchtool | wc -l", ZERO),
    ("ls no-such-file", NOTHING),
    ("cat < f > copy", NOTHING),
    ("false", FAILS),
    ("! false", None),
    (PYTHON_DIES, FAILS),
    (f"{PYTHON_DIES} 2>&1", Expect("stdout", "contains", "ValueError")),
    (PYTHON_DIES, Expect("stderr", "contains", "ValueError")),
    ("python3 -c 'print(0); raise SystemExit(3)'", ZERO),
    ("python3 -c 'for i in range(99999): print(i)' | head -1", ZERO),
    ("set -o pipefail; yes 0 | head -1", ZERO),
    ("yes 0 | head -1", ZERO),
    ("cat no-such-file 2>/dev/null | wc -l", ZERO),
    ("ls no-such-file | wc -l", ZERO),
    ("test -f no-such-file && cat no-such-file", NOTHING),
    ("false | wc -l", ZERO),
    ("nosuchtool 2>/dev/null | grep -q x || true", None),
    ("trap 'echo 0' EXIT; false | true", ZERO),
    ("timeout -s KILL 0.1 sleep 5 | wc -l", ZERO),
    ("type -P nosuchtool | cat", None),
    ("env | grep -c -e BASH_ENV -e RALPH_STAGES", ZERO),
    ("say() { echo 0; }; say | cat", ZERO),
    ("timeout -s KILL 0.1 sleep 5", NOTHING),
    ("find . -name f | xargs grep x", NOTHING),
    ("echo 0 | while read -r line; do echo $line; done", ZERO),
    ("echo 0 | { cat; }", ZERO),
    ("(echo 0) | cat", ZERO),
    ("if true; then echo 0; fi | cat", ZERO),
    ("echo 0 | $PAGER_OF_MINE cat", ZERO),
    ("./sub/run.sh | cat", ZERO),
    ("cd sub && ./run.sh | cat", ZERO),
    ("PATH=$PWD/sub:$PATH run.sh | cat", ZERO),
    ("git rev-parse --is-inside-work-tree", Expect("stdout", "contains", "true")),
    ("cat message.txt", Expect("stdout", "contains", "syntax error")),
    ("cat message.txt | wc -l", Expect("stdout", "==", 1)),
    ("cat message.txt >&2", NOTHING),
    ("cat message.txt >&2 | wc -l", ZERO),
    ("bash broken.sh", Expect("exit", "==", 2)),
    ("bash -n broken.sh", FAILS),
    ("! bash -n broken.sh", None),
    ("! ./lint.sh broken.sh", None),
    ("bash broken.sh", Expect("stderr", "contains", "syntax error")),
    ("bash broken.sh 2>&1", Expect("stdout", "contains", "syntax error")),
    ("bash broken.sh || true", NOTHING),
    ("./lint.sh broken.sh", FAILS),
    ("./lint.sh broken.sh", Expect("stdout", "contains", "1 error")),
    ("echo $((1 + 1)) | grep -c 3", ZERO),
    ("grep -q x f", FAILS),
    ("grep -q x no-such-file", Expect("exit", "==", 2)),
    ("grep -q x no-such-file", Expect("exit", "in", (1, 2))),
    ("diff f g", FAILS),
    ("git diff --no-index f g", FAILS),
    ("git log nosuchbranch", FAILS),
    ("cat no-such-file", FAILS),
    ("ls no-such-file", FAILS),
    ("sh -c 'exit 2'", FAILS),
    ("find no-such-directory", FAILS),
    ('test -z "$(grep x f)"', None),
    ('test -z "$(cat no-such-file 2>/dev/null)"', None),
    ('test -z "$(cat no-such-file || true)"', None),
    ('test "$(grep -c x f || true)" = 0', None),
    ("find . -name f | xargs grep x", FAILS),
    ("sh -c 'echo x: not installed >&2; exit 1'", NOTHING),
    ("sh -c 'exit 3'", NOTHING),
    ("sh -c 'echo no database >&2; echo 0; exit 3'", ZERO),
    ("make -f no-such.mk -n", Expect("stderr", "contains", "no-such.mk")),
]


@pytest.fixture
def files(runner: Runner) -> None:
    root = runner.root
    (root / "f").write_text("a\n")
    (root / "g").write_text("b\n")
    (root / "plain.txt").write_text("words\n")
    (root / "sub").mkdir()
    (root / "message.txt").write_text("x.sh: line 2: syntax error near unexpected token `then'\n")
    scripts = {
        "sub/run.sh": "#!/bin/sh\necho 0\n",
        "broken.sh": "#!/bin/bash\nif then\n",
        "calls.sh": "#!/bin/bash\nbash broken.sh\n",
        "lint.sh": "#!/bin/bash\nbash -n $1 || { echo 1 error; exit 1; }\n",
    }
    for name, text in scripts.items():
        script = root / name
        script.write_text(text)
        script.chmod(0o755)


def check(runner: Runner, command: str, expect: Expect | None) -> CheckResult:
    if command.startswith("git "):
        runner.run("git init -q .")
    expects = () if expect is None else (expect,)
    return run_check(Check(command, expects), runner, RunContext(root=runner.root, timeout=10))


@pytest.mark.parametrize(("command", "expect"), NEVER_RAN)
@pytest.mark.usefixtures("files")
def test_a_command_that_never_ran_fails(
    runner: Runner, command: str, expect: Expect | None
) -> None:
    assert not check(runner, command, expect).passed


@pytest.mark.parametrize(("command", "expect"), REALLY_RAN)
@pytest.mark.usefixtures("files")
def test_a_command_that_ran_is_believed(
    runner: Runner, command: str, expect: Expect | None
) -> None:
    result = check(runner, command, expect)
    assert result.passed, result.unmet


@pytest.mark.parametrize("command", ["nosuchtool | wc -l", f"{PYTHON_DIES} | wc -l"])
def test_naming_exit_0_excuses_no_stage(runner: Runner, command: str) -> None:
    both = Check(command, (EXITS_0, ZERO))
    assert not run_check(both, runner, RunContext(root=runner.root, timeout=10)).passed


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    ("command", "expect"),
    [
        ("nosuchtool --list", NOTHING),
        ("nosuchtool src | wc -l", ZERO),
        ("./plain.txt", NO_ERROR_WORD),
        ("if true; then echo", NOTHING),
    ],
)
def test_every_shell_shows_what_never_ran(
    tmp_path: Path, shell: str, command: str, expect: Expect
) -> None:
    (tmp_path / "plain.txt").write_text("words\n")
    other = Runner(root=tmp_path, environ={"PATH": "/usr/bin:/bin"}, logs=tmp_path, shell=shell)
    assert not check(other, command, expect).passed
    other.close()


@pytest.mark.parametrize(
    ("command", "expect", "got"),
    [
        ("nosuchtool", NOTHING, "nosuchtool: command not found"),
        ("./missing.sh | wc -l", ZERO, "exit status 127, not found"),
        ("sh -c 'kill -9 $$' | wc -l", ZERO, "exit status 137, killed by a signal"),
        ("cat no-such-file | wc -l", ZERO, "cat: no-such-file: No such file or directory"),
        ("nosuchtool 2>/dev/null | wc -l", ZERO, "nosuchtool: command not found"),
        ("kill -9 $$", NOTHING, "signal 9"),
        (PYTHON_DIES, NOTHING, "ValueError: 1"),
        ("grep x no-such-file", NOTHING, "exit status 2 of grep"),
        ("grep x no-such-file", FAILS, "exit status 2 of grep"),
        ("sh -c 'if then'", NOTHING, 'sh: 1: Syntax error: "then" unexpected'),
    ],
)
def test_the_reason_is_named(runner: Runner, command: str, expect: Expect, got: str) -> None:
    (unmet,) = check(runner, command, expect).unmet
    assert str(unmet) == f"the command to do its work, got {got}"


def test_a_syntax_error_is_told_from_the_output_of_a_tool(runner: Runner) -> None:
    broken = check(runner, "if true; then echo", None)
    assert broken.defect is not None
    assert broken.defect.reason == "syntax"
    assert "syntax error" in broken.defect.message

    tool = check(runner, "echo 'app.py: syntax error' >&2; exit 2", None)
    assert tool.defect is None


def test_no_record_outlives_its_command(runner: Runner) -> None:
    assert check(runner, "false | true", None).passed
    assert check(runner, 'ls "$RALPH_STAGES" | grep -c stages', None).passed
    assert check(runner, 'rm "$RALPH_STAGES" | cat', None).passed
    assert list(runner.logs.glob("*.stages")) == []
