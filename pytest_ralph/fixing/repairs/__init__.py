"""The built-in repairs, one module each. Each finds a Repair for a Failure, or None."""
