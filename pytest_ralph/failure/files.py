"""Files: which of the project's files an output names, as it prints them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.exit_status import NOT_FOUND
from pytest_ralph.failure.project import FOREIGN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.context import Scene
    from pytest_ralph.failure.failure import Failure

MOST = 40
# How git marks the two sides of a difference.
SIDES = ("a/", "b/")
MOST_TOKENS = 5_000
TOKEN = re.compile(r"[\w@.~/\\+%-]+(?:\.\w+|file\b|BUILD\b|WORKSPACE\b)")
NAMED = re.compile(
    r"[\w@.~/\\+-]{0,300}(?:[\w-]\.[A-Za-z]\w{0,11}|(?:^|/)(?:[A-Z][a-z]+file|BUILD|WORKSPACE))$"
)
# What is left of file:///project/a.js; webpack:///./a.js begins at the root of the project.
SLASHES = re.compile(r"^/{3,}")
UNINTERESTING = re.compile(
    r"^\S+\.\w+ [.sxX]+ *(?:\[|$)|^\s*(?:✓|✔|√|PASS\b|ok\s)|PASSED|left unchanged"
    r"|^\s+Running (?:unittests )?\S+ \(|^\[ *\d+ of \d+\] Compiling|^\s+using description file:"
    r"|^g?make(?:\[\d+\])?: |complete log of this run|^\s*\S+\.\w+ +[\d.,]+ ?[kKMG]?i?B\b"
    r"|^\+{1,3} (?!\S*(?:grep|test|diff|cat)|\S+\.\w+(?:\t|$))"
)
SOURCE = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|rs|go|java|kt|kts|scala|rb|php|c|h|cc|cpp|cxx|hpp|cs|fs|swift|m|mm|ex|exs|erl|hs|ml|mli|lua|pl|pm|t|r|R|jl|dart|zig|nim|"
    r"sh|bash|bats|sql|html|css|scss|less|json|ya?ml|toml|ini|cfg|xml|md|rst|txt|proto|tf|hcl|graphql|gradle|cmake|lock|feature|robot|clj|cljs|groovy|sol|vhd|v|sv)$"
)


def named_files(scene: Scene, failure: Failure) -> tuple[str, ...]:
    """In order of appearance, each once however it is written; first a script that the command wants and misses."""
    wanted = (
        failure.missing
        if scene.evidence.exit_code == NOT_FOUND and failure.kind == "task_incomplete"
        else None
    )
    found: dict[str, str] = {wanted: wanted} if wanted else {}
    for token in map(_path, (*_run_by_path(scene), *_tokens(scene))):
        name = scene.project.find(token) if scene.project.files else _by_shape(token)
        if name and name not in found:
            found[name] = name if token[2:] == name and token[:2] in SIDES else token
            if len(found) == MOST:
                break
        elif name and token.endswith(name) and not found[name].endswith(name):
            found[name] = token
    return tuple(found.values())


def _path(token: str) -> str:
    return SLASHES.sub("/", token.removeprefix("///./"))


def _run_by_path(scene: Scene) -> Iterator[str]:
    """A program without an ending is known by its path in the command."""
    words = (
        word for step in scene.steps for word in step.words if "/" in word and not NAMED.match(word)
    )
    yield from (word for word in words if word in scene.transcript.text)


def _tokens(scene: Scene) -> Iterator[str]:
    left = MOST_TOKENS
    for number, line in enumerate(scene.transcript.lines):
        if (
            not any(part in line for part in (".", "file", "BUILD"))
            or number in scene.echoes
            or UNINTERESTING.search(line)
        ):
            continue
        for token in TOKEN.findall(line):
            if NAMED.match(token):
                yield token
                left -= 1
        if left < 0:
            return


def _by_shape(token: str) -> str | None:
    """Without a tree to look into, a name with the ending of a source file, that is no address and nobody else's."""
    if FOREIGN.search(token) or not SOURCE.search(token) or token.startswith(("//", "www.")):
        return None
    return token.removeprefix("./").removeprefix("/project/")
