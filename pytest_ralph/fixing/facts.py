"""Fixing: Facts about a project that an executor asked for in vain: where it is, what is in it, how it is set up."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 20
DEPTH = 3
PASSED_OVER = frozenset(
    (
        "node_modules",
        "venv",
        "env",
        "dist",
        "build",
        "target",
        "vendor",
        "__pycache__",
        "site-packages",
        "coverage",
    )
)
CONFIGURATION = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "package.json",
    "tsconfig.json",
    "jest.config.js",
    "vitest.config.ts",
    "vite.config.ts",
    "eslint.config.js",
    ".eslintrc.json",
    "deno.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "CMakeLists.txt",
    "Makefile",
    "justfile",
    "Dockerfile",
    "docker-compose.yml",
    ".env.example",
    "AGENTS.md",
    "CLAUDE.md",
    "README.md",
)
TEST_DIRECTORIES = ("tests", "test", "spec", "__tests__", "src/test", "src/__tests__", "e2e")
ENTRY_STEMS = frozenset(
    ("main", "__main__", "app", "index", "cli", "server", "lib", "mod", "manage", "__init__")
)
SOURCES = (
    ".py",
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".go",
    ".rs",
    ".java",
    ".kt",
    ".rb",
    ".php",
    ".cs",
    ".c",
    ".cc",
    ".cpp",
    ".swift",
    ".ex",
    ".sh",
)


@dataclass(frozen=True)
class Facts:
    root: str
    main_files: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    test_directory: str = ""


def look_around(root: Path) -> Facts:
    """A quick look at the upper levels of a project."""
    sources = sorted(_sources(root), key=_by_importance)
    return Facts(
        root=str(root),
        main_files=tuple(sources[:MANY]),
        configuration=tuple(name for name in CONFIGURATION if (root / name).is_file()),
        test_directory=next((name for name in TEST_DIRECTORIES if (root / name).is_dir()), ""),
    )


def _sources(root: Path) -> Iterator[str]:
    for directory, below, files in os.walk(root):
        here = os.path.relpath(directory, root)
        depth = 0 if here == "." else here.count(os.sep) + 1
        below[:] = sorted(name for name in below if _worth_a_look(name) and depth < DEPTH)
        for name in sorted(files):
            if name.endswith(SOURCES) and not _is_test(name):
                yield name if here == "." else f"{here}/{name}"


def _worth_a_look(directory: str) -> bool:
    return (
        not directory.startswith(".")
        and directory not in PASSED_OVER
        and directory not in TEST_DIRECTORIES
    )


def _is_test(name: str) -> bool:
    return name.startswith(("test_", "conftest")) or any(
        mark in name for mark in (".test.", ".spec.", "_test.")
    )


def _by_importance(path: str) -> tuple[bool, int, str]:
    stem = path.rpartition("/")[2].split(".")[0]
    return stem not in ENTRY_STEMS, path.count("/"), path
