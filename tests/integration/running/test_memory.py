"""However much a command prints, the run that waits for it stays small."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

MEGABYTE = 1024 * 1024
MEASURE = """
    import json, resource, sys

    def pytest_sessionfinish():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open("most.json", "w") as file:
            json.dump(most * (1 if sys.platform == "darwin" else 1024), file)
"""


def peak(pytester: pytest.Pytester, *args: str) -> int:
    words = [sys.executable, "-m", "pytest", "--ralph", "specs", "-p", "no:cacheprovider", *args]
    # Started by a shell: the peak of a process is at least that of the one it was forked from.
    command = f"{shlex.join(words)}; exit"
    subprocess.run(command, shell=True, cwd=pytester.path, capture_output=True, check=False)
    return int(json.loads((pytester.path / "most.json").read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
@pytest.mark.parametrize("end", ["; false", " | tail -c 60000000"], ids=["fails", "is compared"])
def test_sixty_megabytes_of_output_cost_little_memory(
    pytester: pytest.Pytester, make_spec: SpecMaker, end: str
) -> None:
    (pytester.path / "conftest.py").write_text(dedent(MEASURE))
    expect = "" if "false" in end else ' shows "needle"'
    make_spec(f"- [ ] 1.1 Says little\n  - **Verify**: `echo hay{end}`{expect}\n")
    small = peak(pytester)
    make_spec(
        f"- [ ] 1.1 Says much\n  - **Verify**: `yes haystack | head -c 60000000{end}`{expect}\n"
    )
    large = peak(pytester, "--junitxml=out.xml")
    assert large - small < 30 * MEGABYTE
    assert (pytester.path / "out.xml").stat().st_size < MEGABYTE
