"""Every hostile sample stays plain text in every place where failure text ends up."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_ralph.failure.report import parse_report
from pytest_ralph.fixing.facts import Facts
from pytest_ralph.fixing.git.messages import append_commit, commit_message
from pytest_ralph.fixing.prompts import Form, PromptContext, Prompts, Tried
from pytest_ralph.fixing.templating import Templates
from pytest_ralph.healing.fix_task import make_fix_task
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.history.store import History
from pytest_ralph.report import github, html, junit
from pytest_ralph.report.failure_text import FailureText
from pytest_ralph.report.halt import Halt, halt_lines
from pytest_ralph.results import Note
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.order import plan
from pytest_ralph.spec.state import State
from pytest_ralph.spec.task import Task
from pytest_ralph.text.inert import prompt_line
from pytest_ralph.text.secrets import Masker
from pytest_ralph.verify.model import Verify
from tests.hostile.samples import LARGE, SAMPLES, TAME, failure_of, story_of, unseen
from tests.records import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

DOCUMENT = """\
---
total_tasks: 2
---
# Tasks

- [ ] 1.3 Add parser
  - **Do**: Add it
  - **Files**: `parser.py`
  - **Verify**: `pytest -q && echo "it's $HOME"`

- [ ] 1.4 Next
  - **Verify**: `true`

