"""Workers in another environment, and workers with only a copy of the project."""

from __future__ import annotations

import json
import os
import shutil
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

# All tasks name their files, so none is verified again after the fix of 1.2.
TASKS = spec(
    task("1.1 Here", "touch here.txt", files="`here.txt`"),
    task("1.2 Broken", "test -e fixed.txt", files="`fixed.txt`"),
    task("1.3 After", "true", files="`after.txt`"),
)
# What a worker writes after its last task must not stay behind either.
WRITES_LATE = """
import pathlib, time

def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        time.sleep(0.3)
        (pathlib.Path(__file__).parent / "late").mkdir(parents=True)
"""
ATTEMPTS = [("1.1", "passed"), ("1.2", "failed"), ("1.2", "recovered"), ("1.3", "passed")]


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
    executor = "touch fixed.$(basename $RALPH_SPEC_PATH).txt"

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
    # What one worker changes while an executor of the other runs is verified again.
    found = attempts(pytester.path)
    assert [found.count(attempt) for attempt in ATTEMPTS[1:3]] == [2, 2]


def git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    ended = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return ended.stdout


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """execnet's socket server, as it would be started on another machine; gives its address."""
    port = free_port()
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", f"127.0.0.1:{port}"]
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    wait_for(lambda: "Accept" in (tmp_path / "server.log").read_text())
    yield f"socket=127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
def privilege_separation() -> Iterator[None]:
    """The directory that sshd needs as root; only the service of the system makes it."""
    directory = Path("/run/sshd")
    made = os.geteuid() == 0 and not directory.exists()
    if made:
        directory.mkdir(mode=0o755)
    yield
    if made:
        directory.rmdir()


