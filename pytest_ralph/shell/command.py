"""`Command`: a command line that was read once, with everything the package asks about it.

    >>> command = Command.parse("cd web && timeout 60 npx vitest run | tail -5")
    >>> [stage.program for stage in command.stages]
    ['cd', 'vitest', 'tail']
    >>> command.stages[1].role, command.stages[1].directory
    ('test', 'web')

Nothing is run and nothing is read from the disk but the table of programs.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from pytest_ralph.shell import hazards, stdout
from pytest_ralph.shell.lexer import (
    Redirection,
    Simple,
    Word,
    read_assignment,
    simple_commands,
)
from pytest_ralph.shell.programs import FixMode, load_programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.shell.programs import Launcher
    from pytest_ralph.shell.stdout import Stdout

# Longer than what people write; bounds the time spent on generated command lines.
MAX_LENGTH = 100_000
_MAX_DEPTH = 8
_MOST_DOUBTFUL = 40
_VERSION = re.compile(r"(?<=.)@[\w.^~-]+$")
_SUFFIX = re.compile(r"\.(?:exe|cmd|phar)$", re.IGNORECASE)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")
# `-m`, behind other letters or in front of its module: `-Im twine`, `-mtwine`.
_MODULE_OPTION = re.compile(r"-[bBdEiIOPqRsSuvx]*m")
# Options of Python that are followed by a value.
_PYTHON_VALUES = frozenset(["-W", "-X"])
SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "fish", "ash"])
# Interpreters whose first argument may be a program of the table: `php vendor/bin/phpunit`.
_HOSTS = frozenset(["php", "node", "ruby", "perl", "bash", "sh"])
# Launchers that kill what they start when its time is up.
_TIME_LIMITS = frozenset(["timeout", "gtimeout"])
_FIND_ACTIONS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
# `$(which git)`, or the same with backticks.
_LOOKED_UP = re.compile(r"(?:\$\(|`)(?:which|command -v|type -p) ([\w./-]+)[)`]")
_INLINE_SCRIPT = re.compile(r"-[a-z]*c")
_READS_SCRIPT = re.compile(r"-[a-z]*s")
# `-euo pipefail`, `-O extglob`, `--rcfile FILE`.
_SHELL_OPTION_WITH_VALUE = re.compile(r"[-+][a-z]*[oO]|--(?:rcfile|init-file)")
_PIPEFAIL = re.compile(r"-[a-zA-Z]*o\s+pipefail\b")
_JUNIT_OPTION = re.compile(r"--junit-?xml(?:=(?P<path>.*))?")


@dataclass(frozen=True)
class Stage:
    """One simple command, seen through whatever launches it.

    `words` are the program and its arguments as the last launcher passes them on, `written` all
    words as they stand in the command line, `source` its text with quotes. `launchers` names what
    was looked through, and `again` are the words that start the program the same way once more:
    `("uv", "run")`. `directory` is relative to where the command line starts, or None if that
    cannot be known.
    """

    words: tuple[Word, ...]
    written: tuple[str, ...]
    launchers: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    before: str = ""
    after: str = ""
    negated: bool = False
    nested: bool = False
    looped: bool = False
    directory: str | None = ""
    source: str = ""

    @property
    def executable(self) -> str:
        """The program as written, with its path."""
        return self.words[0].text

    @cached_property
    def program(self) -> str:
        """The name of the program, without path, version and suffix."""
        return program_name(self.executable)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return tuple(word.text for word in self.words[1:])

    @property
    def option_names(self) -> list[str]:
        """The arguments, those like `--name=value` without the value."""
        return [argument.partition("=")[0] for argument in self.arguments]

    @property
    def plain_arguments(self) -> tuple[str, ...]:
        """The arguments without a dash, values of options included: `x` of `cargo test -p x`."""
        return tuple(word for word in self.arguments if not word.startswith("-"))

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are neither options nor, as far as is known, values of options."""
        return load_programs().operands(self.program, self.arguments)

    @cached_property
    def possible_operands(self) -> tuple[tuple[str, ...], ...]:
        """The operands, and those that are left if the first ones are something else.

        `prod` of `fly -a prod deploy` may be the value of the option, and each operand of a builder
        may be a target of its own.
        """
        # Nobody writes more in front of what matters; bounds the time.
        operands = self.operands[:_MOST_DOUBTFUL]
        doubtful = 0
        if self.program in load_programs().builders:
            doubtful = max(len(operands) - 1, 0)
        for option, word in pairwise(self.arguments):
            if doubtful == len(operands) or word != operands[doubtful]:
                continue
            if not option.startswith("-") or "=" in option:
                break
            doubtful += 1
        return tuple(self.operands[start:] for start in range(doubtful + 1))

    @property
    def script_file(self) -> str:
        """The name of the script that a shell runs: `deploy.sh` of `bash scripts/deploy.sh`."""
        if "-n" in self.arguments:
            # The shell only reads it.
            return self.program
        if self.program in SHELLS or self.program in ("source", "."):
            return program_name(" ".join(self.operands[:1]))
        return self.program

    @cached_property
    def name(self) -> str:
        """The program, with its subcommand or option if the role depends on it: `cargo test`."""
        programs = load_programs()
        longest = " ".join((self.program, *self.operands[:2]))
        if self.operands and programs.has_role(longest):
            return longest
        for argument in self.arguments[:4]:
            name = f"{self.program} {argument}"
            if programs.has_role(name):
                return name
        return self.program

    @property
    def role(self) -> str:
        """What the program is for: a key of `roles` in programs.toml, empty if unknown."""
        programs = load_programs()
        if self.executable.startswith("./") and not programs.has_role(self.name):
            # A program of the project may have any name: `./check`.
            return programs.role_of_arguments(self.arguments)
        return programs.role(self.name) or programs.role_of_arguments(self.arguments)

    @property
    def is_orchestrator(self) -> bool:
        """Whether the program runs other programs, as make and npm do."""
        return self.program in load_programs().orchestrators

    @property
    def fix_mode(self) -> FixMode | None:
        """How a formatter or linter fixes what it complains about."""
        return load_programs().fix_mode(self.program, self.operands)

    @cached_property
    def stdout(self) -> Stdout:
        """What this stage alone writes to stdout."""
        return stdout.of_stage(self)

    @property
    def reads_input(self) -> bool:
        """Whether stdin is a pipe, a file or a here-document."""
        if self.before == "|":
            return True
        return any("<" in redirection.operator for redirection in self.redirections)

    @property
    def has_stdout_redirected(self) -> bool:
        """Whether stdout goes to a file or to stderr."""
        return any(redirection.takes_stdout for redirection in self.redirections)

    @property
    def has_time_limit(self) -> bool:
        """Whether `timeout` or the like starts it."""
        return not _TIME_LIMITS.isdisjoint(self.launchers)

    def is_listed(self, key: str) -> bool:
        """Whether the program, or this call of it, is in a `stdout` list of programs.toml."""
        return load_programs().listed("stdout", key).contain(self)

    def is_hazard(self, key: str) -> bool:
        """Whether the program, or this call of it, is in a `hazards` list of programs.toml."""
        return load_programs().listed("hazards", key).contain(self)

    def may_be_hazard(self, key: str) -> bool:
        """The same, in doubt: see `possible_operands`."""
        return load_programs().listed("hazards", key).may_contain(self)

    @property
    def always_succeeds(self) -> bool:
        """Whether its exit status is 0 whatever happens; a redirection may still fail."""
        if self.negated or self.redirections:
            return False
        return self.is_hazard("succeeding") or self.words == (Word("exit"), Word("0"))

    @property
    def always_fails(self) -> bool:
        """Whether it is there to fail: `false`, `exit 1`. What `exit $status` does depends."""
        if not self.may_fail_on_purpose:
            return False
        return self.program == "false" or self.arguments[0].isdigit()

    @property
    def may_fail_on_purpose(self) -> bool:
        """Whether it is there to fail, or may be: `false`, `exit 1`, `exit $status`."""
        if self.program in ("exit", "return"):
            # Without a status, it is that of the command before.
            return self.arguments[:1] not in ((), ("0",))
        return self.program == "false"

    @property
    def never_ends(self) -> bool:
        """Whether it serves or waits for changes until it is stopped."""
        return hazards.never_ends(self)

    @property
    def changes_remote(self) -> bool:
        """Whether it changes something outside this machine."""
        return hazards.changes_remote(self)

    @property
    def asks_person(self) -> bool:
        """Whether it waits for somebody to type something."""
        return hazards.asks_person(self)


