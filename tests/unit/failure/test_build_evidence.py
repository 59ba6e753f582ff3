"""Only a compiler, loader or parser that names a place in the project shows a broken build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.build_evidence import shows_broken_build

if TYPE_CHECKING:
    from pathlib import Path

DIAGNOSTICS = [
    ("sh build.sh", 'build.sh: 1: Syntax error: "(" unexpected'),
    ("bash build.sh", "build.sh: line 3: syntax error near unexpected token `('"),
    ("python a.py", '  File "a.py", line 1\n    print("x"\nSyntaxError: \'(\' was never closed'),
    ("gcc -c a.c", "a.c:3:5: error: expected ';' before 'return'"),
    ("npx tsc", "src/a.ts(3,5): error TS1005: ';' expected."),
    ("node a.js", "Error: Cannot find module './lib/db'\nRequire stack:\n- /project/a.js"),
]
SYNTAX_ERROR = '  File "a.py", line 1\n    print("x"\nSyntaxError: never closed'
WORDS = [
    ("cd docs && cat notes.txt && false", SYNTAX_ERROR),
    ("set -e; cat notes.txt | tail -5; exit 1", SYNTAX_ERROR),
    ("git log -3; exit 1", SYNTAX_ERROR),
    ("gh run view --log", SYNTAX_ERROR),
    ("docker logs web; exit 1", SYNTAX_ERROR),
    ("cat notes.txt && grep -q fixed notes.txt", "build error: syntax error in a.py, line 3"),
    ("tail build.log", 'build.sh: 1: Syntax error: "(" unexpected'),
    ("grep -c done notes.txt", "compilation error: a.c:3:5"),
    ("sh check.sh", "build error: compilation error, module not found"),
    ("python check.py", "SyntaxError is explained in a.py"),
    ("python check.py", '  File "/usr/lib/python3/x.py", line 1\nSyntaxError: invalid syntax'),
    ("python a.py", 'Traceback:\n  File "a.py", line 3, in <module>\nValueError: no number'),
    ("pytest -q", "FAILED test_a.py::test_x - AssertionError: syntax error\n1 failed in 0.1s"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("build.sh", "a.py", "a.c", "a.js", "src/a.ts", "notes.txt", "test_a.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(("command", "output"), DIAGNOSTICS)
def test_diagnostic_of_own_file_is_evidence(root: Path, command: str, output: str) -> None:
    failure = classify(output, 2, command, root=root)

    assert shows_broken_build(failure, root)


@pytest.mark.parametrize(("command", "output"), WORDS)
def test_words_are_no_evidence(root: Path, command: str, output: str) -> None:
    failure = classify(output, 1, command, root=root)

    assert not shows_broken_build(failure, root)
