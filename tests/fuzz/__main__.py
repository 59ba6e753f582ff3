"""Fuzz every reader, guided by coverage, for a fixed time each: `python -m tests.fuzz`.

What it finds is kept.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
# Found and kept between runs, not part of the repository.
GROWN = HERE / "grown"
LONGEST = 4096


class Fuzzed(NamedTuple):
    inputs: int
    found: bool


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which readers; all of them by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--fuzz", metavar="TARGET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fuzz:
        _fuzz(options.fuzz, options.seconds)
    from tests.fuzz.targets import TARGETS

    started = time.monotonic()
    fuzzed = [_watch(name, options.seconds) for name in options.targets or TARGETS]
    inputs, found = sum(each.inputs for each in fuzzed), sum(each.found for each in fuzzed)
    say(
        f"{len(fuzzed)} readers, {inputs:,} inputs, {found} found, "
        f"{time.monotonic() - started:.0f} s"
    )
    return bool(found)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _watch(name: str, seconds: int) -> Fuzzed:
    """Fuzz in a process of its own; say how many inputs were tried and what was found."""
    started = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz", "--fuzz", name, "--seconds", str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    told = ended.stderr.splitlines()
    fuzzed = Fuzzed(_inputs(told), ended.returncode != 0)
    verdict = "FOUND: see tests/fuzz/found" if fuzzed.found else "nothing found"
    say(f"{name:<14} {fuzzed.inputs:>10,} inputs {time.monotonic() - started:>6.0f} s  {verdict}")
    if fuzzed.found:
        say("\n".join([line for line in told if not line.startswith(("#", "INFO", "0x"))][-25:]))
    return fuzzed


def _inputs(told: list[str]) -> int:
    """`Done 4711 runs in …` at the end, or where something was found the last `#4711 …`."""
    counted = (re.match(r"(?:Done |#)(\d+)", line) for line in reversed(told))
    return next((int(match[1]) for match in counted if match), 0)


def _fuzz(name: str, seconds: int) -> None:
    import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

    # Only what was imported in here is followed.
    with atheris.instrument_imports(include=["pytest_ralph"]):
        from tests.fuzz.targets import try_out

    seeds, grown, found = HERE / "corpus" / name, GROWN / name, HERE / "found"
    for directory in (seeds, grown, found):
        directory.mkdir(parents=True, exist_ok=True)
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        "-timeout=5",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={found}/{name}-",
        f"-dict={HERE / 'tokens.dict'}",
        str(grown),
        str(seeds),
    ]
    atheris.Setup(arguments, lambda data: try_out(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
