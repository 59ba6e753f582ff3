"""Built-in repairs: made where they fit, undone to the byte, only in the project's own files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.fixing.file_state import put_back
from pytest_ralph.fixing.repairs import find_repair
from pytest_ralph.fixing.snapshot import Snapshots
from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from pytest_ralph.fixing.repairs.base import Repair, RepairResult

# What --ralph-repair allows if it is not given.
BY_DEFAULT = ("format", "lint", "chmod", "install")
UGLY = "x = {  'a':1 }\nimport os\n"


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.snapshots = Snapshots(root, root / ".ralph/backup/1")
        self.environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def verify(self, command: str, kind: str, **facts: Any) -> Failure:
        """The failure that really comes of running `command` here."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0, "the command was expected to fail"
        output = done.stdout + done.stderr
        return Failure(
            kind=kind, command=command, exit_code=done.returncode, raw_output=output, **facts
        )

    def passes(self, command: str) -> bool:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def find(self, failure: Failure, *allowed: str) -> Repair | None:
        return find_repair(failure, self.root, allowed or BY_DEFAULT, environ=self.environ)

    def repair(self, failure: Failure) -> RepairResult:
        found = self.find(failure)
        assert found is not None
        runner = Runner(root=self.root, environ=self.environ, logs=self.root / ".ralph/logs")
        try:
            return found.apply(runner, self.snapshots, list)
        finally:
            runner.close()

    def texts(self) -> dict[str, str]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {
            path.relative_to(self.root).as_posix(): f"{path.stat().st_mode:o} {path.read_text()}"
            for path in files
            if not {".ralph", ".ruff_cache"} & set(path.parts)
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root.resolve())


# chmod


@pytest.mark.parametrize(
    "command", ["./build.sh", "cd . && ./build.sh && echo ok", "sh -c ./build.sh", "make build"]
)
def test_a_script_is_made_executable(project: Project, command: str) -> None:
    project.write({"build.sh": "#!/bin/sh\necho built\n", "Makefile": "build:\n\t./build.sh\n"})
    result = project.repair(project.verify(command, "permission_denied"))
    assert (result.made, result.note, result.files) == (
        True,
        "chmod +x build.sh: 1 file changed",
        ("build.sh",),
    )
    assert project.passes(command)


def test_a_script_called_by_another_is_found(project: Project) -> None:
    project.write({"run.sh": "./tools/step.sh\n", "tools/step.sh": "#!/bin/sh\n", "notes.txt": "x"})
    failure = project.verify("bash run.sh", "permission_denied")
    found = project.find(failure)
    assert found is not None
    assert found.command == "chmod +x tools/step.sh"


def test_chmod_is_undone_to_the_mode_it_was(project: Project) -> None:
    project.write({"build.sh": "#!/bin/sh\n"})
    (project.root / "build.sh").chmod(0o640)
    before = project.texts()
    result = project.repair(project.verify("./build.sh", "permission_denied"))
    assert (project.root / "build.sh").stat().st_mode & 0o740 == 0o740
    assert put_back(project.root, result.changes) == ()
    assert project.texts() == before


def outside(project: Project) -> str:
    (project.root.parent / "outside.sh").write_text("#!/bin/sh\n")
    return "../outside.sh"


def absolute(project: Project) -> str:
    (project.root.parent / "outside.sh").write_text("#!/bin/sh\n")
    return str(project.root.parent / "outside.sh")


def linked_out(project: Project) -> str:
    (project.root.parent / "outside.sh").write_text("#!/bin/sh\n")
    (project.root / "build.sh").symlink_to("../outside.sh")
    return "./build.sh"


def linked_directory(project: Project) -> str:
    (project.root.parent / "bin").mkdir()
    (project.root.parent / "bin/x.sh").write_text("#!/bin/sh\n")
    (project.root / "bin").symlink_to("../bin")
    return "bin/x.sh"


def hard_linked(project: Project) -> str:
    (project.root.parent / "outside.sh").write_text("#!/bin/sh\n")
    (project.root / "build.sh").hardlink_to(project.root.parent / "outside.sh")
    return "./build.sh"


def directory(project: Project) -> str:
    (project.root / "build").mkdir()
    return "./build"


def installed(project: Project) -> str:
    project.write({"node_modules/.bin/x": "#!/bin/sh\n"})
    return "node_modules/.bin/x"


