"""Which commands need a shell, shown against a real one."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from pytest_ralph.running.spawn import direct_argv, find_shell, is_plain, shell_argv

PLAIN = [
    "true",
    "false",
    "pytest -q tests/unit",
    "npm run build --silent",
    "go test ./...",
    "cargo test --features=a,b",
    "python3 -m mypy --strict src",
    "./gradlew test",
    "docker compose -f a.yml up -d",
    "git diff --stat HEAD@1",
    "make -j2 VERBOSE=1",
]
FOR_THE_SHELL = [
    "",
    " true",
    "true ",
    "true --help",
    "a\nb",
    "a && b",
    "a; b",
    "a | b",
    "a &",
    "a > b",
    "a 2>&1",
    "a < b",
    "echo hi",
    "echo $HOME",
    "echo `date`",
    "ls *.py",
    "ls ?",
    "ls [ab]",
    "ls ~",
    "ls {a,b}",
    "grep 'a b' c",
    'grep "a" c',
    "a \\b",
    "# comment",
    "! true",
    "A=1 env",
    "PATH=x",
    "test -f x",
    "[ -f x ]",
    "cd x",
    "export A=1",
    "exit 3",
    "if true",
    "time ls",
    ". ./x",
    ": x",
    "source x",
    "pwd",
    "kill 1",
    "printf x",
    "wait",
    "%1",
    "-x",
    "a\tb",
    "caf\u00e9",
    "a ^b",
    "a=b",
]


@pytest.mark.parametrize("command", PLAIN)
def test_plain_words_need_no_shell(command: str) -> None:
    assert is_plain(command)
    assert direct_argv(command, {"PATH": "/bin"}) == command.split()


@pytest.mark.parametrize("command", FOR_THE_SHELL)
def test_anything_a_shell_gives_a_meaning_to_is_left_to_it(command: str) -> None:
    assert not is_plain(command)


def test_every_builtin_and_reserved_word_of_the_shells_here_is_left_to_them() -> None:
    listing = subprocess.run(
        ["bash", "-c", "compgen -b; compgen -k"], capture_output=True, text=True, check=True
    )
    direct = {word for word in listing.stdout.split() if is_plain(word)}
    assert direct <= {"true", "false"}


@pytest.mark.parametrize(
    "argument",
    ["a=b", "--x=y,z", "a:b@c%d+e", "HEAD@1", "./...", "a//b", "-", "--", "%x", "+x", "=x", "@x"],
)
def test_the_shell_would_pass_the_same_words(argument: str) -> None:
    for shell in filter(shutil.which, ("bash", "dash", "ksh")):
        passed = subprocess.run(
            [shell, "-c", f"/usr/bin/env printf %s {argument}"], capture_output=True, check=True
        )
        assert passed.stdout.decode() == argument


@pytest.mark.parametrize(
    "environ",
    [
        {"PATH": "/bin", "BASH_ENV": "setup.sh"},
        {"PATH": "/bin", "BASH_FUNC_ls%%": "() { :; }"},
        {"PATH": ""},
        {},
    ],
)
def test_an_environment_that_changes_the_shell_needs_the_shell(environ: dict[str, str]) -> None:
    assert direct_argv("ls -l", environ) is None


def test_a_command_that_looks_like_an_option_is_still_a_command() -> None:
    done = subprocess.run(
        shell_argv("bash", "-x; echo on"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "on\n")


def test_bash_is_preferred_and_a_wanted_shell_is_taken() -> None:
    assert find_shell(None, os.environ) == shutil.which("bash")
    assert find_shell("sh", os.environ) == shutil.which("sh")
    assert find_shell("/no/such/shell", os.environ) is None
    assert find_shell(None, {"PATH": "/nowhere"}) == "/bin/sh"
