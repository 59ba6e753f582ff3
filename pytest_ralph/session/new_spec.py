"""`--ralph-init`: write a small spec to start from."""

from __future__ import annotations

import os
import re

import pytest

# Before a run begins there is no public way to a terminal writer.
from _pytest.config import create_terminal_writer

from pytest_ralph.files import SPECS_NAME, TASKS_NAME, write_atomically
from pytest_ralph.session.preflight import refuse_to_write

_NAME = re.compile(r"\w[\w.-]*")

SPEC = """\
# {name}

<!-- Replace these tasks with your own. A task is done when its Verify command passes. -->

- [ ] 1.1 Describe {name}
  - **Do**: Add a section about {name} to the README
  - **Files**: `README.md`
  - **Done when**: The README has a heading for {name}
  - **Verify**: `grep -c '^## {name}' README.md` prints at least 1

- [ ] 1.2 Test {name}
  - **Do**: Write a test for {name}, and the code that makes it pass
  - **Files**: `tests/test_{module}.py`
  - **Done when**: The test passes
  - **Verify**: `python -m pytest -q tests/test_{module}.py`
  - **Commit**: `feat: add {name}`
"""


def write_spec(config: pytest.Config) -> int:
    """Write `specs/NAME/tasks.md` and say how to go on. Raise UsageError if that fails."""
    name = config.getoption("ralph_init").removeprefix(f"{SPECS_NAME}/").removesuffix("/")
    if not _NAME.fullmatch(name):
        raise pytest.UsageError(
            f"--ralph-init: expected a name of letters, digits, dots and hyphens, got {name!r}"
        )
    path = config.rootpath / SPECS_NAME / name / TASKS_NAME
    refuse_to_write((path,), config.rootpath)
    shown = os.path.relpath(path, config.invocation_params.dir)
    text = SPEC.format(name=name, module=re.sub(r"\W", "_", name))
    if os.path.lexists(path):
        raise pytest.UsageError(f"--ralph-init: {shown} already exists")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise pytest.UsageError(f"--ralph-init: cannot write {shown}: {error.strerror}") from None

    directory = os.path.dirname(shown)  # noqa: PTH120 - a path to be shown
    writer = create_terminal_writer(config)
    writer.line(f"ralph: wrote {shown}")
    writer.line("Next")
    writer.line("  Replace its tasks with your own.")
    writer.line(f"  See how they are read: pytest --ralph-explain {directory}")
    writer.line(f"  Verify them: pytest --ralph {directory}")
    return int(pytest.ExitCode.OK)
