"""What to do about a failure: decide, write the fix task, have it done, verify again. Knows nothing of pytest."""
