"""The process behind a ForkServer: imports everything once, then forks a pytest run per job."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

import pytest

import pytest_ralph
from pytest_ralph import files as disk
from pytest_ralph import plugin
from tests.faults import faults

POINTS = "points.txt"
WARM_UP = "- [ ] 1.1 One\n  - **Verify**: `test -e done`\n"


def main() -> None:
    _import_everything()
    _warm_up()
    gc.collect()
    gc.freeze()
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            answers.write(json.dumps(_run(json.loads(line))) + "\n")
            answers.flush()


def _import_everything() -> None:
    for module in pkgutil.walk_packages(pytest_ralph.__path__, "pytest_ralph."):
        # pytest-xdist and the like may not be there.
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    for name in ("sqlite3", "jinja2", "jinja2.sandbox", "ruamel.yaml", "junitparser", "pyromark"):
        importlib.import_module(name)
    # A codec is imported when it is first used, which another user may not be allowed to.
    "".encode("unicode-escape")


def _warm_up() -> None:
    """Heal a task once, so that tables, patterns and templates are read before the first fork."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(directory)
        Path("tasks.md").write_text(WARM_UP)
        subprocess.run(["git", "init", "-q"], check=True)
        args = ("--ralph-recovery", "--ralph-executor=touch done", "--junitxml=junit.xml")
        pytest.main(["-p", "no:cacheprovider", "--rootdir", directory, *args], plugins=[plugin])
        os.chdir(here)
    # A forked child would lack the other threads.
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()


def _run(job: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        # A run may have become somebody else by the time it writes there.
        Path(scratch).chmod(0o777)
        # Not a file: how large those may be is one of the things that are limited.
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(job, Path(scratch), writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as output:
            told = output.read().decode("utf-8", "replace")
        _, status = os.waitpid(pid, 0)
        notes = Path(scratch, POINTS)
        points = notes.read_text("utf-8").splitlines() if notes.exists() else []
    return {"status": os.waitstatus_to_exitcode(status), "points": points, "output": told}


def _child(job: dict[str, Any], scratch: Path, output: int) -> NoReturn:
    status = 70
    try:
        os.chdir(job["directory"])
        _redirect(output)
        points = faults.Points(
            Path(job["directory"]), scratch / POINTS, job["at"], faults.FAULTS[job["fault"]]
        )
        if job["user"] is not None:
            os.setgroups([])
            os.setgid(job["user"])
            os.setuid(job["user"])
        for name, value in job["limits"].items():
            limit = getattr(resource, name)
            resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))
        points.watch(disk)
        status = int(pytest.main(["-p", "no:cacheprovider", *job["args"]], plugins=[plugin]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _redirect(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


if __name__ == "__main__":
    main()