_NO_COMMAND = Stage(words=(Word(""),), written=())


@dataclass(frozen=True)
class Command:
    """A command line: its stages in written order, those inside `$(…)` before their user."""

    text: str
    stages: tuple[Stage, ...]

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> Command:
        """Read a command line or script. Never raises; what no shell can read has odd stages."""
        simples = simple_commands(text[:MAX_LENGTH])
        return Command(text, tuple(_read_stages(simples, _Context())))

    @cached_property
    def own_stages(self) -> tuple[Stage, ...]:
        """The stages that are not inside a substitution."""
        return tuple(stage for stage in self.stages if not stage.nested)

    @property
    def last(self) -> Stage:
        """The stage whose status and output are those of the command line.

        A line without commands, such as a comment, has one without a name.
        """
        if not self.own_stages:
            return _NO_COMMAND
        return self.own_stages[-1]

    @cached_property
    def pipelines(self) -> tuple[tuple[Stage, ...], ...]:
        """The own stages, grouped into what is connected by pipes."""
        found: list[list[Stage]] = []
        for stage in self.own_stages:
            if stage.before == "|" and found:
                found[-1].append(stage)
            else:
                found.append([stage])
        return tuple(tuple(pipeline) for pipeline in found)

    @cached_property
    def stdout(self) -> Stdout:
        """What the last pipeline writes to stdout; `|| true` only stands in for what it prints."""
        for pipeline in reversed(self.pipelines):
            if not stdout.stands_in(pipeline):
                return stdout.of_pipeline(pipeline)
        return stdout.Stdout.STATUS

    @property
    def hides_status(self) -> bool:
        """Whether a pipe ends in a filter that succeeds whatever it reads."""
        if self.last.before != "|" or _PIPEFAIL.search(self.text):
            return False
        return hazards.swallows_failure(self.last)

    @property
    def has_time_limit(self) -> bool:
        """Whether a stage is started by `timeout` or the like."""
        return any(stage.has_time_limit for stage in self.stages)

    @property
    def junit_file(self) -> str | None:
        """The JUnit file that the command line asks pytest for."""
        for stage in self.stages:
            for option, following in pairwise([*stage.arguments, ""]):
                match = _JUNIT_OPTION.fullmatch(option)
                if match:
                    return match["path"] or following or None
        return None


