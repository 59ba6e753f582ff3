"""Runs with pytest-xdist: controller, workers and scheduling."""
