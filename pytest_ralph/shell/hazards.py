"""What makes a stage unfit for a check: it never ends, asks a person or reaches outside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.shell.programs import load_programs
from pytest_ralph.shell.stdout import has_option

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Stage

_SENDING_METHOD = re.compile(
    r"(?:-[a-z]*X|--request=|--method=)?(?:POST|PUT|PATCH|DELETE)", re.IGNORECASE
)
_SENDING_OPTION = re.compile(
    r"--data(?:-\w+)?|-d.*|-F.*|--form(?:-string)?|--upload-file|-T.*|--json|--post-(?:data|file)"
)
# curl puts the data into the URL.
_QUERY_OPTIONS = frozenset(["-G", "--get"])
# The body that httpie and xh send: `name=value`, `name:=1`.
_SENT_FIELD = re.compile(r"\w[\w-]*:?=[^=].*")
# A host name without a dot is a service of this machine: `http://api:8000`.
_LOOPBACK = re.compile(
    r"(?:[a-z][a-z+]*://)?(?:[^/@]*@)?(?:localhost|127\.|0\.0\.0\.0|\[?::1|host\.docker)",
    re.IGNORECASE,
)
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
    if any(map(_LOOPBACK.match, stage.arguments)):
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
    if has_option(stage, _SENDING_METHOD):
        return True
    if not _QUERY_OPTIONS.isdisjoint(stage.arguments):
        return False
    if stage.program in ("http", "https", "xh", "gh"):
        return _has_operand(stage, _SENT_FIELD)
    return any(map(_SENDING_OPTION.fullmatch, stage.option_names))


def asks_person(stage: Stage) -> bool:
    """Whether it waits for somebody to type something."""
    if stage.before == "|" or stage.redirections:
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
