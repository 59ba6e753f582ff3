"""Fixing: Templates, the texts of prompts and fix tasks, each of which a project can replace or add to.

A project's directory holds files of the same names (`fix.md.j2`), or of the same name for one kind of failure
(`fix.lint_error.md.j2`, `fixtask.test_failure.md.j2`). One that only changes a part extends ours:
`{% extends "ralph/fix.md.j2" %}`.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.text import inert

if TYPE_CHECKING:
    from collections.abc import Container

    from jinja2 import Environment

OWN = Path(__file__).with_name("templates")
SUFFIX = ".md.j2"
FORMS = ("fix", "execute", "retry", "continue", "enrich", "split", "fixtask")
_KIND = re.compile(r"[\w-]+")


class TemplatesError(Exception):
    """A template that cannot be used, in one line with its file and line."""


class Templates:
    """The project's templates before our own."""

    def __init__(self, project: Path | None = None) -> None:
        if project is not None and not project.is_dir():
            raise TemplatesError(f"{project}: no such directory (ralph_templates)")
        self.project = project

    def render(self, name: str, kind: str = "", /, **values: object) -> str | None:
        """The text of the template for this kind, else of the one for all kinds; None where there is neither."""
        from jinja2 import TemplateError, TemplatesNotFound

        try:
            return self._environment.select_template(_names(name, kind)).render(**values)
        except TemplatesNotFound:
            return None
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise TemplatesError(self._where(error)) from error

    def source(self, name: str, kind: str = "") -> str | None:
        """The text of the project's own template for this kind, else for all kinds; None where it has neither."""
        files = [self.project / file for file in _names(name, kind)] if self.project else []
        return next((file.read_text(encoding="utf-8") for file in files if file.is_file()), None)

    def check(self, kinds: Container[str]) -> tuple[str, ...]:
        """Each template of the project is one; and which of them are for a kind that there is not."""
        from jinja2 import TemplateSyntaxError

        unused = []
        for file in sorted(self.project.glob(f"*{SUFFIX}")) if self.project else ():
            try:
                self._environment.parse(file.read_text(encoding="utf-8"), filename=str(file))
            except (TemplateSyntaxError, UnicodeDecodeError) as error:
                raise TemplatesError(
                    f"{file}:{getattr(error, 'lineno', 1)}: {inert.one_line(str(error))}"
                ) from error
            name, _, kind = file.name.removesuffix(SUFFIX).partition(".")
            if name in FORMS and kind and kind not in kinds:
                unused.append(
                    f"{file}: never used, as there is no kind of failure named {inert.one_line(kind)}"
                )
        return tuple(unused)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        own = FileSystemLoader(OWN)
        project = [FileSystemLoader(self.project)] if self.project else []
        environment = ImmutableSandboxedEnvironment(
            loader=ChoiceLoader([*project, own, PrefixLoader({"ralph": own})]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            # Markdown, not HTML: what comes from outside is made inert before it gets here.
            autoescape=False,
        )
        environment.filters.update(
            line=inert.one_line, quoted=inert.prompt, markdown=inert.markdown, indented=_indented
        )
        return environment

    def _where(self, error: BaseException) -> str:
        """`templates/fix.md.j2:12: message`: the innermost template line the error went through."""
        found = (str(self.project or OWN), 0)
        trace = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            found = (file, trace.tb_lineno) if file.endswith(SUFFIX) else found
            trace = trace.tb_next
        file = getattr(error, "filename", None) or found[0]
        line = getattr(error, "lineno", None) or found[1]
        return f"{file}:{line}: {inert.one_line(str(error))}"


def _names(name: str, kind: str) -> list[str]:
    of_kind = [f"{name}.{kind}{SUFFIX}"] if _KIND.fullmatch(kind) else []
    return [*of_kind, f"{name}{SUFFIX}"]


def _indented(text: str, by: int = 2) -> str:
    return text.replace("\n", f"\n{' ' * by}")
