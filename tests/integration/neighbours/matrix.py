"""Run a small project beside other plugins, and compare with what it does without them.

    python -m tests.integration.neighbours.matrix [--only NAME ...] [--write]

Every batch gets an environment of its own, in which its plugins are installed from the package
index beside this checkout. Each plugin is then used alone, and with two workers of pytest-xdist;
at last all plugins of the batch are loaded together. `--write` puts the results into
docs/plugins.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.integration.neighbours.plugins import BATCHES, Neighbour

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "plugins.md"
BEGIN = "<!-- written by `tox run -e neighbours -- --write` -->\n"
END = "<!-- end -->\n"

SPECS = {
    "healed": """\
- [ ] 1.1 Passes
  - **Verify**: `test 1 = 1`
- [ ] 1.2 Fails, and is recovered
  - **Verify**: `test -e 1.2.made`
- [ ] 1.3 For a person
  - **Verify**: Manual: look at it
""",
    "failing": """\
- [ ] 1.1 Fails for good
  - **Verify**: `echo boom; test 2 = 3`
- [ ] 1.2 Depends on it
  - **Verify**: `test 1 = 1`
""",
}
TESTS = """\
import pytest

def test_passes():
    pass

def test_fails():
    assert 1 == 2

@pytest.mark.skip
def test_skipped():
    pass
"""
OUTCOMES = {
    "healed 1.1": "passed",
    "healed 1.2": "recovered",
    "healed 1.3": "manual",
    "failing 1.1": "failed",
    "failing 1.2": "blocked",
    "test_fails": "failed",
    "test_passes": "passed",
    "test_skipped": "skipped",
}
RECOVERY = (
    "--ralph-recovery",
    "--ralph-executor=touch $RALPH_FIX_FOR.made",
    "--ralph-max-fixes=1",
    "--junitxml=junit.xml",
)
WORKERS = ("-p", "xdist", "-p", "xdist.looponfail", "-n2")
ENTRY_POINTS = """\
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    distribution = importlib.metadata.distribution(name)
    names = [point.name for point in distribution.entry_points if point.group == "pytest11"]
    found[name] = {"version": distribution.version, "names": names}
