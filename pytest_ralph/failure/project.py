"""The files of the project, which tell its own modules and files from those of others."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_ralph.running.project_files import files_below

if TYPE_CHECKING:
    from collections.abc import Iterable

FOREIGN = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|vendor/(?:bundle|composer)|\.venv|venv"
    r"|\.tox|\.nox|\.git|\.cargo/registry|rustlib|go/pkg/mod|lib/python[\d.]+"
    r"|usr/(?:lib|share|include|local/lib)|\.m2|\.gradle|gems)(?:/|$)"
)
# Directories that are not part of a module's name.
SOURCE_ROOTS = (
    "", "src/", "lib/", "app/", "python/", "tests/", "test/", "src/main/java/", "src/main/kotlin/",
    "source/",
)  # fmt: skip
# Module names that start like this are paths inside the project.
PATH_PREFIXES = ("./", "../", "/", "@/", "~/", "#/", "src/", "file:", "$lib", "~~/", "app/")
SUFFIXES = tuple(
    "|.py|.js|.ts|.mjs|.cjs|.jsx|.tsx|.rb|.pm|.lua|.h|.hpp|.php|.rs|.java|.kt|.go|.ex|.hs|.vue"
    "|.svelte|.f90|.css|.scss|.json".split("|")
)
# Dots in these names are part of the file's name, not separators of packages.
FILE_MODULES = (".h", ".hpp", ".js", ".rb")
# A printed path that starts like this says where the file is; others may be abbreviated.
WHOLE_PATHS = ("/", "file:", "..", "\\")


class Project:
    """The tree below a root directory; without a root only names decide.

    `planned` are files that may not exist yet, but will be the project's own.
    """

    def __init__(self, root: Path | None, planned: Iterable[str] = ()) -> None:
        self.root = root
        self._planned = frozenset(planned)

    @cached_property
    def files(self) -> frozenset[str]:
        """All files, relative to the root."""
        if self.root is None:
            return frozenset()
        return frozenset(files_below(self.root))

    @cached_property
    def _by_base_name(self) -> defaultdict[str, list[str]]:
        table: defaultdict[str, list[str]] = defaultdict(list)
        for file in self.files:
            table[file.rpartition("/")[2]].append(file)
        return table

    @cached_property
    def _own_files(self) -> frozenset[str]:
        return self.files | self._planned

    @cached_property
    def _own_directories(self) -> frozenset[str]:
        parents = (parent for name in self._own_files for parent in PurePosixPath(name).parents)
        return frozenset(map(str, parents))

    def has_directory(self, name: str) -> bool:
        """Return whether a directory exists or will exist for a planned file."""
        return name in self._own_directories

    def find(self, path: str) -> str | None:
        """Return the file that a printed path means, relative to the root."""
        if FOREIGN.search(path):
            return None
        parts = PurePosixPath(path.replace("\\", "/")).parts
        names = [part for part in parts if part not in ("/", ".", "..")]
        whole = "/".join(names)
        if whole in self.files:
            return whole
        if not path.startswith(WHOLE_PATHS):
            found = self._find_by_end(whole)
            if found:
                return found
        # The path may start above the root.
        while names:
            del names[0]
            below = "/".join(names)
            if below in self.files:
                return below
        return None

    def _find_by_end(self, name: str) -> str | None:
        """Return the only file whose path ends with `name` (as Java and Go abbreviate paths)."""
        candidates = self._by_base_name[name.rpartition("/")[2]]
        found = [file for file in candidates if file.endswith("/" + name)]
        if len(found) != 1:
            return None
        return found[0]

    def owns_module(self, name: str) -> bool:
        """Return whether a module is the project's own: named by a path, or found in the tree."""
        if name.startswith(PATH_PREFIXES):
            return not FOREIGN.search(name)
        path = name
        if not name.endswith(FILE_MODULES):
            path = re.sub(r"::|\.(?=\w)|\\", "/", name)
        top = path.partition("/")[0]
        if self._exists(path) or self._exists(top):
            return True
        return path != top and self._find_by_end(f"{top}/__init__.py") is not None

    def _exists(self, module: str) -> bool:
        """Return whether a directory or a file below one of the source roots is this module."""
        if not module:
            return False
        for root in SOURCE_ROOTS:
            if root + module in self._own_directories:
                return True
            if any(root + module + suffix in self._own_files for suffix in SUFFIXES):
                return True
        return False