def a_spec_file(project: Project) -> str:
    project.write({"specs/foo/tasks.md": "#!/bin/sh\n"})
    return "specs/foo/tasks.md"


def in_git(project: Project) -> str:
    project.write({".git/hooks/pre-commit": "#!/bin/sh\n"})
    return ".git/hooks/pre-commit"


@pytest.mark.parametrize(
    "arrange",
    [
        outside,
        absolute,
        linked_out,
        linked_directory,
        hard_linked,
        directory,
        installed,
        a_spec_file,
        in_git,
    ],
)
def test_only_project_files_are_made_executable(project: Project, arrange: object) -> None:
    assert callable(arrange)
    failure = project.verify(arrange(project), "permission_denied")
    assert failure.exit_code == 126
    assert project.find(failure) is None


def test_a_file_only_named_must_be_a_program(
    project: Project,
) -> None:
    project.write({"data.json": "{}", "evil.py": "print()\n"})
    told = (
        "sh: ./data.json: Permission denied\n"
        "PermissionError: [Errno 13] Permission denied: 'evil.py'\n"
    )
    assert (
        project.find(
            Failure(kind="permission_denied", exit_code=1, raw_output=told, files=("evil.py",))
        )
        is None
    )


# format and lint


@pytest.mark.parametrize(
    ("command", "kind", "name"),
    [
        ("ruff format --check .", "format_error", "format"),
        ("python -m ruff format --check src", "format_error", "format"),
        ("cd src && ruff format --check --line-length=60 .", "format_error", "format"),
        ("ruff check --select E401,F401 --output-format=concise .", "lint_error", "lint"),
        ("ruff check --select F401 . && ruff format --check .", "lint_error", "lint"),
        ("make lint", "lint_error", "lint"),
    ],
)
def test_the_tool_that_failed_fixes_the_files_it_named(
    project: Project, command: str, kind: str, name: str
) -> None:
    project.write(
        {
            "src/a.py": UGLY,
            "src/b.py": "y = 1\n",
            "Makefile": "lint:\n\t@ruff check --select F401 src\n",
        }
    )
    found = project.find(project.verify(command, kind))
    assert found is not None
    assert (found.name, found.files) == (name, ("src/a.py",))
    result = project.repair(project.verify(command, kind))
    assert (result.made, result.files) == (True, ("src/a.py",))
    assert project.passes(command.partition(" && ruff format")[0])


def test_named_files_change_and_come_back(project: Project) -> None:
    project.write({f"pkg/m{number}.py": UGLY for number in range(3)})
    project.write({"other.py": UGLY, "specs/foo/tasks.md": "- [ ] 1.1 A\n", "-odd name.py": UGLY})
    before = project.texts()
    failure = project.verify("ruff format --check pkg ./-odd*", "format_error")
    result = project.repair(failure)
    assert result.made
    after = project.texts()
    assert {name for name in before if before[name] != after[name]} == {
        "-odd name.py",
        "pkg/m0.py",
        "pkg/m1.py",
        "pkg/m2.py",
    }
    put_back(project.root, result.changes)
    assert project.texts() == before


def test_all_that_a_tool_for_the_whole_project_changes_comes_back(project: Project) -> None:
    project.write({"src/main.rs": "x", "src/lib.rs": "x", "Cargo.toml": "", "bin/cargo": CARGO})
    (project.root / "bin/cargo").chmod(0o755)
    project.environ["PATH"] = f"{project.root}/bin{os.pathsep}{project.environ['PATH']}"
    before = project.texts()
    failure = project.verify("cargo fmt --check", "format_error")

    result = project.repair(failure)

    assert result.files == ("src/lib.rs", "src/main.rs")
    put_back(project.root, result.changes)
    assert project.texts() == before


# Names one file, and changes two.
CARGO = """#!/bin/sh
if [ "$2" = --check ]; then echo 'Diff in src/main.rs:1:'; exit 1; fi
echo y > src/main.rs
echo y > src/lib.rs
"""


def test_the_tool_of_an_activated_environment_is_used(project: Project) -> None:
    project.write({"env/bin/activate": 'PATH="$PWD/env/bin:$PATH"\n', "env/bin/ruff": RUFF})
    project.write({"a.py": UGLY})
    (project.root / "env/bin/ruff").chmod(0o755)
    failure = project.verify("source env/bin/activate && ruff format --check .", "format_error")

    assert project.repair(failure).made
    assert (project.root / "a.py").read_text() == "theirs\n"