def program_name(word: str) -> str:
    """Return the name of a program without path, version and suffix."""
    looked_up = _LOOKED_UP.fullmatch(word)
    if looked_up:
        word = looked_up[1]
    name = word.rstrip("/").rpartition("/")[2]
    return _SUFFIX.sub("", _VERSION.sub("", name))


def read_shown(line: str) -> tuple[Stage, ...]:
    """Read a line of output that may show a command; only its first words are looked at."""
    found: list[Stage] = []
    for part in re.split(r"\s(?:&&|\|\||;|\|)\s", line)[:4]:
        words = tuple(map(Word, part.split()[:8]))
        if words:
            found += _read_stages([Simple(words)], _Context())
    return tuple(found)


@dataclass(frozen=True)
class _Context:
    """What surrounds the commands that are being read."""

    directory: str | None = ""
    launchers: tuple[str, ...] = ()
    depth: int = 0


def _read_stages(simples: Sequence[Simple], context: _Context) -> list[Stage]:
    """Read simple commands, and keep track of the directory that each of them runs in."""
    stages: list[Stage] = []
    # The directory of each open subshell; `(cd web && make)` does not change the outer one.
    directories = [context.directory]
    previous = None
    for simple in simples:
        del directories[simple.subshell + 1 :]
        while len(directories) <= simple.subshell:
            directories.append(directories[-1])
        here = replace(context, directory=directories[-1])
        script = _piped_script(simple, previous)
        if script is not None and context.depth < _MAX_DEPTH:
            stages += _read_nested([script], here)
        stages += _read_stage(simple, here)
        previous = simple
        if simple.program in ("cd", "pushd", "popd"):
            directories[-1] = _changed_directory(simple, directories[-1])
    return stages


