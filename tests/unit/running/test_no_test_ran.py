"""A test command that ran nothing is recognised, and one that ran something is left alone."""

from __future__ import annotations

import pytest

from pytest_ralph.running.no_tests import no_test_ran

EMPTY = [
    ("pytest -q -k nothing", "12 deselected in 0.02s\nno tests ran in 0.01s\n"),
    ("cargo test nothing", "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; "
     "0 measured; 3 filtered out; finished in 0.00s\n"),
    (
        "go test ./...",
        "?   \texample.com/a\t[no test files]\n?   \texample.com/b\t[no test files]\n",
    ),
    ("go test -run Nothing ./...", "testing: warning: no tests to run\nPASS\n"
     "ok  \texample.com/a\t0.002s [no tests to run]\n"),
    ("node --test", "ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\n"),
    ("npx jest --passWithNoTests", "No tests found, exiting with code 0\n"),
    ("npx vitest run --passWithNoTests", "No test files found, exiting with code 0\n"),
    ("npx mocha --grep nothing", "\n\n  0 passing (1ms)\n\n"),
    ("rspec -e nothing", "Run options: include\n\nAll examples were filtered out\n\n"
     "Finished in 0.001 seconds\n0 examples, 0 failures\n"),
    ("dotnet test", "No test is available in /project/bin/Debug/net8.0/a.dll. Make sure that test "
     "discoverer & executors are registered\n"),
    ("ctest", "Test project /project/build\nNo tests were found!!!\n"),
    ("python -m unittest", f"\n{'-' * 70}\n"
     "Ran 0 tests in 0.000s\n\nOK\n"),
    ("vendor/bin/phpunit", "PHPUnit 10.5.1 by Sebastian Bergmann.\n\nNo tests executed!\n"),
    ("mvn test", "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n"),
    ("gradle test", "> Task :compileJava UP-TO-DATE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL\n"),
    ("deno test", "running 0 tests from ./a_test.ts\n\nok | 0 passed | 0 failed (2ms)\n"),
    ("bun test", "bun test v1.1.0\n\n 0 pass\n 0 fail\nRan 0 tests across 1 files. [5.00ms]\n"),
    ("bats test", "1..0\n"),
    ("npx playwright test --pass-with-no-tests", "Running 0 tests using 0 workers\n"),
    ("mix test", "There are no tests to run\n"),
    ("make test", "node --test\nℹ tests 0\n"),
]  # fmt: skip

FULL = [
    ("cargo test --workspace", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n\n"
     "running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed\n"),
    ("go test ./...", "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.003s\n"),
    ("go test ./...", "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t(cached)\n"),
    ("mvn test", "[INFO] Tests run: 0, Failures: 0\n[INFO] Tests run: 4, Failures: 0, Errors: 0\n"),
    ("pytest -q", "....\n4 passed in 0.01s\n"),
    ("node --test", "ℹ tests 3\nℹ pass 3\nℹ fail 0\n"),
    ("npx mocha", "  3 passing (4ms)\n"),
    ("gradle test", "> Task :a:test NO-SOURCE\n> Task :b:test\n\nBUILD SUCCESSFUL\n"),
    ("grep -n tests README.md", "3:no tests found\n"),
    ("pytest --co -q", "a.py::test_x\n\n1 test collected in 0.01s\n"),
    ("make build", "cc -o a a.c\n"),
    ("echo no tests found", "no tests found\n"),
    ("cat log.txt | tail -3", "no tests ran in 0.01s\n"),
    ("pytest -q", "s\n1 skipped in 0.01s\n"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output"), EMPTY, ids=[command for command, _ in EMPTY])
def test_a_run_without_tests_is_recognised(command: str, output: str) -> None:
    assert no_test_ran(command, output, 0)


@pytest.mark.parametrize(("command", "output"), FULL)
def test_a_run_with_tests_is_left_alone(command: str, output: str) -> None:
    assert no_test_ran(command, output, 0) is None


def test_a_failed_command_is_read_by_its_failure() -> None:
    assert no_test_ran("pytest", "no tests ran in 0.01s\n", 5) is None
