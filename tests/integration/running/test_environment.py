"""What a Verify command finds around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

# One of the processes in the file `pid` runs; one that has ended and waits to be reaped does not.
ALIVE = 'ps -o stat= -p "$(paste -sd, pid)" | grep -qv "^Z"'


def test_the_task_is_named_in_the_environment_and_the_outer_run_is_not(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "kept")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    spec = make_spec("- [ ] 1.3 It\n  - **Verify**: `printenv > env.txt`\n", name="shop")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1)
    lines = (pytester.path / "env.txt").read_text().splitlines()
    found = dict(line.partition("=")[::2] for line in lines if "=" in line)
    wanted = {
        "RALPH_SPEC": "shop",
        "RALPH_SPEC_PATH": str(spec.parent),
        "RALPH_TASK_ID": "1.3",
        "RALPH_ATTEMPT": "1",
    }
    assert {name: found.get(name) for name in wanted} == wanted
    assert found["MINE"] == "kept"
    assert not {"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"} & {*found}


def test_commands_run_in_the_root_with_nothing_on_stdin_and_in_a_group_of_their_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytester.makeini("[pytest]\n")
    make_spec(
        t1_1=f'test "$PWD" = "{pytester.path}" -a "$(pwd)" = "{pytester.path}"',
        t1_2='test -z "$(cat)"',
        t1_3='test "$(ps -o pgid= -p $$ | tr -d " ")" = "$$"',
    )
    pytester.runpytest("--ralph", "specs", "-v").assert_outcomes(passed=3)


def test_the_environment_of_a_command_is_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="export LEFT=over; cd specs", t1_2='test -z "$LEFT" -a -d specs')
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=2)


def test_output_that_is_no_utf8_is_no_error(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        "- [ ] 1.1 It\n  - **Verify**: `printf 'caf\\351 \\377\\376\\033[31m\\000red\\n'; exit 1`\n"
    )
    result = pytester.runpytest("--ralph", "specs", "--junitxml=out.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["caf\ufffd \ufffd\ufffdred"])
    assert "Traceback" not in result.stdout.str()


def test_a_background_process_ends_with_its_command(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        t1_1="sleep 61 & echo $! > pid; setsid sleep 62 & echo $! >> pid",
        t1_2=f'test "$(wc -l < pid)" = 2; ! {ALIVE}',
    )
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=2)


def test_what_an_e2e_startup_starts_lives_until_the_cleanup(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        """
        - [ ] VE1 [VERIFY] E2E startup: start the service
          - **Verify**: `sleep 63 > /dev/null 2>&1 & echo $! > pid`
        - [ ] VE2 [VERIFY] E2E check: it answers
          - **Verify**: `ALIVE`
        - [ ] VE3 [VERIFY] E2E cleanup: stop the service
          - **Verify**: `ALIVE`
        - [ ] V9 After it
          - **Verify**: `! ALIVE`
    """.replace("ALIVE", ALIVE)
    )
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=4)


def test_a_cleanup_leaves_the_services_of_other_specs_alone(pytester: pytest.Pytester) -> None:
    """They may have the same name."""
    for directory in "ab":
        path = pytester.mkdir(directory) / "specs/demo/tasks.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            "- [ ] VE1 E2E startup\n"
            f"  - **Verify**: `sleep 65 > /dev/null 2>&1 & echo $! > {directory}/pid`\n"
            "- [ ] VE2 E2E check\n"
            f"  - **Verify**: `{ALIVE.replace('pid', f'{directory}/pid')}`\n"
            "- [ ] VE3 E2E cleanup\n"
            "  - **Verify**: `test -d a`\n"
        )
    first = "a/specs/demo/tasks.md"
    order = (f"{first}::VE1", "b/specs/demo/tasks.md", f"{first}::VE2")
    pytester.runpytest("--ralph", *order).assert_outcomes(passed=5)


def test_without_a_cleanup_it_lives_until_the_end_of_the_run(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        """
        - [ ] VE1 [VERIFY] E2E startup: start the service
          - **Verify**: `sleep 64 > /dev/null 2>&1 & echo $! > pid`
        - [ ] VE2 [VERIFY] E2E check: it answers
          - **Verify**: `ALIVE`
    """.replace("ALIVE", ALIVE)
    )
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=2)
    pid = int((pytester.path / "pid").read_text())
    psutil = pytest.importorskip("psutil")
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_command_that_cannot_be_started_fails_in_one_line(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("""
        - [ ] 1.1 It
          - **Verify**: In the `nowhere` directory, run `make`
        - [ ] 1.2 On
          - **Verify**: `true`
    """)
    result = pytester.runpytest("--ralph", "specs", "-v")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["directory not found: *nowhere", "specs/demo/tasks.md:2"])
    assert "Traceback" not in result.stdout.str()
