"""Run the quickstart on a copy, so that running it twice shows the same thing.

python examples/quickstart/demo.py [more pytest options]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMAND = ["--ralph-recovery", "--ralph-executor", f'"{sys.executable}" agent.py', "specs/greeting"]


def make_wheel(directory: Path) -> None:
    """The library that requirements.txt declares, so that the demo needs no network."""
    directory.mkdir()
    info = "politeness-1.0.dist-info"
    with zipfile.ZipFile(directory / "politeness-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("politeness.py", 'def please(what):\n    return f"please {what}"\n')
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: politeness\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "politeness.py,,\n")


def prepare(project: Path) -> None:
    shutil.copytree(
        HERE, project, ignore=shutil.ignore_patterns("__pycache__", ".ralph", ".pytest_cache")
    )
    (project / "scripts" / "build.sh").chmod(0o644)
    make_wheel(project / "wheels")
    venv.create(project / ".venv", with_pip=True, symlinks=os.name != "nt")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="ralph-quickstart-") as temporary:
        project = Path(temporary, "quickstart")
        prepare(project)
        shown = " ".join(["pytest", *COMMAND[:2], '"python agent.py"', *COMMAND[3:]])
        print(f"$ {shown}", flush=True)
        status = subprocess.call(
            [sys.executable, "-m", "pytest", *COMMAND, *sys.argv[1:]], cwd=project
        )
        print("\ntasks.md afterwards:\n")
        for line in (project / "specs/greeting/tasks.md").read_text().splitlines():
            if line.startswith("- ["):
                print(f"  {line}")
        return status


if __name__ == "__main__":
    sys.exit(main())