## Notes
"""
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PROMPTS = Prompts(Templates(), Masker({}))


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at here is text: whether it would outlive a power cut is for other tests."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def worst(check: Callable[[str], None], samples: Iterable[str] = SAMPLES) -> None:
    """All samples in one test; which of them gets through is in the traceback."""
    for text in samples:
        check(text)


def structure(text: str) -> list[str]:
    return [
        f"{token.type} {token.level}" for token in MARKDOWN.parse(text) if token.type != "inline"
    ]


# tasks.md


class Project:
    """A spec on disk, begun anew for every sample."""

    def __init__(self, directory: Path, document: str = DOCUMENT) -> None:
        self.path = directory / "tasks.md"
        self.document = document

    def with_fix(self, failure: Failure) -> tuple[Spec, Spec]:
        """The spec before and after one fix task for `failure` was put in."""
        self.path.write_text(self.document, encoding="utf-8", newline="")
        (self.path.parent / ".ralph-state.json").unlink(missing_ok=True)
        before = Spec.load(self.path)
        spec_files = SpecFiles(before, plan(before.tasks))
        spec_files.start("specs/demo")
        original = before["1.3"]
        block = make_fix_task(original, failure, "1.3.1", spec_name="demo", directory="specs/demo")
        spec_files.insert_fix(original, "1.3.1", block, failure.error)
        return before, Spec.load(self.path)


def assert_one_task_more(before: Spec, after: Spec) -> None:
    assert [task.id for task in after.tasks] == ["1.3", "1.3.1", "1.4"]
    fix, original = after["1.3.1"], before["1.3"]
    assert fix.fix_for == "1.3"
    assert set(fix.markers) == {"FIX 1.3"}
    assert list(fix.fields) == ["Do", "Files", "Done when", "Verify", "Commit"]
    assert fix.verify == original.verify
    assert [check.command for check in fix.verify.checks] == ['pytest -q && echo "it\'s $HOME"']
    assert re.fullmatch(r"fix\(demo\): address [a-z ]+ from task 1\.3", commit_message(fix, "demo"))
    assert fix.files == original.files
    assert not fix.checked
    for task in before.tasks:
        same = after[task.id]
        assert (same.title, same.fields, same.markers, same.verify) == (
            task.title,
            task.fields,
            task.markers,
            task.verify,
        )
    rest = [
        line
        for at, line in enumerate(after.source.split("\n"), 1)
        if not fix.line <= at <= fix.end_line and line
    ]
    wanted = [
        line
        for line in before.source.replace("total_tasks: 2", "total_tasks: 3").split("\n")
        if line
    ]
    assert rest == wanted
    assert after.settings == before.settings == {}


def test_in_tasks_md_it_adds_one_task_and_nothing_else(tmp_path: Path) -> None:
    project = Project(tmp_path)
    worst(
        lambda text: assert_one_task_more(*project.with_fix(failure_of(text))), [*SAMPLES, *LARGE]
    )


pieces = st.sampled_from(
    [
        *"`*_[]()<>#-+~|\\!&;:=$'\"{}^@ \t\n\r\0\x07",
        "- [ ] 9.9 ",
        "**Verify**: ",
        "```",
        "---\n",
        "\u2028",
        "\x1b[31m",
    ]
)
hostile = (
    st.lists(pieces, max_size=25).map("".join) | st.text(max_size=80) | st.sampled_from(SAMPLES)
)


@given(error=hostile, attempted=hostile)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_the_error_is_made_of_one_task_is_added_and_no_other_byte_changes(
    tmp_path: Path, error: str, attempted: str
) -> None:
    failure = replace(failure_of(TAME), error=error, attempted_fix=attempted)
    assert_one_task_more(*Project(tmp_path).with_fix(failure))


# The other files


def test_in_the_state_it_is_a_string_and_comes_back(tmp_path: Path) -> None:
    def check(text: str) -> None:
        state = State(tmp_path / ".ralph-state.json")
        state.begin_attempt("1.3", 4)
        state.attempt_failed("1.3", "test_failure", text)
        state.record_fix("1.3", "1.3.1", text)
        state.save()
        read = State.load(state.path)
        assert set(read.data) == {"taskResults", "fixTaskMap", "totalTasks"}
        error = read.data["fixTaskMap"]["1.3"]["lastError"]
        assert error.isprintable() or error == text

    worst(check, [*SAMPLES, *LARGE])


def test_in_the_progress_it_adds_no_section(tmp_path: Path) -> None:
    project = Project(tmp_path)

    def progress(text: str) -> str:
        _, after = project.with_fix(failure_of(text))
        (tmp_path / ".progress.md").write_text("# Progress\n\n## Learnings\n\n- Tea helps\n")
        SpecFiles(after, plan(after.tasks)).passed(after["1.3"])
        return (tmp_path / ".progress.md").read_text(encoding="utf-8")

    tame = structure(progress(TAME))
    worst(lambda text: _same(structure(progress(text)), tame))


def _same(found: object, wanted: object) -> None:
    assert found == wanted


def test_in_the_history_it_is_a_value(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for text in SAMPLES:
            history.record(
                record_of(run="r", time=1.0, spec="demo", task="1.3", error=text, outcome="failed")
            )
        assert len(history.records()) == len(SAMPLES)


# Prompts


def context(text: str) -> PromptContext:
    return PromptContext(
        task=Task(
            id="1.3.1", title=TAME, fields={"Do": "it"}, files=(text,), verify=Verify(text="`true`")
        ),
        spec_name="demo",
        spec_path="specs/demo/tasks.md",
        fix_for=Task(id="1.3", title=TAME),
        failure=failure_of(text),
        reason=text,
        tried=[Tried(task_id="1.3.1", approach=text, result=text)] * 2,
        learnings=[text, text],
        hints=[text, text],
        facts=Facts(main_files=(text,), configuration=(text,), test_directory=text),
    )


@pytest.mark.parametrize("form", get_args(Form))
def test_in_a_prompt_it_adds_no_section(form: Form) -> None:
    tame, sections = (
        set(structure(PROMPTS.write(form, context(TAME)))),
        _sections(PROMPTS.write(form, context(TAME))),
    )

    def check(text: str) -> None:
        prompt = PROMPTS.write(form, context(text))
        assert not unseen(prompt)
        wanted = iter(sections)
        # Of what cannot be seen at all, some sections have nothing to show.
        assert all(section in wanted for section in _sections(prompt))
        assert len(_sections(prompt)) == len(sections) or not prompt_line(text)
        assert set(structure(prompt)) <= tame

    worst(check, [*SAMPLES, *LARGE] if form == "fix" else SAMPLES[::5])


def _sections(prompt: str) -> list[str]:
    tokens = MARKDOWN.parse(prompt)
    return [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"
    ]


# Commits


def test_in_the_script_of_commits_it_is_one_word(tmp_path: Path) -> None:
    script, notes = tmp_path / "commits.sh", tmp_path / "argv.json"
    (tmp_path / "git").write_text(
        f"#!/bin/sh\n[ $1 = commit ] && printf '%s\\0' \"$@\" >> {shlex.quote(str(notes))}\n"
        # There is something to commit.
        "[ $1 != diff ]\n"
    )
    (tmp_path / "git").chmod(0o755)
    samples = [
        text for text in SAMPLES if "\0" not in text and text.isprintable() and "/" not in text
    ][:60]
    for text in samples:
        task = Task(id="1.3", title=text, fields={"Commit": text})
        append_commit(script, tmp_path, commit_message(task, "demo"), [f"a {text}.txt"])
    subprocess.run(["sh", str(script)], check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    told = notes.read_bytes().split(b"\0")[:-1]
    words = [told[at : at + 5] for at in range(0, len(told), 5)]
    assert len(words) == len(samples)
    assert [os_text(name) for *_, name in words] == [f"a {text}.txt" for text in samples]


def os_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# The terminal


def told_on_the_terminal(text: str) -> str:
    run = story_of(text)
    failed = run.tasks[0]
    halt = Halt(tasks=run.tasks, preserved=(("State", "x"),), command="pytest --ralph")
    return "\n".join(
        [
            str(FailureText.of(failed._replace(notes=(Note(text),)))),
            str(FailureText.of(failed._replace(notes=(Note(text),))).reprcrash),
            *halt_lines(halt, 80, box=True),
            *halt_lines(halt, 80, box=False),
            failure_of(text).report(),
        ]
    )


def test_on_the_terminal_nothing_moves_hides_or_colours() -> None:
    worst(lambda text: _same(unseen(told_on_the_terminal(text)), ""))


def test_in_a_failure_report_it_changes_no_fact() -> None:
    def check(text: str) -> None:
        read = parse_report(failure_of(text).report())
        assert (read.kind, read.type, read.category, read.retryable) == (
            "test_failure",
            "VERIFICATION_FAILED",
            None,
            True,
        )
        assert len(read.completed_steps) <= 1
        assert len(read.suggested_actions) <= 1

    worst(check)


# JUnit, HTML, GitHub


def test_in_junit_it_is_text() -> None:
    def check(text: str) -> None:
        failed = story_of(text).tasks[0]
        element = ET.Element("testcase")
        element.append(junit.attempt_element("rerunFailure", failed.attempts[0]))
        properties = ET.SubElement(element, "properties")
        for name, value in junit.properties(failed):
            ET.SubElement(properties, "property", name=name, value=value)
        read = ET.fromstring(ET.tostring(element, encoding="utf-8"))
        tags = [found.tag for found in read.iter() if found.tag != "property"]
        assert [tag for tag in tags if tag != "system-out"] == [
            "testcase",
            "rerunFailure",
            "stackTrace",
            "properties",
        ]
        assert not unseen("".join(read.itertext()))

    worst(check)


class Outline(HTMLParser):
    """Tags with their attribute names, and the addresses anything leads to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(" ".join([tag, *(name for name, _ in attrs)]))


