"""Facts about a project for an executor that lacked information about it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_FILES = 20
MAX_DEPTH = 3
SKIPPED_DIRECTORIES = frozenset(
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
# Names of files where a program starts, without their suffix.
ENTRY_STEMS = frozenset(
    ("main", "__main__", "app", "index", "cli", "server", "lib", "mod", "manage", "__init__")
)
SOURCE_SUFFIXES = (
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
    """What a new contributor would look for first. Files are named relative to the root.

    `root` is itself relative to the directory in which executors work.
    """

    root: str = "."
    main_files: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    test_directory: str = ""


def collect_facts(root: Path) -> Facts:
    """Look at the upper levels of a project."""
    sources = sorted(_source_files(root), key=_importance)
    test_directories = [name for name in TEST_DIRECTORIES if (root / name).is_dir()]
    return Facts(
        main_files=tuple(sources[:MAX_FILES]),
        configuration=tuple(name for name in CONFIGURATION if (root / name).is_file()),
        test_directory=test_directories[0] if test_directories else "",
    )


def _source_files(root: Path) -> Iterator[str]:
    for directory, subdirectories, files in os.walk(root):
        here = os.path.relpath(directory, root)
        depth = 0 if here == "." else here.count(os.sep) + 1
        if depth < MAX_DEPTH:
            subdirectories[:] = sorted(filter(_may_hold_sources, subdirectories))
        else:
            subdirectories.clear()

        for name in sorted(files):
            if name.endswith(SOURCE_SUFFIXES) and not _is_test(name):
                yield name if here == "." else f"{here}/{name}"


def _may_hold_sources(directory: str) -> bool:
    if directory.startswith("."):
        return False
    return directory not in SKIPPED_DIRECTORIES and directory not in TEST_DIRECTORIES


def _is_test(name: str) -> bool:
    if name.startswith(("test_", "conftest")):
        return True
    return any(mark in name for mark in (".test.", ".spec.", "_test."))


def _importance(path: str) -> tuple[bool, int, str]:
    """Return the sort key that puts entry points first, then files close to the root."""
    stem = path.rpartition("/")[2].split(".")[0]
    return stem not in ENTRY_STEMS, path.count("/"), path
