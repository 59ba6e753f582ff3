"""Projects of smart-ralph: its state file, its current spec and its Stop hook."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

FIX = "echo fixed > parser.txt"


# awaitingApproval


@pytest.mark.parametrize("mode", [(), ("--ralph-execute",)])
def test_a_spec_that_awaits_approval_is_only_verified(
    one_task: Project, mode: tuple[str, ...]
) -> None:
    state = json.dumps({"phase": "tasks", "awaitingApproval": True})
    one_task.state_path.write_text(state)
    before = one_task.tasks.read_bytes()
    result = one_task.run("-q", *mode, executor=one_task.shell(FIX))

    assert result.ret == 1
    assert one_task.calls == []
    assert one_task.tasks.read_bytes() == before
    assert one_task.state_path.read_text() == state
    result.stdout.fnmatch_lines(
        ["ralph: specs/demo/tasks.md is only verified: it awaits approval (set awaitingApproval *"]
    )


def test_an_approved_spec_is_recovered(one_task: Project) -> None:
    one_task.state_path.write_text(json.dumps({"awaitingApproval": False}))

    assert one_task.run(executor=one_task.shell(FIX)).ret == 0


# The Stop hook


STATE = "grep -E 'awaitingApproval|heldByRun' specs/demo/.ralph-state.json >> seen.txt"


def test_the_stop_hook_lets_our_agents_end(one_task: Project) -> None:
    one_task.write("specs/.current-spec", "demo\n")
    result = one_task.run(executor=one_task.shell(f"{STATE}; {FIX}"))

    assert result.ret == 0
    assert '"awaitingApproval": true' in (one_task.root / "seen.txt").read_text()
    assert one_task.state["awaitingApproval"] is False
    assert "heldByRun" not in one_task.state


# What its Stop hook does: blocked unless it lets the agent end.
STOP_HOOK = """\
    import json, pathlib
    specs = pathlib.Path("specs")
    name = (specs / ".current-spec").read_text().strip()
    state = json.loads((specs / name / ".ralph-state.json").read_text())
    if state["phase"] != "execution":
        print("blocked" if state.get("quickMode") else "ended")
    elif state["taskIndex"] < state["totalTasks"]:
        print("ended" if state.get("awaitingApproval") else "blocked")
