"""Everything that reads foreign input, each as a function of bytes that must not fail.

A reader may refuse (with the one error it is known for), never crash, never hang, and never change
a byte it was not asked to change.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.classify import classify
from pytest_ralph.failure.executor_words import parse_block, read_claims
from pytest_ralph.failure.failure import CATEGORIES, TYPES
from pytest_ralph.failure.report import parse_report
from pytest_ralph.shell.lexer import simple_commands
from pytest_ralph.spec import edit, progress
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.frontmatter import read_front_matter
from pytest_ralph.spec.lint import lint
from pytest_ralph.spec.order import plan
from pytest_ralph.spec.splice import spliced
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import StateError
from pytest_ralph.text.inert import markdown, one_line, prompt_line, terminal
from pytest_ralph.text.secrets import Masker
from pytest_ralph.verify.read import read_verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ralph.spec.task import Task

# A second for a megabyte is the promise, and a fifth of a millisecond for each task that is read,
# planned and edited. Some targets do the work several times over: to read again what they edited,
# or to read with several readers.
SECONDS_A_BYTE = 1e-6
SECONDS_A_TASK = 2e-4
TIMES = {"spec": 3, "front_matter": 4, "progress_log": 5, "shell": 12}
SCRATCH = Path(tempfile.gettempdir())
BLOCK = "- [ ] 9.8.7 [FIX 9.8] Fix: it\n  - **Do**: it\n  - **Verify**: `true`"
MASKER = Masker({"API_TOKEN": "s3cr3t-value"})


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def one_line_only(error: Exception) -> None:
    assert "\n" not in str(error), error


def spec(data: bytes) -> None:
    """tasks.md: read, ordered, linted; edits keep every other byte."""
    source = text_of(data)
    try:
        found = Spec.parse(source, Path("specs/x/tasks.md"))
    except SpecError as error:
        one_line_only(error)
        return
    assert found.source == source
    lines = source.count("\n") + 1
    for task in found.tasks:
        assert 1 <= task.line <= task.end_line <= lines, task
        assert task.id, task
        assert not set(task.name) & set("[]"), task.name
    assert len({task.name for task in found.tasks}) == len(found.tasks)
    plan(found.tasks)
    for problem in lint(found):
        assert "\n" not in problem.message, problem
    if found.tasks:
        _edits(found)


def _edits(found: Spec) -> None:
    task = found.tasks[len(found.tasks) // 2]
    line = found.source.split("\n")[task.line - 1]
    ticked = edit.ticked_line(line)
    if ticked is not None and len(ticked) == len(line):
        changed = [new for old, new in zip(line, ticked, strict=True) if old != new]
        assert changed == ["x"]
    elif ticked is not None:
        assert "[x]" in ticked
    failing = next((task for task in found.tasks if task.verify.checks), None)
    if failing is not None:
        _insertion(found, failing)


def _insertion(found: Spec, failing: Task) -> None:
    """Only what can be verified can fail, and only what fails gets a fix."""
    put_in = edit.insertion(found, failing, BLOCK)
    inserted = put_in.into(found.source)
    again = Spec.parse(inserted, found.path)
    quick = spliced(found, failing, put_in, inserted)
    assert quick is None or quick == again
    # Behind a code fence that is never closed no task can be put; whoever writes the file refuses
    # to.
    if len(again.tasks) > len(found.tasks):
        assert [task.name for task in again.tasks if task.id != "9.8.7"] == [
            task.name for task in found.tasks
        ]
    at = next(
        (
            at
            for at, (old, new) in enumerate(zip(found.source, inserted, strict=False))
            if old != new
        ),
        None,
    )
    head = found.source if at is None else found.source[:at]
    assert inserted.endswith(found.source[len(head) :])


def verify(data: bytes) -> None:
    """A field of a document, which is known to be UTF-8 without NUL."""
    text = data.decode("utf-8", "replace").replace("\0", "")
    found = read_verify(text)
    assert found.text == text
    assert found.mode in ("all", "any")
    for check in found.checks:
        assert check.command.strip(), found
    assert not (found.manual and found.checks)


def front_matter(data: bytes) -> None:
    read_front_matter(data.decode("utf-8", "replace"))
    spec(b"---\n" + data + b"\n---\n- [ ] 1.1 x\n  - **Verify**: `true`\n")


def classifier(data: bytes) -> None:
    """Output of anything, with a status and a command taken from the first bytes."""
    status, rest = (data[0] if data else 0), data[1:]
    command = (
        "",
        "pytest -q",
        "npm test",
        "ruff check .",
        "tsc",
        "cargo build",
        "./x.sh && go test ./...",
    )[status % 7]
    failure = classify(text_of(rest), exit_code=status or None, command=command)
    assert failure.type in TYPES, failure.type
    assert failure.category is None or failure.category in CATEGORIES
    assert failure.error.strip()
    assert "\n" not in failure.error
    assert len(failure.error) < 5_000
    json.dumps(failure.to_json())
    read = parse_report(failure.report())
    assert (read.kind, read.type, read.category, read.retryable) == (
        failure.kind,
        failure.type,
        failure.category,
        failure.retryable,
    )


def report(data: bytes) -> None:
    failure = parse_report(text_of(data))
    assert failure.category is None or failure.category in CATEGORIES
    assert parse_report(failure.report()).retryable == failure.retryable


def claims(data: bytes) -> None:
    read_claims(text_of(data))
    parse_block(text_of(data))


def junit(data: bytes) -> None:
    path = SCRATCH / f"ralph-fuzz-{id(data)}.xml"
    path.write_bytes(data)
    try:
        failure = classify("", exit_code=1, command="pytest", junit=path)
    finally:
        path.unlink()
    assert failure.error


def state(data: bytes) -> None:
    path = SCRATCH / f"ralph-fuzz-{id(data)}.json"
    path.write_bytes(data)
    try:
        _use_state(path, data)
    finally:
        path.unlink(missing_ok=True)


def _use_state(path: Path, data: bytes) -> None:
    try:
        found = State.load(path)
    except StateError as error:
        assert path.read_bytes() == data
        one_line_only(error)
        return
    theirs = {
        key: value
        for key, value in found.data.items()
        if key not in ("totalTasks", "fixTaskMap", "taskIndex")
    }
    found.save()
    assert path.read_bytes() == data
    found.start_run()
    found.record_fix("1.3", "1.3.1", "x")
    found.reconcile(Spec.parse("- [ ] 1.3 x\n  - **Verify**: `true`\n").tasks)
    found.save()
    again = State.load(path).data
    assert {
        key: again.get(key) for key in theirs if key not in ("taskResults", "globalIteration")
    } == {
        key: value for key, value in theirs.items() if key not in ("taskResults", "globalIteration")
    }


def progress_log(data: bytes) -> None:
    text = text_of(data)
    done = progress.completed(text, "1.3", "Title")
    told = progress.fixes(done, "1.3", ("1.3.1",), "PASS")
    progress.learnings(told)
    assert progress.completed(told, "1.3", "Title") == told
    rest = iter(told)
    assert all(character in rest for character in text.replace("1.3", ""))


def shell(data: bytes) -> None:
    simple_commands(text_of(data))


def texts(data: bytes) -> None:
    text = text_of(data)
    for sink in (terminal, one_line, markdown, prompt_line):
        assert "\x1b" not in sink(text)
    assert "s3cr3t-value" not in MASKER.mask(text)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        spec,
        verify,
        front_matter,
        classifier,
        report,
        claims,
        junit,
        state,
        progress_log,
        shell,
        texts,
    )
}


def try_out(name: str, data: bytes, least: float = 1.0) -> None:
    """Run a target within its time limit; small inputs get extra for loading tables."""
    started = time.process_time()
    TARGETS[name](data)
    took = time.process_time() - started
    limit = max(least, len(data) * SECONDS_A_BYTE) * TIMES.get(
        name, 1
    ) + SECONDS_A_TASK * data.count(b"[")
    assert took < limit, f"{name}: {len(data):,} bytes took {took:.1f} s"
