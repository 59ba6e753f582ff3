"""A process started in the cheapest way: whichever way that is, it finds the same world."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ralph.running import spawn as module
from pytest_ralph.running.spawn import Streams, find_program, spawn

pytestmark = pytest.mark.skipif(os.name == "nt", reason="commands are run on POSIX systems only")
ENV = dict(os.environ)


@pytest.fixture(params=["here", "elsewhere"])
def cwd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our own directory, and another: the two ways to start a process."""
    place = tmp_path.resolve()
    if request.param == "here":
        monkeypatch.chdir(place)
    return place


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run(cwd: Path, out: Path, *argv: str, env: dict[str, str] | None = None) -> int:
    with out.open("wb") as file:
        return spawn(
            argv, cwd, env or ENV, Streams(os.devnull, file.fileno(), file.fileno())
        ).wait()


def run_script(cwd: Path, out: Path, script: str) -> int:
    return run(cwd, out, "sh", "-c", script)


def test_it_runs_in_its_directory_and_session_with_nothing_to_read(cwd: Path, out: Path) -> None:
    assert (
        run_script(
            cwd, out, "pwd; cat; ps -o sid= -p $$ 2>/dev/null || echo $$; echo $$; echo aside >&2"
        )
        == 0
    )
    place, session, own, aside = out.read_text().split()
    assert (place, session, aside) == (str(cwd), own, "aside")


@pytest.mark.parametrize(
    ("script", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("kill -15 $$", -15)]
)
def test_its_end_is_told_as_popen_would(cwd: Path, out: Path, script: str, code: int) -> None:
    assert run_script(cwd, out, script) == code


def test_what_python_ignores_it_does_not(cwd: Path, out: Path) -> None:
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
    assert run_script(cwd, out, "kill -PIPE $$; echo survived") == -signal.SIGPIPE


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks /proc what is open")
def test_a_descriptor_that_we_inherited_is_not_handed_on(
    cwd: Path, out: Path, tmp_path: Path
) -> None:
    with (tmp_path / "held").open("wb") as held:
        os.set_inheritable(held.fileno(), True)
        module._inherited.cache_clear()
        assert run_script(cwd, out, "ls -l /proc/$$/fd") == 0
        assert "held" not in out.read_text()
    module._inherited.cache_clear()


def test_one_that_cannot_be_started_is_an_error(cwd: Path) -> None:
    with pytest.raises(FileNotFoundError):
        spawn(["no-such-program"], cwd, ENV, Streams(os.devnull, 1, 2))


def program(path: Path, says: str = "", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(mode)
    return path


def path_to(*places: Path | str) -> dict[str, str]:
    return {**ENV, "PATH": os.pathsep.join(map(str, places))}


def test_the_first_on_the_path_that_may_be_executed_is_started(
    cwd: Path, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "a" / "tool").mkdir(parents=True)
    program(tmp_path / "b" / "tool", "b", stat.S_IRUSR)
    program(tmp_path / "c" / "tool", "c")
    program(tmp_path / "d" / "tool", "d")
    env = path_to(*(tmp_path / name for name in "abcd"))

    assert run(cwd, out, "tool", env=env) == 0
    assert out.read_text() == "c\n"


def test_an_empty_place_on_the_path_is_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "tool")

    assert find_program("tool", "/nowhere:") == "tool"


def test_what_is_on_the_path_but_no_program_may_not_be_executed(
    cwd: Path, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "tool").mkdir()

    with pytest.raises(PermissionError):
        run(cwd, out, "tool", env=path_to(tmp_path))


SWAPPED = """\
import os, pathlib, sys
from pytest_ralph.running.spawn import Streams, spawn
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.dup2(out, 0)
command = ["sh", "-c", "cat; echo heard"]
streams = Streams(os.devnull, 0, 0)
sys.exit(spawn(command, pathlib.Path.cwd(), dict(os.environ), streams).wait())
"""


def test_a_stream_that_has_the_number_of_another_comes_to_its_place(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", SWAPPED, "out"], cwd=tmp_path, check=False)

    assert ended.returncode == 0
    assert (tmp_path / "out").read_text() == "heard\n"
