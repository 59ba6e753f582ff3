"""Reports of a run: terminal, JUnit, HTML, GitHub Actions, statistics."""
