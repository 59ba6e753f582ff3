"""What an executor says is evidence: blocks, reports, limits, claims."""

from __future__ import annotations

import pytest

from pytest_ralph import Failure, classify
from pytest_ralph.failure.executor_words import read_claims


def said(text: str, exit_code: int = 0) -> Failure:
    return classify(text, exit_code, "agent -p", source="executor")


@pytest.mark.parametrize(
    ("error", "kind", "type_", "missing"),
    [
        (
            "Cannot find module './utils' from 'src/index.js'",
            "build_error",
            "BROKEN_BUILD",
            "./utils",
        ),
        (
            "ModuleNotFoundError: No module named 'pytest'",
            "dependency_missing",
            "BROKEN_BUILD",
            "pytest",
        ),
        ("File not found: src/parser.ts", "task_incomplete", "UNKNOWN", "src/parser.ts"),
        ("3 tests failing in auth.test.ts", "test_failure", "VERIFICATION_FAILED", None),
        ("AssertionError: Expected 200 but got 404", "test_failure", "VERIFICATION_FAILED", None),
        ("eslint reports 4 errors", "lint_error", "VERIFICATION_FAILED", None),
        ("tsc reports 2 errors in src/a.ts", "typecheck_error", "VERIFICATION_FAILED", None),
        ("SyntaxError: Unexpected token ')'", "build_error", "BROKEN_BUILD", None),
        ("The code does not compile", "build_error", "BROKEN_BUILD", None),
        ("Connection refused to database server", "service_unavailable", "UNKNOWN", None),
        ("bash: terraform: command not found", "command_not_found", "BROKEN_BUILD", "terraform"),
        ("Permission denied: /etc/config", "permission_denied", "UNKNOWN", None),
        (
            "Maximum context length (128k tokens) exceeded",
            "context_exhausted",
            "CONTEXT_EXHAUSTED",
            None,
        ),
        ("It just does not want to", "task_incomplete", "UNKNOWN", None),
    ],
)
def test_a_failed_block_is_judged_by_its_error(
    error: str, kind: str, type_: str, missing: str | None
) -> None:
    failure = said(
        f"Working...\n\nTask 2.1: Do it FAILED\n- Error: {error}\n- Attempted fix: tried twice\n"
    )
    assert (failure.kind, failure.type, failure.missing) == (kind, type_, missing)
    assert (failure.task_id, failure.error, failure.attempted_fix) == ("2.1", error, "tried twice")


def test_a_block_without_a_result_of_any_check_is_unfinished_work() -> None:
    failure = said("Task 2.1: Do it FAILED\n")
    assert (failure.kind, failure.type, failure.error) == (
        "task_incomplete",
        "UNKNOWN",
        "Task execution failed",
    )


def report(message: str, category: str, retryable: str, blocker: str) -> str:
    return (
        f"Child agent failed: {message}\n\nCategory: {category}\nDuration: 8.7s\n"
        f"Retryable: {retryable}\n\n"
        "Work completed before failure:\n  ✓ Wrote it\n\nFiles modified: src/a.py\n\n"
        f"Blocked on: {blocker}\n"
    )


@pytest.mark.parametrize(
    ("text", "kind", "type_", "category", "retryable", "error"),
    [
        (
            report(
                "tests fail with import error",
                "partial",
                "Yes",
                "ImportError in tests: cannot import 'bcrypt'",
            ),
            "dependency_missing",
            "BROKEN_BUILD",
            "partial",
            True,
            "Blocked on: ImportError in tests: cannot import 'bcrypt'",
        ),
        (
            report("Child timed out after 300s", "timeout", "Yes", "Time limit insufficient"),
            "timeout",
            "UNKNOWN",
            "timeout",
            True,
            "Child timed out after 300s",
        ),
        (
            report(
                "Cannot find 'the file' mentioned in prompt",
                "missing_context",
                "No",
                "Unknown file reference",
            ),
            "unknown",
            "UNKNOWN",
            "missing_context",
            False,
            "Cannot find 'the file' mentioned in prompt",
        ),
        (
            report(
                "Cannot both keep and delete it",
                "invalid_task",
                "No",
                "Contradictory requirements in prompt",
            ),
            "plan_invalid",
            "UNKNOWN",
            "invalid_task",
            False,
            "Cannot both keep and delete it",
        ),
        (
            report(
                "No module", "tool_error", "Yes", "ModuleNotFoundError: No module named 'pytest'"
            ),
            "dependency_missing",
            "BROKEN_BUILD",
            "tool_error",
            True,
            "Blocked on: ModuleNotFoundError: No module named 'pytest'",
        ),
    ],
)
def test_what_a_report_says_of_itself_wins_and_its_blocker_gives_the_kind(
    text: str, kind: str, type_: str, category: str, retryable: bool, error: str
) -> None:
    failure = said(text)
    assert (failure.kind, failure.type, failure.category, failure.retryable) == (
        kind,
        type_,
        category,
        retryable,
    )
    assert failure.error == error
    assert (failure.completed_steps, failure.files) == (("Wrote it",), ("src/a.py",))


