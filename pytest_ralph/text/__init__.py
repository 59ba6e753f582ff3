"""Helpers for text that know nothing of specs or failures."""
