"""Collects nothing where the extra is not installed: `make semantic` has an environment with it."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("wordllama") else ["test_*.py"]
