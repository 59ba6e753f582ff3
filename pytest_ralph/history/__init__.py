"""What happened before: attempts in SQLite, statistics and predictions from them.

Knows nothing of pytest.
"""