def page_of(texts: list[str]) -> str:
    stories = [story_of(text) for text in texts]
    tasks = tuple(
        task._replace(id=f"{number}.{task.id}")
        for number, one in enumerate(stories)
        for task in one.tasks
    )
    return html.render(stories[0]._replace(tasks=tasks))


def test_in_the_html_report_it_adds_no_element() -> None:
    for start in range(0, len(SAMPLES), 41):
        some = SAMPLES[start : start + 41]
        page = page_of(some)
        # Text in backquotes is shown as code, which no attribute can be added to.
        tags = [tag for tag in Outline(page).tags if tag != "code"]
        assert tags == Outline(page_of([TAME] * len(some))).tags
        data = re.search(
            r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL
        )
        assert data is not None
        assert len(json.loads(data[1])["tasks"]) == 3 * len(some)


def test_at_github_it_is_no_command_and_adds_no_section() -> None:
    def check(text: str) -> None:
        commands = github.workflow_commands(story_of(text))
        assert len(commands) == 2
        assert not [line for command in commands for line in command.splitlines()[1:]]
        assert not unseen(github.summary(story_of(text)))

    worst(check)


def test_in_the_summary_at_github_it_adds_no_block() -> None:
    def blocks(text: str) -> list[str]:
        return [
            token
            for token in structure(github.summary(story_of(text)))
            if token.startswith(("heading", "table"))
        ]

    worst(lambda text: _same(blocks(text), blocks(TAME)))
