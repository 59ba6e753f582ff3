from __future__ import annotations

import pytest

from pytest_ralph.shell.steps import read_steps


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("pytest -q", ["pytest"]),
        ("python -m pytest -q", ["pytest"]),
        ("python3.11 -m mypy src", ["mypy"]),
        ("npx --no-install playwright test", ["playwright"]),
        ("poetry run ruff check .", ["ruff check"]),
        ("uv run --frozen pytest", ["pytest"]),
        ("FOO=1 BAR=2 cargo test --lib", ["cargo test"]),
        ("timeout -s KILL 5 go vet ./...", ["go vet"]),
        ("sudo env A=b make -j4", ["make"]),
        ("sudo -u app -- make check", ["make"]),
        ("nice -n 5 npm test", ["npm test"]),
        ("env -C web npm test", ["npm test"]),
        ("timeout --signal KILL --kill-after 3 5 npm test", ["npm test"]),
        ("uv run --with x --package y pytest", ["pytest"]),
        ("cd web && npm ci && npx tsc -p .", ["cd", "npm ci", "tsc"]),
        ("a.sh; b.sh | tail -3", ["a.sh", "b.sh", "tail"]),
        ('bash -c "ruff check . && mypy ."', ["ruff check", "mypy"]),
        ("./node_modules/.bin/eslint .", ["eslint"]),
        ("php vendor/bin/phpunit tests", ["phpunit"]),
        ("python manage.py test", ["manage.py test"]),
        ("command -v docker", ["command"]),
        ("grep -q x < in.txt > out.txt 2>&1", ["grep"]),
        ("! grep -rn TODO src", ["grep"]),
        ("node --check a.js", ["node --check"]),
        ("", []),
        ("# nothing", ["#"]),
        ("echo 'unclosed", ["echo"]),
    ],
)
def test_the_tool_a_command_line_really_runs(command: str, names: list[str]) -> None:
    assert [step.name for step in read_steps(command)] == names


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("npx jest", "test"),
        ("flake8 .", "lint"),
        ("mypy .", "types"),
        ("black --check .", "format"),
        ("cargo build", "build"),
        ("cargo clippy", "lint"),
        ("cargo fmt --check", "format"),
        ("pip install x", "install"),
        ("test -f a", "check"),
        ("jq . a.json", "data"),
        ("curl -s x", "net"),
        ("psql -c 'select 1'", "database"),
        ("git push", "versions"),
        ("terraform apply", "operations"),
        ("python app.py", "run"),
        ("frobnicate", ""),
    ],
)
def test_the_role_of_a_tool(command: str, role: str) -> None:
    assert read_steps(command)[0].role == role
