"""The story for people and CI: terminal, JUnit, HTML, statistics."""
