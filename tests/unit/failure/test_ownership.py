"""Whose a missing thing is: the project's own, someone else's, or the command's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.files import MOST_FILES
from pytest_ralph.failure.project import Project

if TYPE_CHECKING:
    from pathlib import Path

TRACE = 'Traceback (most recent call last):\n  File "/project/app.py", line 3, in <module>\n'


@pytest.mark.parametrize(
    ("above", "kind", "missing"),
    [
        ('    url = os.environ["DATABASE_URL"]\n', "unknown", "DATABASE_URL"),
        ('    url = settings["DATABASE_URL"]\n', "crash", None),
    ],
)
def test_a_missing_key_is_a_missing_value_only_of_the_environment(
    above: str, kind: str, missing: str | None
) -> None:
    failure = classify(f"{TRACE}{above}KeyError: 'DATABASE_URL'\n", 1, "python app.py")
    assert (failure.kind, failure.missing) == (kind, missing)


@pytest.mark.parametrize(
    ("command", "above", "name", "kind", "missing"),
    [
        (
            "python app.py",
            '  File "/usr/lib/python3/subprocess.py", line 9\n',
            "ffmpeg",
            "command_not_found",
            "ffmpeg",
        ),
        ("python app.py", "", "ffmpeg", "crash", None),
        ("python app.py data.csv", "", "data.csv", "task_incomplete", "data.csv"),
        ("python app.py", "", "data.csv", "crash", "data.csv"),
    ],
)
def test_a_file_that_is_not_found_is_what_it_is_wanted_for(
    command: str, above: str, name: str, kind: str, missing: str | None
) -> None:
    error = f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'"
    failure = classify(f"{TRACE}{above}{error}\n", 1, command)
    assert (failure.kind, failure.missing, failure.error) == (kind, missing, error)


def test_what_is_missing_is_asked_for_by_the_name_the_tool_advises() -> None:
    said = 'a.py:1: error: Library stubs not installed for "yaml"  [import-untyped]\n'
    advice = 'a.py:1: note: Hint: "python3 -m pip install types-PyYAML"\n'
    failure = classify(
        f"{said}{advice}Found 1 error in 1 file (checked 1 source file)\n", 1, "mypy a.py"
    )
    assert (failure.kind, failure.missing) == ("dependency_missing", "types-PyYAML")


def test_no_more_files_are_named_than_a_person_would_look_at() -> None:
    output = "".join(
        f"src/file_{number}.py:1:1: F401 unused\n" for number in range(MOST_FILES + 20)
    )
    assert classify(output, 1, "flake8").files == tuple(
        f"src/file_{number}.py" for number in range(MOST_FILES)
    )


def test_a_bare_name_is_a_file_only_where_one_alone_has_it(tmp_path: Path) -> None:
    for name in ("src/Cart.java", "src/Main.java", "test/Main.java"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    project = Project(tmp_path)
    assert project.find("Cart.java") == "src/Cart.java"
    assert project.find("Main.java") is None
    assert project.find("/elsewhere/Cart.java") is None
    assert project.find("/somewhere/src/Cart.java") == "src/Cart.java"
    assert project.find("src\\Cart.java") == "src/Cart.java"


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ("see src/a.py, please", ("src/a.py",)),
        ("at ./src/a.py and src/a.py", ("./src/a.py",)),
        ("at /project/src/a.py and src/a.py", ("/project/src/a.py",)),
        ("the file.unheardof of node_modules/x/y.js", ()),
    ],
)
def test_without_a_tree_a_file_is_known_by_its_ending(said: str, files: tuple[str, ...]) -> None:
    assert classify(f"{said}\n", 1, "./check").files == files


@pytest.mark.parametrize(
    ("output", "command", "missing"),
    [
        ("error: could not find Cargo.toml in here\n", "cargo check", "Cargo.toml"),
        ("make: no makefile found\n", "make check", "Makefile"),
        ("error: check not found in package.json\n", "npm run check", "package.json"),
    ],
)
def test_of_what_is_absent_a_file_weighs_more_than_a_word(
    output: str, command: str, missing: str
) -> None:
    assert classify(output, 1, command).missing == missing


@pytest.mark.parametrize(
    ("package", "kind"),
    [("shop/cart", "build_error"), ("github.com/shop/cart", "dependency_missing")],
)
def test_a_go_package_without_a_host_is_the_projects_own(package: str, kind: str) -> None:
    failure = classify(f"app.go:3:2: package {package} is not in std\n", 1, "go build ./...")
    assert (failure.kind, failure.missing) == (kind, package)


@pytest.mark.parametrize("header", ["shop/cart.h", "shop/cart.hpp"])
def test_a_header_in_the_tree_is_the_projects_own(tmp_path: Path, header: str) -> None:
    project = Project(tmp_path, planned=[f"src/{header}"])
    assert project.owns_module(header)
    assert not project.owns_module("boost/any.hpp")


@pytest.mark.parametrize(("length", "cut"), [(120, False), (121, True)])
def test_a_silent_command_is_quoted_and_cut_where_it_is_long(length: int, cut: bool) -> None:
    command = f"test -f {'x' * (length - 8)}"
    quoted = f"{command[:117]}..." if cut else command
    assert classify("", 1, command).error == f"`{quoted}` exited with status 1"
