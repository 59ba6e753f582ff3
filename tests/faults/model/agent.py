"""An executor that does what it should, and one that does everything it should not.

The executor of a run is a shell script with one branch for each task. It writes down which files it
touched for which task, so that commits can be compared with that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Each line may use $KEY (`spec:task`), $FILE (the file of the task) and the functions `touched` and
# `fix`, which replaces the first line of $FILE.
ACTIONS = {
    # What it is there for
    "fix": 'fix; touched "$FILE"',
    "fix all lines": 'mkdir -p src; echo "fixed $KEY" > "$FILE"; touched "$FILE"',
    "append": 'mkdir -p src; echo "fixed $KEY" >> "$FILE"; touched "$FILE"',
    "fix once": ('[ -e "$0.$NAME" ] || { fix; touched "$FILE"; }; : > "$0.$NAME"'),
    "pause": "sleep 0.3",
    "repair the build": "echo true > build.sh; touched build.sh",
    "fix with git": 'fix; git add "$FILE"; touched "$FILE"',
    "nothing": ":",
    # Work that does not help
    "wrong": 'mkdir -p src; echo "no $KEY" > "$FILE"; touched "$FILE"',
    "new file": 'mkdir -p src; echo "new $KEY" > "src/new-$NAME.txt"; touched "src/new-$NAME.txt"',
    "break a neighbour": "mkdir -p src; echo BROKEN > src/two.txt; touched src/two.txt",
    "break the build": "echo 'if then fi (' > build.sh; touched build.sh",
    # Other people's files
    "edit a test": "mkdir -p tests; echo '# easier' >> tests/test_it.py; touched tests/test_it.py",
    # Once: pytest does not start with an option that is there twice.
    "edit configuration": (
        "grep -q addopts pytest.ini || echo 'addopts = -q' >> pytest.ini; touched pytest.ini"
    ),
    "remove notes": "rm -f notes.txt src/old.txt; touched notes.txt src/old.txt",
    "rename": "mv -f notes.txt src/renamed.txt; touched notes.txt src/renamed.txt",
    "edit .gitignore": "echo '*.log' > .gitignore; touched .gitignore",
    "edit the plan": "sed -i 's/grep -q fixed/true ; true/' specs/a/tasks.md",
    "tick everything": "sed -i 's/- \\[ \\]/- [x]/' specs/a/tasks.md",
    "remove specs": "rm -rf specs",
    # git
    "git mv": "git mv -f src/old.txt src/moved.txt; touched src/old.txt src/moved.txt",
    "git rm": "git rm -qf src/old.txt; touched src/old.txt",
    "git commit": "git add -A; git commit -qm agent; touched '*'",
    "git stash": "git stash -q -u; touched '*'",
    "git checkout": "git checkout -q -- .; touched '*'",
    "git reset": "git reset -q --hard; touched '*'",
    "git clean": "git clean -fdq; touched '*'",
    "git clean -x": "git clean -ffdxq; touched '*'",
    "git branch": 'git checkout -q -b "agent-$$"',
    "remove .ralph": "rm -rf .ralph",
    # The end
    "leave a server": "setsid sleep 300 > /dev/null 2>&1 &",
    "exit badly": "exit 3",
    "hang": "sleep 300",
}
GOOD = ("fix", "fix all lines", "fix once", "append", "repair the build", "fix with git")
SLOW = ("hang", "pause")
# These change the index.
MOVES_GIT = frozenset(
    {
        "git commit",
        "git stash",
        "git checkout",
        "git reset",
        "git mv",
        "git rm",
        "fix with git",
    }
)

SCRIPT = """\
exec 2> /dev/null
KEY="${{RALPH_SPEC_PATH##*/}}:${{RALPH_FIX_FOR:-$RALPH_TASK_ID}}"
NAME="${{RALPH_SPEC_PATH##*/}}-${{RALPH_FIX_FOR:-$RALPH_TASK_ID}}"
fix() {{
  mkdir -p src
  [ -s "$FILE" ] || echo > "$FILE"
  sed -i "1s/.*/fixed $KEY/" "$FILE"
}}
touched() {{ for path; do echo "$KEY $path" >> {log}; done; }}
case "$KEY" in
{branches}esac
echo TASK_COMPLETE
"""


def write_agent(
    script: Path, log: Path, files: Mapping[str, str], plan: Mapping[str, Sequence[str]]
) -> None:
    """Write an executor that performs the actions of `plan`, task by task.

    `files` are the files that each task is about.
    """
    branches = []
    for key, actions in plan.items():
        lines = [f"FILE={files[key]}", *(ACTIONS[action] for action in actions)]
        body = "\n".join(f"    {line}" for line in lines)
        branches.append(f"  {key}|{key}.*)\n{body}\n    ;;\n")
    script.write_text(SCRIPT.format(log=log, branches="".join(branches)))


def read_touched(log: Path) -> dict[str, set[str]]:
    """Return what the executor touched for each task; `*` stands for anything."""
    touched: dict[str, set[str]] = {}
    if log.exists():
        for line in log.read_text().splitlines():
            key, _, path = line.partition(" ")
            touched.setdefault(key, set()).add(path)
    return touched
