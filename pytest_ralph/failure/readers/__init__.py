"""Readers: each looks at one kind of evidence and returns a Finding, or None if it says nothing."""
