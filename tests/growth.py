"""How the time of a function grows with its input: a measure that fits every machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Shorter times are mostly noise.
SHORTEST = 0.005


def growth(work: Callable[[int], object], few: int, many: int) -> float:
    """Return how many times longer `work(many)` takes than `work(few)`, in CPU time.

    Each is the best of two tries. Choose `many` as eight times `few`: linear work then grows about
    eightfold, quadratic work sixty-four-fold, and a limit of 24 tells one from the other.
    """
    return _best_time(work, many) / max(_best_time(work, few), SHORTEST)


def _best_time(work: Callable[[int], object], size: int) -> float:
    times: list[float] = []
    for _ in range(2):
        started = time.process_time()
        work(size)
        times.append(time.process_time() - started)
    return min(times)
