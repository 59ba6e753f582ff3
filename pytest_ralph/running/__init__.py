"""Run commands, bounded in time and memory, and leave nothing behind. Knows no pytest."""
