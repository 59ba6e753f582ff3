"""Formats of specs other than checkboxes and headings with a Verify field."""
