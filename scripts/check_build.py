"""Build wheel and sdist twice and compare; then have the wheel alone pass the quickstart.

python scripts/check_build.py [--skip-demo]

The second build is made elsewhere, with other rights, times and zone: what comes out must be the
same, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Surroundings(NamedTuple):
    """What a build must not depend on."""

    place: str
    mode: int
    modified: int
    zone: str


BUILDS = (
    Surroundings("a", 0o644, 1_000_000_000, "UTC"),
    Surroundings("some/other place", 0o600, 1_700_000_001, "JST-9"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--skip-demo", action="store_true", help="do not install the wheel, which needs an index"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ralph-build-") as temporary:
        first, second = (build(Path(temporary), surroundings) for surroundings in BUILDS)
        wheel = next(path for path in first if path.suffix == ".whl")
        problems = compare(first, second) + foreign_or_missing(wheel) + dead_links(wheel)
        if not problems and not options.skip_demo:
            problems = try_alone(wheel, Path(temporary))
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return bool(problems)


def build(directory: Path, surroundings: Surroundings) -> list[Path]:
    """The sdist, and the wheel made from it, of a copy of what git knows."""
    source, made = (
        directory / surroundings.place / "source",
        directory / surroundings.place / "dist",
    )
    for name in tracked():
        copy = source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
        copy.chmod(surroundings.mode | (ROOT / name).stat().st_mode & 0o100)
        os.utime(copy, (surroundings.modified, surroundings.modified))
    environ = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(made), str(source)]
    subprocess.run(
        command, env={**environ, "TZ": surroundings.zone}, check=True, stdout=subprocess.DEVNULL
    )
    return sorted(made.iterdir())


def tracked(*paths: str) -> list[str]:
    told = subprocess.run(
        ["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, check=True
    ).stdout
    return [name for name in os.fsdecode(told).split("\0") if name and (ROOT / name).is_file()]


def compare(first: list[Path], second: list[Path]) -> list[str]:
    problems = []
    for one, other in zip(first, second, strict=True):
        here, there = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other))
        print(
            f"{one.name}: {one.stat().st_size:,} bytes, twice sha256 {here}"
            if here == there
            else one.name
        )
        problems += [] if here == there else [f"{one.name} differs: {here} and {there}"]
    return problems


def foreign_or_missing(wheel: Path) -> list[str]:
    """The package and nothing else is in the wheel, and all of it."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = set(tracked("pytest_ralph"))
    print(f"{wheel.name}: {len(inside)} files, all ours" if inside == ours else wheel.name)
    return [f"in the wheel, but not ours: {name}" for name in sorted(inside - ours)] + [
        f"not in the wheel: {name}" for name in sorted(ours - inside)
    ]


def dead_links(wheel: Path) -> list[str]:
    """Return the relative links of the description, which lead nowhere on a package index."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    description = text.partition("\n\n")[2]
    if not description:
        return ["the description is empty"]
    targets = re.findall(r"\]\(([^)]*)\)|src=\"([^\"]*)\"", description)
    names = [markdown or html for markdown, html in targets]
    return [f"dead link: {name}" for name in names if not name.startswith("https://")]


def try_alone(wheel: Path, directory: Path) -> list[str]:
    """Run the quickstart outside the repository, with the wheel in a fresh environment."""
    environment, quickstart = directory / "environment", directory / "quickstart"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-input", wheel], check=True)
    shutil.copytree(ROOT / "examples" / "quickstart", quickstart)
    ended = subprocess.run(
        [python, "demo.py"], cwd=quickstart, capture_output=True, text=True, check=False
    )
    recovered = [line.strip("= ") for line in ended.stdout.splitlines() if "recovered in" in line]
    print("\n".join(f"the wheel alone, quickstart: {line}" for line in recovered))
    failed = ended.returncode != 0 or not recovered
    return [f"the quickstart failed:\n{ended.stdout}{ended.stderr}"] if failed else []


if __name__ == "__main__":
    sys.exit(main())
