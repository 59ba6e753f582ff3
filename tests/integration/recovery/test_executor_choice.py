"""Which executor works on a task: the one of the task, of its spec, or of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    - [ ] 1.1 Write one
      - **Executor**: `sh own.sh`
      - **Verify**: `grep -q own one.txt`

    - [ ] 1.2 Write two
      - **Verify**: `grep -q general two.txt`
"""
GENERAL = "echo general > one.txt; echo general > two.txt"


@pytest.fixture
def two(project: Project) -> Project:
    project.spec(SPEC)
    project.write("own.sh", "echo own > one.txt\n")
    return project


@pytest.mark.parametrize("mode", [(), ("--ralph-execute",)])
def test_a_task_names_its_own_executor(two: Project, mode: tuple[str, ...]) -> None:
    result = two.run(*mode, executor=two.shell(GENERAL))

    assert result.ret == 0
    assert two.calls == ["1.2" if mode else "1.2.1"]
    assert two.history("DISTINCT executor", "what IN ('fix', 'execute')") == [
        "sh own.sh",
        "sh executor.sh",
    ]


def test_the_executor_of_a_task_needs_no_other(two: Project) -> None:
    two.tasks.write_text(two.tasks.read_text().partition("- [ ] 1.2")[0])
    result = two.run("--ralph-execute")

    assert result.ret == 0


def test_a_task_may_name_a_chain(two: Project) -> None:
    two.write("down.sh", "echo 'Invalid API key · Please run /login'; exit 1\n")
    two.tasks.write_text(two.tasks.read_text().replace("`sh own.sh`", "`sh down.sh`, `sh own.sh`"))
    result = two.run(executor=two.shell(GENERAL))

    assert result.ret == 0


def test_none_on_the_command_line_is_final(two: Project) -> None:
    two.run("--ralph-executor", "none")

    assert not (two.root / "one.txt").exists()


def test_a_misspelt_executor_is_a_usage_error(two: Project) -> None:
    two.tasks.write_text(two.tasks.read_text().replace("`sh own.sh`", "cluade"))
    result = two.run(executor=two.shell(GENERAL))

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*specs/demo/tasks.md:1: executor 'cluade' is neither a preset*"])


def test_verify_only_runs_ignore_the_field(two: Project) -> None:
    two.tasks.write_text(two.tasks.read_text().replace("`sh own.sh`", "cluade"))

    assert two.verify().ret == 1


@pytest.mark.parametrize("mode", [(), ("--ralph-execute",)])
def test_a_spec_names_its_executor(two: Project, mode: tuple[str, ...]) -> None:
    executor = two.shell(f"echo own > one.txt; {GENERAL.partition('; ')[2]}")
    text = two.tasks.read_text().replace("  - **Executor**: `sh own.sh`\n", "")
    two.tasks.write_text(f"---\nralph:\n  executor: {executor}\n---\n{text}")
    result = two.run(*mode)

    assert result.ret == 0
    assert two.calls
    result.stdout.fnmatch_lines([f"ralph: specs/*/tasks.md: executor {executor} (from the *)"])


def test_a_spec_sets_model_and_arguments(two: Project) -> None:
    agent = two.write("agent", '#!/bin/sh\necho "$*" > arguments.txt\necho own > one.txt\n')
    agent.chmod(0o755)
    two.write("pytest.ini", "[pytest]\nralph_executor_program = ./agent\n")
    text = two.tasks.read_text().partition("- [ ] 1.2")[0]
    text = text.replace("  - **Executor**: `sh own.sh`\n", "")
    settings = "executor: claude\n  executor-model: small\n  executor-args: --verbose"
    two.tasks.write_text(f"---\nralph:\n  {settings}\n---\n{text}")
    result = two.run()

    assert result.ret == 0
    arguments = (two.root / "arguments.txt").read_text()
    assert "--model small" in arguments
    assert arguments.rstrip().endswith("--verbose")


def test_the_same_preset_takes_over_with_another_model(two: Project) -> None:
    agent = two.write(
        "agent",
        """\
        #!/bin/sh
        case "$*" in *large*) echo 'API Error: 529 Overloaded'; exit 1;; esac
        echo own > one.txt
        """,
    )
    agent.chmod(0o755)
    two.write("pytest.ini", "[pytest]\nralph_executor_program = ./agent\n")
    two.tasks.write_text(
        two.tasks.read_text()
        .partition("- [ ] 1.2")[0]
        .replace("  - **Executor**: `sh own.sh`\n", "")
    )
    result = two.run(
        "--ralph-executor", "claude --model large", "--ralph-executor", "claude --model small"
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*executor claude --model large is unavailable (claude --model small takes over)*"]
    )
