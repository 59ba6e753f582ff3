"""Workflow commands, with which a process annotates files in GitHub Actions."""

from __future__ import annotations


def annotation(level: str, message: str, **properties: object) -> str:
    """Return the workflow command for an `error`, `warning` or `notice`.

    `properties` name the place: `file`, `line` and `title`.
    """
    pairs = [f"{name}={_escaped_property(str(value))}" for name, value in properties.items()]
    head = f"{level} {','.join(pairs)}".rstrip()
    return f"::{head}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
