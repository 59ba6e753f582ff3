"""Healing: verify a task, decide about a failure, have it fixed, verify again. Without pytest."""
