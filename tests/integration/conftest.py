"""pytester forgets what an inner run imported.

What is imported here already need not be imported for every run.
"""

from __future__ import annotations

import contextlib
import pkgutil
from importlib import import_module

import pytest_ralph

for _module in pkgutil.walk_packages(pytest_ralph.__path__, "pytest_ralph."):
    # Some modules are for plugins that need not be installed.
    with contextlib.suppress(ImportError):
        import_module(_module.name)
for _name in (
    "hypothesis.internal.detection",
    "hypothesis.strategies",
    "junitparser",
    "ruamel.yaml",
):
    import_module(_name)
