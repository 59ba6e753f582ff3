"""What went wrong: from exit status, output and JUnit to one Failure. Knows nothing of pytest."""
