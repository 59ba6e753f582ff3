"""A Verify field becomes the commands a careful person would run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.verify.read import read_verify

if TYPE_CHECKING:
    from pytest_ralph.verify.model import Verify


def commands(text: str) -> list[str]:
    return [check.command for check in read_verify(text).checks]


def expects(verify: Verify) -> list[list[str]]:
    return [[str(one) for one in check.expect] for check in verify.checks]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("`make check`", ["make check"]),
        ("`frobnicate`", ["frobnicate"]),
        ("`$ make check`", ["make check"]),
        ("`` echo `date` ``", ["echo `date`"]),
        ("`make check` passes", ["make check"]),
        ("`make` succeeds.", ["make"]),
        ("`false` (always fails)", ["false"]),
        ("`ab --b`, `c --d`", ["ab --b", "c --d"]),
        ("`ab --b` && `c --d`", ["ab --b", "c --d"]),
        ("`ab --b` AND `c --d`", ["ab --b", "c --d"]),
        ("`ab --b` passes; `c --d` is clean", ["ab --b", "c --d"]),
        ("Run `npm ci` and then `npm test`.", ["npm ci", "npm test"]),
        ("Tests: `npm test`. Lint: `npm run lint`. Both pass.", ["npm test", "npm run lint"]),
        ("The command `make check` should exit with code 0", ["make check"]),
        ("Output of `tool --version` contains `1.2`", ["tool --version"]),
        ("Code compiles with `cargo build`", ["cargo build"]),
        ("Check that `npm test` passes", ["npm test"]),
        ("`src/a.ts` compiles: `npx tsc --noEmit`", ["npx tsc --noEmit"]),
        ("Page exists at `src/page.tsx`; `npm run build` passes", ["npm run build"]),
        ("`make lint` is clean and `README.md` mentions `make lint`", ["make lint"]),
        ("`make check` is green; if not, see `gh run view --log`", ["make check"]),
        (
            "`npm run dev` starts without errors; `tsc --noEmit` passes",
            ["tsc --noEmit"],
        ),
        (
            "- Unit: `npm test`\n- Manual: look at the page\n- Lint: `npm run lint`",
            ["npm test", "npm run lint"],
        ),
        (
            "1. Start: `npm start &`\n2. `curl -f localhost`\n3. Stop it",
            ["npm start &", "curl -f localhost"],
        ),
        ("All must pass:\n- `make a`\n- `make b`", ["make a", "make b"]),
        ('`grep -c "`code`" notes.md` returns 1', ['grep -c "`code`" notes.md']),
        ("`echo \\`date\\`` works", ["echo \\`date\\`"]),
        ("`make one && \\\n    make two` passes", ["make one && \\\nmake two"]),
        ("`make check` + a manual smoke test (`make run`)", ["make check"]),
        ("`make check`; no manual steps: `make run`", ["make check", "make run"]),
        ("`make help` lists all; `make` with no arguments shows help", ["make help", "make"]),
        ("`./check.sh` → exit 0, `pipeline check OK`.", ["./check.sh"]),
        ("`make a` shows all of it, `deploy.sh` runs", ["make a", "deploy.sh"]),
        ("`make` 0 warnings, `eslint` ✓ clean", ["make", "eslint"]),
        ("`make` 통과, `tsc` sạch", ["make", "tsc"]),
        ("`make a` && `make b`. `make setup` first if the lock file changed", ["make a", "make b"]),
        ("`diff a b` produces no output; `make check` passes", ["diff a b", "make check"]),
        ("`diff a b` shows no output. `make check` passes.", ["diff a b", "make check"]),
        ("`make check` is clean and the output: `make list`", ["make check"]),
        ("Use `tool soak --all` (or the like) to make a report", ["tool soak --all"]),
        ("`rg -l x f | wc -l` prints 3 (`rg -c` leaves out files)", ["rg -l x f | wc -l"]),
        ("`./gradlew :app:test` is green", ["./gradlew :app:test"]),
        ("`./gradlew :app:test`", ["./gradlew :app:test"]),
        ("- RED: `pytest -k x` fails\n- GREEN: `pytest -q -k x` passes", ["pytest -q -k x"]),
        ("RED: `pytest -k x` fails. GREEN: `pytest -q -k x` passes", ["pytest -q -k x"]),
    ],
)
def test_code_spans_that_are_commands_are_run_in_order(text: str, wanted: list[str]) -> None:
    assert commands(text) == wanted
    assert read_verify(text).manual is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pytest tests -q", ["pytest tests -q"]),
        ("npm run build && npm test", ["npm run build && npm test"]),
        ("$ make check", ["make check"]),
        ("Run: npm test", ["npm test"]),
        ("Command: ./check.sh --all", ["./check.sh --all"]),
        ("run npm test", ["npm test"]),
        ("cargo test passes", ["cargo test"]),
        ("grep -c x f.md returns 1", ["grep -c x f.md"]),
        ("test -f a.txt", ["test -f a.txt"]),
        ("- npm test\n- npm run lint", ["npm test", "npm run lint"]),
        ("npm test \\\n  --silent", ["npm test \\\n--silent"]),
        ("make", ["make"]),
        ("npm test, exits 0", ["npm test"]),
        ("curl -f localhost:80/login", ["curl -f localhost:80/login"]),
        ("npm test -- parser", ["npm test -- parser"]),
        ("npm test -- all green", ["npm test"]),
        ("make check; passes", ["make check"]),
        ("go test ./... passes", ["go test ./..."]),
    ],
)
def test_a_bare_command_line_is_run(text: str, wanted: list[str]) -> None:
    assert commands(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\n    ```bash\n    make\n    make check\n    ```", ["make\nmake check"]),
        ("\n```\nmake\n```\n", ["make"]),
        ("\n```sh\nmake\n```\nand\n```bash\nmake check\n```", ["make", "make check"]),
        (
            "\n```console\n$ make\nbuilt\n$ make check \\\n  --all\nok\n```",
            ["make\nmake check \\\n  --all"],
        ),
        ("`make a`, then:\n```bash\nmake b\n```\nthen `make c`", ["make a", "make b", "make c"]),
        ("`make a`\n\nExpected output:\n```\nmake built 3 files\n```", ["make a"]),
        ('`make a`\n```json\n{"ok": true}\n```', ["make a"]),
        ('`make a`\n```json title="Expected"\nmake b\n```', ["make a"]),
        ("`make a`\n```{.json}\nmake b\n```", ["make a"]),
        ("\n    ```bash\n    cat <<EOF\n## Title\nEOF\n    ```", ["cat <<EOF\n## Title\nEOF"]),
    ],
)
def test_each_fenced_block_is_one_script(text: str, wanted: list[str]) -> None:
    assert commands(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Manual test of the flow",
        "Manually run `npm start` and click around",
        "Manual:\n1. `npm start`\n2. Click",
        "Visual inspection",
        "N/A",
        "Read `notes.md` and confirm the section",
        "`render()` is called",
        "`FooBar` is exported from `index.ts`",
        "`.gitignore` includes `.env`",
        '`app.ts:120` now shows `state: "on"`',
        "`GET /health` → `200`",
        "`/shop:start demo` asks questions",
        "`model-picker` shows a name",
        "`notes.md`",
        "Call `list_screens` and confirm 3 screens exist",
        "Start the server (`npm run dev`), open the page and click the button",
        "`npm run dev` and toggle the theme",
        "Search for `foo` in `src/`: nothing there",
        "All commands above exit 0",
        "All tests pass, 0 warnings",
        "make sure the page loads",
        "test that the login works",
        "go to the settings page",
        "build again",
        "install prerequisites",
        "shellcheck passes",
        "`human-judgment`",
        "`programmatic`",
        "curl test → the price is right",
        "curl GET /login shows a form",
        "node starts without errors",
        "\n```bash\n# look at it\n```",
        "\n```python\nimport x\n```",
    ],
)
def test_what_only_a_person_can_do_is_manual(text: str) -> None:
    verify = read_verify(text)
    assert verify.checks == ()
    assert verify.manual == " ".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "`make check`; `make ship` is not required",
        "`make check` passes (`make ship` isn't needed)",
        "`make check`; `make ship` must not be run",
        "`make check`; `make ship` comes later",
        "`make check`; `make ship` runs in CI",
        "Before this, `make ship` had failed. `make check` passes",
        "Before running `make ship`, run `make check`",
        "`make check` passes (was `make ship`)",
        "`make check` passes. The message suggests running `make ship`",
        "`make check`. After merging, `make ship`.",
        "`make check` passes; the page lists these commands: `make ship`",
        "`make check` passes; `make ship` is in the README",
        "`make check` passes; `make ship` renamed to `make release`",
        "`make check` passes; you no longer have to run `make ship`",
        "`make check` passes. Migrate from `make ship` to `make release`.",
        "`make check` passes; the workflow executes `make build` then `make ship`",
        "`make check`. Publish it with `make ship` once merged.",
        "`make check`; in production: `make ship`",
        "`make check`; on the server run `make ship`",
        "`make check`; ssh into the box and run `make ship`",
        "`make check`; in CI: `make ship`",
    ],
)
def test_a_command_for_another_time_or_place_is_not_run(text: str) -> None:
    assert commands(text) == ["make check"]


@pytest.mark.parametrize(
    "heading",
    [
        "Do not run:",
        "If it fails:",
        "Out of scope:",
        "On the server:",
        "After merging:",
        "To roll back:",
        "Example:",
        "Manually:",
    ],
)
@pytest.mark.parametrize("below", ["```bash\nmake ship\n```", "- `make ship`", "`make ship`"])
def test_a_heading_may_withhold_what_stands_below_it(heading: str, below: str) -> None:
    assert commands(f"{heading}\n\n{below}") == []
    assert commands(f"`make check` passes.\n\n{heading}\n\n{below}") == ["make check"]


def test_a_heading_is_not_about_what_stands_behind_its_list() -> None:
    assert commands("If it fails:\n- `make ship`\n\nRun `make check`.") == ["make check"]
    assert commands("Wrong:\n```sh\nmake ship\n```\nRight:\n```sh\nmake check\n```") == [
        "make check"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "make ship (do not run)",
        "make ship (only after merge)",
        "make ship (if available)",
        "make ship is no longer called",
        "make ship manually",
        "Never run: make ship",
    ],
)
def test_a_line_without_backticks_may_be_optional_as_well(text: str) -> None:
    assert commands(text) == []


def test_every_line_that_expects_something_is_asked_for() -> None:
    found = read_verify("`./x` exits 1\n\n- Expected: `a`\n- Expected: `b`")
    assert expects(found) == [["exit status == 1", "stdout contains 'a'", "stdout contains 'b'"]]


def test_a_line_that_contradicts_the_words_behind_the_command_asks_nothing() -> None:
    assert expects(read_verify("`./x` exits 1\n\nExpected: exit 0")) == [["exit status == 1"]]


def test_statuses_that_are_told_respectively_are_not_mixed_up() -> None:
    verify = read_verify("`./x`, `./y` exit 0 and 1 respectively")
    assert expects(verify) == [[], []]
    assert verify.unread == ("exit 0", "1 respectively")


@pytest.mark.parametrize(
    "heading",
    ["When done, run:", "After merging main, run:", "Not broken:", "Example app:", "Never slow:"],
)
def test_a_heading_that_leads_to_commands_withholds_none(heading: str) -> None:
    assert commands(f"{heading}\n- `make check`") == ["make check"]


@pytest.mark.parametrize(
    "text",
    [
        "`make check` was failing; now passes",
        "`make check` used to fail and now passes",
        "`make check` should not run longer than 5s",
        "From the host project run `make check`",
        "After review comments are addressed, `make check` passes",
    ],
)
def test_what_only_looks_like_another_time_or_place_is_run(text: str) -> None:
    assert commands(text) == ["make check"]


@pytest.mark.parametrize("place", ["directory", "folder"])
def test_the_directory_of_a_server_is_no_other_machine(place: str) -> None:
    checks = read_verify(f"In the server {place}: `make check`").checks
    assert checks == read_verify(f"`make check` in the server {place}").checks
    assert checks[0].directory == "server"


@pytest.mark.parametrize("words", ["may exit 1", "can exit 0 or 1", "might exit with 3"])
def test_a_command_that_may_well_fail_is_not_judged(words: str) -> None:
    assert read_verify(f"`./x` {words}").manual
    assert read_verify(f"`make`, `./x` {words}").unread == (f"`./x` {words}",)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_written_is_nothing(text: str) -> None:
    verify = read_verify(text)
    assert (verify.checks, verify.manual) == ((), None)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("`make a` or `make b`", "any"),
        ("`make a` shows green (or `make b`)", "any"),
        ("Either `make a` or `make b` passes", "any"),
        ("`make a`, `make b` or `make c`", "any"),
        ("`make a` oder `make b`", "any"),
        ("`make a` hoặc `make b` thành công", "any"),
        ("`make a` (or `make b` if it is slow)", "any"),
        ("`make a` ou `make b`", "any"),
        ("`make a` o `make b`", "any"),
        ("`make a` и `make b`", "all"),
        ("`make a` or something like it", "all"),
        ("`make a` or, failing that, `make b`", "any"),
        ("- `make a` (it waits)\n- Or `make b` (it polls)\n- All must be green", "any"),
        ("- Lint: `make a`\n- Test: `make b` (or `make c`)", "all"),
        ("`make a` and `make b`", "all"),
    ],
)
def test_or_means_that_one_is_enough(text: str, mode: str) -> None:
    assert read_verify(text).mode == mode


def test_a_second_choice_says_nothing_about_the_first() -> None:
    verify = read_verify("`make a` or, failing that, `make b`")
    assert [check.expect for check in verify.checks] == [(), ()]


def test_alternatives_among_other_commands_are_manual() -> None:
    verify = read_verify("- Lint: `make a`\n- Test: `make b` or `make c`")
    assert verify.checks == ()
    assert (verify.manual or "").startswith("alternatives mixed with other commands: ")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("`grep -c a f` and `grep -c b f` both return 1", [["stdout == 1"], ["stdout == 1"]]),
        ("Each returns 0:\n- `grep -c a f`\n- `grep -c b f`", [["stdout == 0"], ["stdout == 0"]]),
        (
            "`grep -c a f` >= 1 AND `grep -c b f` >= 2 AND nothing is broken",
            [["stdout >= 1"], ["stdout >= 2"]],
        ),
        ("`grep -c a f`\n\nExpected: 3", [["stdout == 3"]]),
        ("\n```bash\nls | wc -l\n```\nOutput must be `>= 7`. Also `make a`", [["stdout >= 7"], []]),
        ("No output from `grep -rn foo src`", [["stdout empty"]]),
        ("No leftovers: `grep -rn foo src`", [["stdout empty"]]),
        ("Expect 3 lines from `cat f`", [["stdout lines== 3"]]),
    ],
)
def test_an_expectation_finds_its_command(text: str, wanted: list[list[str]]) -> None:
    assert expects(read_verify(text)) == wanted


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("From `web/`: `npm test`", "web"),
        ("In the `web/app` directory run `npm test`", "web/app"),
        ("`npm test` (in the `web` directory)", "web"),
        ("`npm test` from web/app/", "web/app"),
        ("`npm test` (in `web/app`) → exit 0", "web/app"),
        ("`npm test` from the project root directory", None),
        ("`npm test` in that directory", None),
        ("`npm test` in `web` is green", None),
        ("Run `npm test` in `packages/core`", "packages/core"),
        ("`npm test` in `web/` passes", "web"),
        ("`npm test` (run from `web/`)", "web"),
        ("`npm test` in light/dark mode", None),
        ("`npm test` in `web/package.json`", None),
        ("`npm test` in `web/` and `api/`", None),
        ("In `web/app.ts`, `sum` is exported; `npm test` passes", None),
        ("`npm test -w packages/core` in `packages/core`", None),
        ("`npm test` in `feature/web` branch", None),
        ("`npm test` in `../web`", None),
        ("`ls web/dist` in `web/`", None),
        ("`npm --prefix web test` from `web/`", None),
        ("Remove the import from `web`; run `npm test`", None),
        ("All files in the `web` directory are typed: `npm test`", None),
        ("`ls` shows 3 files in the `dist` directory", None),
    ],
)
def test_prose_may_name_the_working_directory(text: str, directory: str | None) -> None:
    (check,) = read_verify(text).checks
    assert check.directory == directory


@pytest.mark.parametrize(
    ("text", "directories"),
    [
        ("`cargo check`, `cargo test`, and `cargo clippy` from `core`", ["core", "core", "core"]),
        ("`make` from `api/` passes, `npm test` from `web/` passes", ["api", "web"]),
        ("`make` in `api/` and `npm test` in `web/`", ["api", "web"]),
        ("In `api/`: `make`; in `web/`: `npm test`", ["api", "web"]),
        ("In `api`: `make`\nIn `web`: `npm test`", ["api", "web"]),
        ("`make` passes and `npm test` from `web/`", [None, "web"]),
        ("From `web/`: `npm test`; from the repo root: `make`", ["web", None]),
        ("- `npm test` (from `web/`)\n- `pytest` (from `api/`)", ["web", "api"]),
    ],
)
def test_each_command_has_the_directory_that_is_said_of_it(
    text: str, directories: list[str | None]
) -> None:
    assert [check.directory for check in read_verify(text).checks] == directories


@pytest.mark.parametrize(
    ("text", "directories"),
    [
        ("`cd web`, then `npm test`", [None, "web"]),
        ("- `cd web/`\n- `npm ci`\n- `npm test`", [None, "web", "web"]),
        ("- `cd web`\n- `make`\n- `cd api`\n- `make`", [None, "web", None, "api"]),
        ("- `cd web`\n- `make`\n- `cd ../api`\n- `make`", [None, "web", "web", "api"]),
        ("- `cd web`\n- `cd ..`\n- `make`", [None, "web", None]),
        ("- `cd $DIR`\n- `make`", [None, None]),
        ("`cd web && make` and `make`", [None, None]),
    ],
)
def test_a_command_that_changes_the_directory_does_so_for_those_behind_it(
    text: str, directories: list[str | None]
) -> None:
    assert [check.directory for check in read_verify(text).checks] == directories


@pytest.mark.parametrize(
    "text",
    [
        "(in `web`):\n- `npm ci`\n- `npm test`",
        "In `web`:\n- `npm ci`\n- `npm test`",
        "From the web/ directory:\n\n```bash\nnpm ci\n```\n\n```bash\nnpm test\n```",
        "Run from `web/`: `npm ci`, `npm test`",
    ],
)
def test_a_working_directory_ahead_of_a_list_is_that_of_all_of_it(text: str) -> None:
    assert [(check.command, check.directory) for check in read_verify(text).checks] == [
        ("npm ci", "web"),
        ("npm test", "web"),
    ]


def test_a_span_over_blank_lines_is_one_command_with_its_expectation() -> None:
    verify = read_verify('`python -c "\n# one\n\nprint(1)\n"` exits 0')
    assert [check.command for check in verify.checks] == ['python -c "\n# one\n\nprint(1)\n"']
    assert expects(verify) == [["exit status == 0"]]


def test_a_here_document_in_a_span_keeps_its_backticks() -> None:
    command = "pr --body \"$(cat <<'EOF'\n## Why\n- the `x` flag\nEOF\n)\""
    assert commands(f"`{command}` exits 0") == [command]


def test_the_reason_of_a_long_manual_field_is_one_bounded_line() -> None:
    assert len(read_verify("Manual: " + "look\n" * 1000).manual or "") == 500


@pytest.mark.parametrize(
    ("text", "commands", "mode"),
    [
        ("`make` and `make test`", ["make", "make test"], "all"),
        ("`pytest` and `ruff check .`", ["pytest", "ruff check ."], "all"),
        ("`check.sh` or `verify.sh`", ["check.sh", "verify.sh"], "any"),
    ],
)
def test_a_lone_name_in_one_row_with_a_command_is_a_command(
    text: str, commands: list[str], mode: str
) -> None:
    verify = read_verify(text)
    assert [check.command for check in verify.checks] == commands
    assert verify.mode == mode


@pytest.mark.parametrize(
    "text",
    [
        "with the database up, `mvn spring-boot:run` opens an empty window",
        "`dotnet run` and check that the form appears",
        "`flutter run -d linux` opens the list",
        "`wc -l` on the new files",
        "the words stand under a heading (look with `sed -n`)",
    ],
)
def test_what_only_a_person_can_see_is_manual(text: str) -> None:
    assert read_verify(text).manual


def test_a_command_that_can_be_run_is_judged_in_chinese_too() -> None:
    assert commands("`make` 命令可执行 (没有错误)") == ["make"]


def test_what_a_function_runs_is_no_command() -> None:
    assert commands("`pytest -q` → all pass (`test_model` still imports and runs `fit_model`)") == [
        "pytest -q"
    ]
    assert commands("Run `fit_model`") == ["fit_model"]


@pytest.mark.parametrize("words", ["зелёный", "en verde", "ist grün", "전부 통과", "全绿"])
def test_a_script_that_is_green_in_any_language_was_run(words: str) -> None:
    assert commands(f"`check.sh` {words}") == ["check.sh"]


def test_docs_of_manual_tests_are_looked_for_by_a_command_like_any_other_file() -> None:
    field = (
        "Check the rows: `make list` exits 0. Check manual test docs exist: `test -f "
        "docs/by-hand.md` returns 0"
    )
    assert commands(field) == ["make list", "test -f docs/by-hand.md"]
    assert commands("Run `make list`. Then by hand or manual test: `make shine`") == ["make list"]


@pytest.mark.parametrize(
    "heading", ["Build output", "Check the report", "Shell scripts", "Help text", "- Feature list"]
)
def test_a_noun_with_a_colon_heads_the_command_behind_it(heading: str) -> None:
    assert commands(f"{heading}: `make check`") == ["make check"]


@pytest.mark.parametrize(
    "words", ["The readme should list", "Expected output", "It has scripts", "The page contains"]
)
def test_what_is_to_be_shown_is_not_run_behind_a_colon_either(words: str) -> None:
    assert commands(f"{words}: `make check`") == []


@pytest.mark.parametrize(
    "words", ["The readme mentions", "- AC-1 the module exports", "The page contains"]
)
def test_behind_a_colon_a_command_that_looks_something_up_is_how_it_is_checked(words: str) -> None:
    assert commands(f"{words}: `grep -q lamp docs/a.md`") == ["grep -q lamp docs/a.md"]
    assert commands(f"{words} `grep -q lamp`") == []


@pytest.mark.skipif(os.name != "posix", reason="PowerShell is at home on Windows")
@pytest.mark.parametrize(
    "text",
    [
        "`Test-Path a.txt`",
        "`Test-Path a.txt` returns True",
        "`.\\tools\\run.exe` passes",
        "`dotnet test | Select-String passed`",
        "`cat menu.txt | Select-String price` returns 1 match",
        "`npm test; (Get-ChildItem src).Count`",
    ],
)
def test_powershell_is_manual_where_it_cannot_run(text: str) -> None:
    verify = read_verify(text)
    assert verify.checks == ()
    assert verify.manual == f"needs PowerShell: {text}"


def test_a_powershell_fence_is_manual() -> None:
    verify = read_verify("```powershell\nTest-Path a.txt\n```")
    assert (verify.manual or "").startswith("needs PowerShell: ")


def test_powershell_started_by_name_is_run() -> None:
    command = "pwsh -c 'Get-ChildItem | Select-String a'"
    assert commands(f"`{command}`") == [command]


def test_a_reason_that_mentions_a_manual_is_shown_whole() -> None:
    field = "compare it with the user manual: section 3"
    assert read_verify(field).describe() == f"manual: {field}"


@pytest.mark.parametrize("field", ["Manual: look at it", "manually - look at it", "look at it"])
def test_a_manual_check_says_so_once(field: str) -> None:
    assert read_verify(field).describe() == "manual: look at it"
