"""A regular expression that is compiled when it is first used."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING

import pytest

import pytest_ralph
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_it_is_not_compiled_before_it_is_asked() -> None:
    broken = regex("(")

    with pytest.raises(re.error, match="missing"):
        broken.search("text")


def test_it_answers_as_the_compiled_pattern_does() -> None:
    late, compiled = (
        regex(r"(?P<word>[a-z]+)\d", re.IGNORECASE),
        re.compile(r"(?P<word>[a-z]+)\d", re.IGNORECASE),
    )

    for _ in range(2):
        assert late.sub("_", "AB1 c2") == compiled.sub("_", "AB1 c2") == "_ _"
    assert [match["word"] for match in late.finditer("AB1 c2")] == ["AB", "c"]
    assert (late.pattern, late.flags, late.groups) == (
        compiled.pattern,
        compiled.flags,
        compiled.groups,
    )


def of_the_package() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.walk_packages(pytest_ralph.__path__, "pytest_ralph."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(one, regex):  # type: ignore[arg-type]
                    yield f"{module.name}.{name}", one


def test_every_one_of_ours_can_be_compiled() -> None:
    found = dict(of_the_package())

    assert len(found) > 100
    for name, one in found.items():
        assert isinstance(one.pattern, str), name
