"""The project's files that an output names, as it prints them."""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import number_of
from pytest_ralph.failure.project import FOREIGN
from pytest_ralph.shell.statuses import NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.failure import Failure

MOST_FILES = 40
# The place of an error stands at most this many lines below it.
LINES_BELOW = 15
# git puts these before the two sides of a difference.
DIFF_SIDES = ("a/", "b/", "before/", "after/")
# It starts where a word does: to try again inside a long word takes quadratic time.
TOKEN = re.compile(r"(?<![\w@.~/\\+%-])[\w@.~/\\+%-]+(?:\.\w+|file\b|BUILD\b|WORKSPACE\b)")
# Every token has one of these.
MAY_NAME_FILE = re.compile(r"\.|file|BUILD|WORKSPACE")
FILE_NAME = re.compile(
    r"[\w@.~/\\+-]{0,300}(?:[\w-]\.[A-Za-z]\w{0,11}|(?:^|/)(?:[A-Z][a-z]+file|BUILD|WORKSPACE))$"
)
PRINTED_PATH = re.compile(r"(?<![\w/.-])[\w.@+-]+(?:/[\w.@+-]+)+(?![\w/-])")
# What is left of file:///project/a.js; webpack:///./a.js starts at the root of the project.
SLASHES = re.compile(r"^/{3,}")
# Lines about files that have nothing to do with the failure: passed, unchanged, built.
UNRELATED = re.compile(
    r"^\S+\.\w+ [.sxX]+ *(?:\[|$)|^\s*(?:✓|✔|√|PASS\b|ok\s)|PASSED|left unchanged"
    r"|^\s+Running (?:unittests )?\S+ \(|^\[ *\d+ of \d+\] Compiling|^\s+using description file:"
    r"|^g?make(?:\[\d+\])?: |complete log of this run|generated xml file: "
    r"|^\s*\S+\.\w+ +[\d.,]+ ?[kKMG]?i?B\b"
    r"|^\+{1,3} (?!\S*(?:grep|test|diff|cat)|\S+\.\w+(?:\t|$))"
)
# A place in a report; pytest puts the name of the exception behind it.
PLACE = re.compile(
    r"(?P<file>[\w@.~/\\+-]+\.[A-Za-z]\w{0,9}):(?P<line>[1-9]\d{0,6})\b(?P<error>: [A-Z]\w+$)?"
)
SOURCE_SUFFIX = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|rs|go|java|kt|kts|scala|rb|php|c|h|cc|cpp|cxx"
    r"|hpp|cs|fs|swift|m|mm|ex|exs|erl|hs|ml|mli|lua|pl|pm|t|r|R|jl|dart|zig|nim|sh|bash|bats|sql"
    r"|html|css|scss|less|json|ya?ml|toml|ini|cfg|xml|md|rst|txt|proto|tf|hcl|graphql|gradle|cmake"
    r"|lock|feature|robot|clj|cljs|groovy|sol|vhd|v|sv)$"
)


def named_files(context: FailureContext, failure: Failure) -> tuple[str, ...]:
    """Return the files in order of appearance, each once however it is written.

    A script that the command runs and that does not exist comes first.
    """
    # The path as it is printed, by the name of the file in the project.
    printed: dict[str, str] = {}
    missing = failure.missing
    is_script = context.evidence.exit_code == NOT_FOUND and failure.kind == "task_incomplete"
    if missing and is_script:
        printed[missing] = missing
    for token in (*_names_without_suffix(context), *_tokens(context)):
        path = SLASHES.sub("/", token.removeprefix("///./"))
        name = _project_name(context, path)
        if name:
            earlier = printed.get(name)
            printed[name] = _best_path(name, path, earlier)
    for path in _files_in_question(context, failure):
        name = context.project.find(path) or path
        printed.setdefault(name, path)
    return tuple(printed.values())[:MOST_FILES]


def reported_line(context: FailureContext, failure: Failure) -> int | None:
    """Return the line that a report gives for its only test, or the output below a test's error."""
    tests = failure.failed_tests
    if not tests:
        return None
    if context.report_lines:
        if len(tests) > 1:
            return None
        places = _own_places(context, context.report_lines)
        # pytest ends with the place of the error, others begin with it.
        return _line_of(_raised(places)[-1:] or places)
    number = number_of(failure.error, context.output.lines)
    if number is None:
        return None
    block = context.output.lines[number : number + LINES_BELOW]
    places = _own_places(context, block)
    return _line_of(_raised(places) or places)


def _raised(places: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    return [place for place in places if place["error"]]


def _line_of(places: Sequence[re.Match[str]]) -> int | None:
    for place in places:
        return int(place["line"])
    return None


def _own_places(context: FailureContext, lines: Sequence[str]) -> Sequence[re.Match[str]]:
    """Return the places in files of the project, in order."""
    places: list[re.Match[str]] = []
    for line in lines:
        places += PLACE.finditer(line)
    return [place for place in places if _project_name(context, place["file"])]


def _project_name(context: FailureContext, path: str) -> str | None:
    """Return the name in the project of a file that is printed as `path`, or None."""
    if context.project.files:
        return context.project.find(path)
    return _by_shape(path)


def _best_path(name: str, path: str, earlier: str | None) -> str:
    """Return the path to show for a file: the first one printed, or one that ends in its name."""
    if earlier is None:
        is_diff_side = path.removesuffix(name) in DIFF_SIDES
        return name if is_diff_side else path
    if earlier.endswith(name) or not path.endswith(name):
        return earlier
    return path


def _files_in_question(context: FailureContext, failure: Failure) -> Iterator[str]:
    """Yield files that the error or the command is about, whether they exist or not."""
    if not context.project.files:
        return
    for token in TOKEN.findall(failure.error):
        if _may_be_own(context, token):
            yield token
    if failure.kind == "task_incomplete" and failure.missing:
        yield from filter(FILE_NAME.match, [failure.missing])
    if context.compares:
        for word in filter(FILE_NAME.match, context.stages[-1].plain_arguments):
            if word in context.output.text:
                yield word


def _may_be_own(context: FailureContext, path: str) -> bool:
    """Return whether a path is a file of the project, or would be if it existed."""
    if context.project.find(path):
        return True
    top, slash, _ = path.removeprefix("./").partition("/")
    if not slash or not context.project.has_directory(top):
        return False
    return _by_shape(path) is not None


def _names_without_suffix(context: FailureContext) -> Iterator[str]:
    """Yield printed files of the project, and programs that the command names, without a suffix."""
    text = context.output.text
    own = context.project.files
    for path in PRINTED_PATH.findall(text):
        if path in own and not FILE_NAME.match(path):
            yield path
    for word in filterfalse(FILE_NAME.match, context.words):
        is_file = "/" in word or word in own
        if is_file and word in text:
            yield word


def _tokens(context: FailureContext) -> Iterator[str]:
    """Yield every word of the output and the report that looks like the name of a file."""
    for number, line in enumerate(context.output.lines):
        if not MAY_NAME_FILE.search(line) or UNRELATED.search(line):
            continue
        shown = context.echoed.get(number)
        if shown is None or shown.executable.startswith("./"):
            yield from _file_names(line)
    for line in context.report_lines:
        yield from _file_names(line)


def _file_names(line: str) -> Iterator[str]:
    return filter(FILE_NAME.match, TOKEN.findall(line))


def _by_shape(path: str) -> str | None:
    """Accept the suffix of a source file of the project; used without a tree to look into."""
    if FOREIGN.search(path) or not SOURCE_SUFFIX.search(path):
        return None
    return path.removeprefix("./").removeprefix("/project/")
