"""The name of a failing test in the title that a runner prints for it."""

from __future__ import annotations

import re

LONGEST_NAME = 200
# What only counts tests or speaks about the run.
NOT_A_NAME = re.compile(
    r"""(?:
      tests? | run(?:\ finished.*)? | assertion | count:.* | total\ \d.* | status\s*[^\w\s].*
    | specs? | suites? | assertions?(?:\ with\b.*)? | coverage | failures? | failed
    | warnings?\b.*\d.* | .*(?:\ -){6}
    | build | the\ build | results? | overall\b.* | test\ run | test\ suite
    | [\W\d_]* | .*\b\d+\ (?:passed|failed|broken)\b.*
    | \d+\b.*\b(?:tests?|specs?|passed|failed|examples?|assertions?|checks?|cases?)\b.*
    | \(?(?:failures|errors)=\d.* | failed\ \d+\ .* | (?:pass(?:ed)?|ok):\ \d+\ .* | cases?:\ .*
    | (?:test\ )?(?:files|suites)\b.*\d.* | tests:\ .* | .*\bsummary\b.* | .*\s\d+\s+\d+(?:\s.*)?
    | \S+\.\w+\ [.EFs]+ | .*\bcoverage\b.*%.*
    | (?:[\w:.]*\w)?(?-i:Error|Exception)(?:\ \[\w+\])?(?::.*)? | error(?::\ \w+)?
    | Error\ \d+.* | exit(?:\ code|\ status)?\ \d+
    | (?:expected|actual|got|received|fail)\b.*
    | build\ failed\b.* | .*\[(?:build|setup)(?:\ failed\].*)? | .*\bcompilation | .*\bprojects?
    | .*\ for:\ .* | make(?:\[|:|\ ).* | (?:npm|yarn|pnpm)\ .* | .*\#\ (?:TODO|SKIP)\b.*
    | \W*\d+\ (?:containers|tests)\b.* | .*\ \[pass:\ \d.* | (?:true|false|null),?
    | (?:.*\b)?\d+\ of\ \d+(?:\ \w+)? | (?:test\ )?(?:suite|module)\ \S+
    | problem | see\ \.?[/\w].* | >\ .* | .*\b_FailedTest\b.*
    )$""",
    re.IGNORECASE | re.VERBOSE,
)
PLACE = re.compile(
    r"\s{0,4}(?:[#@]|\b(?:failed )?at\b(?: \S+(?= \())?|\bin\b)?\s{0,2}"
    r"[(\[]?[\w./\\-]+\.\w+:\d+(?::\d+)?[)\]]?:?$"
    r"|\s*\([EF]\)(?: line: \d+ \S+)?$"
)
TIME = re.compile(
    r"\s*(?:\bduration: )?[(\[]?(?:\b[\d.,]+|(?<!\w )\b[\d.,]+ )"
    r"(?:ns|µs|us|ms|s|secs?|seconds?|m)\b[)\]]?\.?$",
    re.IGNORECASE,
)
REMARK = re.compile(
    r" \((?:Failed|Timeout|SEGFAULT|Not Run|\w+ aborted|see \S+|[\w.-]+/[\w./-]+)\)$"
    r"| finished in [\d.]+ ?m?s$| +(?:-- )?Time elapsed: .*$"
    r"| \((?:gas|runs): .*\)$| \(on line \d+\)$"
    r"|\s+[\d.]+m?s \([^()]*\|[^()]*\)$|: module '\w+'$|\t\S+\.\w+$"
    r"|, where (?:GetParam\(\)|TypeParam) = .*$"
)
# Dots, or how the test ended: `cart::total: CRASH!`
NAME_END = re.compile(r"\s*(?:\.{3,}|…|-{2,}|: [A-Z]{4,}!|: Timed out\.?)$")
NUMBER = re.compile(
    r"^(?:\{\d+\}|\d+(?:[.):]| #)|\d+(?=\s\s)|#\d+|[\[(]?\d+/\d+[\])]?"
    r"|\d+(?= \S+\.\w+:\d+:\d+ ))\s+"
)
# Playwright counts the place of a test as part of its name.
PLACE_IN_NAME = r"(?:\[[^\]]+\] › )?\S+:\d+:\d+ › "
# `src/a.test.js:3:1 # `, `[api] > `, `00:00 +0 -1: test/a.dart: `, `[fail]: `, `ERROR: `
BEFORE_NAME = re.compile(
    rf"^(?!{PLACE_IN_NAME})(?:\[fail\]:? +|- |\"[^\"]+\" - |\|[^|]+\| "
    r"|(?:FAIL(?:ED|URE)?|ERROR|Failure|Error|Failed)(?: \[[^\]]*\])? ?: |\[[^\]]+\] [›>] "
    r"|\d+:\d+ \+\d+(?: ~\d+)? -\d+: "
    r"|(?:cucumber )?[\w@./\\-]+\.(?:[a-z]\w{0,7}|[A-Z])(?::\d+){0,2}"
    r"(?: [›»#] |: | {2,}| @ \d+: |(?<=\d) )"
    r"|(?:[\w.-]+/)+[\w.-]+ (?=Test[A-Z_]\w*(?:/\S*)?$)|job +\d+ +\+ "
    r"|\[ *[\d.]+ ?m?s\] )+"
)
TEST_LABEL = re.compile(r"^(?:test(?: ?case)?|scenario(?: outline)?): ", re.IGNORECASE)
# What stands before a name, and what stands behind it as often as it occurs. A remark is taken off
# first: what stands before it may look like a place.
BEFORE = (REMARK, NUMBER, BEFORE_NAME, TEST_LABEL)
BEHIND = (REMARK, PLACE, NAME_END)
RULERS = " :─━═"
# `test_total (shop.tests.CartTest.test_total)`
OF_CLASS = re.compile(
    r"^(?P<name>(?!setUp|tearDown)\w+) \((?P<class>[\w.]+)\)(?: \[.*\])?(?: \(.*\))?$"
)
# The name of a suite, and of the test in quotes: `cart  "totals the prices"`.
IN_SUITE = re.compile(r"^\w[\w ]*  \"([^\"]+)\"$")
QUOTED = re.compile(r"^(['\"`‘“])([^'\"`’”]*)['\"`’”]$")


def name_in(title: str) -> str:
    """Return the name without its number, time, place and quotes; empty if there is none."""
    name = title.strip()
    for pattern in BEFORE:
        name = pattern.sub("", name)

    name = _without_ending(name)
    shortened = TIME.sub("", name)
    if shortened != name:
        # Only the last time is how long the test took: "retries after 5s (1.2ms)".
        name = _without_ending(shortened) or name

    name = IN_SUITE.sub(r"\1", name)
    name = QUOTED.sub(r"\2", name)
    name = _with_class(name)
    if len(name) > LONGEST_NAME or NOT_A_NAME.match(name):
        return ""
    return name


def _without_ending(name: str) -> str:
    """Return a name without remarks, places and dots behind it."""
    shortened = ""
    while name != shortened:
        shortened = name
        for pattern in BEHIND:
            # A place may be all there is.
            name = pattern.sub("", name).strip(RULERS) or name.strip(RULERS)
    return name


def _with_class(name: str) -> str:
    """Return `shop.CartTest.test_total` for `test_total (shop.CartTest)`."""
    match = OF_CLASS.match(name)
    if match is None:
        return name
    method = match["name"]
    owner = match["class"].removesuffix(f".{method}")
    return f"{owner}.{method}"
