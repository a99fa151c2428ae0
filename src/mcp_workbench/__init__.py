"""MCP Workbench: one MCP server in front of all your MCP servers.

The names in `__all__` are the public API. Nothing is loaded before the first of them is used: every start of
the command imports this package, and needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.library import (
        CallDenied,
        CallEnd,
        CallError,
        CallRecord,
        CallRefused,
        CallResult,
        ConfigError,
        Decider,
        ExecutionFailed,
        FailedServer,
        FindResult,
        InvalidCall,
        LimitReached,
        Observer,
        OpeningFailed,
        OpenResult,
        Outcome,
        Problem,
        ProgressReport,
        ServerNotFound,
        StartError,
        Tool,
        ToolboxNotFound,
        ToolboxSummary,
        ToolCounts,
        ToolNotFound,
        Workbench,
        WorkbenchError,
        http_app,
    )

__version__ = "0.1.0"

__all__ = [
    "CallDenied",
    "CallEnd",
    "CallError",
    "CallRecord",
    "CallRefused",
    "CallResult",
    "ConfigError",
    "Decider",
    "ExecutionFailed",
    "FailedServer",
    "FindResult",
    "InvalidCall",
    "LimitReached",
    "Observer",
    "OpenResult",
    "OpeningFailed",
    "Outcome",
    "Problem",
    "ProgressReport",
    "ServerNotFound",
    "StartError",
    "Tool",
    "ToolCounts",
    "ToolNotFound",
    "ToolboxNotFound",
    "ToolboxSummary",
    "Workbench",
    "WorkbenchError",
    "__version__",
    "http_app",
]

if not TYPE_CHECKING:  # a type checker would take every name for one that this returns

    def __getattr__(name: str) -> object:
        """Load a name of the public API when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from mcp_workbench import library  # noqa: PLC0415 - see above

        value = globals()[name] = getattr(library, name)
        return value

    def __dir__() -> list[str]:
        """List the public API too, loaded or not."""
        return sorted({*globals(), *__all__})
