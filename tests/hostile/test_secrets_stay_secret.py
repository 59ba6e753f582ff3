"""A secret printed by a failing command or an executor is masked wherever it is shown."""

from __future__ import annotations

import html
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.text.private_keys import MASK
from tests.hostile.test_secret_corpus import CORPUS, Secret

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "tr0ub4dor-and-3-more"
TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
OWN = "ACME-12345-67890"
SPEC = f"""\
- [ ] 1.1 Call the service
  - **Do**: Call it
  - **Verify**: `python3 -m pytest -q test_it.py`

- [ ] 1.2 Say {TOKEN}
  - **Verify**: `echo "Error: refused $SERVICE_PASSWORD {TOKEN}"; echo {OWN} >&2; test -e fixed.txt`

- [ ] 1.3 Say everything
  - **Verify**: `cat corpus.txt; test -e fixed-3.txt`
"""
TEST = """\
import os
def test_it():
    print(os.environ["SERVICE_PASSWORD"])
    assert os.environ["SERVICE_PASSWORD"] == "x", "refused " + os.environ["SERVICE_PASSWORD"]
"""
EXECUTOR = f"""\
import os, sys
from pathlib import Path
with open("seen.txt", "a") as seen:
    seen.write(sys.stdin.read())
print("Using", os.environ["SERVICE_PASSWORD"])
print("Approach: send", os.environ["SERVICE_PASSWORD"], "{TOKEN}")
print("and {OWN}", file=sys.stderr)
if os.environ["RALPH_FIX_FOR"] == "1.2":
    Path("fixed.txt").touch()
elif os.environ["RALPH_FIX_FOR"] == "1.3":
    print(Path("corpus.txt").read_text(encoding="utf-8"))
    Path("fixed-3.txt").write_text("fixed")
else:
    print("Task 1.1.1: x FAILED\\n- Error: refused " + os.environ["SERVICE_PASSWORD"])
    sys.exit(1)
"""
HOOK = """\
#!/bin/sh
# Only the first commit is refused.
test -e .git/refused && exit 0
touch .git/refused
echo "refused $SERVICE_PASSWORD" >&2
exit 1
"""
SOURCES = {"test_it.py", "executor.py", "tasks.md"}


def spoken() -> dict[str, Secret]:
    """The corpus, where each variable has a name and each text can be told from the others."""
    secrets = {}
    for number, (name, secret) in enumerate(CORPUS.items()):
        environ = {}
        for value in secret.environ.values():
            environ[f"SECRET_TOKEN_{number}"] = value
        secrets[name] = secret._replace(environ=environ)
    return secrets


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("secrets")
    (root / "specs" / "demo").mkdir(parents=True)
    (root / "specs" / "demo" / "tasks.md").write_text(SPEC)
    (root / "test_it.py").write_text(TEST)
    (root / "executor.py").write_text(EXECUTOR)
    (root / "pytest.ini").write_text("[pytest]\nralph_secrets = ACME-\\d+-\\d+\n")
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "RALPH", "GITHUB"))
    }
    corpus = spoken()
    (root / "corpus.txt").write_text("\n".join(one.text for one in corpus.values()), "utf-8")
    for secret in corpus.values():
        environ |= secret.environ
    environ |= {
        "SERVICE_PASSWORD": SECRET,
        "GITHUB_ACTIONS": "true",
        "GIT_AUTHOR_NAME": "A User",
        "GIT_AUTHOR_EMAIL": "user@example.org",
        "GIT_COMMITTER_NAME": "A User",
        "GIT_COMMITTER_EMAIL": "user@example.org",
        "GITHUB_STEP_SUMMARY": str(root / "summary.md"),
    }
    subprocess.run(["git", "init", "-q", "--template="], cwd=root, check=True)
    (root / ".gitignore").write_text("seen.txt\nsummary.md\nstdout\n")
    (root / ".git/hooks").mkdir()
    (root / ".git/hooks/pre-commit").write_text(HOOK)
    (root / ".git/hooks/pre-commit").chmod(0o755)
    with (root / "stdout").open("wb") as stdout:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-vv",
                "-rA",
                "-p",
                "no:cacheprovider",
                "--ralph-recovery",
                "--ralph-executor",
                shlex.join([sys.executable, "executor.py", SECRET, TOKEN]),
                "--ralph-max-depth",
                "1",
                "--ralph-keep-going",
                "--ralph-commit=auto",
                "--junitxml",
                "junit.xml",
                "--ralph-report",
                "report.html",
                "specs/demo",
            ],
            cwd=root,
            env=environ,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            check=False,
        )
    with (root / "commits.txt").open("wb") as commits:
        subprocess.run(["git", "log", "-p", "--all"], cwd=root, stdout=commits, check=True)
    return root


def places(project: Path) -> dict[str, Path]:
    return {
        path.relative_to(project).as_posix(): path
        for path in project.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and ".git" not in path.parts
    }


@pytest.mark.parametrize("secret", [SECRET, TOKEN, OWN])
def test_no_file_that_the_run_wrote_holds_a_secret(project: Path, secret: str) -> None:
    found = [name for name, path in places(project).items() if secret.encode() in path.read_bytes()]
    # What a person wrote down in the first place is theirs; a fix task takes over the Verify of its
    # original, the progress beside the plan the title. The commits hold both.
    assert {name.rpartition("/")[2] for name in found} <= SOURCES | {"commits.txt", ".progress.md"}
    assert SECRET not in (project / "specs" / "demo" / "tasks.md").read_text()


def test_no_secret_of_the_corpus_is_written(project: Path) -> None:
    written = {
        # The plan has a token of its own, which its author wrote.
        name: path.read_text(encoding="utf-8", errors="replace").replace(TOKEN, "")
        for name, path in places(project).items()
        if name not in SOURCES - {"commits.txt"} | {"corpus.txt"}
        and not name.startswith(".ralph/backups/")
    }
    found = []
    for name, secret in spoken().items():
        for spelling in {secret.part, html.escape(secret.part), repr(secret.part)[1:-1]}:
            found += [(name, file) for file, text in written.items() if spelling in text]
    assert found == []


def test_the_run_did_write_what_is_looked_at(project: Path) -> None:
    names = set(places(project))
    told = (project / "stdout").read_text(encoding="utf-8")
    assert "1 failed, 2 recovered" in told, told
    assert f"no commit for 1.2: git refused the commit: refused {MASK}" in told
    assert "feat(demo): Say everything" in (project / "commits.txt").read_text(encoding="utf-8")
    assert {"junit.xml", "report.html", "seen.txt", "summary.md", ".ralph/history.db"} <= names
    logs = [name for name in names if name.startswith(".ralph/logs/")]
    assert len([name for name in logs if name.endswith(".log")]) >= 4
    assert [name for name in logs if name.endswith(".junit")]


@pytest.mark.parametrize("name", ["stdout", "junit.xml", "report.html", "seen.txt", "summary.md"])
def test_what_stands_in_its_place_says_that_something_was_there(project: Path, name: str) -> None:
    assert f"refused {MASK}" in (project / name).read_text(encoding="utf-8")