RUFF = """#!/bin/sh
if [ "$2" = --check ]; then echo 'Would reformat: a.py'; exit 1; fi
echo theirs > a.py
"""


def test_a_fix_that_changes_nothing_is_not_made(project: Project) -> None:
    project.write({"a.py": "print(undefined_name)\n"})
    result = project.repair(project.verify("ruff check --select F821 .", "lint_error"))
    assert not result.made
    assert result.note.startswith("ruff check --fix --select F821 changed nothing")


def test_a_name_that_a_tool_would_expand_is_a_file(project: Project) -> None:
    project.write({"@a.py": UGLY})

    result = project.repair(project.verify("ruff format --check .", "format_error"))

    assert result.files == ("@a.py",)


def test_an_unreadable_file_is_left_alone(project: Project) -> None:
    project.write({"a.py": UGLY})
    failure = project.verify("ruff format --check .", "format_error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", raise_permission_error)
        assert project.find(failure) is None


def raise_permission_error(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_tool_that_is_missing_fails_cleanly(project: Project) -> None:
    project.write({"a.py": UGLY})
    failure = Failure(
        kind="format_error", command="no/such/black --check .", exit_code=1, files=("a.py",)
    )
    result = project.repair(failure)
    assert not result.made
    assert "\n" not in result.note


@pytest.mark.parametrize(
    ("command", "output", "files", "expected"),
    [
        ("black --check -l 100 .", "would reformat a.py\nOh no!", (), "black -l 100 a.py"),
        ("black --check -l100 .", "would reformat a.py\nOh no!", (), "black -l100 a.py"),
        ("black --check -l", "would reformat a.py\nOh no!", (), "black -l a.py"),
        ("black --check --config $CFG .", "would reformat a.py", (), None),
        ("black --check --workers 4 --output-file x .", "would reformat a.py", (), "black a.py"),
        (
            "isort -c --profile black .",
            "ERROR: {root}/a.py Imports are incorrectly sorted.",
            (),
            "isort --profile black a.py",
        ),
        (
            "npx prettier --check .",
            "[warn] web/a.ts\n[warn] Code style issues",
            (),
            "npx --no-install prettier --write web/a.ts",
        ),
        ("cd web && npx prettier -l .", "a.ts", (), "npx --no-install prettier --write a.ts"),
        (
            "npx eslint . --max-warnings 0 -c e.js",
            "",
            ("{root}/web/a.ts",),
            "npx --no-install eslint --fix -c e.js web/a.ts",
        ),
        (
            "npx eslint . --output-file web/a.ts",
            "",
            ("web/a.ts",),
            "npx --no-install eslint --fix web/a.ts",
        ),
        ('test -z "$(gofmt -s -l .)"', "", ("m.go",), "gofmt -w -s m.go"),
        ("gofmt -l .", "m.go\n", (), "gofmt -w m.go"),
        ("cargo fmt --check", "Diff in {root}/src/x.rs:1:", (), "cargo fmt"),
        (
            "cargo fmt --all -- --check",
            "Diff in {root}/src/x.rs at line 1:",
            (),
            "cargo fmt --all",
        ),
        ("shfmt -d -i 2 .", "--- r.sh.orig\n+++ r.sh", (), "shfmt -w -i 2 r.sh"),
        ("terraform fmt -check", "m.tf\n", (), "terraform fmt m.tf"),
        (
            "bundle exec rubocop --format simple",
            "== a.rb ==\nC:  1: x",
            (),
            "bundle exec rubocop -a a.rb",
        ),
        (
            "vendor/bin/phpcs --standard=PSR12 src",
            "FILE: {root}/src/a.php",
            (),
            "vendor/bin/phpcbf --standard=PSR12 src/a.php",
        ),
        (
            "clang-format --dry-run -Werror a.c",
            "a.c:1:2: error: code should be clang-formatted",
            (),
            "clang-format -i a.c",
        ),
        ("biome ci .", "./web/a.ts format ━━━", (), "biome check --write web/a.ts"),
        (
            "dotnet format --verify-no-changes",
            "",
            ("P.cs",),
            "dotnet format --no-restore --include P.cs",
        ),
        ("mix format --check-formatted", "  * lib/a.ex", (), "mix format lib/a.ex"),
        (
            "dart format -o none --set-exit-if-changed .",
            "Changed lib/a.dart",
            (),
            "dart format lib/a.dart",
        ),
        ("flake8 .", "a.py:1:1: E401", ("a.py",), None),
        ("black --check .", "would reformat ../outside.py", ("/etc/hosts.py",), None),
        ("npx prettier --check .", "[warn] specs/foo/tasks.md", (), None),
        ("npx prettier --check .", "[warn] node_modules/x/a.ts", (), None),
        ("black --check .", "would reformat link.py", (), None),
        ("sudo black --check .", "would reformat a.py", (), None),
        ("echo black", "would reformat a.py", (), None),
    ],
)
def test_the_fix_mode_keeps_options_and_launcher(
    project: Project, command: str, output: str, files: tuple[str, ...], expected: str | None
) -> None:
    names = (
        "a.py web/a.ts m.go src/x.rs r.sh m.tf a.rb src/a.php a.c P.cs lib/a.ex lib/a.dart "
        "node_modules/x/a.ts"
    )
    project.write(dict.fromkeys([*names.split(), "specs/foo/tasks.md"], "x"))
    (project.root.parent / "outside.py").write_text("x")
    (project.root / "link.py").symlink_to("../outside.py")
    kind = (
        "lint_error"
        if any(tool in command for tool in ("lint", "rubocop", "phpcs", "biome", "flake8"))
        else "format_error"
    )
    here = str(project.root)
    failure = Failure(
        kind=kind,
        command=command,
        exit_code=1,
        raw_output=output.replace("{root}", here),
        files=tuple(name.replace("{root}", here) for name in files),
    )
    found = project.find(failure)
    assert (found.command if found else None) == expected


@pytest.mark.parametrize("allowed", [("chmod", "install"), ("lint",), ()])
def test_a_repair_must_be_allowed(project: Project, allowed: tuple[str, ...]) -> None:
    project.write({"a.py": UGLY})
    failure = project.verify("ruff format --check .", "format_error")
    assert find_repair(failure, project.root, allowed, environ=project.environ) is None


def test_a_failure_of_another_kind_gets_no_repair(project: Project) -> None:
    project.write({"a.py": UGLY})
    failure = project.verify("ruff format --check .", "test_failure")
    assert project.find(failure) is None


def test_finding_a_repair_touches_nothing(project: Project) -> None:
    project.write({"a.py": UGLY, "build.sh": "#!/bin/sh\n"})
    before = project.texts()
    project.find(project.verify("ruff format --check .", "format_error"))
    project.find(project.verify("./build.sh", "permission_denied"))
    assert project.texts() == before
    assert not project.snapshots.directory.exists()


# What a formatter or linter must leave alone


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tests/test_a.py", "import os\nimport sys;\n\nprint(sys)\n"),
        ("test_a.py", "import os\nimport sys;\n\nprint(sys)\n"),
        ("pkg/__init__.py", "import os\nimport sys;\n\nprint(sys)\n"),
        ("app.py", "import shop\nimport sys;\n\nprint(sys)\n"),
    ],
)
@pytest.mark.parametrize("form", ["concise", "json", "azure"])
def test_imports_that_others_may_need_stay(
    project: Project, file: str, text: str, form: str
) -> None:
    project.write({file: text, "src/shop/__init__.py": ""})
    command = f"ruff check --isolated --select F401,E703 --output-format {form} ."
    project.repair(project.verify(command, "lint_error"))
    assert (project.root / file).read_text() == text.replace(";", "")