@pytest.fixture
def sshd(tmp_path: Path, privilege_separation: None) -> Iterator[str]:
    """A real sshd on the loopback with its own keys; gives the address of a worker behind it."""
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    if not os.access(program, os.X_OK) or not shutil.which("ssh-keygen"):
        pytest.skip("sshd is not installed (openssh-server)")
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{tmp_path}/{name}"]
        subprocess.run(command, check=True, timeout=30)
    (tmp_path / "keys").write_bytes((tmp_path / "user.pub").read_bytes())
    port = free_port()
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {tmp_path}/host\n"
        f"AuthorizedKeysFile {tmp_path}/keys\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPidFile {tmp_path}/sshd.pid\n"
    )
    (tmp_path / "ssh_config").write_text(
        f"Host elsewhere\n HostName 127.0.0.1\n Port {port}\n IdentityFile {tmp_path}/user\n"
        f" IdentitiesOnly yes\n StrictHostKeyChecking no\n BatchMode yes\n"
        f" UserKnownHostsFile {tmp_path}/known\n LogLevel ERROR\n"
    )
    with (tmp_path / "sshd.log").open("w") as log:
        command = [program, "-D", "-e", "-f", f"{tmp_path}/sshd_config"]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    login = ["ssh", "-F", f"{tmp_path}/ssh_config", "elsewhere", "true"]

    def answers() -> bool:
        if process.poll() is not None:
            pytest.skip(f"sshd does not start: {(tmp_path / 'sshd.log').read_text()}")
        ended = subprocess.run(login, check=False, capture_output=True, timeout=30)
        return ended.returncode == 0

    try:
        wait_for(answers, 20)
        yield f"ssh=-F {tmp_path}/ssh_config elsewhere//python={sys.executable}"
    except AssertionError:
        pytest.skip(f"nobody can log in: {(tmp_path / 'sshd.log').read_text()}")
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory on the other machine that xdist copies the project into."""
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    return directory


def recover(root: Path, place: Path, executor: str, *options: str, via: str = "popen") -> str:
    """Run the specs of a project in a copy below `place`; gives the output."""
    _, output = run(
        root,
        *(
            "--ralph-recovery",
            f"--ralph-executor={executor}",
            "--dist=load",
            *options,
            "-W",
            "ignore",
        ),
        *("--tx", f"{via}//chdir={place}", "--rsyncdir", str(root), str(root / "specs")),
    )
    return output


@pytest.mark.parametrize("via", ["server", pytest.param("sshd", marks=pytest.mark.slow)])
def test_a_healed_spec_comes_home(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    place: Path,
    request: pytest.FixtureRequest,
    via: str,
) -> None:
    address = request.getfixturevalue(via)
    path = make_spec(TASKS)
    pytester.makeconftest(WRITES_LATE)

    output = recover(pytester.path, place, "echo done > fixed.txt", via=address)

    assert "2 passed, 1 recovered" in output
    assert (pytester.path / "fixed.txt").read_text() == "done\n"
    text = path.read_text()
    assert text.count("- [x]") == 4
    assert "- [x] 1.2.1 [FIX 1.2]" in text
    state = json.loads((path.parent / ".ralph-state.json").read_text())
    assert state["fixTaskMap"]["1.2"]["fixTaskIds"] == ["1.2.1"]
    assert "1.2.1" in (path.parent / ".progress.md").read_text()
    assert attempts(pytester.path) == ATTEMPTS
    assert list(place.iterdir()) == [], output

    code, _ = run(pytester.path, "--ralph-undo")
    assert code == 0
    assert not (pytester.path / "fixed.txt").exists()
    assert "- [ ] 1.2 " in path.read_text()


def test_edits_at_home_and_a_copy_elsewhere_stay(
    pytester: pytest.Pytester, make_spec: SpecMaker, place: Path
) -> None:
    path = make_spec(spec(task("1.1 Colour", "grep -q green colours.txt")))
    before = path.read_text()
    colours = pytester.path / "colours.txt"
    colours.write_text("".join(f"line {number}\n" for number in range(20)))
    copy = place / pytester.path.name
    copy.mkdir()
    # The executor runs in the copy, and edits the project as its user would.
    executor = (
        f"sed -i 's/line 19/green/' colours.txt; sed -i 's/line 2$/mine/' {colours}; "
        f"echo 'Note of mine.' >> {path}"
    )

    output = recover(pytester.path, place, executor)

    assert "1 recovered" in output
    lines = colours.read_text().splitlines()
    assert (lines[2], lines[19]) == ("mine", "green")
    text = path.read_text()
    assert "Note of mine." in text
    assert text.count("- [x]") == 2
    # The copy was there before the run, so it is there after it.
    assert "green" not in (copy / "colours.txt").read_text()
    assert not (copy / ".ralph").exists()
    assert (copy / "specs/demo/tasks.md").read_text() == before
    assert sorted(file.name for file in (copy / "specs/demo").iterdir()) == ["tasks.md"]


def test_what_cannot_be_merged_is_recovered_or_fails(
    pytester: pytest.Pytester, make_spec: SpecMaker, place: Path
) -> None:
    root = pytester.path
    recovered = make_spec(spec(task("1.1 Colour", "grep -q green colour.txt")), name="colour")
    conflicting = make_spec(spec(task("1.1 Shape", "grep -q round shape.txt")), name="shape")
    failing = make_spec(spec(task("1.1 There", "test -e fixed && pwd | grep elsewhere")), name="go")
    for name in ("colour.txt", "shape.txt"):
        (root / name).write_text("before\n")
    # In the copy it makes its changes, and edits the project as its user would.
    executor = f"""
        case $(basename $RALPH_SPEC_PATH)-$PWD in
            go-*) touch fixed;;
            colour-{root}) echo green and mine > colour.txt; cp $RALPH_PROMPT_FILE {place}.md;;
            shape-{root}) ;;
            colour-*) echo green > colour.txt; echo mine > {root}/colour.txt;;
            shape-*) echo round > shape.txt; echo mine > {root}/shape.txt;;
        esac
    """

    output = recover(root, place, executor)

    assert "conflicts with changes made here meanwhile: shape.txt" in output
    assert "passed on another machine, but not here" in output
    assert "2 failed, 1 recovered" in output
    assert (root / "colour.txt").read_text() == "green and mine\n"
    assert (root / "shape.txt").read_text() == "mine\n"
    assert not (root / "fixed").exists()
    assert "- [x] 1.1" in recovered.read_text()
    assert "- [ ] 1.1" in conflicting.read_text()
    assert "- [ ] 1.1" in failing.read_text()
    prompt = place.with_suffix(".md").read_text()
    assert "with changes that conflict here: colour.txt" in prompt
    assert "-before" in prompt
    assert "+green" in prompt
    kept = [patch.read_text() for patch in (root / ".ralph/patches").iterdir()]
    assert sorted(text.count("+round") for text in kept) == [0, 1]


def test_the_controller_commits_what_came_home(
    pytester: pytest.Pytester, make_spec: SpecMaker, place: Path
) -> None:
    make_spec(TASKS)
    # With an ini file, pytest finds the project in the copy by itself.
    pytester.makeini("[pytest]")
    git(pytester.path, "init", "-q")
    git(pytester.path, "config", "user.name", "Ada")
    git(pytester.path, "config", "user.email", "ada@example.org")
    git(pytester.path, "add", "-A")
    git(pytester.path, "commit", "-qm", "start")

    output = recover(
        pytester.path,
        place,
        "echo done > fixed.txt",
        "--ralph-commit=auto",
        "--ralph-isolate=worktree",
    )

    assert "1 recovered" in output
    assert git(pytester.path, "show", "HEAD:fixed.txt") == "done\n"
    assert git(pytester.path, "rev-list", "--count", "HEAD").strip() == "2"
