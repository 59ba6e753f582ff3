"""The spec on disk: reading it, ordering it, and the few edits ever made to it.

Knows nothing of pytest.
"""
