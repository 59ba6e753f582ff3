"""The packages that may provide a missing module or command.

Most have the same name; the tables list those that differ. A guess counts only if the project
declares the package.
"""

from __future__ import annotations

import re

from pytest_ralph.failure.distributions import distributions_of
from pytest_ralph.fixing.repairs.declared import normalized


def _table(text: str) -> dict[str, list[str]]:
    """Return the rows of `text`, which have the form `name = package ...`."""
    rows = {}
    for line in text.strip().splitlines():
        name, _, packages = line.partition(" = ")
        rows[name.strip()] = packages.split()
    return rows


# Command, and the distributions or packages that provide it.
PYTHON_COMMANDS = _table(
    """
    aws = awscli
    django-admin = django
    dmypy = mypy
    http = httpie
    jupyter-lab = jupyterlab
    markdown-it = markdown-it-py
    pip-compile = pip-tools
    pip-sync = pip-tools
    py-test = pytest
    pyright-langserver = pyright
    sphinx-apidoc = sphinx
    sphinx-build = sphinx
    stubgen = mypy
    """
)
NODE_COMMANDS = _table(
    """
    babel = @babel/cli
    biome = @biomejs/biome
    cap = @capacitor/cli
    changeset = @changesets/cli
    commitlint = @commitlint/cli
    cucumber-js = @cucumber/cucumber
    eas = eas-cli
    gatsby = gatsby-cli gatsby
    graphql-codegen = @graphql-codegen/cli
    ionic = @ionic/cli
    markdownlint = markdownlint-cli
    nest = @nestjs/cli
    ng = @angular/cli
    openapi-generator-cli = @openapitools/openapi-generator-cli
    playwright = @playwright/test playwright
    react-router = @react-router/dev
    remix = @remix-run/dev
    run-p = npm-run-all npm-run-all2
    run-s = npm-run-all npm-run-all2
    sb = storybook
    sentry-cli = @sentry/cli
    solid-start = @solidjs/start
    stencil = @stencil/core
    stryker = @stryker-mutator/core
    svelte-kit = @sveltejs/kit
    swc = @swc/cli
    tailwindcss = @tailwindcss/cli tailwindcss
    tsc = typescript
    tsserver = typescript
    vue-cli-service = @vue/cli-service
    wdio = @webdriverio/cli
    webpack = webpack-cli webpack
    """
)


def python_distributions(missing: str) -> set[str]:
    """Return the distributions that may provide a module, a command or a distribution."""
    # `a`, `a-b` and `a-b-c` for `a.b.c`.
    top, *parts = missing.split(".")
    name = top
    names = [name]
    for part in parts:
        name += f"-{part}"
        names.append(name)
    names += distributions_of(top)
    names += PYTHON_COMMANDS.get(normalized(missing), ())
    return set(map(normalized, names))


def node_packages(missing: str) -> set[str]:
    """Return the packages that may provide a module path, a command or `name@version`."""
    if missing.startswith((".", "/", "node:")):
        return set()
    match = re.match(r"(@[\w.-]+/[\w.-]+|[\w.-]+)(?:[@/].*)?$", missing)
    if match is None:
        return set()
    return {match[1], *NODE_COMMANDS.get(missing, ())}
