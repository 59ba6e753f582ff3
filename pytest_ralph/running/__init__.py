"""Processes: one command at a time, bounded in time and memory, nothing left behind. Knows nothing of pytest."""
