"""Room fixing: the repair `install`: what the project declares and lacks, installed by the project's own installer.

The missing name only chooses; what is installed is what the project's manifest says, and never anything else.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import declared, names
from pytest_ralph.fixing.repairs.base import (
    Repair,
    RepairResult,
    Scene,
    changed,
    how_to_undo,
    own_file,
    save,
)
from pytest_ralph.fixing.repairs.indirection import steps
from pytest_ralph.fixing.repairs.python import python_install
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ralph.running.runner import Runner

KINDS = frozenset({"dependency_missing", "command_not_found"})
TIME_LIMIT = 900.0
_LONGEST_NAME = 200
_LOCKS = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "package.json",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
)


@dataclass(frozen=True)
class InstallRepair(Repair):
    argv: tuple[str, ...] = ()
    directory: Path = Path()
    env: tuple[tuple[str, str], ...] = ()

    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:
        save(backup, root, [root / name for name in self.files])
        try:
            ended = runner.run(
                self.command,
                argv=self.argv,
                cwd=self.directory,
                env=dict(self.env),
                timeout=TIME_LIMIT,
            )
        except RunError as error:
            return RepairResult(False, f"{self.command}: {error}")
        files = changed(backup, root)
        undo = (
            f"packages stay installed; {how_to_undo(backup, root)}"
            if files
            else "packages stay installed"
        )
        if ended.exit_code != 0:
            why = "took too long" if ended.timed_out else _last_line(ended.output())
            return RepairResult(False, f"{self.command} failed: {why}", undo, files)
        return RepairResult(True, f"{self.reason}: installed", undo, files)


def find(scene: Scene) -> Repair | None:
    missing = (scene.failure.missing or "").strip()
    if scene.failure.kind not in KINDS or not missing or len(missing) > _LONGEST_NAME:
        return None
    for directory in _directories(scene):
        for ecosystem in _ordered(scene.command):
            if (found := ecosystem(scene, directory, missing)) is not None:
                return found
    return None


def _directories(scene: Scene) -> Iterator[Path]:
    """Where a manifest may be: the directory of each call and of each file named, and those above, up to the root."""
    starts = [step.directory for step in steps(scene.command, scene.root, scene.directory)]
    starts += [
        file.parent for name in scene.failure.files if (file := scene.own_file(name)) is not None
    ]
    seen: set[Path] = set()
    for start in (*starts, scene.directory):
        for directory in (start, *start.parents):
            if not directory.is_relative_to(scene.root):
                break
            if directory not in seen:
                seen.add(directory)
                yield directory


_JAVASCRIPT = re.compile(r"\b(?:npm|npx|node|pnpm|yarn|bunx?|tsc|jest|vitest)\b")


def _ordered(command: str) -> list[Callable[[Scene, Path, str], Repair | None]]:
    """JavaScript before Python where its tools are called: a name may be declared in both."""
    first = [_node, _python] if _JAVASCRIPT.search(command) else [_python, _node]
    return [*first, *(row.find for row in _OTHERS)]


def _python(scene: Scene, directory: Path, missing: str) -> Repair | None:
    found = python_install(scene, directory, missing)
    if found is None:
        return None
    manifest = (directory / found.manifest).relative_to(scene.root).as_posix()
    return _install(scene, found.argv, directory, f"{missing} is declared in {manifest}", found.env)


def _node(scene: Scene, directory: Path, missing: str) -> Repair | None:
    if names.node_packages(missing).isdisjoint(declared.package_json(directory / "package.json")):
        return None
    home, argv = _node_installer(scene.root, directory)
    manifest = (directory / "package.json").relative_to(scene.root).as_posix()
    return _install(scene, argv, home, f"{missing} is declared in {manifest}")


# Lock file → what installs by it without changing it.
_NODE_INSTALLERS = {
    "pnpm-lock.yaml": ("pnpm", "install", "--frozen-lockfile"),
    "bun.lock": ("bun", "install", "--frozen-lockfile"),
    "bun.lockb": ("bun", "install", "--frozen-lockfile"),
    "yarn.lock": ("yarn", "install", "--frozen-lockfile", "--non-interactive"),
    "package-lock.json": ("npm", "install", "--no-save", "--no-audit", "--no-fund"),
    "npm-shrinkwrap.json": ("npm", "install", "--no-save", "--no-audit", "--no-fund"),
}
_NODE_MANAGERS = {
    "pnpm": ("pnpm", "install", "--no-lockfile"),
    "yarn": ("yarn", "install"),
    "bun": ("bun", "install", "--no-save"),
}
_NPM = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund")


def _node_installer(root: Path, directory: Path) -> tuple[Path, tuple[str, ...]]:
    """Where to install, and how: by the nearest lock file, else by the manager package.json names, else npm."""
    for home in (directory, *directory.parents):
        if not home.is_relative_to(root):
            break
        for lock, argv in _NODE_INSTALLERS.items():
            if (home / lock).is_file():
                modern = argv[0] == "yarn" and (home / ".yarnrc.yml").is_file()
                return home, ("yarn", "install", "--immutable") if modern else argv
    manager = str(
        declared.read_json(directory / "package.json").get("packageManager", "")
    ).partition("@")[0]
    return directory, _NODE_MANAGERS.get(manager, _NPM)


@dataclass(frozen=True)
class _Row:
    """An ecosystem with one installer: its manifest, what that declares, what a missing name may be called there."""

    manifest: str
    read: Callable[[Path], set[str]]
    packages: Callable[[str], set[str]]
    argv: tuple[str, ...]
    lock: str = ""
    locked: tuple[str, ...] = ()

    def find(self, scene: Scene, directory: Path, missing: str) -> Repair | None:
        for manifest in sorted(directory.glob(self.manifest)):
            if not self.packages(missing).isdisjoint(self.read(manifest)):
                argv = (
                    *self.argv,
                    *(self.locked if self.lock and (directory / self.lock).is_file() else ()),
                )
                where = manifest.relative_to(scene.root).as_posix()
                return _install(scene, argv, directory, f"{missing} is declared in {where}")
        return None


_OTHERS = (
    _Row(
        "Cargo.toml",
        declared.cargo_toml,
        names.rust_crates,
        ("cargo", "fetch"),
        "Cargo.lock",
        ("--locked",),
    ),
    _Row("go.mod", declared.go_mod, names.go_modules, ("go", "mod", "download")),
    _Row("Gemfile", declared.gemfile, names.ruby_gems, ("bundle", "install")),
    _Row("*.gemspec", declared.gemfile, names.ruby_gems, ("bundle", "install")),
    _Row(
        "composer.json",
        declared.composer_json,
        names.php_packages,
        ("composer", "install", "--no-interaction"),
    ),
    _Row("mix.exs", declared.mix_exs, names.elixir_packages, ("mix", "deps.get")),
    _Row("pubspec.yaml", declared.pubspec, names.dart_packages, ("dart", "pub", "get")),
    _Row("*.csproj", declared.project_file, names.dotnet_packages, ("dotnet", "restore")),
    _Row(
        "cpanfile",
        declared.cpanfile,
        names.perl_modules,
        ("cpanm", "--quiet", "--installdeps", "."),
    ),
)


def _install(
    scene: Scene,
    argv: tuple[str, ...],
    directory: Path,
    reason: str,
    env: tuple[tuple[str, str], ...] = (),
) -> InstallRepair | None:
    if shutil.which(argv[0], path=scene.environ.get("PATH", os.defpath)) is None:
        return None
    locks = (own_file(scene.root, directory / name) for name in _LOCKS)
    files = tuple(lock.relative_to(scene.root).as_posix() for lock in locks if lock is not None)
    return InstallRepair("install", shlex.join(argv), reason, files, argv, directory, env)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [
        line
        for line in lines
        if line.lower().startswith(("error", "npm err", "npm error", "fatal"))
    ]
    return (told or lines or ["no output"])[-1][:200]