"""


@pytest.mark.parametrize(
    ("current", "state"),
    [
        ("demo", {"phase": "execution", "taskIndex": 0, "totalTasks": 2}),
        ("demo", {"phase": "tasks", "quickMode": True}),
        ("other", {"phase": "execution", "taskIndex": 0, "totalTasks": 2}),
        ("other", {"phase": "design", "quickMode": True, "awaitingApproval": False}),
    ],
)
def test_the_stop_hook_never_blocks(one_task: Project, current: str, state: dict[str, Any]) -> None:
    one_task.write("specs/other/tasks.md", "- [ ] 1.1 Other\n  - **Verify**: `false`\n")
    one_task.write("specs/.current-spec", current)
    one_task.write("hook.py", STOP_HOOK)
    path = one_task.write(f"specs/{current}/.ralph-state.json", json.dumps(state))
    hook = f"{shlex.quote(sys.executable)} hook.py > hook.txt"
    result = one_task.run(executor=one_task.shell(f"{hook}; {FIX}"))

    assert result.ret == 0
    assert (one_task.root / "hook.txt").read_text() == "ended\n"
    after = json.loads(path.read_text())
    assert "heldByRun" not in after
    assert after.get("quickMode") == state.get("quickMode")


def test_other_projects_need_no_hold(one_task: Project) -> None:
    one_task.run(executor=one_task.shell(f"{STATE}; {FIX}"))

    assert (one_task.root / "seen.txt").read_text() == ""
    assert "awaitingApproval" not in one_task.state


def test_a_killed_run_does_not_await_approval(one_task: Project) -> None:
    one_task.write("specs/.current-spec", "./specs/demo\n")
    one_task.state_path.write_text(
        json.dumps({"awaitingApproval": True, "heldByRun": "20260101T000000-abcdef"})
    )
    result = one_task.run(executor=one_task.shell(FIX))

    assert result.ret == 0
    assert one_task.state["awaitingApproval"] is False


# .current-spec


@pytest.fixture
def two_specs(one_task: Project) -> Project:
    one_task.write("specs/other/tasks.md", "- [ ] 1.1 Fail\n  - **Verify**: `false`\n")
    one_task.write("test_ordinary.py", "def test_ordinary(): pass\n")
    one_task.write("parser.txt", "fixed\n")
    return one_task


@pytest.mark.parametrize("name", ["demo", "./specs/demo\n"])
def test_without_a_path_the_current_spec_runs(two_specs: Project, name: str) -> None:
    two_specs.write("specs/.current-spec", name)
    result = two_specs.pytester.runpytest("--ralph")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["ralph: current spec specs/demo"])


def test_specs_may_be_in_another_directory(two_specs: Project) -> None:
    (two_specs.root / "specs").rename(two_specs.root / "plans")
    (two_specs.root / "specs").mkdir()
    two_specs.write("plans/.current-spec", "demo")
    two_specs.write(
        ".claude/ralph-specum.local.md", '---\nspecs_dirs: ["./plans", "./more"]\n---\n'
    )
    result = two_specs.pytester.runpytest("--ralph")

    result.assert_outcomes(passed=2)


def test_a_path_beats_the_current_spec(two_specs: Project) -> None:
    two_specs.write("specs/.current-spec", "demo")
    result = two_specs.pytester.runpytest("--ralph", "specs/other")

    result.assert_outcomes(failed=1)


@pytest.mark.parametrize("name", ["", "gone", "../../elsewhere"])
def test_a_current_spec_that_is_not_there(two_specs: Project, name: str) -> None:
    two_specs.write("specs/.current-spec", name)
    result = two_specs.pytester.runpytest("--ralph")

    result.assert_outcomes(passed=3, failed=1)


def test_the_ini_file_keeps_ordinary_tests(two_specs: Project) -> None:
    two_specs.write("specs/.current-spec", "demo")
    two_specs.write("pytest.ini", "[pytest]\nralph = true\n")
    result = two_specs.pytester.runpytest()

    result.assert_outcomes(passed=3, failed=1)


# Servers of E2E tasks


def test_a_server_of_the_executor_lives_on(project: Project) -> None:
    project.spec("""\
        - [ ] VE1 [VERIFY] E2E startup
          - **Do**: Start the server
          - **Verify**: `test -s server.pid`

        - [ ] VE2 [VERIFY] E2E check
          - **Verify**: `kill -0 $(cat server.pid)`

        - [ ] VE3 [VERIFY] E2E cleanup
          - **Verify**: `true`

        - [ ] VF Last
          - **Verify**: `! grep -qs sleeping /proc/$(cat server.pid)/status`
    """)
    serve = "[ $task = VE1 ] && { sleep 300 & echo $! > server.pid; }; echo TASK_COMPLETE"
    result = project.run("--ralph-execute", executor=project.shell(serve))

    assert result.ret == 0
    assert project.boxes == {"VE1": True, "VE2": True, "VE3": True, "VF": True}


# TASK_MODIFICATION_REQUEST


PLAN = """\
---
total_tasks: 2
---
# Tasks

- [ ] 1.1 Write the page
  - **Do**: Write `page.txt` from `words.txt`
  - **Verify**: `grep -q word page.txt`

- [ ] 1.2 Last
  - **Verify**: `true`
