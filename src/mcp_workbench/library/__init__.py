"""The public API: what `mcp_workbench` exports, for programs that use the workbench in their own process.

Import these names from `mcp_workbench`, which loads this package when the first of them is used. All other
modules are internal.
"""

from mcp_workbench.errors import (
    CallDenied,
    CallError,
    CallRefused,
    ConfigError,
    ExecutionFailed,
    InvalidCall,
    LimitReached,
    OpeningFailed,
    Problem,
    ServerNotFound,
    StartError,
    ToolboxNotFound,
    ToolNotFound,
    WorkbenchError,
)
from mcp_workbench.library.http import http_app
from mcp_workbench.library.typed_results import (
    CallResult,
    FailedServer,
    FindResult,
    OpenResult,
    ProgressReport,
    Tool,
)
from mcp_workbench.library.workbench import Workbench
from mcp_workbench.workbench.call_counts import ToolCounts
from mcp_workbench.workbench.door import CallEnd, CallRecord, Decider, Observer, Outcome
from mcp_workbench.workbench.toolbox import ToolboxSummary

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
    "http_app",
]
