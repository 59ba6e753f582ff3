"""The Verify field: which commands it runs and what it expects of them."""
