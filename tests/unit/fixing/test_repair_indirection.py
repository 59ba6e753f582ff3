"""The program calls behind a Verify command, seen through scripts and task runners."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.repairs.indirection import Step, steps
from pytest_ralph.fixing.repairs.task_runners import RUNNERS

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = """\
PY ?= .venv/bin/python
.PHONY: ci lint
ci: lint
\t@$(PY) -m pytest -q
lint: ; @true
lint-all: lint-py \\
  lint-js
lint-py:
\t@$(PY) -m black --check src
\t-ruff check $(DIRS)
lint-js:
\tcd web && npm run lint
loop: loop
\techo again
"""
PACKAGE = {
    "scripts": {
        "lint": "eslint src --max-warnings=0",
        "check": "npm run lint && prettier --check .",
        "fmt": "prettier -c src",
        "deep": "npm run deep",
        "test": "jest",
    }
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "web").mkdir()
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "web/package.json").write_text(json.dumps(PACKAGE))
    return tmp_path.resolve()


NPX = "npx --no-install"


def words_of(step: Step) -> str:
    return " ".join([step.program, *(word.text for word in step.arguments)])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("black --check .", ["black --check ."]),
        ("python -m black --check .", ["python -m | black --check ."]),
        (".venv/bin/python3 -m isort -c .", [".venv/bin/python3 -m | isort -c ."]),
        ("uv run --group dev ruff check .", ["uv run --no-sync | ruff check ."]),
        ("poetry run python -m black .", ["poetry run python -m | black ."]),
        ("npx prettier@3 --check .", [f"{NPX} | prettier@3 --check ."]),
        ("npx -y -p typescript tsc --noEmit", [f"{NPX} | tsc --noEmit"]),
        ("pnpm exec eslint .", ["pnpm exec | eslint ."]),
        ("yarn eslint .", ["yarn run | eslint ."]),
        ("bundle exec rubocop", ["bundle exec | rubocop"]),
        ("timeout 60 env A=1 black .", ["black ."]),
        ("git ls-files '*.sh' | xargs -n 10 shfmt -d", ["git ls-files *.sh", "shfmt -d"]),
        ("find . -name '*.c' -exec clang-format -n {} +", ["clang-format -n {} +"]),
        ("bash -c 'black . && isort .'", ["black .", "isort ."]),
        ('test -z "$(gofmt -l .)"', ["gofmt -l .", "test -z $(gofmt -l .)"]),
        ("cd web && npm run lint", [f"web: {NPX} | eslint src --max-warnings=0"]),
        (
            "npm --prefix web run check",
            [f"web: {NPX} | eslint src --max-warnings=0", f"web: {NPX} | prettier --check ."],
        ),
        ("cd web && pnpm fmt", ["web: pnpm exec | prettier -c src"]),
        ("cd web && yarn test", ["web: yarn run | jest"]),
        ("cd web && npm run deep", []),
        ("cd web && npm run nope", ["web: npm run nope"]),
        ("make ci", [".venv/bin/python -m | pytest -q"]),
        (
            "make lint-all",
            [
                ".venv/bin/python -m | black --check src",
                "ruff check $DIRS",
                f"web: {NPX} | eslint src --max-warnings=0",
            ],
        ),
        ("make loop", ["echo again"]),
        ("make -C web all", ["make -C web all"]),
        ("npm --prefix nowhere run lint", ["npm --prefix nowhere run lint"]),
        ("npm --prefix /tmp run lint", ["npm --prefix /tmp run lint"]),
        ("make -C nowhere all", ["make -C nowhere all"]),
        ("npm version", ["npm version"]),
        ("nice -n 5 -- black .", ["black ."]),
        ("uv run $TOOL", []),
        ("cd nowhere && black .", []),
        ("cd /tmp && black .", []),
        ("cd .. && black .", []),
        ("cd $HOME && black .", []),
        ("$TOOL --check .", []),
    ],
)
def test_the_programs_behind_a_command_are_found(
    root: Path, command: str, expected: list[str]
) -> None:
    found = []
    called = steps(command, root)
    for step in called:
        # Behind the calls that a runner makes stands its own.
        if step.name in RUNNERS and len(called) > 1:
            continue
        launched = f"{' '.join(step.launcher)} | " if step.launcher else ""
        place = "" if step.directory == root else f"{step.directory.relative_to(root)}: "
        found.append(
            f"{place}{launched}{' '.join([step.program, *(word.text for word in step.arguments)])}"
        )
    assert found == expected


def test_no_more_calls_are_followed_than_anybody_writes(root: Path) -> None:
    assert len(steps("black .; " * 10_000, root)) < 1_000


def test_an_activated_environment_and_variables_are_remembered(root: Path) -> None:
    (step,) = steps("source .venv/bin/activate && CI=1 X=$Y pytest -q", root)
    assert step.activated == root / ".venv/bin"
    assert step.env == (("CI", "1"),)


def test_a_link_out_of_the_project_is_refused(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (root / "out").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    assert steps("cd out && black .", root) == ()


FILES = {
    "justfile": "default: lint\n\nlint: fmt\n    @ruff check src\n\nfmt:\n    black --check src\n",
    "Taskfile.yml": "tasks:\n  lint:\n    deps: [fmt]\n    cmds:\n      - ruff check src\n"
    "      - task: types\n  fmt: black --check src\n  types:\n    cmd: mypy src\n",
    "pyproject.toml": '[tool.poe.tasks]\nlint = "ruff check src"\nall = ["lint", "fmt"]\n'
    'fmt.shell = "black --check src"\n[tool.tox.env.types]\ncommands = [["mypy", "src"]]\n',
    ".pre-commit-config.yaml": "repos:\n- repo: x\n  hooks:\n  - id: ruff\n    args: [--fix]\n"
    "- repo: local\n  hooks:\n  - id: own\n    entry: black --check\n",
    "tox.ini": "[testenv]\ncommands = pytest\n[testenv:lint]\ncommands =\n    ruff check src\n",
    "noxfile.py": "import nox\n\n@nox.session\ndef lint(session):\n"
    "    session.install('ruff')\n    session.run('ruff', 'check', 'src')\n",
    "tasks.py": "from invoke import task\n\n@task\ndef lint(c):\n    c.run('ruff check src')\n",
    "package.json": json.dumps({"workspaces": ["packages/*"]}),
    "packages/a/package.json": json.dumps({"scripts": {"lint": "eslint ."}}),
    "lint.sh": "set -e\nruff check src\n",
    "scripts/check": "#!/usr/bin/env bash\ncd src && ruff check .\n",
}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("just", ["black --check src", "ruff check src"]),
        ("just fmt", ["black --check src"]),
        ("task lint", ["black --check src", "ruff check src", "mypy src"]),
        ("poe lint", ["ruff check src"]),
        ("uv run poe all", ["ruff check src", "black --check src"]),
        ("pre-commit run --all-files", ["ruff check --fix", "black --check"]),
        ("pre-commit run own", ["black --check"]),
        ("tox -e lint", ["tox exec -q -e lint -- ruff check src"]),
        ("tox -e types", ["tox exec -q -e types -- mypy src"]),
        ("nox -s lint", ["ruff check src"]),
        ("inv lint", ["ruff check src"]),
        ("npx turbo run lint", ["packages/a: npx --no-install eslint ."]),
        ("./lint.sh", ["ruff check src"]),
        ("bash -e lint.sh", ["ruff check src"]),
        ("scripts/check", ["src: ruff check ."]),
    ],
)
def test_task_runners_are_looked_through(tmp_path: Path, command: str, expected: list[str]) -> None:
    root = tmp_path.resolve()
    (root / "src").mkdir()
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    found = []
    for step in steps(command, root):
        # The runner itself is a step, too.
        if step.fix_mode is None and step.name != "mypy":
            continue
        where = step.directory.relative_to(root).as_posix()
        call = " ".join([*step.launcher, words_of(step)])
        found.append(call if where == "." else f"{where}: {call}")
    assert [call.removeprefix("uv run ") for call in found] == expected


def test_turbo_works_without_workspaces(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "package.json").write_text(json.dumps({"scripts": {"lint": "eslint ."}}))

    assert "eslint" in [step.name for step in steps("turbo lint", root)]


def test_a_script_outside_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "lint.sh").write_text("ruff check src\n")
    root = tmp_path / "project"
    root.mkdir()
    names = [step.name for step in steps("../lint.sh", root.resolve())]
    assert names == ["lint.sh"]


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("package.json", '{"scripts": {"lint": null}}', "turbo lint"),
        (".pre-commit-config.yaml", "repos: 5\n", "pre-commit run"),
        (".pre-commit-config.yaml", "repos:\n- hooks: 5\n", "pre-commit run"),
        ("Taskfile.yml", "tasks:\n  lint: &a {cmds: [*a]}\n", "task lint"),
    ],
)
def test_a_file_of_unknown_shape_has_no_tasks(
    tmp_path: Path, name: str, text: str, command: str
) -> None:
    (tmp_path / name).write_text(text)

    assert [step.name for step in steps(command, tmp_path.resolve())] == command.split()[:1]


@pytest.mark.parametrize("command", ["npm ci", "pnpm install", "yarn", "bun i", "turbo"])
def test_a_call_without_a_task_runs_no_script(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"fmt": "prettier --check ."}}')

    assert [step.name for step in steps(command, tmp_path.resolve())] == command.split()[:1]
