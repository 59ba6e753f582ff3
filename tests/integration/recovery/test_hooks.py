"""Hooks of a project: the first answer wins, and one that is broken is one clear failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

CALLS = {
    "classify": "evidence, task",
    "decide": "failure, task, history",
    "fix_task": "task, failure, number",
    "prompt": "task, failure, history",
    "execute": "task, prompt, timeout",
    "failed": "task, failure, attempt",
    "fix_inserted": "task, fix, failure",
    "recovered": "task, fixes",
    "escalated": "task, failure, reason",
}


def conftest(project: Project, *hooks: str) -> None:
    project.write(
        "conftest.py",
        "import dataclasses\nfrom pathlib import Path\nimport pytest\n" + "\n".join(hooks),
    )


def hook(name: str, body: str) -> str:
    return f"def pytest_ralph_{name}({CALLS[name]}):\n    {body}\n"


NOTIFICATIONS = ("failed", "fix_inserted", "recovered")


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_a_notification_that_raises_is_a_note(one_task: Project, name: str) -> None:
    conftest(one_task, hook(name, 'raise ValueError("boom")'))
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"ralph: hook pytest_ralph_{name} raised ValueError: boom (conftest.py:5)"]
    )


@pytest.mark.parametrize(
    "name", [name for name in CALLS if name not in (*NOTIFICATIONS, "escalated")]
)
def test_a_hook_that_raises_is_one_clear_failure(one_task: Project, name: str) -> None:
    conftest(one_task, hook(name, 'raise ValueError("boom")'))
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"*hook pytest_ralph_{name} raised ValueError: boom (conftest.py:5)"]
    )
    assert "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.parametrize(
    ("name", "answer", "wanted"),
    [
        ("classify", "42", "must return a Failure, not 42"),
        ("decide", "'dance'", "must return a Decision or one of *, not 'dance'"),
        ("fix_task", "['- [ ] 1.3.1']", "must return a text, not [[]'- [[] ] 1.3.1'[]]"),
        (
            "fix_task",
            "'- [ ] 9.9 Something else'",
            "the fix task must start with `- [[] ] 1.3.1 [[]FIX 1.3[]]`",
        ),
        ("prompt", "b'do it'", "must return a text, not b'do it'"),
        ("execute", "'done'", "must return True, False, a Failure or an Outcome, not 'done'"),
    ],
)
def test_an_answer_of_no_use_is_one_clear_failure(
    one_task: Project, name: str, answer: str, wanted: str
) -> None:
    conftest(one_task, hook(name, f"return {answer}"))
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    result.stdout.fnmatch_lines([f"*hook pytest_ralph_{name}*{wanted}*"])
    assert result.ret == 1


def test_the_run_goes_on_after_a_broken_hook(one_task: Project) -> None:
    conftest(one_task, hook("decide", 'raise ValueError("boom")'))
    result = one_task.run("--ralph-keep-going")

    result.assert_outcomes(failed=1, passed=1)


def test_a_broken_hook_that_is_told_of_the_halt_breaks_nothing(one_task: Project) -> None:
    conftest(
        one_task,
        'def pytest_ralph_halted(spec, failed, blocked):\n    raise OSError("no network")\n',
    )
    result = one_task.run("--ralph-executor", "none")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*hook pytest_ralph_halted raised OSError: no network (conftest.py:5)"]
    )
    assert "INTERNALERROR" not in result.stdout.str()


def test_the_first_answer_wins_and_none_leaves_it_to_the_package(one_task: Project) -> None:
    conftest(one_task, hook("prompt", "return None"), hook("decide", "return None"))
    one_task.write("second.py", hook("prompt", 'return "told by the second"'))
    one_task.pytester.syspathinsert()
    result = one_task.run("-p", "second", executor=one_task.shell("echo fixed > parser.txt"))

    assert result.ret == 0
    assert one_task.prompt(1) == "told by the second"


def test_a_decision_may_be_just_its_word(one_task: Project) -> None:
    conftest(one_task, hook("decide", 'return "escalate"'))
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    result.stdout.fnmatch_lines(["*given up: decided by a plugin"])
    assert one_task.calls == []


def test_a_plugin_that_asks_to_try_again_for_ever_is_stopped(one_task: Project) -> None:
    conftest(one_task, hook("decide", 'return "retry"'))
    result = one_task.run()

    result.stdout.fnmatch_lines(["*given up: tried again 10 times, without success"])
    assert one_task.history("COUNT(*)", "what = 'verify' AND task = '1.3'") == [11]


def test_a_plugin_may_be_the_executor_and_is_enough_to_execute(one_task: Project) -> None:
    conftest(one_task, hook("execute", 'Path("parser.txt").write_text("fixed")\n    return True'))
    result = one_task.run("--ralph-execute", "--ralph-executor", "none")

    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.4": True}


@pytest.mark.parametrize("answer", ["False", "__import__('pytest_ralph').Failure(error='no idea')"])
def test_a_plugin_may_say_that_it_failed(one_task: Project, answer: str) -> None:
    conftest(one_task, hook("execute", f"return {answer}"))
    result = one_task.run()

    result.stdout.fnmatch_lines(["*ERROR: Max fix task depth (3) exceeded for task 1.3.1.1.1"])


def test_hooks_do_nothing_without_the_plugin(one_task: Project) -> None:
    conftest(one_task, hook("decide", 'raise ValueError("boom")'))
    one_task.write("test_it.py", "def test_it():\n    pass\n")

    one_task.pytester.runpytest("test_it.py").assert_outcomes(passed=1)


NOTE = "def note(line):\n    with open('told.txt', 'a') as file:\n        file.write(line)\n"
HALTED = (
    "def pytest_ralph_halted(spec, failed, blocked):\n"
    "    note(f'halted {spec.name} {failed} {blocked}')\n"
)


def notes(**told: str) -> list[str]:
    """Hooks that write down what they are told."""
    return [NOTE, *(hook(name, f"note(f'{name} {words}\\n')") for name, words in told.items())]


def test_hooks_are_told_of_which_task_which_fix_and_which_failure(one_task: Project) -> None:
    conftest(
        one_task,
        *notes(
            failed="{task.id} {failure.kind} {attempt}",
            fix_inserted="{task.id} {fix.id} {failure.kind}",
            recovered="{task.id} {fixes}",
            prompt=(
                "{task.id} {failure.kind} {history.task_id} {history.action} "
                "{history.spec_path.name}"
            ),
            fix_task="{task.id} {failure.kind} {number}",
            execute="{task.id} {len(prompt) > 100} {timeout}",
        ),
    )
    result = one_task.run(
        "--ralph-executor-timeout=45",
        executor=one_task.shell("[ $call = 1 ] || echo fixed > parser.txt"),
    )

    assert result.ret == 0
    assert (one_task.root / "told.txt").read_text().splitlines() == [
        "failed 1.3 task_incomplete 1",
        "fix_task 1.3 task_incomplete 1.3.1",
        "fix_inserted 1.3 1.3.1 task_incomplete",
        "prompt 1.3.1 task_incomplete 1.3 fix tasks.md",
        "execute 1.3.1 True 45.0",
        "failed 1.3 task_incomplete 2",
        "fix_task 1.3 task_incomplete 1.3.2",
        "fix_inserted 1.3 1.3.2 task_incomplete",
        "prompt 1.3.2 task_incomplete 1.3 fix tasks.md",
        "execute 1.3.2 True 45.0",
        "recovered 1.3 ('1.3.1', '1.3.2')",
    ]


def test_hooks_are_told_why_a_task_was_given_up(one_task: Project) -> None:
    conftest(one_task, *notes(escalated="{task.id} {failure.kind} {reason}"), HALTED)
    one_task.run("--ralph-executor", "none")

    assert (one_task.root / "told.txt").read_text().splitlines() == [
        "escalated 1.3 task_incomplete there is no executor; task 1.3.1 waits in tasks.md",
        "halted demo ('1.3',) ('1.4',)",
    ]


def test_a_task_that_no_plugin_takes_waits_for_a_person_where_there_is_no_executor(
    one_task: Project,
) -> None:
    conftest(one_task, hook("execute", "return None"))
    result = one_task.run()

    result.stdout.fnmatch_lines(["*task 1.3.1 waits in tasks.md*", "  Do task 1.3.1 *"])
    assert one_task.boxes == {"1.3": False, "1.3.1": False, "1.4": False}


def test_a_task_a_plugin_did_not_do_is_incomplete(one_task: Project) -> None:
    conftest(one_task, hook("execute", "return False"))
    one_task.run("--ralph-executor", "none")

    told = one_task.history("kind, type, error", "what = 'execute' AND task = '1.3'")
    assert told[0] == ("task_incomplete", "VERIFICATION_FAILED", "Task did not complete")


def test_what_a_plugin_changed_before_it_raised_can_be_undone(one_task: Project) -> None:
    body = 'Path("parser.txt").write_text("worse"); raise ValueError("boom")'
    conftest(one_task, hook("execute", body))
    one_task.run()
    one_task.pytester.runpytest("--ralph-undo")

    assert (one_task.root / "parser.txt").read_text() == "broken\n"


def test_a_plugin_that_declines_takes_no_run_of_the_budget(one_task: Project) -> None:
    conftest(one_task, hook("execute", "return None"))
    one_task.spec(TWO_FAILING)
    result = one_task.run("--ralph-budget=1", "--ralph-keep-going")

    assert result.ret == 1
    assert "are used up" not in result.stdout.str()


TWO_FAILING = """\
    # Tasks

    - [ ] 1.1 One
      - **Verify**: `false`

    - [ ] 1.2 Two
      - **Verify**: `! true`
