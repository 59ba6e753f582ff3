"""Who carries out a fix: agents, built-in repairs and git. Knows nothing of pytest."""
