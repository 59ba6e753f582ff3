"""Workers in another environment, and workers with only a copy of the project."""

from __future__ import annotations

import os
import site
import socket
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task
from tests.integration.processes import run, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import SpecMaker

TASKS = spec(
    task("1.1 Here", "touch here"), task("1.2 Broken", "test -e fixed"), task("1.3 After", "true")
)


def attempts(project: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(project / ".ralph/history.db")
    found = connection.execute(
        "select task, outcome from attempts where what = 'verify' order by rowid"
    ).fetchall()
    connection.close()
    return found


@pytest.fixture(params=["same", "other"])
def other_python(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The interpreter of another environment, in which the same packages can be found."""
    if request.param == "other":
        given = os.environ.get("RALPH_OTHER_PYTHON")
        return (
            Path(given)
            if given
            else pytest.skip("RALPH_OTHER_PYTHON: a Python of another version, with us installed")
        )
    directory = tmp_path / "other"
    venv.create(directory, with_pip=False, symlinks=True)
    packages = next(directory.glob("lib/python*/site-packages"))
    found = [str(Path(__file__).parents[3]), *site.getsitepackages()]
    (packages / "elsewhere.pth").write_text("\n".join(found) + "\n")
    return directory / "bin" / "python"


def test_workers_of_another_environment_work_on_the_same_files(
    pytester: pytest.Pytester, make_spec: SpecMaker, other_python: Path
) -> None:
    paths = [make_spec(TASKS.replace("fixed", f"fixed.{name}"), name=name) for name in "ab"]
    executor = "touch fixed.$(basename $RALPH_SPEC_PATH)"

    code, output = run(
        pytester.path,
        *(
            "--ralph-recovery",
            "--ralph-executor",
            executor,
            "-v",
            "--dist=load",
            "--tx",
            f"2*popen//python={other_python}",
        ),
        "specs",
    )

    assert code == 0, output
    assert "4 passed, 2 recovered" in output
    assert all(path.read_text().count("- [x]") == 4 for path in paths)
    # 1.1 names no files, so it is verified again after the fix of 1.2.
    assert len(attempts(pytester.path)) == 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """execnet's socket server, as it would be started on another machine; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", f"127.0.0.1:{port}"]
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    wait_for(lambda: "Accept" in (tmp_path / "server.log").read_text())
    yield f"socket=127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.mark.parametrize("via", ["popen", "socket"])
def test_a_worker_with_a_copy_of_the_project_sends_its_results_and_its_history_home(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    via: str,
) -> None:
    address = request.getfixturevalue("server") if via == "socket" else "popen"
    path = make_spec(TASKS)
    before = path.read_bytes()
    pytester.makeini("[pytest]\nfilterwarnings = ignore::DeprecationWarning")
    place = tmp_path / "elsewhere"
    place.mkdir()

    code, output = run(
        pytester.path,
        *(
            "--ralph-recovery",
            "--ralph-executor=touch fixed",
            "--dist=load",
            "--tx",
            f"{address}//chdir={place}",
        ),
        *("--rsyncdir", str(pytester.path), str(pytester.path / "specs")),
    )

    assert code == 0, output
    assert "2 passed, 1 recovered" in output
    copy = place / pytester.path.name
    assert (copy / "here").exists()
    assert not (pytester.path / "here").exists()
    assert (
        attempts(pytester.path)
        == attempts(copy)
        == [
            ("1.1", "passed"),
            ("1.2", "failed"),
            ("1.2", "recovered"),
            ("1.1", "passed"),
            ("1.3", "passed"),
        ]
    )
    assert path.read_bytes() == before
    assert (copy / "specs/demo/tasks.md").read_text().count("- [x]") == 4
    assert output.count("is a copy of the project: what was written there stays there") == 1
