"""Mutate single places and list the changes no test of the package notices.

Run it with `python -m tests.mutation`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.mutation.mutants import PACKAGES, PROJECT, Tried, try_package

SAMPLE = 200
SEED = 2026
LEAST = 80
# The survivors, to look at; not part of the repository.
SURVIVORS = PROJECT / "mutants"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "packages", nargs="*", help=f"all of them by default: {', '.join(PACKAGES)}"
    )
    parser.add_argument(
        "--sample", type=int, default=SAMPLE, help="how many changes in each package"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="another one draws another sample")
    parser.add_argument("--again", action="store_true", help="try the survivors of the last run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    SURVIVORS.mkdir(exist_ok=True)
    return max([_try(package, options) for package in options.packages or PACKAGES])


def _try(package: str, options: argparse.Namespace) -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        tried = try_package(
            package,
            Path(directory),
            lambda possible: _chosen(package, possible, options),
            options.jobs,
        )
        os.chdir(PROJECT)
    _print_score(package, tried, time.monotonic() - started)
    listed = [f"{name}\n{diff}" for name, diff in sorted(tried.survivors.items())]
    (SURVIVORS / f"{package}.txt").write_text("\n".join(listed), encoding="utf-8")
    return int(tried.score < LEAST)


def _chosen(package: str, possible: list[str], options: argparse.Namespace) -> list[str]:
    if options.again:
        listed = {*(SURVIVORS / f"{package}.txt").read_text(encoding="utf-8").splitlines()}
        return [name for name in possible if name in listed]
    return random.Random(options.seed).sample(possible, min(options.sample, len(possible)))


def _print_score(package: str, tried: Tried, seconds: float) -> None:
    low, high = tried.interval
    sys.stdout.write(
        f"{package:<10} {tried.sample} of {tried.possible} changes: {tried.noticed} noticed, "
        f"{tried.too_long} too long, "
        f"{len(tried.survivors)} survived; {tried.score:.1f}% ({low:.1f} to {high:.1f}), "
        f"{seconds:.0f} s\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