"""
WORDS = """\
- [ ] 1.0.1 Collect words
  - **Do**: Write `words.txt`
  - **Verify**: `test -s words.txt`"""
PARTS = (
    WORDS.replace("1.0.1", "1.1.1"),
    WORDS.replace("1.0.1", "1.1.1").replace("words.txt", "more.txt"),
)


@pytest.fixture
def page(project: Project) -> Project:
    project.tasks.write_text(PLAN)
    return project


def request(project: Project, kind: str, *blocks: str) -> str:
    """A shell command that prints the request."""
    asked = {"type": kind, "originalTaskId": "1.1", "reasoning": "needed", "proposedTasks": blocks}
    project.write("request.txt", f"TASK_MODIFICATION_REQUEST\n```json\n{json.dumps(asked)}\n```\n")
    return "cat request.txt"


MODES = pytest.mark.parametrize("newline", ["\n", "\r\n"])


@MODES
def test_a_prerequisite_is_inserted_and_carried_out(page: Project, newline: str) -> None:
    before = PLAN.replace("\n", newline)
    page.tasks.write_bytes(before.encode())
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    executor = page.shell(f"""\
        case $task in
            1.1) [ -e words.txt ] && cp words.txt page.txt || {asks};;
            1.0.1) echo word > words.txt;;
        esac
    """)
    result = page.run("--ralph-execute", executor=executor)

    assert result.ret == 0
    assert page.calls == ["1.1", "1.0.1", "1.1", "1.2"]
    added = f"{WORDS}\n\n".replace("\n", newline).replace("[ ]", "[x]")
    ticked = before.replace("[ ]", "[x]").replace("total_tasks: 2", "total_tasks: 3")
    at = ticked.index("- [x] 1.1 ")
    assert page.tasks.read_bytes().decode() == ticked[:at] + added + ticked[at:]
    assert page.state["modificationMap"]["1.1"] == {
        "count": 1,
        "modifications": [{"id": "1.0.1", "type": "ADD_PREREQUISITE", "reason": "needed"}],
    }
    assert page.state["totalTasks"] == 3
    assert page.state["fixTaskMap"] == {}


def test_a_prerequisite_for_the_same_files_in_a_worker(page: Project) -> None:
    block = WORDS.replace("  - **Verify**", "  - **Files**: `page.txt`\n  - **Verify**")
    page.tasks.write_text(
        PLAN.replace("  - **Verify**", "  - **Files**: `page.txt`\n  - **Verify**")
    )
    asks = request(page, "ADD_PREREQUISITE", block)
    executor = page.shell(f"""\
        case $task in
            1.1) [ -e words.txt ] && cp words.txt page.txt || {asks};;
            1.0.1) echo word > words.txt;;
        esac
    """)
    result = page.run("--ralph-execute", "-n1", executor=executor)

    assert result.ret == 0
    assert page.calls == ["1.1", "1.0.1", "1.1", "1.2"]


def test_a_prerequisite_that_fails_ends_it(page: Project) -> None:
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    result = page.run(
        "--ralph-execute",
        "--ralph-max-fixes",
        "1",
        executor=page.shell(f"[ $task = 1.1 ] && {asks}; true"),
    )

    assert result.ret == 1
    assert page.boxes["1.1"] is False
    assert page.boxes["1.0.1"] is False


@pytest.mark.parametrize("is_fixed", [False, True])
def test_an_added_task_that_is_broken_later_does_not_count(page: Project, is_fixed: bool) -> None:
    page.tasks.write_text(PLAN.replace("`true`", "`test ! -e words.txt -o -e last.txt`"))
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    executor = page.shell(f"""\
        case $task in
            1.1) [ -e words.txt ] && cp words.txt page.txt || {asks};;
            1.0.1) [ $call = 2 ] && echo word > words.txt;;
            1.2) rm words.txt; touch last.txt;;
            1.0.1.1) {str(is_fixed).lower()} && echo word > words.txt;;
        esac
        echo TASK_COMPLETE
    """)
    result = page.run("--ralph-execute", "--ralph-max-fixes=1", executor=executor)

    assert result.ret == (0 if is_fixed else 1)
    assert page.boxes["1.0.1"] == is_fixed
    assert ("ALL_TASKS_COMPLETE" in result.stdout.str()) == is_fixed
    result.stdout.fnmatch_lines(["*1.0.1 no longer passes since 1.2 changed *: *"])


def test_a_followup_comes_after_the_task(page: Project) -> None:
    asks = request(page, "ADD_FOLLOWUP", WORDS)
    executor = page.shell(f"""\
        case $task in
            1.1) echo word > page.txt; {asks}; echo TASK_COMPLETE;;
            1.0.1) echo word > words.txt;;
        esac
    """)
    result = page.run("--ralph-execute", executor=executor)

    assert result.ret == 0
    assert page.calls == ["1.1", "1.0.1", "1.2"]
    assert page.boxes == {"1.1": True, "1.0.1": True, "1.2": True}


def test_a_followup_of_a_task_without_verify_is_carried_out(page: Project) -> None:
    page.tasks.write_text(PLAN.replace("`grep -q word page.txt`", "Manual: read it"))
    asks = request(page, "ADD_FOLLOWUP", WORDS)
    executor = page.shell(f"""\
        case $task in
            1.1) {asks}; echo TASK_COMPLETE;;
            1.0.1) echo word > words.txt;;
        esac
    """)
    page.run("--ralph-execute", executor=executor)

    assert page.calls == ["1.1", "1.0.1", "1.2"]
    assert page.boxes == {"1.1": True, "1.0.1": True, "1.2": True}


def test_a_followup_that_breaks_off_leaves_the_task_passed(page: Project) -> None:
    page.write("conftest.py", "def pytest_ralph_fix_task():\n    raise ValueError\n")
    asks = request(page, "ADD_FOLLOWUP", WORDS)
    executor = page.shell(f"echo word > page.txt; [ $task = 1.1 ] && {asks}; echo TASK_COMPLETE")
    result = page.run("--ralph-execute", executor=executor)

    assert page.boxes["1.1"]
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1.0.1 was added after 1.1 *: failed"])


def test_a_followup_of_a_fix_waits(page: Project) -> None:
    asks = request(page, "ADD_FOLLOWUP", WORDS)
    result = page.run(executor=page.shell(f"echo word > page.txt; {asks}; echo TASK_COMPLETE"))

    assert result.ret == 0
    assert page.calls == ["1.1.1"]
    assert page.boxes == {"1.1": True, "1.1.1": True, "1.0.1": False, "1.2": True}
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    result.stdout.fnmatch_lines(["ralph: 1.0.1 was added after 1.1 *"])


def test_added_tasks_are_committed(page: Project) -> None:
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    page.write(".gitignore", "calls.txt\nprompt.*\n")
    page.repository()
    executor = page.shell(f"""\
        case $task in
            1.1) [ -e words.txt ] && cp words.txt page.txt || {asks};;
            1.0.1) echo word > words.txt;;
        esac
    """)
    page.run("--ralph-execute", "--ralph-commit=auto", executor=executor)

    committed = page.git("show", "HEAD:specs/demo/tasks.md")
    assert committed == page.tasks.read_text().replace("[x] 1.2", "[ ] 1.2").strip()


def test_a_split_task_passes_with_its_parts(page: Project) -> None:
    asks = request(page, "SPLIT_TASK", *PARTS)
    executor = page.shell(f"""\
        case $task in
            1.1) {asks}; echo TASK_COMPLETE;;
            1.1.1) echo word > words.txt;;
            1.1.2) cp words.txt more.txt; cp words.txt page.txt;;
        esac
    """)
    result = page.run("--ralph-execute", executor=executor)

    assert result.ret == 0
    assert page.calls == ["1.1", "1.1.1", "1.1.2", "1.2"]
    assert list(page.boxes) == ["1.1", "1.1.1", "1.1.2", "1.2"]
    assert all(page.boxes.values())


@pytest.mark.parametrize(
    ("kind", "blocks"),
    [
        ("SPEC_ADJUSTMENT", [WORDS]),
        ("ADD_PREREQUISITE", []),
        ("ADD_PREREQUISITE", ["no task"]),
        ("ADD_PREREQUISITE", [f"{WORDS}\n{WORDS}"]),
        ("ADD_PREREQUISITE", [WORDS.replace("- **Verify**", "- **Note**")]),
        ("ADD_PREREQUISITE", [WORDS.replace("1.0.1", "1.1.1.1.1")]),
        ("ADD_FOLLOWUP", [WORDS.replace("[ ]", "[x]")]),
        ("SPLIT_TASK", [WORDS.replace("Collect", "[FIX 1.1] Collect")]),
    ],
)
def test_other_requests_are_refused(page: Project, kind: str, blocks: list[str]) -> None:
    asks = request(page, kind, *blocks)
    result = page.run("-vv", executor=page.shell(f"echo word > page.txt; {asks}"))

    assert result.ret == 0
    assert list(page.boxes) == ["1.1", "1.1.1", "1.2"]
    result.stdout.fnmatch_lines(["*1.1: the executor's request to change the plan is refused: *"])


def test_an_added_task_asks_for_no_other(page: Project) -> None:
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    page.run("--ralph-execute", "--ralph-max-fixes", "0", executor=page.shell(asks))

    assert set(page.state["modificationMap"]) == {"1.1"}


def test_a_quoted_request_is_none(page: Project) -> None:
    request(page, "ADD_PREREQUISITE", WORDS)
    quoted = "echo word > page.txt; sed 's/^/> /' request.txt; echo TASK_COMPLETE"
    result = page.run("--ralph-execute", executor=page.shell(quoted))

    assert result.ret == 0
    assert page.boxes == {"1.1": True, "1.2": True}


def test_at_most_three_requests_per_task(page: Project) -> None:
    asks = request(page, "ADD_PREREQUISITE", WORDS)
    executor = page.shell(f"[ $task = 1.1 ] && {asks}; echo word > words.txt")
    page.run("--ralph-execute", "--ralph-max-fixes", "0", executor=executor)

    assert page.state["modificationMap"]["1.1"]["count"] == 3
    assert page.calls[:7] == ["1.1", "1.0.1", "1.1", "1.1.1", "1.1", "1.1.2", "1.1"]
