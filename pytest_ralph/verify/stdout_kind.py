"""What a command line Prints: a count, one count a file, lines, some text, or nothing that matters."""

from __future__ import annotations

import re
from enum import Enum

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import words

_STAGES = regex(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()]*\)|\\.|(?P<stop>\|\||&&|[|;\n&])")
_COUNT_FLAG = regex(r"\s(?:-[A-Za-z]*c[A-Za-z]*|--count)\b")
_NAMES_ONLY = regex(r"\s(?:-[A-Za-z]*l[A-Za-z]*|--files-with(?:out)?-match(?:es)?|--name-only)\b")
_QUIET_FLAG = regex(r"\s(?:-[A-Za-z]*q[A-Za-z]*|--quiet|--silent)\b")
_WORD = regex(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\S+")
_OPTION_WITH_VALUE = frozenset(
    (
        "-e",
        "-m",
        "-A",
        "-B",
        "-C",
        "-f",
        "-g",
        "-t",
        "--include",
        "--exclude",
        "--exclude-dir",
        "--glob",
    )
)
_GREPS = frozenset(("grep", "egrep", "fgrep", "rg", "zgrep", "ag", "ack", "git grep"))
_LISTS = words("programs", "lists")
_TEXTS = words("programs", "prints")
_HEADED = words("programs", "headed")
_BODY_ONLY = regex(
    r"\s(?:-[A-Za-z]*[qs][A-Za-z]*|--porcelain|--short|--quiet|--no-headers?|--format\S*)(?:\s|=|$)"
)
_CONTENTS = words("programs", "contents")
_SILENT = words("programs", "silent")
_TURNS = regex(r"&&|;|\n")
_PASS_ON = frozenset(
    ("head", "tail", "tr", "xargs", "sort", "sed", "awk", "cut", "bc", "tee", "cat")
)
_COUNTING = regex(
    r"\blength\b|\blen\(|\.length\b|\bcount\(|-(?:-count)\b|%\{http_code\}|\$\?|\bNR\b|\$#|count",
    re.IGNORECASE,
)


# `python -m pytest`, `node --test`: a tool run by an interpreter prints what it likes.
_TOOL = regex(
    r"\s(?:-m\s+(?!json)\S|--test\b|--check\b|-l\s)|^deno\s+(?:test|check|lint|fmt)\b"
    r"|^(?:python3?|node|ruby|perl|php)\s+[\w./-]+\.\w+"
)
# What only starts the program behind it.
_RUNNER = regex(
    r"(?:(?:uv|poetry|pipenv|pdm|hatch|rye|pixi) run|npx|bunx|pnpm (?:exec|dlx)|yarn dlx|bundle exec)\s+(?:-\S+\s+)*"
)
_FILTER = regex(
    r"\bgrep\s+(?:-\S+\s+)*-[A-Za-z]*v|\s--(?:exclude|invert)|\s-not\s|\s(?:-g|--glob)[ =][\"']?!|:!|:\(exclude"
)
_SUMMARY = regex(r"^git\s.*\s--(?:short)?stat\b")
_POWERSHELL_COUNT = regex(r"-ExpandProperty\s+Count\b|\)\.(?:Count|Length)\W*$", re.IGNORECASE)


class Prints(Enum):
    """What there is to compare a number with."""

    COUNT = "one number"
    COUNTS = "one number a file"
    LINES = "lines that can be counted"
    TEXT = "some text"
    STATUS = "nothing that matters: its exit status says it"


def prints(command: str) -> Prints:
    """What the last stage of a command line prints."""
    stages = split_stages(command)
    last = stages[-1]
    if len(stages) > 1 and _program(last) in _PASS_ON and _of_stage(stages[-2]) is Prints.COUNT:
        return Prints.COUNT
    return _of_stage(last)


def split_stages(command: str) -> list[str]:
    """The simple commands of a command line, cut at pipes, `&&`, `||`, `;` and line ends outside quotes."""
    stages, start = [], 0
    for match in _STAGES.finditer(command):
        if match["stop"] and not _is_redirection(command, match.start()):
            stages.append(command[start : match.start()].strip())
            start = match.end()
    stages.append(command[start:].strip())
    return [stage for stage in stages if stage] or [command]


def ends_with_echo(command: str) -> bool:
    """`… && echo PASS` prints its own verdict."""
    stages = split_stages(command)
    return len(stages) > 1 and _program(stages[-1]) in ("echo", "printf")


def echoes_words(command: str) -> bool:
    """`… || echo CLEAN`: words that hold no number, whatever is counted before."""
    return ends_with_echo(command) and "$" not in split_stages(command)[-1]


def compares(command: str) -> bool:
    """Whether it prints nothing but differences."""
    return _program(split_stages(command)[-1]) in ("diff", "cmp", "git-diff", "git-status")


def summarises(command: str) -> bool:
    """`git diff --stat`: a list with a line below it that sums it up."""
    return bool(_SUMMARY.search(split_stages(command)[-1]))


def counts_only(command: str) -> bool:
    """`grep -c`, `wc -l`: nothing but numbers."""
    last = split_stages(command)[-1]
    return _program(last) in _GREPS | {"wc"} and _of_stage(last) in (Prints.COUNT, Prints.COUNTS)


def filters(command: str) -> bool:
    """`… | grep -v note`, `--exclude-dir=docs`: what is not to be counted is left out already."""
    return bool(_FILTER.search(command))


def hides_zero(command: str) -> bool:
    """`rg -c` prints nothing where it finds nothing."""
    return _program(split_stages(command)[-1]) == "rg"


def lists_changes(command: str) -> bool:
    """Whether what it prints are the files that differ."""
    return _program(split_stages(command)[-1]) in ("git-status", "git-diff")


def is_http(command: str) -> bool:
    """Whether a status of the answer, which is not in the output by itself, may be meant by a number."""
    return any(
        _program(stage) in ("curl", "http", "wget", "xh") for stage in split_stages(command)[-1:]
    )


def shows_http_status(command: str) -> bool:
    return bool(re.search(r"\s-[A-Za-z]*[iIv]\b|--include|--head|--verbose", command))


def always_prints(command: str) -> bool:
    """Whether it prints a heading or a summary even where there is nothing to list."""
    last = split_stages(command)[-1]
    return _program(last) in _HEADED and not _BODY_ONLY.search(_unquoted(last))


def prints_in_turn(command: str) -> bool:
    """`cat a && cat b`: several commands that each print something of their own."""
    turns = split_turns(command)
    return len(turns) > 1 and all(prints(turn) is not Prints.STATUS for turn in turns)


def shows_contents(command: str) -> bool:
    """Whether what it prints is a text whose lines nobody counts, unless they say so."""
    piped = [
        stage.strip() for stage in re.split(r"(?<!\|)\|(?!\|)", _unquoted(split_turns(command)[-1]))
    ]
    cut = len(piped)
    while len(piped) > 1 and _program(piped[-1]) in ("head", "tail", "cat"):
        piped.pop()
    return _program(piped[-1]) in _CONTENTS or (
        cut > len(piped) and _of_stage(piped[-1]) is Prints.STATUS
    )


def is_noisy(command: str) -> bool:
    """Whether something before the last command of it prints too, or may."""
    return any(_program(turn.strip()) not in _SILENT for turn in split_turns(command)[:-1])


def split_turns(command: str) -> list[str]:
    """The pipelines that are run one after the other."""
    return [turn for turn in _TURNS.split(_unquoted(command)) if turn.strip()] or [command]


def lists_names(command: str) -> bool:
    """Whether what it prints are names of files."""
    last = split_stages(command)[-1]
    if _program(last) in _GREPS | {"git-diff", "git-show"}:
        return bool(_NAMES_ONLY.search(_unquoted(last)))
    return _program(last) in ("ls", "find", "fd", "tree", "git-ls-files")


def _is_redirection(command: str, at: int) -> bool:
    return command[at] == "&" and (
        command[max(at - 1, 0)] in "<>" or command[at + 1 : at + 2] in ("1", "2", ">")
    )


def _program(stage: str) -> str:
    stage = stage.lstrip("!({ \t")
    if runner := _RUNNER.match(stage):
        stage = stage[runner.end() :]
    words = stage.split(None, 3)
    while words and (
        "=" in words[0] or words[0] in ("sudo", "time", "env", "command", "do", "then", "else")
    ):
        words = words[1:]
    if not words:
        return ""
    name = words[0].rsplit("/", 1)[-1]
    if name in ("git", "docker", "kubectl", "gh") and len(words) > 1:
        return f"{name}-{words[1]}"
    return name


def _of_stage(stage: str) -> Prints:
    program = _program(stage).replace("git-grep", "grep")
    if program in _GREPS:
        return _of_grep(stage)
    if program == "wc" or _POWERSHELL_COUNT.search(stage):
        return Prints.COUNT
    if program in _TEXTS and not _TOOL.search(stage):
        return Prints.COUNT if _COUNTING.search(stage) else Prints.TEXT
    if program in _LISTS:
        return Prints.LINES
    return Prints.STATUS


def _of_grep(stage: str) -> Prints:
    if _QUIET_FLAG.search(_unquoted(stage)):
        return Prints.STATUS
    if not _COUNT_FLAG.search(_unquoted(stage)):
        return Prints.LINES
    return Prints.COUNTS if _searches_several(stage) else Prints.COUNT


def _unquoted(stage: str) -> str:
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", "Q", stage)


def _searches_several(stage: str) -> bool:
    """More than one file after the pattern, a wildcard, or a search through directories."""
    if re.search(r"\s-[A-Za-z]*[rR][A-Za-z]*\b|--recursive", _unquoted(stage)):
        return True
    operands, skip, has_pattern = [], False, False
    for word in _WORD.findall(stage.split("2>", 1)[0])[1:]:
        if skip:
            skip = False
        elif word in _OPTION_WITH_VALUE:
            skip = True
            has_pattern = has_pattern or word in ("-e", "-f")
        elif not word.startswith("-") or word == "-":
            operands.append(word)
    files = operands if has_pattern else operands[1:]
    return len(files) > 1 or any(re.search(r"[*?{]", file) for file in files)
