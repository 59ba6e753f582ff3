"""Outputs in the words of many tools, shortened to what decides: each is read as a person would read it."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_ralph import classify

if TYPE_CHECKING:
    from pathlib import Path


class Reading(NamedTuple):
    """What one run printed, and what a person takes it for."""

    says: str
    command: str
    exit_code: int
    output: str
    expected: dict[str, Any]
    tree: tuple[str, ...] = ()


READINGS = (
    Reading(
        "a parameter may contain what elsewhere ends the name of a test",
        "pytest -q",
        1,
        "FAILED test_price.py::test_net[half - price] - assert 10 == 9\n1 failed in 0.1s",
        {"failed_tests": ("test_price.py::test_net[half - price]",)},
    ),
    Reading(
        "a subtest is quoted by its own error, not by their number",
        "pytest -q",
        1,
        """\
        =================================== FAILURES ===================================
        ____________________________ test_even [even] (n=1) ____________________________
        >               assert n % 2 == 0
        E               assert (1 % 2) == 0
        ___________________________________ test_even __________________________________
        contains 1 failed subtest
        =========================== short test summary info ============================
        SUBFAILED[even] (n=1) test_n.py::test_even - assert (1 % 2) == 0
        FAILED test_n.py::test_even - contains 1 failed subtest
        """,
        {"error": "assert (1 % 2) == 0", "failed_tests": ("test_n.py::test_even",)},
    ),
    Reading(
        "a group of exceptions is quoted by its own line",
        "pytest -q",
        1,
        """\
        =================================== FAILURES ===================================
        ___________________________________ test_jobs __________________________________
          + Exception Group Traceback (most recent call last):
          |   File "/project/jobs.py", line 9, in run
          | ExceptionGroup: jobs failed (1 sub-exception)
          +-+---------------- 1 ----------------
            | RuntimeError: job 1
            +------------------------------------
        =========================== short test summary info ============================
        FAILED test_jobs.py::test_jobs - RuntimeError('job 1') [single exception in Ex...
        """,
        {"kind": "test_failure", "error": "ExceptionGroup: jobs failed (1 sub-exception)"},
    ),
    Reading(
        "pytest's exit status 5 says that no test ran, whatever it warns of",
        "pytest -q",
        5,
        "  /project/test_c.py:1: PytestCollectionWarning: cannot collect test class 'TestC'\n1 warning in 0.1s",
        {"kind": "task_incomplete", "error": "1 warning in 0.1s"},
    ),
    Reading(
        "a test that the command names and the class lacks is not there",
        "python -m unittest test_api.ApiTest.test_put",
        1,
        f"{'=' * 70}\nERROR: test_put (unittest.loader._FailedTest.test_put)\n{'-' * 70}\n"
        "AttributeError: type object 'ApiTest' has no attribute 'test_put'\n",
        {"kind": "task_incomplete", "missing": "test_put"},
    ),
    Reading(
        "the warning of a log is no cause",
        "python job.py",
        1,
        "2026-01-02 10:00:00,1 WARNING permission denied for cache, continuing\n"
        'Traceback (most recent call last):\n  File "job.py", line 3, in <module>\nValueError: 3 bad rows',
        {"kind": "crash", "error": "ValueError: 3 bad rows"},
    ),
    Reading(
        "a setup.py that raises is a build that stops",
        "pip install .",
        1,
        """\
          error: subprocess-exited-with-error
              Traceback (most recent call last):
                File "/project/setup.py", line 2, in <module>
              RuntimeError: no version
        """,
        {"kind": "build_error", "error": "RuntimeError: no version"},
    ),
    Reading(
        "node lists its failing tests once more, without the suites around them",
        "node --test",
        1,
        """\
        ▶ calc
          ✖ adds (2.8ms)
            AssertionError [ERR_ASSERTION]: 2 !== 3
        ✖ calc (3.5ms)
        ✖ failing tests:

        test at calc.test.js:3:23
        ✖ adds (2.8ms)
          AssertionError [ERR_ASSERTION]: 2 !== 3
              at TestContext.<anonymous> (file:///project/calc.test.js:3:45)
        """,
        {"failed_tests": ("adds",), "files": ("calc.test.js",)},
        ("calc.test.js",),
    ),
    Reading(
        "a file named by an address is named by its path",
        "node a.mjs",
        1,
        "file:///project/a.mjs:1\nthrow new Error('no')\n^\n\nError: no\n    at file:///project/a.mjs:1:7",
        {"kind": "crash", "files": ("/project/a.mjs",)},
        ("a.mjs",),
    ),
    Reading(
        "an exception need not be called one",
        "node check.js",
        1,
        "throw new NoRegion('none set')\n^\n\nNoRegion [Error]: none set\n    at /project/check.js:2:7",
        {"kind": "crash", "error": "NoRegion [Error]: none set"},
    ),
    Reading(
        "cucumber-js fails scenarios, not steps",
        "npx cucumber-js",
        1,
        """\
        Failures:

        1) Scenario: pay by card # features/pay.feature:2
           ✔ Given a cart of 3 # features/steps.js:2
           ✖ Then I pay 4 # features/steps.js:3
               AssertionError [ERR_ASSERTION]: 3 !== 4

        1 scenario (1 failed)
        """,
        {"failed_tests": ("pay by card",), "error": "AssertionError [ERR_ASSERTION]: 3 !== 4"},
    ),
    Reading(
        "an import that rollup cannot resolve is a package, and its name stands before the importer",
        "npx rollup -i src/m.js --failAfterWarnings",
        1,
        '(!) Unresolved dependencies\ncolor-mix (imported by "src/m.js")\n[!] Warnings occurred',
        {"kind": "dependency_missing", "missing": "color-mix"},
    ),
    Reading(
        "a test program that assert() aborts has a failed expectation",
        "ctest --output-on-failure",
        8,
        """\
        1/1 Test #1: ring ......................Subprocess aborted***Exception:   0.01 sec
        t1: /project/t1.c:2: main: Assertion `1 == 2' failed.
        The following tests FAILED:
        \t  1 - ring (Subprocess aborted)
        """,
        {"kind": "test_failure", "failed_tests": ("ring",)},
    ),
    Reading(
        "what valgrind finds is a check that says no",
        "gcc -o app app.c && valgrind -q --error-exitcode=9 ./app",
        9,
        "==77== Invalid write of size 1\n==77==    at 0x109157: main (app.c:2)",
        {"kind": "test_failure", "error": "==77== Invalid write of size 1"},
    ),
    Reading(
        "what a sanitizer reports is a program that died",
        "gcc -fsanitize=undefined -o app app.c && ./app",
        1,
        "app.c:2:41: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
        {"kind": "crash"},
    ),
    Reading(
        "an undeclared variable of Perl is an error of compilation",
        "perl bin/run.pl",
        255,
        'Global symbol "$total" requires explicit package name at bin/run.pl line 2.\n'
        "Execution of bin/run.pl aborted due to compilation errors.",
        {"kind": "build_error"},
    ),
    Reading(
        "a build script of Rust that panics stops the build",
        "cargo build",
        101,
        "error: failed to run custom build command for `codec v1`\n\nCaused by:\n"
        "  thread 'main' panicked at build.rs:1:13:\n  no schema given",
        {"kind": "build_error"},
    ),
    Reading(
        "an error that main returns is a program that died",
        "cargo run -q",
        1,
        'Error: "2 accounts do not balance"',
        {"kind": "crash"},
    ),
    Reading(
        "a lock file that is behind is a configuration that cannot be used, not malformed data",
        "pnpm install --frozen-lockfile",
        1,
        ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date',
        {"kind": "build_error"},
    ),
    Reading(
        "whitespace that git complains of is a matter of style",
        "git diff --check",
        2,
        "a.py:1: trailing whitespace.\n+x = 1   ",
        {"kind": "lint_error", "error": "a.py:1: trailing whitespace."},
    ),
    Reading(
        "the two sides of a difference are one file",
        "git diff --exit-code",
        1,
        "diff --git a/db/schema.sql b/db/schema.sql\n--- a/db/schema.sql\n+++ b/db/schema.sql\n-v1\n+v2",
        {"kind": "test_failure", "files": ("db/schema.sql",)},
        ("db/schema.sql",),
    ),
    Reading(
        "what diff prints is a difference, wherever its sides come from",
        "diff <(jq -S . a.json) <(jq -S . b.json)",
        1,
        '2c2\n<   "x": 1\n---\n>   "x": 2',
        {"kind": "test_failure", "error": '<   "x": 1'},
    ),
    Reading(
        "the target that make repeats is not what is missing",
        "make report",
        2,
        'python3 report.py out.csv\nTraceback (most recent call last):\n  File "report.py", line 2, in <module>\n'
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'\nmake: *** [Makefile:2: report] Error 1",
        {"kind": "crash", "missing": None},
    ),
    Reading(
        "a program that cannot be executed is quoted, and known by its path",
        "./bin/serve",
        126,
        "bash: line 1: ./bin/serve: cannot execute binary file: Exec format error",
        {"kind": "permission_denied", "files": ("./bin/serve",)},
        ("bin/serve",),
    ),
    Reading(
        "a limit of the shell is a resource used up",
        "ulimit -f 1; dd of=out",
        153,
        "",
        {"kind": "resource_exhausted"},
    ),
    Reading(
        "gradle names the dependency it cannot have",
        "gradle test",
        1,
        "FAILURE: Build failed with an exception.\n> Cannot resolve external dependency com.acme:codec:9.1 because no",
        {"kind": "dependency_missing", "missing": "com.acme:codec:9.1"},
    ),
    Reading(
        "the old surefire names a method and its class",
        "mvn test",
        1,
        "posts(biz.CartTest)  Time elapsed: 0.2 sec  <<< FAILURE!\njava.lang.AssertionError: expected:<4> but was:<0>",
        {
            "failed_tests": ("posts(biz.CartTest)",),
            "error": "java.lang.AssertionError: expected:<4> but was:<0>",
        },
    ),
    Reading(
        "of an exception in a Java test the cause outside the code counts",
        "mvn test",
        1,
        "[ERROR] com.acme.RepoTest.saves -- Time elapsed: 0.003 s <<< ERROR!\n"
        "java.lang.IllegalStateException: Failed to load ApplicationContext\n"
        "Caused by: org.postgresql.util.PSQLException: Connection to localhost:5432 refused.\n"
        "[ERROR]   RepoTest.saves » IllegalState Failed to load ApplicationContext",
        {"kind": "service_unavailable", "failed_tests": ("RepoTest.saves",)},
    ),
    Reading(
        "a heading above an error of compilation is no error to quote",
        "mvn compile",
        1,
        "[ERROR] COMPILATION ERROR : \n[ERROR] /project/src/Order.java:[14,25] cannot find symbol",
        {
            "kind": "build_error",
            "error": "[ERROR] /project/src/Order.java:[14,25] cannot find symbol",
        },
    ),
    Reading(
        "the old dotnet test gives no time",
        "dotnet test",
        1,
        "Failed   Shop.CartTests.Totals\nError Message:\n Assert.AreEqual failed. Expected:<2>. Actual:<3>.",
        {
            "failed_tests": ("Shop.CartTests.Totals",),
            "error": "Assert.AreEqual failed. Expected:<2>. Actual:<3>.",
        },
    ),
    Reading(
        "the new dotnet test gives only the method",
        "dotnet test",
        2,
        "failed Totals_Add (6s 22ms)\n  Assert.AreEqual failed. Expected:<1>. Actual:<2>.\n failed: 1\n  succeeded: 3",
        {
            "failed_tests": ("Totals_Add",),
            "error": "Assert.AreEqual failed. Expected:<1>. Actual:<2>.",
        },
    ),
    Reading(
        "the Kotlin compiler begins its errors with e",
        "./gradlew assemble",
        1,
        "e: file:///project/src/Main.kt:21:9 Unresolved reference: setContnt\n"
        "e: file:///project/src/Repo.kt:7:20 Type mismatch: inferred type is String but Int was expected",
        {
            "kind": "build_error",
            "error": "e: file:///project/src/Main.kt:21:9 Unresolved reference: setContnt",
        },
    ),
    Reading(
        "a path may begin below the root, where only one file ends so",
        "helm lint charts/shop",
        1,
        "[ERROR] templates/web.yaml: unable to parse YAML: yaml: line 46: did not find expected key",
        {"kind": "parse_error", "files": ("templates/web.yaml",)},
        ("charts/shop/templates/web.yaml",),
    ),
    Reading(
        "a variable that one may set is advice, no missing value",
        "cargo build",
        101,
        "Could not find directory of OpenSSL installation\n"
        "trouble finding it, you can set the `OPENSSL_DIR` environment variable",
        {"kind": "dependency_missing", "missing": "OpenSSL"},
    ),
    Reading(
        "a name in small letters is no variable of the environment",
        "python load.py",
        1,
        'Traceback (most recent call last):\n  File "load.py", line 3, in <module>\nValueError: user_id is required',
        {"kind": "crash", "missing": None},
    ),
    Reading(
        "what a search finds in the project is content",
        "grep -rn TODO src && exit 1",
        1,
        "src/a.py:1:# TODO: permission denied is not handled",
        {"kind": "task_incomplete", "error": "src/a.py:1:# TODO: permission denied is not handled"},
        ("src/a.py",),
    ),
    Reading(
        "what was logged before the traceback did not end the program",
        "python app.py",
        1,
        "ERROR:root:Connection refused, using the cache\nTraceback (most recent call last):\n"
        '  File "app.py", line 7, in <module>\nIndexError: list index out of range',
        {"kind": "crash", "error": "IndexError: list index out of range"},
    ),
    Reading(
        "a rejected promise is no part of the name of a test",
        "npx ava",
        1,
        "  ✘ [fail]: throws Rejected promise returned by test\n\n  TypeError: bad arg\n\n  1 test failed",
        {"failed_tests": ("throws",), "error": "TypeError: bad arg"},
    ),
    Reading(
        "arguments of a function are not those of a command line",
        "clang++ -c src/q.cpp",
        1,
        "src/q.cpp:3:34: error: too many arguments to function call, expected 0, have 1",
        {"kind": "build_error"},
    ),
    Reading(
        "a call with too few arguments is a program that died",
        "php run.php",
        255,
        "PHP Fatal error:  Uncaught ArgumentCountError: Too few arguments to function f(), 0 passed in run.php:3",
        {"kind": "crash"},
    ),
    Reading(
        "of exceptions that led to one another the last is quoted",
        "python call.py",
        1,
        """\
        Traceback (most recent call last):
          File "/venv/lib/python3.11/site-packages/httpcore/a.py", line 9, in connect
        httpcore.ConnectError: [Errno 111] Connection refused

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "call.py", line 2, in <module>
        httpx.ConnectError: [Errno 111] Connection refused
        """,
        {
            "kind": "service_unavailable",
            "error": "httpx.ConnectError: [Errno 111] Connection refused",
        },
    ),
    Reading(
        "an application that the command names and nobody wrote is not there",
        "flask --app shop run",
        2,
        "Usage: flask run [OPTIONS]\n\nError: Could not import 'shop'.",
        {"kind": "task_incomplete", "missing": "shop"},
    ),
    Reading(
        "a file that a rule of make needs is missing from the build",
        "make -C lib all",
        2,
        "make: *** No rule to make target 'util.h', needed by 'util.o'.  Stop.",
        {"kind": "build_error", "missing": "util.h"},
    ),
    Reading(
        "findings written as JSON are quoted by their message",
        "pylint --output-format=json src/a.py",
        4,
        '[\n  {\n    "path": "src/a.py",\n    "message": "Unused import os",\n    "message-id": "W0611"\n  }\n]',
        {"kind": "lint_error", "error": "Unused import os"},
    ),
    Reading(
        "a file is named by the longest path that is printed of it",
        "python render.py",
        1,
        "Traceback (most recent call last):\n"
        '  File "/project/render.py", line 2\n    get("a.html")\n  File "tpl/a.html", line 2, in template\n'
        "jinja2.exceptions.TemplateSyntaxError: unexpected '}'",
        {"kind": "build_error", "files": ("/project/render.py", "tpl/a.html")},
        ("render.py", "tpl/a.html"),
    ),
    Reading(
        "the name of what is missing does not end with the sentence",
        "dotnet restore",
        1,
        "Shop.csproj : error NU1101: Unable to find package Acme.Codec. No packages exist with this id",
        {"kind": "dependency_missing", "missing": "Acme.Codec"},
    ),
    Reading(
        "what webpack serves is a file below the root",
        "npx cypress run",
        1,
        "  1 failing\n\n  1) shows a title:\n     AssertionError: no\n      at Context.eval (webpack:///./e2e/a.cy.js:1:8)",
        {"files": ("e2e/a.cy.js",)},
        ("e2e/a.cy.js",),
    ),
    Reading(
        "the step of an image is neither advice nor part of what it prints",
        "docker build .",
        1,
        "#8 [4/5] RUN pip install -r requirements.txt\n"
        "#8 1.204 ERROR: No matching distribution found for acme-core==9.1\n"
        '#8 ERROR: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1',
        {
            "missing": "acme-core",
            "error": "ERROR: No matching distribution found for acme-core==9.1",
        },
    ),
    Reading(
        "a token that has expired is a value that somebody must give",
        "aws sts get-caller-identity",
        254,
        "An error occurred (ExpiredToken): The security token included in the request is expired",
        {"kind": "unknown", "category": "missing_context", "retryable": False},
    ),
    Reading(
        "a provider that the registry does not have is a missing package",
        "terraform init",
        1,
        "Error: Failed to query available provider packages\nthe registry does not have a provider named acme/nope",
        {"kind": "dependency_missing", "missing": "acme/nope"},
    ),
    Reading(
        "without a summary the titles of pytest's failures are the names",
        "pytest -q -rN",
        1,
        """\
        =================================== FAILURES ===================================
        _________________________________ TestX.test_a _________________________________
        >       assert 1 > 2
        E       assert 1 > 2

        test_a.py:3: AssertionError
        1 failed in 0.43s
        """,
        {"kind": "test_failure", "error": "assert 1 > 2", "failed_tests": ("TestX.test_a",)},
    ),
    Reading(
        "an expression that pytest cannot read is a wrong command line",
        'pytest -q -m "slow and"',
        4,
        "no tests ran in 0.13s\nERROR: Wrong expression passed to '-m': slow and: at column 9: expected not",
        {"kind": "unknown", "type": "UNKNOWN"},
    ),
    Reading(
        "a linter's count of problems is no failed test",
        "npm run verify",
        1,
        """\
        > shop@1.0.0 verify
        > npm run lint && npm test

        > shop@1.0.0 lint
        > eslint src

        /project/src/a.js
          1:1  error  'foo' is not defined  no-undef

        ✖ 1 problem (1 error, 0 warnings)
        """,
        {"kind": "lint_error", "error": "1:1  error  'foo' is not defined  no-undef"},
    ),
    Reading(
        "beside failing tests, a suite that cannot be loaded counts first",
        "npx jest",
        1,
        """\
        FAIL ./a.test.js
          ● one

            expect(received).toBe(expected)

        FAIL ./b.test.js
          ● Test suite failed to run

            Cannot find module './b' from 'b.test.js'

        Test Suites: 2 failed, 2 total
        Tests:       1 failed, 1 total
        """,
        {"kind": "build_error", "missing": "./b", "failed_tests": ("one",)},
    ),
    Reading(
        "a package of ours that cannot be executed lacks what the command runs",
        "python -m shop",
        1,
        "/usr/bin/python: No module named shop.__main__; 'shop' is a package and cannot be directly executed",
        {"kind": "task_incomplete", "missing": "shop.__main__"},
        ("shop/__init__.py",),
    ),
    Reading(
        "a directory that is said not to exist is what is missing",
        "alembic upgrade head",
        255,
        "FAILED: Path doesn't exist: db/versions.  Create it first.",
        {"kind": "task_incomplete", "missing": "db/versions"},
    ),
    Reading(
        "a browser that was never fetched is something to install, also inside a test",
        "npx playwright test",
        1,
        """\
        Running 1 test using 1 worker

          1) shop.spec.ts:4:1 › buys a book ─────────────────────────────────────

            Error: browserType.launch: Executable doesn't exist at /home/me/.cache/browsers/firefox

          1 failed
            shop.spec.ts:4:1 › buys a book ──────────────────────────────────────
        """,
        {"kind": "dependency_missing", "failed_tests": ("buys a book",), "missing": None},
    ),
    Reading(
        "a provider that is not there is named below the headline",
        "terraform validate",
        1,
        """\
        ╷
        │ Error: Missing required provider
        │
        │ This configuration requires provider registry.example.org/acme/dns,
        │ but that provider isn't available.
        ╵
        """,
        {
            "kind": "dependency_missing",
            "error": "Error: Missing required provider",
            "missing": "registry.example.org/acme/dns",
        },
    ),
    Reading(
        "an artifact that was never downloaded is named",
        "mvn -o verify",
        1,
        "[ERROR] Cannot access central (https://repo.example.org) in offline mode and the artifact "
        "org.acme:codec:jar:1.2 has not been downloaded from it before.",
        {"kind": "dependency_missing", "missing": "org.acme:codec:jar:1.2"},
    ),
    Reading(
        "a certificate that cannot be read is malformed data",
        "openssl x509 -in site.pem -noout -text",
        1,
        "Could not read certificate from site.pem\nUnable to load certificate",
        {"kind": "parse_error", "error": "Could not read certificate from site.pem"},
        ("site.pem",),
    ),
    Reading(
        "an error of Tcl stands above the words that tell where",
        "tclsh load.tcl",
        1,
        'no port given\n    while executing\n"error "no port given""\n    (file "load.tcl" line 3)',
        {"kind": "crash", "error": "no port given"},
    ),
    Reading(
        "a service that a script waits for in vain is not available",
        "bash wait.sh",
        1,
        "waiting for it\nwaiting for it\nthe database did not come up",
        {"kind": "service_unavailable", "error": "the database did not come up"},
    ),
    Reading(
        "a runner may indent the tests that failed",
        "dotnet test",
        1,
        """\
          failed Rounds_Up ("2;3",true) (1s 20ms)
            Assert.AreEqual failed. Expected:<3>. Actual:<2>.
        Test run summary: Failed!
          failed: 1
          succeeded: 4
        """,
        {"failed_tests": ('Rounds_Up ("2;3",true)',)},
    ),
    Reading(
        "the summary of an older runner names the tests that failed",
        "mvn install",
        1,
        """\
        Results :

        Failed tests:   rounds(org.acme.PriceTest): expected:<[3]> but was:<[2]>
          adds(org.acme.SumTest): expected:<4> but was:<5>

        Tests run: 9, Failures: 2, Errors: 0, Skipped: 0

        [INFO] BUILD FAILURE
        [ERROR] Failed to execute goal maven-surefire-plugin:2.12:test on project shop: There are test failures.
        """,
        {
            "kind": "test_failure",
            "error": "expected:<[3]> but was:<[2]>",
            "failed_tests": ("rounds(org.acme.PriceTest)", "adds(org.acme.SumTest)"),
        },
    ),
    Reading(
        "the subcommand of a compiler is nothing that can be missing",
        "dotnet build",
        1,
        "Shop.cs(4,7): error CS0246: The type or namespace name 'Tax' could not be found [Shop.csproj]\n"
        "The build failed. Fix the errors and run it again.",
        {"kind": "build_error", "missing": None},
        ("Shop.cs",),
    ),
    Reading(
        "where nobody gave a credential, the host that would have given one is not what is missing",
        "terraform plan",
        1,
        """\
        │ Error: configuring provider: no valid credential sources for the provider found.
        │
        │ failed to refresh: Get "http://169.254.169.254/latest": dial tcp 169.254.169.254:80: network is unreachable
        """,
        {
            "kind": "unknown",
            "category": "missing_context",
            "error": "Error: configuring provider: no valid credential sources for the provider found.",
        },
    ),
    Reading(
        "a token that the cloud does not take is a value somebody must give",
        "terraform apply",
        1,
        "Error: sts call: InvalidClientTokenId: The security token included in the request is invalid.\n"
        "        status code: 403, request id: 1",
        {"kind": "unknown", "category": "missing_context", "retryable": False},
    ),
    Reading(
        "an extension of PHP that a package requires is what is missing",
        "composer install",
        2,
        """\
        Your requirements could not be resolved to an installable set of packages.

          Problem 1
            - acme/pdf 2.0.1 requires ext-gd * -> it is missing from your system. Install or enable it.
        """,
        {"kind": "dependency_missing", "missing": "ext-gd"},
    ),
    Reading(
        "a package that no other version of a package can have is what is missing",
        "composer update",
        2,
        "  Problem 1\n    - acme/pdf dev-main requires acme/fonts ~3.0 -> no matching package found.",
        {"kind": "dependency_missing", "missing": "acme/fonts"},
    ),
    Reading(
        "scenarios that failed are named where no count stands below",
        "bundle exec cucumber",
        1,
        "expected: 3\n     got: 2 (using ==)\n\nFailing Scenarios:\n"
        "cucumber features/sum.feature:9 # Scenario: two and one\n",
        {"kind": "test_failure", "failed_tests": ("two and one",)},
    ),
    Reading(
        "a test file that died before its first test could not be loaded",
        "npx tap run test/sum.js",
        1,
        """\
        TAP version 14
        TypeError: Cannot read properties of undefined (reading 'sum')
            at load (/project/node_modules/loader/index.js:4:2)
        # Subtest: test/sum.js
            1..0 # no tests found
        not ok 1 - test/sum.js # time=12ms
          ---
          exitCode: 1
          ...
        """,
        {
            "kind": "build_error",
            "error": "TypeError: Cannot read properties of undefined (reading 'sum')",
        },
        ("test/sum.js",),
    ),
    Reading(
        "a list of what was built, with sizes, is not about those files",
        "npx vite build",
        1,
        "dist/page.html   0.07 kB │ gzip: 0.09 kB\n"
        'Error: Rolldown failed to resolve import "acme-ui" from "/project/main.js".',
        {"missing": "acme-ui", "files": ("/project/main.js",)},
        ("page.html", "main.js"),
    ),
    Reading(
        "SQLite calls it a parse error that a table is not there",
        "sqlite3 shop.db < seed.sql",
        1,
        "Parse error near line 4: no such table: orders",
        {"kind": "task_incomplete", "missing": "orders"},
    ),
    Reading(
        "a source file that a compiler is not given is the project's own",
        "inv build",
        1,
        "cc1: fatal error: codec.c: No such file or directory\ncompilation terminated.",
        {"kind": "build_error", "missing": "codec.c"},
    ),
    Reading(
        "a test file that throws while it is loaded is quoted by what it threw",
        "node --test",
        1,
        """\
        TAP version 13
        # /project/lib/limits.js:4
        # throw new RangeError("no upper bound")
        # ^
        # RangeError: no upper bound
        #     at Object.<anonymous> (/project/lib/limits.js:4:7)
        # Node.js v20.1.0
        # Subtest: /project/limits.test.js
        not ok 1 - /project/limits.test.js
          ---
          exitCode: 1
          error: 'test failed'
          ...
        1..1
        """,
        {
            "kind": "build_error",
            "error": "RangeError: no upper bound",
            "failed_tests": ("/project/limits.test.js",),
        },
        ("limits.test.js", "lib/limits.js"),
    ),
    Reading(
        "a lock that another process holds is a resource to wait for",
        "git add notes.txt",
        128,
        "fatal: Unable to create '/project/.git/index.lock': File exists.\n\n"
        "Another git process seems to be running in this repository.",
        {
            "kind": "resource_exhausted",
            "error": "fatal: Unable to create '/project/.git/index.lock': File exists.",
        },
    ),
    Reading(
        "what a tool says at last is quoted before what it logged",
        "kubectl get nodes",
        1,
        'E0302 10:11:12.000001    77 cache.go:26] "Unhandled" err="dial tcp 127.0.0.1:8080: connection refused"\n'
        "The connection to the server localhost:8080 was refused - is the port right?",
        {
            "kind": "service_unavailable",
            "error": "The connection to the server localhost:8080 was refused - is the port right?",
        },
    ),
    Reading(
        "an example in the documentation is quoted by what it expected",
        "cargo test --doc",
        101,
        """\
        failures:

        ---- src/lib.rs - half (line 4) stdout ----
        Test executable failed (exit status: 101).

        stderr:

        thread 'main' panicked at src/lib.rs:5:1:
        assertion `left == right` failed
          left: 2
         right: 3

        failures:
            src/lib.rs - half (line 4)
        """,
        {
            "error": "assertion `left == right` failed",
            "failed_tests": ("src/lib.rs - half (line 4)",),
        },
    ),
    Reading(
        "both sides of a difference are named",
        "diff -u want.txt got.txt",
        1,
        "--- want.txt\t2026-01-02 10:00:00\n+++ got.txt\t2026-01-02 10:00:00\n@@ -1 +1 @@\n-a\n+b\n",
        {"kind": "test_failure", "files": ("want.txt", "got.txt")},
        ("want.txt", "got.txt"),
    ),
    Reading(
        "commands of a build that failed are no tests that failed",
        "bundle exec fastlane snapshot",
        1,
        "[10:00:00]: ▸ ** BUILD FAILED **\n[10:00:00]: ▸ The following build commands failed:\n"
        "[10:00:00]: ▸ PhaseScriptExecution Stamp build/stamp.sh\n[10:00:00]: ▸ (1 failure)\n",
        {"kind": "build_error"},
    ),
    Reading(
        "what runs several tasks puts the name of the task before every line",
        "npx turbo run test",
        1,
        """\
        shop:test: > jest
        shop:test:
        shop:test:   ● tax › is added
        shop:test:
        shop:test:     expect(received).toBe(expected)
        shop:test:
        shop:test: Tests:       1 failed, 1 total
        """,
        {"error": "expect(received).toBe(expected)", "failed_tests": ("tax › is added",)},
    ),
    Reading(
        "what runs several containers puts the name of the container before every line",
        "docker compose run app pytest -q",
        1,
        """\
        app-1  | ____________________________________ test_tax __________________________________
        app-1  | >       assert tax(10) == 12
        app-1  | E       assert 11 == 12
        app-1  | =========================== short test summary info ============================
        app-1  | FAILED tests/test_tax.py::test_tax - assert 11 == 12
        """,
        {"error": "assert 11 == 12", "failed_tests": ("tests/test_tax.py::test_tax",)},
    ),
    Reading(
        "a log of a hosted run has the time before every line",
        "npm test",
        1,
        """\
        2026-03-01T10:00:00.1234567Z   1 failing
        2026-03-01T10:00:00.1234567Z
        2026-03-01T10:00:00.1234567Z   1) tax
        2026-03-01T10:00:00.1234567Z        is added:
        2026-03-01T10:00:00.1234567Z
        2026-03-01T10:00:00.1234567Z       AssertionError: expected 10 to equal 12
        """,
        {"error": "AssertionError: expected 10 to equal 12", "failed_tests": ("is added",)},
    ),
    Reading(
        "a test that panicked in the older way is read for what made it panic",
        "cargo test",
        101,
        """\
        failures:

        ---- asks_server stdout ----
            thread 'asks_server' panicked at 'called `Result::unwrap()` on an `Err` value: Os { code: 111, \
message: "Connection refused" }', src/client.rs:12

        failures:
            asks_server
        """,
        {"kind": "service_unavailable", "failed_tests": ("asks_server",)},
    ),
    Reading(
        "a type that Scala does not find is an undefined name, not a package",
        "sbt test",
        1,
        "[error] src/test/scala/shop/Suites.scala:15: not found: type TaxSuite\n[error] one error found",
        {"kind": "build_error", "missing": None},
    ),
    Reading(
        "karma names the browser before the test",
        "ng test --watch=false",
        1,
        """\
        Firefox 120.0 (Linux x86_64) TaxComponent adds the tax FAILED
        \tExpected 3 to equal 4.
        \t    at UserContext.<anonymous> (src/tax.spec.ts:20:17)
        Firefox 120.0 (Linux x86_64): Executed 4 of 4 (1 FAILED) (0.2 secs / 0.1 secs)
        """,
        {"error": "Expected 3 to equal 4.", "failed_tests": ("TaxComponent adds the tax",)},
    ),
    Reading(
        "a native package that finds no Python needs one",
        "npm install",
        1,
        "npm error command failed\nnpm error gyp ERR! stack Error: Could not find any Python installation to use",
        {"kind": "dependency_missing", "missing": "Python"},
    ),
    Reading(
        "who is told to log in has given no credentials",
        "cloudctl deploy",
        1,
        "ERROR: You do not currently have an active account selected.\nPlease run:\n\n  $ cloudctl auth login\n",
        {"kind": "unknown", "category": "missing_context", "retryable": False},
    ),
    Reading(
        "a lock on a state that could not be had is a resource to wait for",
        "terraform apply",
        1,
        "│ Error: Error acquiring the state lock\n│ \n│ Error message: the conditional request failed\n",
        {"kind": "resource_exhausted", "error": "Error: Error acquiring the state lock"},
    ),
    Reading(
        "what runs several commands puts a name in brackets before every line",
        'npx concurrently -n lint,unit "true" "node --test"',
        1,
        """\
        [lint] true exited with code 0
        [unit] TAP version 13
        [unit] not ok 1 - adds the tax
        [unit]   ---
        [unit]   error: 'no rate given'
        [unit]   ...
        [unit] node --test exited with code 1
        """,
        {"kind": "test_failure", "error": "no rate given", "failed_tests": ("adds the tax",)},
    ),
    Reading(
        "the level of a message in brackets is no name of a command",
        "npx prettier --check src",
        1,
        "[warn] src/a.js\n[warn] src/b.js\n[warn] src/c.js\n[warn] Code style issues found in 3 files.",
        {"kind": "format_error", "error": "[warn] src/a.js"},
    ),
    Reading(
        "an error in a file of the project is quoted before one in a file of others",
        "npx tsc -p .",
        2,
        "node_modules/@types/acme/index.d.ts(8,1): error TS2304: Cannot find name 'Codec'.\n"
        "src/tax.ts(2,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        {
            "error": "src/tax.ts(2,7): error TS2322: Type 'string' is not assignable to type 'number'."
        },
    ),
)


@pytest.mark.parametrize("reading", READINGS, ids=[one.says for one in READINGS])
def test_reading(reading: Reading, tmp_path: Path) -> None:
    for name in reading.tree:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    failure = classify(dedent(reading.output), reading.exit_code, reading.command, root=tmp_path)
    assert {field: getattr(failure, field) for field in reading.expected} == reading.expected


def test_of_two_readings_of_a_line_every_process_takes_the_same() -> None:
    line = "Unable to locate package alpha, library beta not found"
    code = f"from pytest_ralph import classify; print(classify({line!r}, 1, 'apt-get install').missing)"
    said = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True
        )
        for seed in ("1", "2", "3", "4", "5")
    }
    assert len(said) == 1


BLOCK = "Task 2.2: Add totals FAILED\n- Error: {error}\n- Attempted fix: none\n- Status: Blocked\n"


def test_tests_that_a_failed_block_names_are_the_failing_ones() -> None:
    failure = classify(
        BLOCK.format(error="tests/test_sum.py::test_sum - assert 3 == 4"), command="(agent)"
    )
    assert (failure.kind, failure.failed_tests) == (
        "test_failure",
        ("tests/test_sum.py::test_sum",),
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (
            'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}',
            "service_unavailable",
        ),
        ("I have reached the limit of my context window after src/a.py.", "context_exhausted"),
        (
            "npm run lint exits 1 with 4 problems, which were there before.\nTASK_COMPLETE",
            "verification_mismatch",
        ),
    ],
)
def test_what_an_agent_says_of_itself(words: str, kind: str) -> None:
    assert classify(words, command="(agent message)").kind == kind


def test_a_key_that_the_model_does_not_take_is_a_value_that_somebody_must_give() -> None:
    words = 'API Error: 401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    failure = classify(words, 1, "(agent message)")
    assert (failure.type, failure.category, failure.retryable) == (
        "UNKNOWN",
        "missing_context",
        False,
    )
