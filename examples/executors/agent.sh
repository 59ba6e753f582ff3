#!/bin/sh
# An executor in a few lines. The prompt is on stdin and in $RALPH_PROMPT_FILE; $RALPH_TASK_ID, $RALPH_FIX_FOR,
# $RALPH_SPEC_PATH, $RALPH_KIND and $RALPH_ATTEMPT say what it is about; the current directory is the project.
set -eu

if grep -q 'add(2, 3)' "$RALPH_PROMPT_FILE"; then
    sed 's/a - b/a + b/' app.py > app.py.new && mv app.py.new app.py
    echo "Approach: add instead of subtract"
    echo "TASK_COMPLETE"
else
    echo "Task $RALPH_TASK_ID: Fix FAILED"
    echo "- Error: I know only one trick, and it is not for $RALPH_KIND"
    echo "- Attempted fix: None"
    echo "- Status: Needs an executor with more to offer"
fi
