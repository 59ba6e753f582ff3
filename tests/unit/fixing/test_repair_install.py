"""Install: only what the project declares, by its own installer, for the command that failed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.fixing.repairs import find_repair
from pytest_ralph.fixing.snapshot import Snapshots
from pytest_ralph.running.runner import Runner


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def tools(directory: Path, *names: str) -> dict[str, str]:
    """A PATH on which only these programs are, each of them doing nothing."""
    directory.mkdir()
    for name in names:
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
    return {"PATH": str(directory)}


def found(
    root: Path,
    command: str,
    missing: str,
    environ: dict[str, str],
    kind: str = "dependency_missing",
) -> str | None:
    failure = Failure(kind=kind, command=command, exit_code=1, missing=missing)
    repair = find_repair(failure, root, ["install"], environ=environ)
    if repair is None:
        return None
    where = repair.directory.relative_to(root.resolve()).as_posix()
    text = " ".join(Path(word).name if word.startswith("/") else word for word in repair.argv)
    return text if where == "." else f"{where}: {text}"


PIP = "python -m pip install --disable-pip-version-check --no-input"
PYPROJECT = """\
[project]
name = "x"
dependencies = ["PyYAML>=6", "google-cloud-storage"]
[project.optional-dependencies]
docs = ["sphinx"]
[dependency-groups]
dev = ["pytest-asyncio", {include-group = "lint"}]
lint = ["ruff>=0.4; python_version > '3'"]
"""
POETRY = """\
[tool.poetry.dependencies]
python = "^3.10"
requests = "^2"
[tool.poetry.group.test.dependencies]
freezegun = "*"
"""
SELF = """\
[project]
name = "The.Project"
[project.optional-dependencies]
test = ["pytest"]
dev = ["the-project[test]", "pytest-mock"]
"""
SETUP = (
    "from x import setup\nsetup(install_requires=['attrs>=20'], extras_require={'t': ['boto3']}, "
    "version=v())\n"
)


@pytest.mark.parametrize(
    ("files", "command", "missing", "expected"),
    [
        (
            {"requirements.txt": "# c\npandas==2.1 # why\n"},
            "pytest",
            "pandas",
            f"{PIP} -r requirements.txt",
        ),
        ({"requirements.txt": "pandas\n"}, "pytest", "pandas.core", f"{PIP} -r requirements.txt"),
        ({"requirements.txt": "pandas\n"}, "pytest", "panda", None),
        ({"requirements.txt": "# pandas\n-e .\n"}, "pytest", "pandas", None),
        (
            {"requirements-dev.txt": "-r base.txt\n", "base.txt": "Scikit_Learn\n"},
            "pytest",
            "sklearn",
            f"{PIP} -r requirements-dev.txt",
        ),
        ({"pyproject.toml": PYPROJECT}, "pytest", "yaml", f"{PIP} PyYAML>=6 google-cloud-storage"),
        (
            {"pyproject.toml": PYPROJECT},
            "pytest",
            "google.cloud.storage",
            f"{PIP} PyYAML>=6 google-cloud-storage",
        ),
        (
            {"pyproject.toml": PYPROJECT},
            "sphinx-build -b html d o",
            "sphinx-build",
            f"{PIP} sphinx",
        ),
        (
            {"pyproject.toml": PYPROJECT},
            "ruff check .",
            "ruff",
            f"{PIP} ruff>=0.4; python_version > '3'",
        ),
        ({"pyproject.toml": PYPROJECT}, "pytest", "requests", None),
        ({"pyproject.toml": PYPROJECT}, "uv run pytest", "yaml", "uv sync --inexact"),
        ({"pyproject.toml": PYPROJECT}, "uv run pytest", "ruff", "uv sync --inexact --group lint"),
        (
            {"pyproject.toml": PYPROJECT},
            "uv run pytest",
            "sphinx",
            "uv sync --inexact --extra docs",
        ),
        ({"pyproject.toml": PYPROJECT}, "uv run pytest", "requests", None),
        (
            {"pyproject.toml": POETRY},
            "poetry run pytest",
            "freezegun",
            "poetry install --no-interaction --with test",
        ),
        ({"pyproject.toml": POETRY}, "pytest", "requests", None),
        ({"pyproject.toml": PYPROJECT}, "pdm run pytest", "sphinx", "pdm install -G docs"),
        ({"requirements.txt": "pandas\n"}, "tox -e py", "pandas", None),
        # An index may have another project of the same name.
        ({"pyproject.toml": SELF}, "pytest", "pytest_mock", f"{PIP} pytest-mock"),
        (
            {"api/requirements.txt": "flask\n"},
            "cd api && pytest",
            "flask",
            f"api: {PIP} -r requirements.txt",
        ),
        (
            {"api/x.py": "", "requirements.txt": "flask\n"},
            "cd api && pytest",
            "flask",
            f"{PIP} -r requirements.txt",
        ),
        ({"pyproject.toml": "not = [toml"}, "pytest", "yaml", None),
        ({"requirements.txt": "--index-url http://x\n"}, "pytest", "--index-url", None),
    ],
)
def test_a_python_package_is_installed_only_from_its_declaration(
    tmp_path: Path, files: dict[str, str], command: str, missing: str, expected: str | None
) -> None:
    root = tmp_path / "project"
    write(root, files)
    environ = tools(tmp_path / "bin", "python", "uv", "poetry", "pdm", "tox")
    assert found(root, command, missing, environ) == expected


PACKAGE = json.dumps(
    {
        "dependencies": {"commander": "^12", "@scope/pkg": "1"},
        "devDependencies": {"typescript": "5", "eslint": "9"},
    }
)
NPM = "npm install --no-save --no-audit --no-fund"


@pytest.mark.parametrize(
    ("files", "command", "missing", "expected"),
    [
        ({"package-lock.json": "{}"}, "node cli.mjs", "commander", NPM),
        ({}, "node cli.mjs", "commander", "npm install --no-package-lock --no-audit --no-fund"),
        (
            {"pnpm-lock.yaml": ""},
            "node x",
            "@scope/pkg/deep/file",
            "pnpm install --frozen-lockfile",
        ),
        ({"yarn.lock": ""}, "npx tsc", "tsc", "yarn install --frozen-lockfile --non-interactive"),
        ({"yarn.lock": "", ".yarnrc.yml": ""}, "npx tsc", "tsc", "yarn install --immutable"),
        ({"bun.lock": ""}, "bun test", "commander", "bun install --frozen-lockfile"),
        ({"package-lock.json": "{}"}, "npm run lint", "eslint", NPM),
        ({}, "node x", "left-pad", None),
        ({}, "node x", "left-pad@^99.0.0", None),
        ({}, "node x", "./commander", None),
        ({}, "node x", "node:commander", None),
        ({}, "node x", "@scope/other", None),
        (
            {
                "package-lock.json": "{}",
                "packages/a/package.json": '{"dependencies": {"axios": "1"}}',
            },
            "cd packages/a && npx jest",
            "axios",
            NPM,
        ),
    ],
)
def test_the_lock_file_selects_the_node_manager(
    tmp_path: Path, files: dict[str, str], command: str, missing: str, expected: str | None
) -> None:
    root = tmp_path / "project"
    write(root, {"package.json": PACKAGE, **files})
    environ = tools(tmp_path / "bin", "npm", "pnpm", "yarn", "bun", "python")
    assert found(root, command, missing, environ) == expected


def test_an_undeclared_package_is_never_installed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, {"requirements.txt": "pandas\n", "package.json": PACKAGE})
    environ = tools(tmp_path / "bin", "python", "npm")
    for missing in (
        "evil",
        "pandas; evil",
        "pandas evil",
        "-r http://x",
        "../evil",
        "pandas\nevil",
        "x" * 10_000,
        "",
    ):
        assert found(root, "pytest", missing, environ) is None
    assert found(root, "pytest", "pandas", environ, kind="test_failure") is None


def make_wheel(directory: Path) -> None:
    info = "ralph_demo_pkg-1.0.dist-info"
    files = {
        "ralph_demo_mod.py": "ANSWER = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: ralph-demo-pkg\nVersion: 1.0\n",
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{info}/RECORD": "",
    }
    directory.mkdir(parents=True)
    with zipfile.ZipFile(directory / "ralph_demo_pkg-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


def apply(root: Path, failure: Failure, environ: dict[str, str]) -> str:
    repair = find_repair(failure, root, ["install"], environ=environ)
    assert repair is not None
    runner = Runner(root=root, environ=environ, logs=root / ".ralph/logs")
    try:
        result = repair.apply(runner, Snapshots(root, root / ".ralph/backup/1"), list)
    finally:
        runner.close()
    assert result.made, result.note
    assert repair.how_to_undo(result).startswith("packages stay installed")
    return result.note


def test_a_python_package_is_really_installed(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    make_wheel(root / "wheels")
    write(root, {"requirements.txt": "--no-index\n--find-links wheels\nralph-demo-pkg\n"})
    subprocess.run([sys.executable, "-m", "venv", root / ".venv"], check=True)
    command = ".venv/bin/python -c 'import ralph_demo_pkg'"
    failure = Failure(
        kind="dependency_missing", command=command, exit_code=1, missing="ralph_demo_pkg"
    )
    apply(root, failure, dict(os.environ))
    subprocess.run([root / ".venv/bin/python", "-c", "import ralph_demo_mod"], check=True)
    outer = subprocess.run(
        [sys.executable, "-c", "import ralph_demo_mod"], check=False, capture_output=True
    )
    assert outer.returncode == 1


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_a_node_package_is_really_installed(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    write(
        root,
        {
            "package.json": json.dumps(
                {"name": "x", "dependencies": {"demo-pkg": "file:vendor/demo"}}
            ),
            "vendor/demo/package.json": json.dumps(
                {"name": "demo-pkg", "version": "1.0.0", "main": "i.js"}
            ),
            "vendor/demo/i.js": "module.exports = 42\n",
        },
    )
    failure = Failure(
        kind="dependency_missing",
        command="node -e \"require('demo-pkg')\"",
        exit_code=1,
        missing="demo-pkg",
    )
    assert (
        apply(root, failure, dict(os.environ)) == "demo-pkg is declared in package.json: installed"
    )
    subprocess.run(["node", "-e", "require('demo-pkg')"], cwd=root, check=True)
    assert not (root / "package-lock.json").exists()


def interpreter_of(root: Path, command: str, environ: dict[str, str]) -> str:
    failure = Failure(kind="dependency_missing", command=command, exit_code=1, missing="pandas")
    repair = find_repair(failure, root, ["install"], environ=environ)
    assert repair is not None
    return repair.argv[0]


def test_the_interpreter_of_the_command_is_used(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    write(root, {"requirements.txt": "pandas\n"})
    environ = tools(tmp_path / "bin", "python")
    for home in (root / ".venv/bin", root / "env/bin"):
        write(home, {"python": "#!/bin/sh\n", "pytest": f"#!{home}/python\n"})
        for name in ("python", "pytest"):
            (home / name).chmod(0o755)
    assert interpreter_of(root, "pytest -q", environ) == str(tmp_path / "bin/python")
    assert interpreter_of(root, ".venv/bin/python -m pytest", environ) == str(
        root / ".venv/bin/python"
    )
    assert interpreter_of(root, "env/bin/pytest -q", environ) == str(root / "env/bin/python")
    assert interpreter_of(root, ". env/bin/activate && pytest", environ) == str(
        root / "env/bin/python"
    )


def test_uv_installs_where_pip_is_missing(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    write(
        root,
        {"requirements.txt": "pandas\n", ".venv/bin/python": "#!/bin/sh\n", ".venv/pyvenv.cfg": ""},
    )
    (root / ".venv/bin/python").chmod(0o755)
    assert interpreter_of(root, ".venv/bin/python -m pytest", tools(tmp_path / "bin", "uv")) == "uv"
    assert found(root, ".venv/bin/python -m pytest", "pandas", {"PATH": ""}) is None


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo 'ERROR: No matching distribution'; echo 'see the log'; exit 1",
            "ERROR: No matching distribution",
        ),
        ("echo 'one'; echo 'no more to say'; exit 2", "no more to say"),
        ("exit 3", "no output"),
    ],
)
def test_a_failing_installer_is_quoted(tmp_path: Path, script: str, why: str) -> None:
    root = tmp_path / "project"
    write(root, {"package.json": '{"dependencies": {"left-pad": "1"}}'})
    environ = tools(tmp_path / "bin", "npm")
    (tmp_path / "bin/npm").write_text(f"#!/bin/sh\n{script}\n")
    failure = Failure(
        kind="dependency_missing", command="node a.js", exit_code=1, missing="left-pad"
    )
    repair = find_repair(failure, root, ["install"], environ=environ)
    assert repair is not None
    path = f"{environ['PATH']}:{os.environ['PATH']}"
    with closing(Runner(root=root, environ={"PATH": path}, logs=root / ".ralph/logs")) as runner:
        result = repair.apply(runner, Snapshots(root, tmp_path / "backup"), list)
    assert not result.made
    assert result.note.endswith(f" failed: {why}")


OWN = {"pyproject.toml": '[project]\nname = "shop"\n', "src/shop/__init__.py": ""}


@pytest.mark.parametrize(
    ("files", "command", "missing", "expected"),
    [
        (OWN, "pytest", "shop", f"{PIP} -e ."),
        ({"setup.py": SETUP, "shop/__init__.py": ""}, "pytest", "shop", f"{PIP} -e ."),
        (OWN, "uv run pytest", "shop", "uv sync --inexact"),
        (OWN, "pytest", "shop.cart", None),
        ({"src/shop/__init__.py": ""}, "pytest", "shop", None),
    ],
)
def test_the_own_package_is_installed(
    tmp_path: Path, files: dict[str, str], command: str, missing: str, expected: str | None
) -> None:
    root = tmp_path / "project"
    write(root, files)
    environ = tools(tmp_path / "bin", "python", "uv")

    assert found(root, command, missing, environ) == expected


def test_composer_installs_the_autoloader(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    write(root, {"composer.json": "{}", "tests/run.php": "<?php\n"})
    output = (
        "PHP Fatal error:  Uncaught Error: Failed opening required "
        "'/app/tests/../vendor/autoload.php' (include_path='.')"
    )
    failure = Failure(kind="unknown", command="php tests/run.php", raw_output=output)

    repair = find_repair(failure, root, ["install"], environ=tools(tmp_path / "bin", "composer"))

    assert repair is not None
    assert repair.command == "composer install --no-interaction"


def test_a_lock_file_that_an_installer_may_create_is_undone(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, {"pyproject.toml": POETRY})
    failure = Failure(kind="dependency_missing", command="poetry run pytest", missing="requests")

    repair = find_repair(failure, root, ["install"], environ=tools(tmp_path / "bin", "poetry"))

    assert repair is not None
    assert "poetry.lock" in repair.files


@pytest.mark.parametrize(
    ("output", "files", "command"),
    [
        ("go: updates to go.mod needed", ("go.mod", "go.sum"), "go mod tidy"),
        (
            "YN0028: The lockfile would have been modified by this install",
            ("yarn.lock",),
            "yarn install --mode=update-lockfile --no-immutable",
        ),
    ],
)
def test_all_that_an_update_of_a_lock_file_changes_is_undone(
    tmp_path: Path, output: str, files: tuple[str, ...], command: str
) -> None:
    root = tmp_path / "project"
    write(root, {"go.mod": "", "yarn.lock": ""})
    failure = Failure(kind="build_error", command="make", raw_output=output)

    repair = find_repair(failure, root, ["lock"], environ=tools(tmp_path / "bin", "go", "yarn"))

    assert repair is not None
    assert (repair.files, repair.command) == (files, command)