def test_autoflake_leaves_imports_that_others_may_need(project: Project) -> None:
    files = ("app.py", "pkg/__init__.py", "tests/test_a.py")
    project.write(dict.fromkeys(files, "import os\n"))
    output = "".join(f"{file}: Unused imports/variables detected\n" for file in files)
    command = "autoflake --check --remove-all-unused-imports --remove-duplicate-keys -r ."

    found = project.find(Failure(kind="lint_error", command=command, raw_output=output))

    assert found is not None
    assert found.command == "autoflake --in-place --remove-duplicate-keys app.py"


def test_an_unused_import_is_removed_elsewhere(project: Project) -> None:
    project.write({"app.py": "import os\n"})
    project.repair(project.verify("ruff check --isolated .", "lint_error"))
    assert (project.root / "app.py").read_text() == ""


@pytest.mark.parametrize(
    "command",
    [
        "ruff check --isolated . || true; false",
        "cd . && ruff check --isolated . || :; false",
        "sh lint.sh; false",
    ],
)
def test_a_masked_step_is_not_repaired(project: Project, command: str) -> None:
    project.write({"app.py": "import os\n", "lint.sh": "ruff check --isolated . || true\n"})
    assert project.find(project.verify(command, "lint_error")) is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("dist/app.py", UGLY),
        ("web/build/app.py", UGLY),
        ("api_pb2.py", UGLY),
        ("api.py", f"# @generated by tool\n{UGLY}"),
    ],
)
def test_built_files_are_not_formatted(project: Project, file: str, text: str) -> None:
    project.write({file: text})
    failure = project.verify(
        f"ruff format --isolated --no-force-exclude --check {file}", "format_error"
    )
    assert project.find(failure) is None


