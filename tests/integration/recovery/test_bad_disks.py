"""Files that cannot be written: one clear error, and what was there is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.recovery.conftest import Project

# Runs pytest in a process that cannot write large files.
LIMITED = """\
import resource, sys
import pytest
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(pytest.main(sys.argv[2:]))
"""
ARGUMENTS = ("-p", "no:cacheprovider", "--ralph-recovery", "--ralph-executor", "none", "specs/demo")
# Root may write everywhere, unless it gives up the right to.
AS_A_USER = (
    ("setpriv", "--bounding-set=-dac_override") if os.name == "posix" and os.getuid() == 0 else ()
)

# As on NFS without a lock daemon.
WITHOUT_LOCKS = """\
import errno, fcntl, os
def flock(*_):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
"""


def run(project: Project, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *ARGUMENTS], cwd=project.root, capture_output=True, text=True, check=False
    )


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_full_disk_is_one_clear_error_and_the_old_file_is_whole(one_task: Project) -> None:
    # A fix task makes the spec longer than any file may be here.
    one_task.tasks.write_text(one_task.tasks.read_text() + "x" * 200_000 + "\n")
    before = one_task.tasks.read_bytes()
    one_task.write("limited.py", LIMITED)
    result = run(one_task, sys.executable, "limited.py", str(len(before) + 10))

    assert result.returncode == 1
    assert "tasks.md cannot be read or written: File too large" in result.stdout
    assert "Traceback" not in result.stdout
    assert one_task.tasks.read_bytes() == before
    assert [name for name in names(one_task.directory) if name.endswith(".tmp")] == []


@pytest.mark.skipif(
    bool(AS_A_USER) and shutil.which("setpriv") is None, reason="root without setpriv"
)
def test_a_read_only_spec_is_one_clear_error_and_nothing_is_changed(one_task: Project) -> None:
    one_task.spec("- [ ] 1.1 Not even begun\n  - **Verify**: `touch begun.txt`\n")
    before = one_task.tasks.read_bytes()
    one_task.directory.chmod(0o555)
    try:
        result = run(one_task, *AS_A_USER, sys.executable, "-m", "pytest")
    finally:
        one_task.directory.chmod(0o755)

    assert result.returncode == 1, result.stdout + result.stderr
    assert ".ralph-state.json cannot be read or written: Permission denied" in result.stdout
    assert "Traceback" not in result.stdout
    assert one_task.tasks.read_bytes() == before
    assert names(one_task.directory) == ["tasks.md"]
    assert not (one_task.root / "begun.txt").exists()


def test_what_needs_a_task_that_was_stopped_is_blocked_by_it(one_task: Project) -> None:
    broken = "- [ ] 1.1 Broken\n  - **Verify**: `false`\n"
    dependent = "- [ ] 1.2 Needs it\n  - **Depends on**: 1.1\n  - **Verify**: `touch begun.txt`\n"
    one_task.tasks.write_text(broken + dependent + "x" * 200_000 + "\n")
    one_task.write("limited.py", LIMITED)
    result = run(
        one_task, sys.executable, "limited.py", str(one_task.tasks.stat().st_size + 10), "-rs"
    )

    assert "tasks.md cannot be read or written: File too large" in result.stdout
    assert "blocked by 1.1" in result.stdout
    assert not (one_task.root / "begun.txt").exists()


@pytest.mark.parametrize("options", [(), ("--ralph-isolate=worktree",)])
def test_missing_locks_are_reported_once(one_task: Project, options: tuple[str, ...]) -> None:
    one_task.write("conftest.py", WITHOUT_LOCKS)
    one_task.write(".gitignore", ".ralph/\n__pycache__/\n")
    one_task.repository()
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ralph-recovery")
    executor = "--ralph-executor=echo fixed > parser.txt"
    result = subprocess.run(
        [*command, executor, *options, "specs/demo"],
        cwd=one_task.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout
    assert result.stdout.count("the spec could not be locked") == 1
    assert "No locks available" in result.stdout
