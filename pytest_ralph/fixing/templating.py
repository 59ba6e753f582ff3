"""Templates: the texts of prompts and fix tasks, which a project can replace or extend.

A project's directory holds files of the same names (`fix.md.j2`), or of the same name for one kind
of failure (`fix.lint_error.md.j2`, `fixtask.test_failure.md.j2`). A template that changes only a
part extends ours: `{% extends "ralph/fix.md.j2" %}`.
"""

from __future__ import annotations

import re
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.errors import TemplatesError
from pytest_ralph.text import inert

if TYPE_CHECKING:
    from collections.abc import Container

    from jinja2 import Environment

OWN_DIRECTORY = Path(__file__).with_name("templates")
SUFFIX = ".md.j2"
FORMS = ("fix", "execute", "retry", "continue", "enrich", "split", "fixtask")
KIND = re.compile(r"[\w-]+")
# What Python raises for mistakes in a template, such as one that includes itself, and for a file
# that cannot be read.
PYTHON_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


class Templates:
    """The templates of the project, and ours where it has none."""

    def __init__(self, project: Path | None = None) -> None:
        if project is not None and not project.is_dir():
            raise TemplatesError(f"{project}: no such directory (ralph_templates)")
        self.project = project
        self._lock = threading.Lock()

    def render(self, name: str, kind: str = "", /, **values: object) -> str | None:
        """Render the template for `kind`, or the general one; return None if there is neither."""
        from jinja2 import TemplateError, TemplatesNotFound

        names = [f"{name}{SUFFIX}"]
        if KIND.fullmatch(kind):
            names.insert(0, f"{name}.{kind}{SUFFIX}")
        try:
            # The threads of a [P] group need a template at once: one of them compiles it for all.
            with self._lock:
                template = self._environment.select_template(names)
                return template.render(**values)
        except TemplatesNotFound:
            return None
        except (TemplateError, *PYTHON_ERRORS) as error:
            raise TemplatesError(self._with_location(error)) from error

    def check(self, kinds: Container[str]) -> tuple[str, ...]:
        """Return warnings about unused templates. Raise TemplatesError for broken ones."""
        from jinja2 import TemplateSyntaxError

        if self.project is None:
            return ()
        warnings = []
        for file in sorted(self.project.glob(f"*{SUFFIX}")):
            try:
                self._environment.parse(file.read_text(encoding="utf-8"), filename=str(file))
            except OSError as error:
                raise TemplatesError(f"{file}: {error.strerror or error}") from error
            except (TemplateSyntaxError, UnicodeDecodeError) as error:
                line = getattr(error, "lineno", 1)
                message = f"{file}:{line}: {inert.one_line(str(error))}"
                raise TemplatesError(message) from error

            name, _, kind = file.name.removesuffix(SUFFIX).partition(".")
            if name in FORMS and kind and kind not in kinds:
                shown = inert.one_line(kind)
                warnings.append(f"{file}: never used: no failure kind is named {shown}")
        return tuple(warnings)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        own = FileSystemLoader(OWN_DIRECTORY)
        project = [FileSystemLoader(self.project)] if self.project else []
        environment = ImmutableSandboxedEnvironment(
            loader=ChoiceLoader([*project, own, PrefixLoader({"ralph": own})]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            # The files are read once in a run.
            auto_reload=False,
            # The output is Markdown, and foreign text is made harmless before it gets here.
            autoescape=False,
        )
        environment.filters.update(
            line=inert.one_line, quoted=inert.fenced, markdown=inert.markdown, indented=_indented
        )
        return environment

    def _with_location(self, error: BaseException) -> str:
        """Return `templates/fix.md.j2:12: message` for the innermost template line of `error`."""
        file = str(self.project or OWN_DIRECTORY)
        line = 0
        trace = error.__traceback__
        while trace is not None:
            file_of_frame = trace.tb_frame.f_code.co_filename
            if file_of_frame.endswith(SUFFIX):
                file = file_of_frame
                line = trace.tb_lineno
            trace = trace.tb_next

        # Syntax errors name their place themselves.
        file = getattr(error, "filename", None) or file
        line = getattr(error, "lineno", None) or line
        return f"{file}:{line}: {inert.one_line(str(error))}"


def _indented(text: str, by: int = 2) -> str:
    return text.replace("\n", f"\n{' ' * by}")
