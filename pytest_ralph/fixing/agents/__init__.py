"""Executors: the programs that carry out a task.

Each preset has a module of its own, which is imported only when that preset is used.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.text.bounded import cut_to_columns
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ralph.fixing.agents.agent import Agent
    from pytest_ralph.fixing.agents.base import Executor

PRESETS: dict[str, str] = {
    "claude": "Claude",
    "codex": "Codex",
    "gemini": "Gemini",
    "opencode": "OpenCode",
    "aider": "Aider",
    "cursor-agent": "CursorAgent",
    "goose": "Goose",
    "amp": "Amp",
}

# Words that mean the same to a shell and without one. Anything else does not use the preset.
PLAIN_WORDS = regex(r"""(?:[^|&;<>$`\n(){}'"]|'[^']*'|"(?:[^"$`\\]|\\.)*")*""")
# The options by which a program gets its prompt, or is told to read it, as the preset does it.
PROMPT_OPTIONS = {
    "claude": {"-p", "--print"},
    "gemini": {"-p", "--prompt", "-i", "--prompt-interactive"},
    "opencode": {"--prompt"},
    "aider": {"-m", "--message", "--msg", "-f", "--message-file"},
    "cursor-agent": {"-p", "--print"},
    "amp": {"-x", "--execute"},
}

LONGEST_NAME = 32

# A path that is a word of its own, quoted or not: `/usr/bin/python`, `./agent.sh`,
# `"C/my tools/agent"`. One of the two groups is its last part.
PATH = regex(
    r"""(?<!\S)(?:~?|\.{1,2})/(?:[^\s"'/]+/)*([^\s"'/]+)(?!\S)"""
    r"""|(?<!\S)(["'])(?:[^"'/]*/)+([^"'/]+)\2"""
)


def make_executor(
    command: str, options: Mapping[str, str | None] | None = None, kinds: Kinds | None = None
) -> Executor:
    """Return the executor for `command`: a preset, or a shell command line.

    Arguments may follow the name of a preset (`claude --model opus`). `options` applies to presets
    only and may hold `model`, `args` (as written on a command line) and `program`.
    """
    kinds = kinds or Kinds.load()
    name, arguments = split_preset(command)
    if not name:
        from pytest_ralph.fixing.agents.shell import ShellExecutor

        return ShellExecutor(command, kinds)

    from pytest_ralph.fixing.agents.agent import PresetOptions

    module_name = name.replace("-", "_")
    module = import_module(f"{__name__}.{module_name}")
    preset: type[Agent] = getattr(module, PRESETS[name])
    read = PresetOptions.read(options or {})
    return preset(replace(read, args=(*read.args, *arguments)), kinds)


def split_preset(command: str) -> tuple[str, tuple[str, ...]]:
    """Split `claude --model opus` into the preset and its arguments.

    Return an empty name for a command line that calls the program in its own way: one with shell
    syntax, with a subcommand or with an option that passes a prompt.
    """
    if not PLAIN_WORDS.fullmatch(command):
        return "", ()
    try:
        words = shell_words(command)
    except ValueError:
        return "", ()
    name = words[0]
    arguments = tuple(words[1:])
    options = {word.partition("=")[0] for word in arguments}
    passes_prompt = not options.isdisjoint(PROMPT_OPTIONS.get(name, ()))
    has_subcommand = bool(arguments) and not arguments[0].startswith("-")
    if name not in PRESETS or passes_prompt or has_subcommand:
        return "", ()
    return name, arguments


def shell_words(text: str) -> list[str]:
    """Split a text into words as a shell would; `~/` at the start of one is the home directory.

    Raise ValueError if a quotation mark is missing.
    """
    words = shlex.split(text)
    return [os.path.expanduser(word) if word.startswith("~/") else word for word in words]  # noqa: PTH111


def display_name(executor: str) -> str:
    """Return `python agent.py` for `"/opt/venv/bin/python" ./agent.py`; presets keep their name."""
    without_directories = PATH.sub(lambda path: path[1] or path[3], one_line(executor))
    return cut_to_columns(without_directories, LONGEST_NAME)