def test_verify_that_changed_files_is_run_again(project: Project) -> None:
    output = "black....Failed\n- hook id: black\n- files were modified by this hook\n"
    failure = Failure(kind="format_error", command="pre-commit run -a", raw_output=output)
    result = project.repair(failure)
    assert result.made
    assert result.files == ()
    assert project.find(failure, "lint") is None


def test_a_formatter_inside_a_substitution_is_found(project: Project) -> None:
    project.write(
        {"main.go": "package  main\n", "bin/gofmt": "#!/bin/sh\n[ $1 = -l ] && ls *.go\n"}
    )
    (project.root / "bin/gofmt").chmod(0o755)
    project.environ["PATH"] = f"{project.root / 'bin'}{os.pathsep}{project.environ['PATH']}"
    found = project.find(project.verify('test -z "$(gofmt -l .)"', "unknown"))
    assert found is not None
    assert found.command == "gofmt -w main.go"


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("codespell", "a.txt:1: teh ==> the\n", "codespell -w a.txt"),
        ("typos", "error: `teh` should be `the`\n  --> a.txt:1:1\n", "typos -w a.txt"),
        (
            "cargo clippy --all-targets -- -D warnings",
            "warning: needless\n --> src/main.rs:1:1\n",
            "cargo clippy --fix --allow-dirty --allow-staged --all-targets",
        ),
    ],
)
def test_more_linters_are_repaired(
    project: Project, command: str, output: str, expected: str
) -> None:
    project.write({"a.txt": "teh\n", "src/main.rs": "fn main() {}\n"})
    found = project.find(Failure(kind="lint_error", command=command, raw_output=output))
    assert found is not None
    assert found.command == expected


# Repairs that must be asked for


def test_a_stale_lock_file_is_updated_on_request(project: Project) -> None:
    output = "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided."
    project.write({"uv.lock": "old\n", "bin/uv": "#!/bin/sh\necho new > uv.lock\n"})
    (project.root / "bin/uv").chmod(0o755)
    project.environ["PATH"] = f"{project.root / 'bin'}{os.pathsep}{project.environ['PATH']}"
    failure = Failure(kind="unknown", command="uv run --locked pytest", raw_output=output)

    assert project.find(failure) is None
    found = project.find(failure, "lock")
    assert found is not None
    runner = Runner(root=project.root, environ=project.environ, logs=project.root / ".ralph/logs")
    # The environment of the tests may have a uv of its own.
    runner.environ["PATH"] = project.environ["PATH"]
    try:
        result = found.apply(runner, project.snapshots, list)
    finally:
        runner.close()
    assert (result.made, result.files) == (True, ("uv.lock",))
    assert put_back(project.root, result.changes) == ()
    assert (project.root / "uv.lock").read_text() == "old\n"


def test_browsers_are_downloaded_on_request(project: Project) -> None:
    output = "browserType.launch: Executable doesn't exist at /ms-playwright/chromium\n"
    project.write(
        {
            "package.json": '{"devDependencies": {"@playwright/test": "1"}}',
            "bin/npx": "#!/bin/sh\n",
        }
    )
    (project.root / "bin/npx").chmod(0o755)
    project.environ["PATH"] = f"{project.root / 'bin'}{os.pathsep}{project.environ['PATH']}"
    failure = Failure(kind="unknown", command="npx playwright test", raw_output=output)

    assert project.find(failure) is None
    found = project.find(failure, "playwright")
    assert found is not None
    assert found.command == "npx --no-install playwright install"
