"""The pytest side: one run over any number of specs."""
