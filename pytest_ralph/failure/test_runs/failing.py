"""Failing: one test that a runner names, or one file of tests that it could not load, with the words of its error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Failing:
    """`named` is False for what stopped before any test of it could run."""

    name: str
    error: str
    line: int = -1
    named: bool = True
