"""pytester forgets what an inner run imported. What is imported here already need not be imported for every run."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

for _name in ("collecting", "defaults", "ending", "reporting", "session", "running.command", "history.store"):
    import_module(f"pytest_ralph.{_name}")
for _name in ("failure.classify", "fixing.executors", "fixing.prompts", "fixing.checkpoint", "fixing.repair"):
    import_module(f"pytest_ralph.{_name}")
for _name in ("ruamel.yaml", "jinja2", "junitparser", "xdist.scheduler", "pytest_html"):
    if find_spec(_name.partition(".")[0]):
        import_module(_name)