CONTEXT = [
    "Prompt is too long",
    'API Error: 400 {"error":{"message":"prompt is too long: 214564 tokens > 200000 maximum"}}',
    "Context limit reached · /compact or /clear to continue",
    "Error: Conversation too long. Press esc twice to go up a few messages and try again.",
    "input length and `max_tokens` exceed context limit: 193125 + 21333 > 200000",
    (
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier "
        "history before retrying."
    ),
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "The input token count (1054016) exceeds the maximum number of tokens allowed (1048576).",
    (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: BedrockException: Context "
        "Window Error"
    ),
    "Session too large to compact - context exceeds model limit even after stripping media",
    "Model gpt-4o has hit a token limit!",
    "Input tokens: ~206,000 of 200,000 -- possibly exhausted context window!",
    "The chat session is larger than the context window!",
    "Error: Context length exceeds limits even after multiple attempts to truncate.",
    "Failed to compact: context limit exceeded even after removing all tool responses.",
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "131072 tokens."
    ),
    "I am almost out of context window and cannot continue in this session.",
    "I have run out of context and will stop here.",
]
RATE = [
    (
        'API Error: 429 {"error":{"type":"rate_limit_error","message":"would exceed 40,000 tokens '
        'per minute"}}'
    ),
    "Claude AI usage limit reached|1760000000",
    "5-hour limit reached ∙ resets 3pm",
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "Error: You've hit your usage limit",
    "exceeded retry limit, last status: 429 Too Many Requests",
    "You exceeded your current quota, please check your plan and billing details.",
    "[API Error: Resource has been exhausted (e.g. check quota).]",
    "ConnectError: [resource_exhausted] Error",
    "litellm.RateLimitError: AnthropicException",
    "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000",
]


@pytest.mark.parametrize("line", CONTEXT)
def test_each_agent_says_in_its_own_words_that_its_context_is_full(line: str) -> None:
    failure = said(f"Reading files...\n{line}\n", 1)
    assert (failure.kind, failure.type, failure.retryable) == (
        "context_exhausted",
        "CONTEXT_EXHAUSTED",
        True,
    )
    assert failure.error == line


@pytest.mark.parametrize("line", RATE)
def test_a_rate_limit_speaks_of_tokens_too_and_is_none(line: str) -> None:
    failure = said(f"{line}\n", 1)
    assert (failure.kind, failure.type, failure.category) == (
        "service_unavailable",
        "UNKNOWN",
        "tool_error",
    )


def test_progress_told_before_the_context_ran_out_makes_it_partial() -> None:
    failure = said("Done: 2.1, 2.2. Remaining: 2.3.\nI am out of context.\n")
    assert (failure.kind, failure.category) == ("context_exhausted", "partial")


@pytest.mark.parametrize(
    "line",
    [
        "Test run: 47 passed, 2 failed (test_backoff, test_jitter).",
        "The last step requires manual verification in a browser.",
        "I could not run the integration tests.",
        "The retry logic is not yet implemented.",
        "The endpoint remains a stub.",
        "npm test exited with 1, but that looks unrelated.",
    ],
)
def test_done_with_a_contradiction_is_a_mismatch(line: str) -> None:
    failure = said(f"Implemented it in src/a.py.\n{line}\nTASK_COMPLETE\n")
    assert (failure.kind, failure.error) == ("verification_mismatch", line)


def test_the_tests_named_in_a_contradiction_are_known() -> None:
    failure = said("47 passed, 2 failed (test_backoff, test_jitter)\nTASK_COMPLETE\n")
    assert failure.failed_tests == ("test_backoff", "test_jitter")