print(json.dumps(found))
"""


class Result(NamedTuple):
    """What one run showed; no problems if it did what it does without the plugin."""

    problems: tuple[str, ...]
    output: str


def make_project(directory: Path, ini: str) -> None:
    """Write two specs and some tests."""
    for name, text in SPECS.items():
        path = directory / "specs" / name / "tasks.md"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (directory / "test_beside.py").write_text(TESTS)
    (directory / "pytest.ini").write_text(f"[pytest]\n{ini}\n")


def read_junit(path: Path) -> dict[str, str]:
    """Return the outcome of every testcase; those of one that appears twice are joined."""
    outcomes: dict[str, str] = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        properties = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
        if "ralph.task" in properties:
            name = f"{properties['ralph.spec']} {properties['ralph.task']}"
            outcome = properties["ralph.outcome"]
        else:
            name = case.get("name", "").partition("[")[0]
            outcome = next((child.tag for child in case if child.tag != "properties"), "passed")
            outcome = {"failure": "failed", "error": "failed"}.get(outcome, outcome)
        outcomes[name] = f"{outcomes[name]}, {outcome}" if name in outcomes else outcome
    return outcomes


def check(directory: Path, status: int, output: str, *, expected: dict[str, str]) -> list[str]:
    """Return what is wrong with a run."""
    problems = []
    if status != 1:
        problems.append(f"exit status {status}")
    if "INTERNALERROR" in output:
        problems.append("INTERNALERROR")
    junit = directory / "junit.xml"
    if not junit.exists():
        return [*problems, "no JUnit file"]
    found = read_junit(junit)
    for name, outcome in expected.items():
        if found.get(name) != outcome:
            problems.append(f"{name} is {found.get(name)}, not {outcome}")
    healed = (directory / "specs/healed/tasks.md").read_text()
    if healed.count("[x]") != 3:
        problems.append("boxes of the healed spec")
    if "[x] 1." in (directory / "specs/failing/tasks.md").read_text():
        problems.append("boxes of the failing spec")
    return problems


def _of_tasks(outcomes: dict[str, str]) -> dict[str, str]:
    """Leave out the tests: what plugins do to each other is not our concern."""
    return {name: outcome for name, outcome in outcomes.items() if not name.startswith("test_")}


class Environment:
    """A virtual environment with this checkout and some plugins."""

    def __init__(self, directory: Path, plugins: tuple[Neighbour, ...]) -> None:
        self.directory = directory
        self.python = directory / "bin" / "python"
        names = [plugin.name for plugin in plugins]
        packages = [str(ROOT), "pytest-xdist", *names]
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
        subprocess.run(
            ["uv", "pip", "install", "-q", "--python", self.python, *packages], check=True
        )
        listed = subprocess.run(
            [self.python, "-c", ENTRY_POINTS, *names],
            check=True,
            capture_output=True,
            text=True,
        )
        self.installed = json.loads(listed.stdout)

    def run(self, plugins: tuple[Neighbour, ...], *, workers: bool, alone: bool) -> Result:
        """Run the project with these plugins; if not `alone`, with all that are installed."""
        environ = dict(os.environ)
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "GITHUB_ACTIONS", "RALPH_NESTED"):
            environ.pop(name, None)
        arguments = [*RECOVERY]
        if alone:
            environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
            arguments += ["-p", "ralph"]
            for plugin in plugins:
                for entry_point in (*plugin.needs, *self.installed[plugin.name]["names"]):
                    arguments += ["-p", entry_point]
        if workers:
            arguments += WORKERS if alone else ["-n2"]
        if alone:
            arguments += [argument for plugin in plugins for argument in plugin.arguments]
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            make_project(directory, "\n".join(plugin.ini for plugin in plugins))
            ended = subprocess.run(
                [self.python, "-m", "pytest", *arguments],
                cwd=directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=300,
                check=False,
            )
            expected = dict(OUTCOMES) if alone else _of_tasks(OUTCOMES)
            for plugin in plugins:
                if alone and not workers:
                    expected.update(plugin.outcomes)
                if alone:
                    expected.update(plugin.outcomes_always)
            problems = check(directory, ended.returncode, ended.stdout, expected=expected)
        return Result(tuple(problems), ended.stdout)


def report(name: str, result: Result) -> bool:
    """Print one line about a run, and its output if something is wrong; return whether it is."""
    print(f"{name}: {'; '.join(result.problems) or 'ok'}", flush=True)
    if result.problems:
        print("\n".join(f"    {line}" for line in result.output.splitlines()[-60:]), flush=True)
    return bool(result.problems)


def run_batch(batch: str, plugins: tuple[Neighbour, ...], rows: list[str]) -> int:
    """Run all plugins of a batch; return how many runs went wrong."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix=f"neighbours-{batch}-") as directory:
        environment = Environment(Path(directory), plugins)
        for plugin in plugins:
            version = environment.installed[plugin.name]["version"]
            alone = environment.run((plugin,), workers=False, alone=True)
            wrong += report(f"{plugin.name} {version}", alone)
            with_workers = "–"
            if plugin.workers:
                result = environment.run((plugin,), workers=True, alone=True)
                wrong += report(f"{plugin.name} {version}, -n 2", result)
                with_workers = "no" if result.problems else "yes"
            works = "no" if alone.problems else "yes"
            rows.append(table_row(plugin, version, works, with_workers))
        for workers in (False, True):
            together = environment.run(plugins, workers=workers, alone=False)
            wrong += report(f"{batch}, all installed{', -n 2' if workers else ''}", together)
    return wrong


def table_row(plugin: Neighbour, version: str, works: str, with_workers: str) -> str:
    """Return the row of a plugin in the table of the page."""
    words = " ".join(f"`{word}`" for word in (*plugin.arguments, plugin.ini) if word)
    cells = (f"{plugin.name} {version}", words or "installed", works, with_workers, plugin.effect)
    return f"| {' | '.join(cells)} |"


def write_page(rows: list[str]) -> None:
    """Replace the table of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    head = (
        "| plugin | used with | alone | `-n 2` | what it does to tasks |\n|---|---|---|---|---|\n"
    )
    table = head + "".join(f"{row}\n" for row in sorted(rows))
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Return 1 if a run went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of batches or plugins")
    parser.add_argument("--write", action="store_true", help="write the table of docs/plugins.md")
    given = parser.parse_args()
    if shutil.which("uv") is None:
        sys.exit("uv is needed to install the plugins")
    wrong = 0
    rows: list[str] = []
    for batch, plugins in BATCHES.items():
        chosen = plugins
        if given.only and batch not in given.only:
            chosen = tuple(plugin for plugin in plugins if plugin.name in given.only)
        if chosen:
            wrong += run_batch(batch, chosen, rows)
    print(f"{len(rows)} plugins, {wrong} runs went wrong")
    if given.write:
        write_page(rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