def _read_stage(simple: Simple, context: _Context) -> list[Stage]:
    """Read one simple command: one stage, or those of the script that it has a shell run."""
    written = Stage(
        words=simple.words,
        written=simple.texts,
        launchers=context.launchers,
        assignments=simple.assignments,
        redirections=simple.redirections,
        before=simple.before,
        after=simple.after,
        negated=simple.negated,
        nested=simple.nested,
        looped=simple.looped,
        directory=context.directory,
        source=simple.source,
    )
    stage = _unwrap(written)
    script = _inline_script(stage)
    if context.depth == _MAX_DEPTH:
        return [stage]
    if script is None:
        return [*_executed_by_find(stage, context), *_run_later(stage, context), stage]

    launchers = (*stage.launchers, stage.program)
    inner = replace(context, launchers=launchers, depth=context.depth + 1)
    return _read_script(script, simple, inner)


def _read_script(script: str, simple: Simple, context: _Context) -> list[Stage]:
    """Read the script of `sh -c`: its first and last command take over the operators around it."""
    stages = []
    for inner in _read_stages(simple_commands(script), context):
        nested = inner.nested or simple.nested
        redirections = (*inner.redirections, *simple.redirections)
        stages.append(replace(inner, nested=nested, redirections=redirections))

    if stages:
        stages[0] = replace(stages[0], before=simple.before)
        last = stages[-1]
        is_negated = last.negated != simple.negated
        stages[-1] = replace(last, after=simple.after, negated=is_negated)
    return stages


def _executed_by_find(stage: Stage, context: _Context) -> list[Stage]:
    """Read the commands of `find … -exec`, which find runs before it ends itself."""
    if stage.program != "find":
        return []
    stages: list[Stage] = []
    launchers = (*stage.launchers, "find")
    inner = replace(context, launchers=launchers, depth=context.depth + 1)
    starts = [place for place, word in enumerate(stage.words[:-1]) if word.text in _FIND_ACTIONS]
    for start, end in pairwise([*starts, len(stage.words)]):
        words = stage.words[start + 1 : end]
        source = " ".join(word.text for word in words)
        stages += _read_stage(Simple(words, nested=True, source=source), inner)
    return stages


def _run_later(stage: Stage, context: _Context) -> list[Stage]:
    """Read the command of a `trap` or of an `alias`."""
    if stage.program == "trap":
        scripts = stage.operands[:1]
    elif stage.program == "alias":
        scripts = tuple(argument.partition("=")[2] for argument in stage.arguments)
    else:
        return []
    return _read_nested(scripts, context)


def _read_nested(scripts: Iterable[str], context: _Context) -> list[Stage]:
    """Read scripts that are run on the side of a command."""
    inner = replace(context, depth=context.depth + 1)
    stages: list[Stage] = []
    for script in scripts:
        found = _read_stages(simple_commands(script), inner)
        stages += [replace(stage, nested=True) for stage in found]
    return stages