@pytest.mark.parametrize(
    "line",
    [
        "All 12 tests pass, 0 failed.",
        "No manual steps required.",
        "It was failing before; fixed.",
        "Nothing needs manual work.",
        "The suite ran without 1 failure",
    ],
)
def test_a_denial_is_no_contradiction(line: str) -> None:
    assert read_claims(f"{line}\nTASK_COMPLETE\n").contradiction is None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("done\nTASK_COMPLETE\n", True),
        ("done\n**TASK_COMPLETE**\n\nSummary follows.\n", True),
        ("I will print TASK_COMPLETE when done\n", False),
        ("TASK_COMPLETE\n" + "more work\n" * 20, False),
        ("", False),
    ],
)
def test_completion_is_claimed_in_the_last_lines_only(text: str, complete: bool) -> None:
    assert read_claims(text).complete is complete


@pytest.mark.parametrize(
    ("text", "kind", "category", "retryable", "missing"),
    [
        (
            (
                "ERROR: dependency_missing (NON-RETRYABLE)\n====\n\nNot installed:\n"
                "  Package: @types/jest\n"
            ),
            "dependency_missing",
            "tool_error",
            False,
            "@types/jest",
        ),
        (
            (
                "ERROR: circular_dependency (NON-RETRYABLE)\n====\n\n"
                "Plan contains circular phase dependencies:\n"
            ),
            "circular_dependency",
            "invalid_task",
            False,
            None,
        ),
        (
            "ERROR: file_conflict (NON-RETRYABLE)\n====\n\nFile: src/a.ts\n",
            "file_conflict",
            None,
            False,
            None,
        ),
        (
            "ERROR: test_failure\n=====\n\nTests: validateToken, refreshToken\n",
            "test_failure",
            None,
            True,
            None,
        ),
    ],
)
def test_a_block_headed_by_its_kind(
    text: str, kind: str, category: str | None, retryable: bool, missing: str | None
) -> None:
    failure = said(text, 1)
    assert (failure.kind, failure.category, failure.retryable) == (kind, category, retryable)
    assert failure.missing == missing


def test_the_result_of_an_executor_that_cannot_be_read_says_nothing_about_the_code() -> None:
    failure = said("ERROR: parse_error\n=====\n\nCouldn't parse sub-agent result: got prose\n", 1)
    assert (failure.kind, failure.type) == ("parse_error", "UNKNOWN")


def test_three_attempts_of_the_same_words_are_a_circular_fix() -> None:
    failure = said(
        'Attempt 1: "Using async await for fetch"\nAttempt 2: "Using async/await with try-catch"\n'
        'Attempt 3: "Using async await pattern"\n\nTask 4.1: Stream FAILED\n'
        "- Error: it still hangs\n"
    )
    assert (failure.type, failure.retryable) == ("CIRCULAR_FIX", False)


def test_silent_success_is_unfinished_work() -> None:
    failure = said("")
    assert (failure.kind, failure.error) == ("task_incomplete", "Task did not complete")


def test_a_tool_that_prints_what_agents_print_is_still_a_tool() -> None:
    output = (
        "TASK_COMPLETE\nF\n=== FAILURES ===\n___ test_a ___\n\nE   assert 1 == 2\n"
        "=== short test summary info ===\n"
    )
    failure = classify(f"{output}FAILED test_a.py::test_a - assert 1 == 2\n", 1, "pytest -s")
    assert (failure.kind, failure.failed_tests) == ("test_failure", ("test_a.py::test_a",))


def test_the_details_of_a_retry_and_of_a_halt_name_the_kind() -> None:
    retry = said(
        "PHASE FAILURE - Initiating Retry\n================================\n\nPhase: 2A\n\n"
        "Failure details:\n"
        "  Type: test_failure\n  Message: 3 tests failing in auth.test.ts\n"
        "  Tests: validateToken, refreshToken\n"
    )
    assert (retry.kind, retry.error) == ("test_failure", "3 tests failing in auth.test.ts")
    assert retry.failed_tests == ("validateToken", "refreshToken")
    halt = said(
        "║  Phase 2A: Backend ....... FAILED        ║\n"
        "║    Attempts: 2/2                         ║\n"
        "║    Error: lint_error                     ║\n"
        "║    Details: 3 rules violated             ║\n"
    )
    assert (halt.kind, halt.error) == ("lint_error", "3 rules violated")


@pytest.mark.parametrize(
    ("before", "category"), [("Done: src/a.py\n", "partial"), ("Thinking.\n", None)]
)
def test_what_was_done_before_the_context_ran_out_is_progress(
    before: str, category: str | None
) -> None:
    failure = said(f"{before}Error: prompt is too long: 210000 tokens > 200000 maximum\n", 1)
    assert (failure.kind, failure.category) == ("context_exhausted", category)
