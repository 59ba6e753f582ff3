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
    from collections.abc import Iterable, Iterator

    from pytest_ralph.shell.command import Stage

_CHANGING_METHOD = r"(?:POST|PUT|PATCH|DELETE|MKCOL|MOVE|PROPPATCH|PURGE)"
# Letters of curl that have no value, and may be in front of another one: `-sX POST`.
_CURL_FLAGS = "[^-\\WAbcCDdeEFhHKmoPQrtTuUwxXyYz]*"
# How a request is given another method than GET, by program.
_METHOD_OPTIONS = {
    "curl": re.compile(rf"(?:-{_CURL_FLAGS}X|--request=){_CHANGING_METHOD}", re.IGNORECASE),
    "wget": re.compile(rf"--method={_CHANGING_METHOD}", re.IGNORECASE),
    "gh": re.compile(rf"(?:-X=?|--method=){_CHANGING_METHOD}", re.IGNORECASE),
    "glab": re.compile(rf"(?:-X=?|--method=){_CHANGING_METHOD}", re.IGNORECASE),
}
# The same with the method as the next argument.
_METHOD_NAMES = {
    "curl": re.compile(rf"-{_CURL_FLAGS}X|--request"),
    "wget": re.compile(r"--method"),
    "gh": re.compile(r"-X|--method"),
    "glab": re.compile(r"-X|--method"),
}
_METHOD = re.compile(_CHANGING_METHOD, re.IGNORECASE)
# What makes a request carry data, by program.
_DATA_OPTIONS = {
    "curl": re.compile(
        rf"--data(?:-\w+)?|--form(?:-string)?|--upload-file|--json|-{_CURL_FLAGS}[dFT].*"
    ),
    "wget": re.compile(r"--(?:post|body)-(?:data|file)"),
    "gh": re.compile(r"-[fF].*|--(?:raw-)?field|--input"),
    "glab": re.compile(r"-[fF].*|--(?:raw-)?field|--input"),
}
# The data is part of a query, which changes nothing.
_QUERY_OPTIONS = frozenset(["-G", "--get"])
_QUERY_METHOD = re.compile(r"(?:-X|--method)[ =]?GET\b", re.IGNORECASE)
_READING_GRAPHQL = re.compile(r"(?!.*\bmutation\b|.*[=@ ]@|.*--input)", re.IGNORECASE | re.DOTALL)
# Clients of the sites that host repositories, with a subcommand for any request.
_API_CLIENTS = frozenset(["gh", "glab"])
# The body that httpie and xh send: `name=value`, `name:=1`, `name@file`.
_SENT_FIELD = re.compile(r"\w[\w-]*(?::?=[^=]|:?=?@).*", re.DOTALL)
_SEND_FIELDS = frozenset(["http", "https", "xh"])
_LOCAL_HOST = r"(?:localhost|127(?:\.\d+)+|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)"
# This machine as a URL (`http://localhost/x`), or as a host with a user, a port or a path.
_LOCAL_URL = re.compile(
    rf"(?:[a-z][a-z+]*://(?:[^/@\s]*@)?|[^/@:\s]*@){_LOCAL_HOST}(?::[^/@\s]*)?(?:[/?#]\S*)?"
    rf"|{_LOCAL_HOST}[:/]\S*",
    re.IGNORECASE,
)
_LOCAL_NAME = re.compile(rf"{_LOCAL_HOST},?", re.IGNORECASE)
_ANSIBLE = frozenset(["ansible", "ansible-playbook"])
_SHELL_CLIENTS = frozenset(["autossh", "mosh", "sftp", "ssh"])
# The version, and the settings for a host.
_SSH_LOOKS = frozenset(["-V", "-G"])
# They are told where to push by an operand, or by the tag of an image.
_TAKE_ADDRESS = frozenset("buildah crane docker git helm hg nerdctl oras podman skopeo svn".split())
_TAG_OPTIONS = ("-t", "--tag")
# A host with a dot. One without (`http://api:8000`) is a service of this machine.
_REMOTE_URL = re.compile(
    r"(?:[a-z][a-z+]*://)?(?:[^/@\s]*@)?[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]*(?::\d+)?(?:[/?#].*)?"
    r"|(?:[a-z][a-z+]*://)?(?:[^/@\s]*@)?(?:\d+(?:\.\d+){3}|\[[\da-f:]+\])(?:[:/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_URL_IN_VARIABLE = re.compile(r"(?:https?://)?\$.*", re.IGNORECASE)
_PATH_ON_HOST = re.compile(r"(?:[\w.-]+@[\w.-]+|[\w.-]{2,}):.*|rsync://.*")
# What `aws ec2 run-instances`, `az group create` and `gsutil rm` do.
_CLOUD_VERB = re.compile(
    r"(?:add|apply|associate|attach|authorize|batch-write|cancel|change|copy|cp|create|deallocate|delete"
    r"|deploy|detach|disable|disassociate|enable|execute|failover|import|invoke|mb|migrate|modify|mv"
    r"|patch|poweroff|promote|publish|purge|put|rb|reboot|rebuild|register|remove|replace|reset|resize"
    r"|restart|restore|revoke|rm|rotate|rsync|run|scale|schedule|send|set|start|stop|submit|subscribe"
    r"|sync|tag|terminate|transact-write|untag|up|update|upload)(?:-.*)?"
)
_READING_VERB = re.compile(r"(?:cat|describe|get|list|ls|show)(?:-.*)?")
_COPYING_VERBS = frozenset(["copy", "cp", "rsync", "sync"])
# Their subcommands are about files of this machine: `gcloud config set`, `az account set`.
_CLOUD_SETTINGS = frozenset(["account", "auth", "config", "configure"])
# `-n` among other letters, of which none has a value: `rsync -avn`, `make -kn`.
_DRY_LETTERS = {
    "cargo": re.compile(r"-n"),
    "git": re.compile(r"-[^-\Wo]*n\w*"),
    "just": re.compile(r"-[^-\Wdf]*n\w*"),
    "make": re.compile(r"-[^-\WCEfIjloW]*n\w*"),
    "rsync": re.compile(r"-[^-\WBefMT]*n\w*"),
}
# In a query, in a script that is run, or as a command of redis.
_WRITING_STATEMENT = re.compile(
    r"(?<!-)\b(?:alter|call|create|decr(?:by)?|del|delete|drop|eval|expire|flushall|flushdb|grant|hset|incr(?:by)?"
    r"|insert|merge|publish|remove|rename|replace|revoke|set(?:ex|nx)?|truncate|unlink|update|upsert"
    r"|createdb|dropdb|mongoimport|mongorestore|pg_restore"
    r"|[lr](?:push|pop|rem)|[hsz](?:add|del|rem)|xadd)(?:one|many)?\b|\s(?:-f|--file)|<|\.(?:js|sql)\b",
    re.IGNORECASE,
)
_NAMED_HOST = re.compile(r"://|host=")
# Their value may be a URL, or names the host among others: `host=db user=me`.
_DATABASE_OPTIONS = ("-d", "-u", "--dbname", "--url", "--uri")
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
    if stage.program == "gh" or stage.is_listed("searches"):
        # `gh pr checks --watch` ends with what it watches; `grep -- --watch` looks for the word.
        return False
    return _has_any(stage, "watch_options")


def changes_remote(stage: Stage) -> bool:
    """Whether it changes something outside this machine."""
    if stage.is_hazard("databases"):
        return _changes_database(stage)
    if _only_looks(stage):
        return False
    if stage.is_listed("http"):
        return _sends(stage) and any(map(_is_remote_url, _urls(stage)))
    if stage.is_hazard("copying"):
        # The first is the source: copying from another machine changes nothing there.
        return any(map(_is_path_on_host, stage.operands[1:]))

    if _works_here(stage):
        return False
    if stage.may_be_hazard("remote"):
        return True
    if stage.is_hazard("clouds"):
        return _changes_cloud(stage)
    if stage.program in _API_CLIENTS:
        return stage.operands[:1] == ("api",) and _sends(stage)
    return False


def _only_looks(stage: Stage) -> bool:
    """Whether it only shows something, such as help, or what it would do."""
    options = _own_options(stage)
    if not load_programs().hazard_options("dry_options").isdisjoint(options):
        return True
    if "-h" in options and not stage.is_hazard("h_is_no_help"):
        return True
    if stage.program == "ssh" and not _SSH_LOOKS.isdisjoint(options):
        return True
    letters = _DRY_LETTERS.get(stage.program)
    if letters is not None and any(map(letters.fullmatch, options)):
        return True
    return stage.operands[:1] == ("help",) or stage.is_hazard("looking")


def _own_options(stage: Stage) -> list[str]:
    """Return the options of the program itself: neither values, nor those of what it starts."""
    options = []
    for argument in load_programs().options(stage.program, stage.arguments):
        if argument in stage.operands[:1] and stage.program in _SHELL_CLIENTS:
            # What follows the host runs there.
            break
        options.append(argument)
    return options


def _works_here(stage: Stage) -> bool:
    """Whether it names this machine as the one to work on.

    In other places the name is a word like any other: `git push origin localhost`.
    """
    if stage.program in _ANSIBLE:
        return any(map(_LOCAL_NAME.fullmatch, stage.arguments))
    if stage.program in _SHELL_CLIENTS:
        return any(map(_is_local, stage.operands[:1]))

    addresses = load_programs().hazard_options("address_options")
    if any(map(_is_local, _values_of(stage, addresses))):
        return True
    if stage.program not in _TAKE_ADDRESS:
        return False
    operands = stage.operands
    if stage.program in ("crane", "skopeo"):
        # The image is copied to the last of them.
        operands = operands[-1:]
    tags = list(_values_of(stage, _TAG_OPTIONS))
    if tags:
        return all(map(_LOCAL_URL.fullmatch, tags))
    return any(map(_LOCAL_URL.fullmatch, operands))


def _is_local(value: str) -> bool:
    """Whether a host or a URL is this machine."""
    return bool(_LOCAL_URL.fullmatch(value) or _LOCAL_NAME.fullmatch(value))


def _is_remote_url(value: str) -> bool:
    return _REMOTE_URL.fullmatch(value) is not None and not _is_local(value)


def _is_path_on_host(value: str) -> bool:
    return _PATH_ON_HOST.fullmatch(value) is not None and not _is_local(value)


def _values_of(stage: Stage, names: Iterable[str]) -> Iterator[str]:
    """Yield the values of these options: `--host x`, `--host=x`, `-h x` and `-hx`."""
    for argument, following in pairwise([*stage.arguments, ""]):
        for name in names:
            if argument == name:
                yield following
            elif name.startswith("--") and argument.startswith(f"{name}="):
                yield argument[len(name) + 1 :]
            elif len(name) == 2 and argument.startswith(name):
                yield argument[2:]


def _urls(stage: Stage) -> list[str]:
    """Return the addresses that an HTTP client is told."""
    return [*stage.operands, *_values_of(stage, ["--url"])]


def _changes_database(stage: Stage) -> bool:
    """Whether a client of a database is told another host, and to write."""
    hosts = [value for value in _values_of(stage, ("-h", "--host")) if value]
    hosts += [value.text for name, value in stage.assignments if name == "PGHOST"]
    for value in (*stage.operands, *_values_of(stage, _DATABASE_OPTIONS)):
        if _NAMED_HOST.search(value):
            hosts.append(value)
    if all(map(_is_local_database, hosts)):
        return False
    return stage.before == "|" or bool(_WRITING_STATEMENT.search(stage.source))


def _is_local_database(host: str) -> bool:
    return _is_local(host) or _is_local(host.partition("host=")[2].partition(" ")[0])


def _changes_cloud(stage: Stage) -> bool:
    """Whether a word has a verb such as `create`.

    It stands behind the service: `aws s3 sync`, `az network vnet create`.
    """
    words = load_programs().leading_operands(stage.program, stage.arguments)
    if not _CLOUD_SETTINGS.isdisjoint(words[:1]):
        return False
    start = 0 if stage.program == "gsutil" else 1
    for place, word in enumerate(words[: start + 4]):
        if _READING_VERB.fullmatch(word):
            # What follows are names.
            return False
        if place < start or not _CLOUD_VERB.fullmatch(word):
            continue
        if word in _COPYING_VERBS:
            # The first path is the source.
            place_of_verb = stage.operands.index(word)
            return any("://" in path for path in stage.operands[place_of_verb + 2 :])
        return True
    return False


def sends_to_variable(stage: Stage) -> bool:
    """Whether it sends data to a host that only a variable names."""
    if not stage.is_listed("http") or not _sends(stage):
        return False
    return any(map(_URL_IN_VARIABLE.fullmatch, _urls(stage)))


def _sends(stage: Stage) -> bool:
    """Whether an HTTP request asks for a change, or carries data."""
    if _has_changing_method(stage):
        return True
    if stage.program in _SEND_FIELDS:
        return any(map(_SENT_FIELD.fullmatch, stage.operands[1:]))
    if not _QUERY_OPTIONS.isdisjoint(stage.arguments):
        return False
    if stage.program in _API_CLIENTS and _only_asks(stage):
        return False
    data_option = _DATA_OPTIONS.get(stage.program)
    return data_option is not None and any(map(data_option.fullmatch, stage.option_names))


def _only_asks(stage: Stage) -> bool:
    """Whether a request with fields is a query: by GET, or in GraphQL without a mutation."""
    line = " ".join(stage.arguments)
    if _QUERY_METHOD.search(line):
        return True
    return "graphql" in stage.operands and _READING_GRAPHQL.match(line) is not None


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
    """Whether one of the listed options is among the arguments, not as the value of another one."""
    programs = load_programs()
    options = programs.options(stage.program, stage.arguments)
    return not programs.hazard_options(key).isdisjoint(options)
