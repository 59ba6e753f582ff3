"""Facts about a project for an executor that lacked information about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.fixing.check_files import is_check_configuration, is_test
from pytest_ralph.running.project_files import files_below

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILES = 20
MAX_DEPTH = 3
NOT_SOURCES = frozenset(("env", "dist", "build", "vendor", "coverage"))
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
    """What a new contributor would look for first. Files are named relative to the root."""

    main_files: tuple[str, ...]
    configuration: tuple[str, ...]
    test_directory: str


def collect_facts(root: Path) -> Facts:
    """Look at the upper levels of a project."""
    sources = sorted(filter(_is_source, files_below(root)), key=_importance)
    configuration = [name for name in CONFIGURATION if (root / name).is_file()]
    test_directories = [name for name in TEST_DIRECTORIES if (root / name).is_dir()]
    return Facts(
        main_files=tuple(sources[:MAX_FILES]),
        configuration=tuple(configuration),
        test_directory="".join(test_directories[:1]),
    )


def _is_source(path: str) -> bool:
    *directories, name = path.split("/")
    if len(directories) > MAX_DEPTH:
        return False
    if not name.endswith(SOURCE_SUFFIXES):
        return False
    if any(directory.startswith(".") for directory in directories):
        return False
    if not NOT_SOURCES.isdisjoint(directories):
        return False
    return not is_test(path) and not is_check_configuration(path)


def _importance(path: str) -> tuple[bool, int, str]:
    """Return the sort key that puts entry points first, then files close to the root."""
    *directories, name = path.split("/")
    stem = name.partition(".")[0]
    return stem not in ENTRY_STEMS, len(directories), path
