"""What GitHub Actions is told: annotations on the specs and a summary of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from pytest_ralph.report.github import DETAILS_SHOWN, ROWS_SHOWN, report, summary, workflow_commands
from pytest_ralph.report.run_summary import RunSummary
from pytest_ralph.results import Attempt, FixResult, TaskResult

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = Attempt(
    outcome="failed", error="100% wrong: a, b", advice=("Read the test",), output="E  boom\n"
)


def task(outcome: str, **facts: Any) -> TaskResult:
    return TaskResult(
        "1.3", spec_path="specs/foo/tasks.md", title="Add: a, b", line=12, outcome=outcome, **facts
    )


def run(*tasks: TaskResult, root: str = "/w/repo/app") -> RunSummary:
    return RunSummary(tasks, root=root)


def test_a_failed_task_is_an_escaped_error() -> None:
    (line,) = workflow_commands(run(task("failed", attempts=(BROKEN,))))
    assert line == (
        "::error file=specs/foo/tasks.md,line=12,title=1.3 Add%3A a%2C b%3A failed::"
        "100%25 wrong: a, b%0A- Fix task 1.3 (specs/foo/tasks.md:12)%0A- Read the test"
    )


def test_a_recovered_task_is_a_notice() -> None:
    (line,) = workflow_commands(
        run(task("recovered", attempts=(BROKEN,), fixes=(FixResult("1.3.1"),)))
    )
    assert line.startswith("::notice file=")
    assert line.endswith("::Recovered after 1 fix. At first: 100%25 wrong: a, b")


@pytest.mark.parametrize("outcome", ["passed", "manual", "blocked", "skipped"])
def test_other_outcomes_are_not_annotated(outcome: str) -> None:
    assert workflow_commands(run(task(outcome))) == []


@pytest.mark.parametrize(
    ("root", "workspace", "file"),
    [
        ("/w/repo/app", "/w/repo", "app/specs/foo/tasks.md"),
        ("/w/repo", "/w/repo", "specs/foo/tasks.md"),
        ("/w/repo/app/../lib/..", "/w/repo", "specs/foo/tasks.md"),
        ("/elsewhere", "/w/repo", "specs/foo/tasks.md"),
        ("/w/repo", "", "specs/foo/tasks.md"),
    ],
)
def test_files_are_named_as_seen_from_the_workspace(root: str, workspace: str, file: str) -> None:
    (line,) = workflow_commands(run(task("failed"), root=root), workspace)
    assert line.startswith(f"::error file={file},")


def test_a_command_hidden_in_an_error_stays_text() -> None:
    attack = Attempt(outcome="failed", error="x\n::set-output name=a::b\r::error::c")
    (line,) = workflow_commands(run(task("failed", attempts=(attack,))))
    assert "\n" not in line
    assert "\r" not in line


def rendered(story: RunSummary) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(summary(story)))


def test_the_summary_shows_foreign_text_literally() -> None:
    nasty = "a | b `c` <img src=x> *d* [e](http://f) </details> &amp; @you"
    story = run(
        task(
            "failed",
            attempts=(Attempt(outcome="failed", error=nasty, output="```\n</details>\n"),),
        )
    )
    page = rendered(story)
    for element in ("<img", "<em>", "<a ", "<code>c"):
        assert element not in page
    assert page.count("</details>") == 1
    assert "a | b `c` &lt;img src=x&gt; *d* [e](http://f) &lt;/details&gt; &amp;amp; @you" in page
    assert page.count("<tr>") == 2


def test_the_summary_quotes_the_first_error_of_a_recovery() -> None:
    later = BROKEN._replace(error="another", findings=("1.3.1 changed tests",))
    text = summary(run(task("recovered", attempts=(BROKEN, later, Attempt()))))
    assert "| recovered | 100% wrong&#58; a, b |" in text
    assert "\n\nWarning&#58; 1.3.1 changed tests\n" in text


def test_the_summary_warns_also_about_tasks_that_passed() -> None:
    executed = Attempt(what="execute", findings=("1.3 changed tests",))

    text = summary(run(task("passed", attempts=(executed,))))

    assert "\n\nWarning&#58; 1.3 changed tests\n" in text


def test_the_summary_opens_with_the_result() -> None:
    story = run(
        task("passed"),
        task("blocked", reason="blocked by 1.2"),
        task("failed", attempts=(BROKEN, BROKEN)),
    )
    text = summary(story)
    assert text.startswith("## 1 task needs you\n\n1 of 3 tasks pass; 1 is blocked.\n\n| Spec |")
    assert "| blocked | blocked by 1.2 |  |  |  |" in text
    assert "| failed | 100% wrong&#58; a, b | 2 |  |  |" in text
    assert text.index("| failed |") < text.index("| blocked |")
    assert "- Read the test" in text
    assert "E  boom" in text


def test_a_huge_summary_fits_the_limit() -> None:
    loud = Attempt(outcome="failed", error="e" * 5000, output=("o" * 900 + "\n") * 900)
    text = summary(run(*[task("failed", attempts=(loud,))] * 5000))
    assert len(text.encode()) < 1024 * 1024
    assert text.count("<details>") == DETAILS_SHOWN
    assert f"… and {5000 - ROWS_SHOWN:,} more" in text


def test_a_huge_summary_of_wide_characters_fits_the_limit() -> None:
    loud = Attempt(outcome="failed", error="|" * 5000, output=("語" * 900 + "\n") * 900)
    failed = task("failed", attempts=(loud,))
    warned = tuple(f"{number} " + "<" * 300 for number in range(2000))
    text = summary(run(*[failed] * 5000)._replace(notes=warned))
    assert len(text.encode()) < 1024 * 1024
    assert text.endswith("left out, because GitHub takes no more\n\n")


def test_outside_of_github_nothing_is_told(tmp_path: Path) -> None:
    lines: list[str] = []
    report(run(task("failed")), {}, lines.append)
    assert lines == []


def test_on_github_summary_and_annotations_are_written(tmp_path: Path) -> None:
    file, lines = tmp_path / "summary.md", list[str]()
    file.write_text("before\n")
    report(
        run(task("failed")),
        {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(file)},
        lines.append,
    )
    assert file.read_text().startswith("before\n## 1 task needs you")
    assert len(lines) == 1


def test_an_unwritable_summary_is_a_warning(tmp_path: Path) -> None:
    lines: list[str] = []
    report(
        run(task("passed")),
        {"GITHUB_STEP_SUMMARY": str(tmp_path / "absent" / "summary.md")},
        lines.append,
    )
    assert [line.partition(": ")[0] for line in lines] == [
        "::warning::the summary could not be written"
    ]
