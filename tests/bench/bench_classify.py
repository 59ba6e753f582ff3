"""What reading an output costs, whatever it holds: `python tests/bench/bench_classify.py`."""

from __future__ import annotations

import resource
import time

from pytest_ralph import classify

MEGABYTE = 1_000_000
# What is repeated until it fills the size: plain logs, nothing but errors, and what is made to be
# hard to read.
TEXTS = {
    "a build log": "cc -Wall -O2 -c src/module.c -o build/module.o -Iinclude/path\n",
    "nothing but errors": "src/m.c:12:5: error: expected a thing but failed: connection refused\n",
    "alarming words": "expected got cannot not error file could found module test failed\n",
    "failing tests": "FAILED tests/test_a.py::test_a - assert 1 == 2\n",
    "one line": "x",
    "one line of errors": "error: ",
    "progress bars": "50%\r",
    "escape codes": "\x1b[31mred\x1b[0m ",
    "broken escape codes": "\x1b[",
    "NUL bytes": "\x00",
    "blank lines": "\n",
    "paths": "a/",
    "a pretty JSON list": '  {\n    "id": 7,\n    "status": "failed"\n  },\n',
    "a TAP stream": "ok 1 - a\nnot ok 2 - b\n  ---\n  at: x\n  ...\n",
    "dashes": "-" * 79 + "\n",
    "stack frames": '  File "a.py", line 1, in f\n    f()\n',
}


def main() -> None:
    classify("warm up", 1, "make")
    for name, text in TEXTS.items():
        one, hundred = (milliseconds(text, size) for size in (1, 100))
        print(
            f"{name:<24} 1 MB {one:8.1f} ms   100 MB {hundred:8.1f} ms   {hundred / one:5.1f} times"
        )
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


def milliseconds(text: str, megabytes: int) -> float:
    output = text * (megabytes * MEGABYTE // len(text))
    best = float("inf")
    for _ in range(3 if megabytes == 1 else 1):
        started = time.process_time()
        classify(output, 1, "make test")
        best = min(best, time.process_time() - started)
    return best * 1000


if __name__ == "__main__":
    main()
