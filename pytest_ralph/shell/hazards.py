"""What makes a stage unfit for a check: it never ends, asks a person or reaches outside.

The programs and calls are listed below `[hazards]` in `programs.toml`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.shell.programs import load_programs
from pytest_ralph.shell.stdout import has_option

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Stage

_CHANGING_METHOD = r"(?:POST|PUT|PATCH|DELETE)"
# How a request is given another method than GET, by program.
_METHOD_OPTIONS = {
    "curl": re.compile(rf"(?:-[a-zA-Z]*X|--request=){_CHANGING_METHOD}", re.IGNORECASE),
    "wget": re.compile(rf"--method={_CHANGING_METHOD}", re.IGNORECASE),
    "gh": re.compile(rf"(?:-X|--method=){_CHANGING_METHOD}", re.IGNORECASE),
}
# The same with the method as the next argument.
_METHOD_NAMES = {
    "curl": re.compile(r"-[a-zA-Z]*X|--request"),
    "wget": re.compile(r"--method"),
    "gh": re.compile(r"-X|--method"),
}
_METHOD = re.compile(_CHANGING_METHOD, re.IGNORECASE)
# What makes a request carry data, by program.
_DATA_OPTIONS = {
    "curl": re.compile(r"--data(?:-\w+)?|--form(?:-string)?|--upload-file|--json|-[dFT].*"),
    "wget": re.compile(r"--(?:post|body)-(?:data|file)"),
}
# curl puts the data into the URL.
_QUERY_OPTIONS = frozenset(["-G", "--get"])
# The body that httpie and xh send: `name=value`, `name:=1`.
_SENT_FIELD = re.compile(r"\w[\w-]*:?=[^=].*")
_SEND_FIELDS = frozenset(["http", "https", "xh", "gh"])
_LOCAL_HOST = r"(?:localhost|127(?:\.\d+)+|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)"
# This machine as a URL (`http://localhost/x`), or as a host with a user, a port or a path.
_LOCAL_URL = re.compile(
    rf"(?:[a-z][a-z+]*://(?:[^/@]*@)?|[^/@:]*@){_LOCAL_HOST}(?![\w.-]).*|{_LOCAL_HOST}[:/].*",
    re.IGNORECASE | re.DOTALL,
)
_LOCAL_NAME = re.compile(rf"{_LOCAL_HOST},?", re.IGNORECASE)
_TAKE_HOSTS = frozenset(["ansible", "ansible-playbook", "sftp", "ssh"])
# A host with a dot. One without (`http://api:8000`) is a service of this machine.
_REMOTE_URL = re.compile(
    r"(?:https?://)?(?:[^/@\s]*@)?[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]*(?::\d+)?(?:[/?].*)?"
    r"|https?://\d+\.\d+\..*",
    re.IGNORECASE,
)
_URL_IN_VARIABLE = re.compile(r"(?:https?://)?\$.*", re.IGNORECASE)
_PATH_ON_HOST = re.compile(r"(?:[\w.-]+@)?[\w.-]{2,}:.*|rsync://.*")
# What `aws ec2 run-instances`, `az group create` and `gsutil rm` do.
_CLOUD_VERB = re.compile(
    r"(?:add|apply|attach|cancel|copy|cp|create|delete|deploy|detach|disable|enable|import|invoke|mb|mv"
    r"|publish|put|rb|reboot|remove|restart|rm|run|send|start|stop|sync|terminate|up|update|upload)(?:-.*)?"
)
# In a query, in a script that is run, or as a command of redis.
_WRITING_STATEMENT = re.compile(
    r"\b(?:alter|create|del|delete|drop|flushall|flushdb|grant|hset|insert|remove|set|truncate|update)"
    r"(?:one|many)?\b|\s(?:-f|--file)\b|<",
    re.IGNORECASE,
)
_NAMED_HOST = re.compile(r"://|host=")
_HOST_OPTIONS = frozenset(["-h", "--host", "--url", "--uri"])
_EXIT = re.compile(r"\bexit\b")
_SORT_CHECK = re.compile(r"-[cC].*|--check.*")


def never_ends(stage: Stage) -> bool:
    """Whether it serves or waits for changes until it is stopped."""
    if stage.after == "&" or stage.has_time_limit:
        return False
    if _has_any(stage, "ending_options"):
        return False
    if stage.is_hazard("endless"):
        return True
    # `gh run watch` and `gh pr checks --watch` end with what they watch.
    return stage.program != "gh" and _has_any(stage, "watch_options")


def changes_remote(stage: Stage) -> bool:
    """Whether it changes something outside this machine."""
    if _stays_here(stage):
        return False
    if stage.is_hazard("databases"):
        return _names_host(stage) and bool(_WRITING_STATEMENT.search(stage.source))
    if _has_any(stage, "dry_options") or stage.is_hazard("looking"):
        return False

    if stage.is_hazard("remote"):
        return True
    if stage.is_hazard("clouds"):
        # The verb stands behind the service: `aws s3 sync`, `az network vnet create`.
        return any(map(_CLOUD_VERB.fullmatch, stage.operands[1:4]))
    if stage.is_hazard("copying"):
        return _has_operand(stage, _PATH_ON_HOST)

    if not _sends(stage):
        return False
    if stage.program == "gh":
        return stage.operands[:1] == ("api",)
    return stage.is_listed("http") and _has_operand(stage, _REMOTE_URL)


def _stays_here(stage: Stage) -> bool:
    """Whether it names this machine as the one to work on.

    In other places the name is a word like any other: `git push origin localhost`.
    """
    takes_hosts = stage.is_listed("http") or stage.program in _TAKE_HOSTS
    previous = ""
    for argument in stage.arguments:
        option, equals, value = argument.partition("=")
        if not argument.startswith("-") or not equals:
            option, value = previous, argument
        if _LOCAL_URL.fullmatch(value):
            return True
        if _LOCAL_NAME.fullmatch(value) and (takes_hosts or option in _HOST_OPTIONS):
            return True
        previous = argument
    return False


def _names_host(stage: Stage) -> bool:
    """Whether a client of a database is told a host, by option or URL."""
    if not _HOST_OPTIONS.isdisjoint(stage.option_names):
        return True
    return any(map(_NAMED_HOST.search, stage.operands))


def sends_to_variable(stage: Stage) -> bool:
    """Whether it sends data to a host that only a variable names."""
    if not stage.is_listed("http") or not _sends(stage):
        return False
    return _has_operand(stage, _URL_IN_VARIABLE)


def _sends(stage: Stage) -> bool:
    """Whether an HTTP request asks for a change, or carries data."""
    if _has_changing_method(stage):
        return True
    if stage.program in _SEND_FIELDS:
        return _has_operand(stage, _SENT_FIELD)
    if not _QUERY_OPTIONS.isdisjoint(stage.arguments):
        return False
    data_option = _DATA_OPTIONS.get(stage.program)
    return data_option is not None and any(map(data_option.fullmatch, stage.option_names))


def _has_changing_method(stage: Stage) -> bool:
    """Whether an HTTP request has a method such as POST."""
    option = _METHOD_OPTIONS.get(stage.program)
    if option is None:
        # httpie and xh take it as their first operand.
        return any(map(_METHOD.fullmatch, stage.operands[:1]))
    if has_option(stage, option):
        return True
    name = _METHOD_NAMES[stage.program]
    for argument, value in pairwise(stage.arguments):
        if name.fullmatch(argument) and _METHOD.fullmatch(value):
            return True
    return False


def asks_person(stage: Stage) -> bool:
    """Whether it waits for somebody to type something."""
    if stage.reads_input:
        return False
    answers = load_programs().hazard_options("answering_options")
    if not answers.isdisjoint(stage.option_names):
        return False
    if not stage.arguments and stage.is_hazard("shells"):
        return True
    return stage.is_hazard("asking")


def swallows_failure(stage: Stage) -> bool:
    """Whether it is a filter that succeeds whatever it reads."""
    if not stage.is_hazard("swallowing"):
        return False
    if any(map(_EXIT.search, stage.arguments)):
        return False
    return stage.program != "sort" or not has_option(stage, _SORT_CHECK)


def _has_any(stage: Stage, key: str) -> bool:
    return not load_programs().hazard_options(key).isdisjoint(stage.arguments)


def _has_operand(stage: Stage, form: re.Pattern[str]) -> bool:
    return any(map(form.fullmatch, stage.operands))
