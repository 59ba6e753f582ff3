"""Shell command lines: read, never run."""