def _piped_script(simple: Simple, before: Simple | None) -> str | None:
    """Return the script that the command in front of a pipe gives a shell, if it is known."""
    if before is None or simple.before != "|" or program_name(simple.program) not in SHELLS:
        return None
    arguments = simple.texts[1:]
    if arguments and not (arguments[-1].startswith("-") or "-s" in arguments):
        # A script in a file, which reads what is printed.
        return None
    if before.program in ("echo", "printf"):
        shown = [text for text in before.texts[1:] if not text.startswith("-")]
        return " ".join(shown).replace("\\n", "\n")
    for redirection in before.redirections:
        if before.texts == ("cat",) and redirection.body:
            return redirection.body
    return None


def _unwrap(stage: Stage) -> Stage:
    """Look through launchers, `python -m` and interpreters that run a known program."""
    for _ in range(_MAX_DEPTH):
        inner = _unwrap_once(stage)
        if inner is None:
            break
        stage = inner
    return stage


def _unwrap_once(stage: Stage) -> Stage | None:
    """Look through one launcher or interpreter; None if the first word is the program itself."""
    if stage.program == "command" and stage.arguments[:1] in (("-v",), ("-V",)):
        # It only looks for the program.
        return None

    launcher = load_programs().launcher((stage.program, *stage.arguments))
    if launcher is not None:
        if _inline_script(stage) is not None:
            return None
        return _behind_launcher(stage, launcher)
    behind = _behind_launcher_with_options(stage)
    if behind is not None:
        return behind
    if _PYTHON.fullmatch(stage.program):
        module = _behind_python(stage)
        if module is not None:
            return module
    elif stage.program not in _HOSTS:
        return None
    return _behind_host(stage)


def _behind_launcher(stage: Stage, launcher: Launcher) -> Stage | None:
    """Look through `timeout 60 …`, `uv run …`; None if it launches nothing that can be known."""
    rest = _past_options(stage.words[len(launcher.words) :], launcher.values)
    rest = rest[launcher.operands :]
    if _starts_with("--", rest):
        rest = rest[1:]
    runs_module = _starts_with("-m", rest)
    if runs_module:
        rest = rest[1:]
    assignments, rest = _split_assignments(rest)
    while launcher.words == ("env",) and len(rest) > 1 and rest[0].text.startswith(("$(", "`")):
        # `env $(cat .env | xargs) npm start`: the assignments are in a file.
        rest = rest[1:]
    if not rest:
        return None
    if launcher.known_only and not load_programs().is_launched(program_name(rest[0].text)):
        return None

    again = launcher.again or stage.again
    if launcher.again and runs_module:
        again = (*again, "-m")
    return replace(
        stage,
        words=rest,
        launchers=(*stage.launchers, " ".join(launcher.words)),
        again=again,
        assignments=(*stage.assignments, *assignments),
    )


def _behind_launcher_with_options(stage: Stage) -> Stage | None:
    """Look through `uv --directory web run …`: options may change where the program runs."""
    programs = load_programs()
    rest = _past_options(stage.words[1:], programs.options_with_value(stage.program))
    skipped = stage.arguments[: len(stage.arguments) - len(rest)]
    if not skipped:
        return None
    launcher = programs.launcher((stage.program, *(word.text for word in rest)))
    if launcher is None or launcher.again[: len(launcher.words)] != launcher.words:
        # What starts it again would not take these options.
        return None
    behind = _behind_launcher(replace(stage, words=(stage.words[0], *rest)), launcher)
    if behind is None:
        return None
    again = (stage.program, *skipped, *behind.again[1:])
    return replace(behind, again=again, directory=None)


