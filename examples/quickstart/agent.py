"""A scripted stand-in for a coding agent: it reads the prompt, edits a file and says how it went.

A real agent goes in its place: `--ralph-executor claude`, `codex`, `aider`, …
"""

import os
import sys
from pathlib import Path

prompt = sys.stdin.read()
source = Path("greeting.py")

if "greeting.py" not in prompt:
    task = os.environ["RALPH_TASK_ID"]
    print(f"Task {task}: fix it FAILED")
    print("- Error: the prompt names no file that I know")
    print("- Attempted fix: Read the prompt twice")
    print("- Status: Blocked, needs manual intervention")
    sys.exit(1)

print("Approach: add the missing exclamation mark to the greeting")
source.write_text(source.read_text().replace('{name}"', '{name}!"'))
print("TASK_COMPLETE")
