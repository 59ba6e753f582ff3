"""Run the state machine: `python -m tests.faults.model --steps 20000`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.model.machine import Machine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.model", description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=30, help="steps in one repository")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--keep-going", action="store_true", help="after a broken promise, too")
    options = parser.parse_args()
    phases = [Phase.explicit, Phase.generate]
    if not options.no_shrink:
        phases.append(Phase.shrink)
    chosen = settings(
        max_examples=20,
        stateful_step_count=options.length,
        deadline=None,
        database=None,
        phases=phases,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
        suppress_health_check=list(HealthCheck),
    )
    started = time.monotonic()
    number = options.seed
    broken = 0
    while Machine.steps < options.steps and (options.keep_going or not broken):
        machine = type(f"Machine{number}", (Machine,), {})
        try:
            run_state_machine_as_test(seed(number)(machine), settings=chosen)
        except Exception:
            traceback.print_exc()
            broken += 1
        number += 1
        took = time.monotonic() - started
        sys.stdout.write(
            f"seed {number - 1}: {Machine.steps} steps, {Machine.runs} runs, {took:.0f} s\n"
        )
        sys.stdout.flush()
    Machine.stop_server()
    return broken


if __name__ == "__main__":
    sys.exit(main())
