"""Isolation: executors work in git worktrees, and what passes Verify there is merged."""
