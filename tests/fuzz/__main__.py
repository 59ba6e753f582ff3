"""`python -m tests.fuzz`: a coverage-guided fuzzer on every reader for a fixed time each; what it finds is kept."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# Found and kept between runs, not part of the repository.
GROWN = HERE / "grown"
LONGEST = 4096


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which readers; all of them by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--fuzz", metavar="TARGET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fuzz:
        _fuzz(options.fuzz, options.seconds)
    from tests.fuzz.targets import TARGETS

    return max(_watch(name, options.seconds) for name in options.targets or TARGETS)


def _watch(name: str, seconds: int) -> int:
    """Fuzz in a process of its own; say how many inputs were tried and what was found."""
    started = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz", "--fuzz", name, "--seconds", str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    told = [line for line in ended.stderr.splitlines() if line.startswith(("Done ", "#", "stat::"))]
    runs = next((line.split()[1] for line in reversed(told) if line.startswith("Done ")), "?")
    verdict = "nothing found" if ended.returncode == 0 else "FOUND: see tests/fuzz/found"
    sys.stdout.write(f"{name:<14} {runs:>10} inputs {time.monotonic() - started:>6.0f} s  {verdict}\n")
    if ended.returncode:
        told = [line for line in ended.stderr.splitlines() if not line.startswith(("#", "INFO", "0x"))]
        sys.stdout.write("\n".join(told[-25:]) + "\n")
    sys.stdout.flush()
    return int(ended.returncode != 0)


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