def _behind_python(stage: Stage) -> Stage | None:
    """Look through `python -m MODULE`."""
    rest = stage.words[1:]
    while rest and not _MODULE_OPTION.match(rest[0].text):
        if not rest[0].text.startswith("-") or rest[0].text.startswith("-c"):
            return None
        rest = rest[2:] if rest[0].text in _PYTHON_VALUES else rest[1:]
    if not rest:
        return None

    option, *words = rest
    module = _MODULE_OPTION.sub("", option.text, count=1)
    if module:
        glued = option.text.removesuffix(module)
        front = stage.words[: -len(rest)]
        apart = (*front, Word(glued), Word(module), *words)
        return _behind_interpreter(replace(stage, words=apart), apart[len(front) + 1 :])
    if not words:
        return None
    return _behind_interpreter(stage, tuple(words))


def _behind_host(stage: Stage) -> Stage | None:
    """Look through an interpreter that runs a known program: `php vendor/bin/phpunit`."""
    if not stage.arguments:
        return None
    if not load_programs().has_role(program_name(stage.arguments[0])):
        return None
    return _behind_interpreter(stage, stage.words[1:])


def _behind_interpreter(stage: Stage, words: tuple[Word, ...]) -> Stage:
    """Return what an interpreter runs; the words before that start it again."""
    count = len(stage.words) - len(words)
    start = [word.text for word in stage.words[:count]]
    return replace(
        stage,
        words=words,
        launchers=(*stage.launchers, stage.program),
        again=(*stage.again, *start),
    )


def _starts_with(text: str, words: tuple[Word, ...]) -> bool:
    return words[:1] == (Word(text),)


def _past_options(words: tuple[Word, ...], values: frozenset[str]) -> tuple[Word, ...]:
    """Drop leading options and their values, up to the `-m` of a module."""
    while words:
        option = words[0].text
        if not option.startswith("-") or option == "-m":
            break
        words = words[2:] if option in values else words[1:]
    return words


def _split_assignments(
    words: tuple[Word, ...],
) -> tuple[tuple[tuple[str, Word], ...], tuple[Word, ...]]:
    """Take the leading `NAME=value` words of `env` and the like."""
    assignments: list[tuple[str, Word]] = []
    for word in words:
        assignment = read_assignment(word)
        if assignment is None:
            break
        assignments.append(assignment)
    return tuple(assignments), words[len(assignments) :]


def _inline_script(stage: Stage) -> str | None:
    """Return the script of `sh -c '…'`, `sh <<< '…'`, `sh << E`, `eval '…'` or `npx -c '…'`."""
    if stage.program == "eval":
        return " ".join(stage.arguments)
    launcher = load_programs().launcher((stage.program, *stage.arguments))
    if launcher is not None:
        return launcher.script(stage.arguments[len(launcher.words) - 1 :])
    if stage.program not in SHELLS:
        return None

    return _script_of_shell(stage)


def _script_of_shell(stage: Stage) -> str | None:
    """Return what a shell is given as `-c`, as a here-string or as a here document."""
    is_value = False
    for argument, script in zip_longest(stage.arguments, stage.arguments[1:]):
        if is_value:
            is_value = False
        elif _INLINE_SCRIPT.fullmatch(argument):
            return script
        elif _READS_SCRIPT.fullmatch(argument):
            # What follows are the arguments of the script.
            break
        elif not argument.startswith(("-", "+")):
            # A script in a file, which reads the here-string.
            return None
        else:
            is_value = _SHELL_OPTION_WITH_VALUE.fullmatch(argument) is not None

    for redirection in reversed(stage.redirections):
        if redirection.operator == "<<<":
            return redirection.target
        if redirection.operator in ("<<", "<<-"):
            return redirection.body
    return None


def _changed_directory(simple: Simple, directory: str | None) -> str | None:
    """Return where a `cd` leads, or None if that cannot be known."""
    if directory is None or len(simple.words) != 2:
        # Without a directory, `cd` leads home and `popd` back.
        return None
    target = simple.words[1]
    if not target.literal or target.text == "-":
        return None
    changed = posixpath.normpath(posixpath.join(directory, target.text))
    if changed == ".":
        return ""
    return changed