"""


def test_a_task_without_steps_is_not_split(one_task: Project) -> None:
    conftest(one_task, hook("decide", "return 'split'"))
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1"]


def test_a_task_that_is_expected_to_fail_is_not_carried_out(one_task: Project) -> None:
    one_task.write(
        "conftest.py",
        """\
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.xfail)
        """,
    )
    result = one_task.verify("--ralph-execute", executor=one_task.shell("echo fixed > parser.txt"))

    result.assert_outcomes(xfailed=1, passed=1)
    assert one_task.calls == ["1.4"]
    assert not one_task.boxes["1.3"]


def test_junit_files_may_be_outside_the_project(one_task: Project) -> None:
    one_task.write("pytest.ini", f"[pytest]\nralph_junit = {one_task.root}/results/*.xml\n")
    result = one_task.verify()

    result.assert_outcomes(failed=1, passed=1)
    assert "NotImplementedError" not in result.stdout.str()


def test_a_task_that_is_skipped_is_not_continued(one_task: Project) -> None:
    skip = "Decision('escalate', 'not now', 'skipped')"
    imported = "from pytest_ralph.healing.decide import Decision\n"
    conftest(one_task, imported, hook("decide", f"return {skip}"))
    one_task.run()
    assert one_task.state["taskResults"]["1.3"]["status"] == "pending"
    conftest(one_task)
    result = one_task.run("--ralph-executor=none")

    result.stdout.no_fnmatch_line("*continuing where*")
