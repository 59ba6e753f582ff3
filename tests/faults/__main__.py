"""Kill every scenario at many of its points and print figures: `python -m tests.faults`.

With `--all`, kill it at each of its points.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.faults.hardships import HARDSHIPS, suffer_all
from tests.faults.killing import Hit, Killing, spread
from tests.faults.scenarios import SCENARIOS, Scenario

HITS = 30
HARDSHIP_HITS = 8


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every point, which takes some minutes")
    parser.add_argument(
        "--only", default="", help="scenarios with this in their name, and no hardships"
    )
    options = parser.parse_args()
    started = time.monotonic()
    chosen = [scenario for scenario in SCENARIOS if options.only in scenario.name]
    killing = Killing()
    try:
        hits = [
            hit
            for one in chosen
            for hit in _kill(killing, one, sys.maxsize if options.all else HITS)
        ]
        hits += [] if options.only else _suffer(killing)
    finally:
        killing.close()
    broken = [hit for hit in hits if hit.broken]
    for hit in broken:
        say(str(hit))
    hardships = 0 if options.only else len(HARDSHIPS)
    what = (
        f"{len(chosen)} scenarios, {hardships} hardships, {len(hits)} faults, {len(broken)} "
        "broken promises"
    )
    say(f"{what}, {time.monotonic() - started:.0f} s")
    return bool(broken)


def _kill(killing: Killing, scenario: Scenario, most: int) -> list[Hit]:
    began = time.monotonic()
    baseline = killing.baseline(scenario)
    points = len(baseline.ran.points)
    hits = killing.hit(scenario, baseline, spread(points, most))
    took = time.monotonic() - began
    say(
        f"{scenario.name:<40} {points:>4} points {len(hits):>4} kills {_broken(hits):>3} "
        f"broken {took:>6.1f} s"
    )
    return hits


def _suffer(killing: Killing) -> list[Hit]:
    baseline = killing.baseline(SCENARIOS[0], "hardships")
    hits = suffer_all(
        killing, SCENARIOS[0], baseline, spread(len(baseline.ran.points), HARDSHIP_HITS)
    )
    for hardship in HARDSHIPS:
        mine = [hit for hit in hits if hit.scenario == hardship.name]
        why_not = "" if mine else f" ({hardship.why_not})"
        say(f"{hardship.name:<40} {len(mine):>16} times {_broken(mine):>3} broken{why_not}")
    return hits


def _broken(hits: list[Hit]) -> int:
    return sum(bool(hit.broken) for hit in hits)


if __name__ == "__main__":
    sys.exit(main())
