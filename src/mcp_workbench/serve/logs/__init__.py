"""The log on stderr: how lines are formatted and written, and what is logged about calls and refusals."""

from __future__ import annotations

from mcp_workbench.serve.logs.stderr_handler import SecretSink, StderrHandler, report, set_up

__all__ = ["SecretSink", "StderrHandler", "report", "set_up"]
